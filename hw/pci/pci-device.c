/*
 * hw/pci/pci-device.c - life of a PCI device: address, header, capabilities, pin, reset, state.
 *
 * Source: PCI Local Bus Specification 3.0, chapter 6; PCI Express Base 5.0, 7.5.3.
 */
#include "hw/pci/pci-priv.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "util/error.h"

#define EXPRESS_BYTES 60
#define COMMAND_WRITABLE                                                                           \
	(PCI_COMMAND_IO | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_SERR |             \
	 PCI_COMMAND_INTX_DISABLE)
#define STATUS_CLEARED          0xf900 /* errors: by writing ones */
#define DEVCTL2_PREFIX_BLOCKING 0x8000

/* ---- address ---- */

/* "SLOT.FUNCTION" or "SLOT", hexadecimal; with 0x before either. */
static bool parse_addr(const char *text, u8 *devfn)
{
	unsigned long slot, function = 0;
	char *end;

	if (!g_ascii_isxdigit(*text))
		return false;
	slot = strtoul(text, &end, 16);
	if (*end == '.') {
		text = end + 1;
		if (!g_ascii_isxdigit(*text))
			return false;
		function = strtoul(text, &end, 16);
	}
	if (*end || slot > 31 || function > 7)
		return false;
	*devfn = PCI_DEVFN_OF(slot, function);
	return true;
}

static bool slot_is_free(const struct pci_bus *bus, unsigned slot)
{
	for (unsigned f = 0; f < 8; f++)
		if (bus->at[PCI_DEVFN_OF(slot, f)])
			return false;
	return true;
}

static int choose_free(struct pci_device *d, GError **err)
{
	unsigned slots = d->bus->bridge ? 1 : 32;

	for (unsigned slot = 0; slot < slots; slot++) {
		if (!slot_is_free(d->bus, slot))
			continue;
		d->devfn = PCI_DEVFN_OF(slot, 0);
		return 0;
	}
	error_set(err, "PCI: no slot/function available for %s, all in use on bus '%s'",
		  d->dev.type->name, d->dev.on_bus->name);
	return -EBUSY;
}

static const char *device_name(const struct pci_device *d)
{
	return d->dev.id ?: d->dev.type->name;
}

/* Guests look at functions 1 to 7 only if function 0 is there and says that there are more. */
static int check_functions(const struct pci_device *d, GError **err)
{
	unsigned slot = PCI_SLOT_OF(d->devfn), function = PCI_FUNCTION_OF(d->devfn);
	const struct pci_device *first = d->bus->at[PCI_DEVFN_OF(slot, 0)];

	if (function && first && !first->opt_multifunction) {
		error_set(err,
			  "PCI: %x.0 indicates single function, can't populate %x.%x: give %s "
			  "multifunction=on",
			  slot, slot, function, device_name(first));
		return -EINVAL;
	}
	for (unsigned f = 1; !function && !d->opt_multifunction && f < 8; f++) {
		if (!d->bus->at[PCI_DEVFN_OF(slot, f)])
			continue;
		error_set(err,
			  "PCI: %x.0 indicates single function, but %x.%x is already populated: "
			  "give it multifunction=on",
			  slot, slot, f);
		return -EINVAL;
	}
	return 0;
}

static int take_place(struct pci_device *d, GError **err)
{
	if (!d->opt_addr)
		return choose_free(d, err);
	if (!parse_addr(d->opt_addr, &d->devfn)) {
		error_set(err,
			  "property '%s.addr' does not take value '%s', it wants SLOT.FUNCTION, "
			  "hexadecimal, 0 to 1f and 0 to 7",
			  d->dev.type->name, d->opt_addr);
		return -EINVAL;
	}
	if (d->bus->bridge && PCI_SLOT_OF(d->devfn)) {
		error_set(err,
			  "PCI: slot %x is not valid for %s, bus '%s' below a port only allows "
			  "plugging into slot 0",
			  PCI_SLOT_OF(d->devfn), d->dev.type->name, d->dev.on_bus->name);
		return -EINVAL;
	}
	if (d->bus->at[d->devfn]) {
		error_set(err, "PCI: slot %x function %x not available for %s, in use by %s,id=%s",
			  PCI_SLOT_OF(d->devfn), PCI_FUNCTION_OF(d->devfn), d->dev.type->name,
			  d->bus->at[d->devfn]->dev.type->name, d->bus->at[d->devfn]->dev.id ?: "");
		return -EBUSY;
	}
	return check_functions(d, err);
}

/* ---- header ---- */

static void make_header(struct pci_device *d, const struct pci_ids *ids)
{
	u8 *c = d->config;

	pci_set16(c + PCI_VENDOR_ID, ids->vendor);
	pci_set16(c + PCI_DEVICE_ID, ids->device);
	c[PCI_REVISION_ID] = ids->revision;
	c[PCI_CLASS_PROG] = ids->class_code;
	pci_set16(c + PCI_CLASS_DEVICE, ids->class_code >> 8);
	c[PCI_HEADER_TYPE] = (d->bridge ? PCI_HEADER_TYPE_BRIDGE : PCI_HEADER_TYPE_NORMAL) |
			     (d->opt_multifunction ? 0x80 : 0);
	if (!d->bridge) {
		pci_set16(c + PCI_SUBSYSTEM_VENDOR_ID, ids->subsystem_vendor);
		pci_set16(c + PCI_SUBSYSTEM_ID, ids->subsystem);
	}
	pci_set16(d->wmask + PCI_COMMAND, COMMAND_WRITABLE);
	pci_set16(d->w1cmask + PCI_STATUS, STATUS_CLEARED);
	d->wmask[PCI_CACHE_LINE_SIZE] = 0xff;
	d->wmask[PCI_INTERRUPT_LINE] = 0xff;
	memset(d->cmask, 0xff, 4);
	d->cmask[PCI_STATUS] = PCI_STATUS_CAP_LIST;
	memset(d->cmask + PCI_REVISION_ID, 0xff, 4);
	d->cmask[PCI_HEADER_TYPE] = 0xff;
	d->cmask[PCI_CAPABILITY_LIST] = 0xff;
}

int pci_device_init(struct pci_device *d, const struct pci_ids *ids, u16 config_bytes, GError **err)
{
	int ret;

	d->bus = d->dev.on_bus->owner_data;
	ret = take_place(d, err);
	if (ret)
		return ret;
	d->config_bytes = config_bytes;
	d->config = g_malloc0(4 * config_bytes);
	d->wmask = d->config + config_bytes;
	d->w1cmask = d->wmask + config_bytes;
	d->cmask = d->w1cmask + config_bytes;
	d->next_cap = PCI_STD_HEADER_SIZEOF;
	make_header(d, ids);
	d->bus->at[d->devfn] = d;
	return 0;
}

void pci_device_finish(struct pci_device *d)
{
	for (unsigned n = 0; n < PCI_BAR_COUNT; n++)
		if (d->bars[n].map.mapped)
			address_space_unmap(d->dev.machine->vm->memory, &d->bars[n].map);
	if (d->msix)
		msix_finish(d);
	machine_disconnect_irq(d->dev.machine, &d->irq);
	d->bus->at[d->devfn] = NULL;
	g_clear_pointer(&d->config, g_free);
}

void pci_add_bar(struct pci_device *d, unsigned n, u8 flags, u64 size, const struct mmio_ops *ops,
		 void *opaque)
{
	u8 *wmask = d->wmask + PCI_BASE_ADDRESS_0 + 4 * n;
	u64 writable = ~(size - 1);

	g_assert(n < (d->bridge ? 2 : PCI_BAR_COUNT) && IS_POW2(size) && !d->bars[n].size);
	d->bars[n] = (struct pci_bar){
		.size = size,
		.flags = flags,
		.map = { .name = d->dev.type->name,
			 .size = size,
			 .kind = MAP_MMIO,
			 .priority = 1,
			 .ops = ops,
			 .opaque = opaque },
	};
	pci_set32(wmask, writable);
	pci_set32(d->config + PCI_BASE_ADDRESS_0 + 4 * n, flags);
	if (flags & PCI_BAR_MEM64)
		pci_set32(wmask + 4, writable >> 32);
}

/* ---- capabilities ---- */

u16 pci_add_capability(struct pci_device *d, u8 id, u16 bytes)
{
	u16 at = d->next_cap;

	g_assert(at + bytes <= PCI_CONFIG_BYTES);
	d->config[at] = id;
	d->config[at + 1] = d->config[PCI_CAPABILITY_LIST];
	d->config[PCI_CAPABILITY_LIST] = at;
	d->config[PCI_STATUS] |= PCI_STATUS_CAP_LIST;
	d->cmask[at] = d->cmask[at + 1] = 0xff;
	d->next_cap = ROUND_UP(at + bytes, 4);
	return at;
}

void pci_add_express(struct pci_device *d, u8 port_type)
{
	bool port = port_type != PCI_EXP_TYPE_ENDPOINT;
	u16 at = pci_add_capability(d, PCI_CAP_ID_EXP, EXPRESS_BYTES);
	u8 *c = d->config + at, *w = d->wmask + at;

	d->exp_cap = at;
	pci_set16(c + PCI_EXP_FLAGS, 2 | port_type << 4); /* version 2 */
	pci_set32(c + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_RBER | (port ? 0 : PCI_EXP_DEVCAP_FLR) |
					      (d->opt_ext_tag ? PCI_EXP_DEVCAP_EXT_TAG : 0));
	pci_set16(w + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE |
					      PCI_EXP_DEVCTL_FERE | PCI_EXP_DEVCTL_URRE);
	pci_set16(d->w1cmask + at + PCI_EXP_DEVSTA, 0xf);
	pci_set32(c + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_SLS_2_5GB | 1 << 4 | 1 << 10);
	pci_set16(w + PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES);
	pci_set16(c + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_CLS_2_5GB | PCI_EXP_LNKSTA_NLW_X1);
	pci_set32(c + PCI_EXP_DEVCAP2, 0x300000); /* end-to-end prefixes, formats */
	pci_set16(w + PCI_EXP_DEVCTL2, DEVCTL2_PREFIX_BLOCKING);
}

/* ---- interrupt pin ---- */

void pci_use_pin(struct pci_device *d)
{
	d->config[PCI_INTERRUPT_PIN] = 1;
	machine_connect_irq(d->dev.machine, &d->irq, pci_bus_line(d));
}

void pci_update_irq(struct pci_device *d)
{
	bool disabled = pci_get16(d->config + PCI_COMMAND) & PCI_COMMAND_INTX_DISABLE;
	bool level = d->irq_level && !disabled;

	d->config[PCI_STATUS] &= ~PCI_STATUS_INTERRUPT;
	if (d->irq_level)
		d->config[PCI_STATUS] |= PCI_STATUS_INTERRUPT;
	if (d->irq.level != level)
		irq_set(&d->irq, level);
}

void pci_set_irq(struct pci_device *d, bool level)
{
	d->irq_level = level;
	pci_update_irq(d);
}

void pci_device_reset(struct pci_device *d)
{
	pci_set_irq(d, false);
	for (unsigned i = 0; i < PCI_STD_HEADER_SIZEOF; i++)
		d->config[i] &= ~(d->wmask[i] | d->w1cmask[i]);
	for (unsigned n = 0; n < PCI_BAR_COUNT; n++)
		if (d->bars[n].size)
			pci_set32(d->config + PCI_BASE_ADDRESS_0 + 4 * n, d->bars[n].flags);
	if (d->exp_cap) {
		pci_set16(d->config + d->exp_cap + PCI_EXP_DEVCTL, 0);
		pci_set16(d->config + d->exp_cap + PCI_EXP_LNKCTL, 0);
		pci_set16(d->config + d->exp_cap + PCI_EXP_DEVCTL2, 0);
	}
	if (d->msix)
		msix_reset(d);
	pci_update_bars(d);
}

/* ---- migration ---- */

static int version_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	state_put_be32(w, 2);
	return 0;
}

static int version_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	u32 v = state_get_be32(r);

	if (v <= 2)
		return 0;
	error_set(err, "PCI device of version %u, 2 is the newest that is known", v);
	return -EINVAL;
}

static const struct state_codec version_codec = { "int32 le", version_save, version_load };

static int config_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	struct pci_device *d = field;

	state_put_buffer(w, d->config, d->config_bytes);
	return 0;
}

/* What the guest cannot write must be the same here: it may have looked at it. */
static int config_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	struct pci_device *d = field;
	g_autofree u8 *c = g_malloc0(d->config_bytes);

	state_get_buffer(r, c, d->config_bytes);
	for (unsigned i = 0; i < d->config_bytes; i++) {
		u8 fixed = d->cmask[i] & ~d->wmask[i] & ~d->w1cmask[i];

		if (!((c[i] ^ d->config[i]) & fixed))
			continue;
		error_set(err,
			  "%s: byte 0x%x of the PCI configuration is 0x%02x at the source, "
			  "0x%02x here",
			  device_name(d), i, c[i], d->config[i]);
		return -EINVAL;
	}
	memcpy(d->config, c, d->config_bytes);
	return 0;
}

static const struct state_codec config_codec = { "pci config", config_save, config_load };

static int irq_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	const struct pci_device *d = field;

	for (unsigned pin = 0; pin < PCI_PINS; pin++)
		state_put_be32(w, !pin && d->irq_level);
	return 0;
}

static int irq_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	struct pci_device *d = field;
	u32 high = 0;

	for (unsigned pin = 0; pin < PCI_PINS; pin++)
		high |= state_get_be32(r);
	d->irq_level = high & 1;
	return 0;
}

static const struct state_codec irq_codec = { "pci irq state", irq_save, irq_load };

static int device_post_load(void *obj, int version, GError **err)
{
	struct pci_device *d = obj;
	struct pci_bus *below = pci_bus_secondary(d);

	pci_update_irq(d);
	pci_update_bars(d);
	if (below)
		pci_update_bars_below(below);
	return 0;
}

#define WHOLE(nm, c)                                                                               \
	{                                                                                          \
		.name = nm, .type = STATE_CUSTOM, .size = sizeof(struct pci_device), .codec = &(c) \
	}

static const struct state_field device_fields[] = {
	WHOLE("version_id", version_codec),
	WHOLE("config", config_codec),
	WHOLE("irq_state", irq_codec),
	FIELD_END,
};

const struct state_desc pci_device_state = {
	.name = "PCIDevice",
	.version = 2,
	.min_version = 1,
	.fields = device_fields,
	.post_load = device_post_load,
};
