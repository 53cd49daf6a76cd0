/* hw/pci/pci-info.c - text of "info pci". */
#include "hw/pci/pci-priv.h"

#include "hw/machine.h"

static const char *class_name(u16 class)
{
	static const struct {
		u16 class;
		const char *name;
	} names[] = {
		{ 0x0100, "SCSI controller" },
		{ 0x0200, "Ethernet controller" },
		{ 0x0600, "Host bridge" },
		{ 0x0604, "PCI bridge" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].class == class)
			return names[i].name;
	return NULL;
}

static void describe_bridge(GString *s, const struct pci_device *d)
{
	const u8 *c = d->config;

	g_string_append_printf(s, "      BUS %u.\n", c[PCI_PRIMARY_BUS]);
	g_string_append_printf(s, "      secondary bus %u.\n", c[PCI_SECONDARY_BUS]);
	g_string_append_printf(s, "      subordinate bus %u.\n", c[PCI_SUBORDINATE_BUS]);
	g_string_append_printf(s, "      IO range [0x%04x, 0x%04x]\n", (c[PCI_IO_BASE] & 0xf0) << 8,
			       (c[PCI_IO_LIMIT] & 0xf0) << 8 | 0xfff);
	g_string_append_printf(s, "      memory range [0x%08x, 0x%08x]\n",
			       (u32)(pci_get16(c + PCI_MEMORY_BASE) & 0xfff0) << 16,
			       (u32)(pci_get16(c + PCI_MEMORY_LIMIT) & 0xfff0) << 16 | 0xfffff);
	g_string_append_printf(
		s, "      prefetchable memory range [0x%08" PRIx64 ", 0x%08" PRIx64 "]\n",
		(u64)pci_get32(c + PCI_PREF_BASE_UPPER32) << 32 |
			(u32)(pci_get16(c + PCI_PREF_MEMORY_BASE) & 0xfff0) << 16,
		(u64)pci_get32(c + PCI_PREF_LIMIT_UPPER32) << 32 |
			(u32)(pci_get16(c + PCI_PREF_MEMORY_LIMIT) & 0xfff0) << 16 | 0xfffff);
}

/* An address that the guest has not set shows as all ones. */
static void describe_bar(GString *s, const struct pci_device *d, unsigned n)
{
	const struct pci_bar *bar = &d->bars[n];
	u64 at = bar->map.mapped ? pci_bar_address(d, n) : UINT64_MAX;

	if (bar->flags & PCI_BAR_IO)
		g_string_append_printf(s,
				       "      BAR%u: I/O at 0x%04" PRIx64 " [0x%04" PRIx64 "].\n",
				       n, at, at + bar->size - 1);
	else
		g_string_append_printf(
			s, "      BAR%u: %u bit%s memory at 0x%08" PRIx64 " [0x%08" PRIx64 "].\n",
			n, bar->flags & PCI_BAR_MEM64 ? 64 : 32,
			bar->flags & PCI_BAR_PREF ? " prefetchable" : "", at, at + bar->size - 1);
}

static void describe(GString *s, const struct pci_device *d)
{
	const u8 *c = d->config;
	u16 class = pci_get16(c + PCI_CLASS_DEVICE);

	g_string_append_printf(s, "  Bus %2u, device %3u, function %u:\n", pci_bus_number(d->bus),
			       PCI_SLOT_OF(d->devfn), PCI_FUNCTION_OF(d->devfn));
	if (class_name(class))
		g_string_append_printf(s, "    %s", class_name(class));
	else
		g_string_append_printf(s, "    Class %04u", class);
	g_string_append_printf(s, ": PCI device %04x:%04x\n", pci_get16(c + PCI_VENDOR_ID),
			       pci_get16(c + PCI_DEVICE_ID));
	if (!d->bridge)
		g_string_append_printf(s, "      PCI subsystem %04x:%04x\n",
				       pci_get16(c + PCI_SUBSYSTEM_VENDOR_ID),
				       pci_get16(c + PCI_SUBSYSTEM_ID));
	if (c[PCI_INTERRUPT_PIN])
		g_string_append_printf(s, "      IRQ %u, pin %c\n", c[PCI_INTERRUPT_LINE],
				       'A' + c[PCI_INTERRUPT_PIN] - 1);
	if (d->bridge)
		describe_bridge(s, d);
	for (unsigned n = 0; n < PCI_BAR_COUNT; n++)
		if (d->bars[n].size)
			describe_bar(s, d, n);
	g_string_append_printf(s, "      id \"%s\"\n", d->dev.id ?: "");
}

static void describe_bus(GString *s, const struct pci_bus *bus)
{
	for (unsigned i = 0; i < PCI_DEVFNS; i++)
		if (bus->at[i])
			describe(s, bus->at[i]);
	for (unsigned i = 0; i < PCI_DEVFNS; i++) {
		const struct pci_bus *below = bus->at[i] ? pci_bus_secondary(bus->at[i]) : NULL;

		if (below && pci_bus_number(below))
			describe_bus(s, below);
	}
}

char *pci_describe(struct machine *m)
{
	struct device *host = pci_host_find(m);
	GString *s = g_string_new(NULL);

	if (host)
		describe_bus(s, &((struct pci_host *)host)->bus);
	return g_string_free(s, FALSE);
}
