/*
 * hw/pci/pci-bus.c - buses: who sits where, numbers, interrupt lines, names.
 *
 * Source: PCI-to-PCI Bridge Architecture Specification 1.2, 3.1 (numbers) and 9.1 (interrupts).
 */
#include "hw/pci/pci-priv.h"

#include "hw/machine.h"

static void count_irqs(void *obj)
{
	struct pci_bus *bus = obj;

	memset(bus->irq_count, 0, sizeof(bus->irq_count));
	for (unsigned i = 0; bus->nirq && i < PCI_DEVFNS; i++) {
		const struct pci_device *d = bus->at[i];

		if (d && d->irq.level)
			bus->irq_count[PCI_SLOT_OF(i) % PCI_PINS]++;
	}
}

/* The counts follow from the devices. */
static int check_lines(void *obj, int version, GError **err)
{
	return 0;
}

static bool has_lines(void *obj, int version)
{
	return ((struct pci_bus *)obj)->nirq;
}

static const struct state_field bus_fields[] = {
	FIELD_S32(struct pci_bus, nirq),
	{ .name = "irq_count",
	  .type = STATE_S32,
	  .offset = offsetof(struct pci_bus, irq_count),
	  .size = sizeof(s32),
	  .count = PCI_PINS,
	  .present_if = has_lines },
	FIELD_END,
};

static const struct state_desc bus_state = {
	.name = "PCIBUS",
	.version = 1,
	.min_version = 1,
	.fields = bus_fields,
	.pre_save = count_irqs,
	.post_load = check_lines,
};

void pci_bus_init(struct pci_bus *bus, struct bus *owner, struct pci_host *host,
		  struct pci_device *bridge)
{
	*bus = (struct pci_bus){ .host = host,
				 .bridge = bridge,
				 .machine = host->dev.machine,
				 .nirq = bridge ? 0 : PCI_PINS };
	owner->owner_data = bus;
	if (bus->machine->registry)
		state_register(bus->machine->registry, bus_state.name, -1, &bus_state, bus);
}

void pci_bus_finish(struct pci_bus *bus)
{
	if (bus->machine->registry)
		state_unregister(bus->machine->registry, &bus_state, bus);
}

u8 pci_bus_number(const struct pci_bus *bus)
{
	return bus->bridge ? bus->bridge->config[PCI_SECONDARY_BUS] : 0;
}

struct pci_bus *pci_bus_secondary(const struct pci_device *d)
{
	return d->bridge && d->dev.bus ? d->dev.bus->owner_data : NULL;
}

struct pci_device *pci_bus_find(struct pci_bus *bus, u8 number, u8 devfn)
{
	if (pci_bus_number(bus) == number)
		return bus->at[devfn];
	for (unsigned i = 0; i < PCI_DEVFNS; i++) {
		struct pci_device *d = bus->at[i];
		struct pci_bus *below = d ? pci_bus_secondary(d) : NULL;

		if (below && number >= d->config[PCI_SECONDARY_BUS] &&
		    number <= d->config[PCI_SUBORDINATE_BUS] && d->config[PCI_SECONDARY_BUS])
			return pci_bus_find(below, number, devfn);
	}
	return NULL;
}

/* Bridges connect pin P of slot S below to their own pin (P + S) mod 4. */
unsigned pci_bus_line(const struct pci_device *d)
{
	unsigned pin = 0;

	for (; d->bus->bridge; d = d->bus->bridge)
		pin = (pin + PCI_SLOT_OF(d->devfn)) % PCI_PINS;
	return d->bus->host->cfg.lines[(pin + PCI_SLOT_OF(d->devfn)) % PCI_PINS];
}

u16 pci_requester_id(const struct pci_device *d)
{
	return pci_bus_number(d->bus) << 8 | d->devfn;
}

bool pci_bus_is_below_port(const struct bus *bus)
{
	return ((const struct pci_bus *)bus->owner_data)->bridge;
}

char *pci_path(const struct device *dev)
{
	const struct pci_device *d = (const struct pci_device *)dev;
	g_autofree char *above =
		d->bus->bridge ? pci_path(&d->bus->bridge->dev) : g_strdup("0000:00");

	return g_strdup_printf("%s:%02x.%x", above, PCI_SLOT_OF(d->devfn),
			       PCI_FUNCTION_OF(d->devfn));
}
