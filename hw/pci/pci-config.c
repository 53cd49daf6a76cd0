/*
 * hw/pci/pci-config.c - configuration space: reads, writes, and what the guest's writes map.
 *
 * Source: PCI Local Bus Specification 3.0, chapter 6; PCI-to-PCI Bridge Architecture 1.2, 3.2.
 */
#include "hw/pci/pci-priv.h"

#include "accel/vm.h"
#include "hw/machine.h"

#define UNMAPPED UINT64_MAX

struct range {
	u64 base, last; /* none: base > last */
};

bool pci_bar_is_upper_half(const struct pci_device *d, unsigned n)
{
	return n && d->bars[n - 1].size && d->bars[n - 1].flags & PCI_BAR_MEM64;
}

u64 pci_bar_address(const struct pci_device *d, unsigned n)
{
	const u8 *reg = d->config + PCI_BASE_ADDRESS_0 + 4 * n;
	u64 v = pci_get32(reg);

	if (d->bars[n].flags & PCI_BAR_MEM64)
		v |= (u64)pci_get32(reg + 4) << 32;
	return v & ~(d->bars[n].size - 1);
}

/* What a bridge passes on of the kind of access that the BAR wants. */
static struct range bridge_window(const struct pci_device *d, u8 flags)
{
	const u8 *c = d->config;
	struct range r;

	if (flags & PCI_BAR_IO) {
		r.base = (c[PCI_IO_BASE] & 0xf0) << 8;
		r.last = (c[PCI_IO_LIMIT] & 0xf0) << 8 | 0xfff;
	} else if (flags & PCI_BAR_PREF) {
		r.base = (u64)(pci_get16(c + PCI_PREF_MEMORY_BASE) & 0xfff0) << 16 |
			 (u64)pci_get32(c + PCI_PREF_BASE_UPPER32) << 32;
		r.last = (u64)(pci_get16(c + PCI_PREF_MEMORY_LIMIT) & 0xfff0) << 16 | 0xfffff |
			 (u64)pci_get32(c + PCI_PREF_LIMIT_UPPER32) << 32;
	} else {
		r.base = (u64)(pci_get16(c + PCI_MEMORY_BASE) & 0xfff0) << 16;
		r.last = (u64)(pci_get16(c + PCI_MEMORY_LIMIT) & 0xfff0) << 16 | 0xfffff;
	}
	return r;
}

static bool contains(struct range r, u64 base, u64 size)
{
	return r.base <= r.last && base >= r.base && base + size - 1 <= r.last &&
	       base + size - 1 >= base;
}

static bool passes(const struct pci_device *bridge, u8 flags, u64 base, u64 size)
{
	u16 command = pci_get16(bridge->config + PCI_COMMAND);
	u16 want = flags & PCI_BAR_IO ? PCI_COMMAND_IO : PCI_COMMAND_MEMORY;

	if (!(command & want))
		return false;
	/* Prefetchable ranges may also lie in the other window. */
	return contains(bridge_window(bridge, flags), base, size) ||
	       (flags & PCI_BAR_PREF &&
		contains(bridge_window(bridge, flags & ~PCI_BAR_PREF), base, size));
}

static bool in_window(const struct pci_window *w, u64 base, u64 size)
{
	return w->size && contains((struct range){ w->base, w->base + w->size - 1 }, base, size);
}

/* Where the CPU sees a BAR; UNMAPPED if it is not decoded. */
static u64 cpu_address(const struct pci_device *d, unsigned n)
{
	const struct pci_bar *bar = &d->bars[n];
	const struct pci_host_config *host = &d->bus->host->cfg;
	u16 command = pci_get16(d->config + PCI_COMMAND);
	u64 base = pci_bar_address(d, n);

	if (!(command & (bar->flags & PCI_BAR_IO ? PCI_COMMAND_IO : PCI_COMMAND_MEMORY)))
		return UNMAPPED;
	for (const struct pci_device *up = d->bus->bridge; up; up = up->bus->bridge)
		if (!passes(up, bar->flags, base, bar->size))
			return UNMAPPED;
	if (bar->flags & PCI_BAR_IO)
		return base + bar->size <= host->pio.size ? host->pio.base + base : UNMAPPED;
	if (in_window(&host->mmio, base, bar->size) || in_window(&host->mmio64, base, bar->size))
		return base;
	return UNMAPPED;
}

static void update_bar(struct pci_device *d, unsigned n)
{
	struct address_space *as = d->dev.machine->vm->memory;
	struct mapping *map = &d->bars[n].map;
	u64 want = cpu_address(d, n);

	if (map->mapped && map->base == want)
		return;
	if (map->mapped)
		address_space_unmap(as, map);
	if (want == UNMAPPED)
		return;
	map->base = want;
	address_space_map(as, map);
}

void pci_update_bars(struct pci_device *d)
{
	struct address_space *as = d->dev.machine->vm->memory;

	address_space_begin(as);
	for (unsigned n = 0; n < PCI_BAR_COUNT; n++)
		if (d->bars[n].size)
			update_bar(d, n);
	address_space_commit(as);
}

void pci_update_bars_below(struct pci_bus *bus)
{
	for (unsigned i = 0; i < PCI_DEVFNS; i++) {
		struct pci_bus *below;

		if (!bus->at[i])
			continue;
		pci_update_bars(bus->at[i]);
		below = pci_bus_secondary(bus->at[i]);
		if (below)
			pci_update_bars_below(below);
	}
}

static bool overlaps(u16 off, unsigned len, u16 first, unsigned bytes)
{
	return off < first + bytes && first < off + len;
}

u32 pci_config_read(struct pci_device *d, u16 off, unsigned len)
{
	u32 value = 0;

	if (off + len > d->config_bytes)
		return UINT32_MAX >> (32 - 8 * len);
	if (d->config_read)
		d->config_read(d, off, len);
	memcpy(&value, d->config + off, len);
	return GUINT32_FROM_LE(value);
}

static void store(struct pci_device *d, u16 off, u32 value, unsigned len)
{
	for (unsigned i = off; i < off + len; i++, value >>= 8) {
		u8 v = value;

		d->config[i] = (d->config[i] & ~d->wmask[i]) | (v & d->wmask[i]);
		d->config[i] &= ~(v & d->w1cmask[i]);
	}
}

/* Setting "secondary bus reset" resets what is behind the bridge. */
static void bridge_written(struct pci_device *d, u16 off, unsigned len, u16 old_control)
{
	struct pci_bus *below = pci_bus_secondary(d);
	u16 control = pci_get16(d->config + PCI_BRIDGE_CONTROL);

	if (!below)
		return;
	if (control & ~old_control & PCI_BRIDGE_CTL_BUS_RESET)
		for (unsigned i = 0; i < PCI_DEVFNS; i++)
			if (below->at[i] && below->at[i]->dev.type->reset)
				below->at[i]->dev.type->reset(&below->at[i]->dev);
	if (overlaps(off, len, PCI_COMMAND, 2) || overlaps(off, len, PCI_IO_BASE, 2) ||
	    overlaps(off, len, PCI_MEMORY_BASE, 16))
		pci_update_bars_below(below);
}

/* A function-level reset is a command: the bit never reads as set. */
static void express_written(struct pci_device *d, u16 off, unsigned len, u32 value)
{
	unsigned at = d->exp_cap + PCI_EXP_DEVCTL;
	bool has_flr = pci_get32(d->config + d->exp_cap + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_FLR;

	if (has_flr && off <= at + 1 && off + len > at + 1 &&
	    value >> (8 * (at + 1 - off)) & PCI_EXP_DEVCTL_BCR_FLR >> 8)
		d->dev.type->reset(&d->dev);
}

void pci_config_write(struct pci_device *d, u16 off, u32 value, unsigned len)
{
	u16 old_control = pci_get16(d->config + PCI_BRIDGE_CONTROL);

	if (off + len > d->config_bytes)
		return;
	store(d, off, value, len);
	if (overlaps(off, len, PCI_COMMAND, 2)) {
		pci_update_irq(d);
		pci_update_bars(d);
	} else if (overlaps(off, len, PCI_BASE_ADDRESS_0, d->bridge ? 8 : 24)) {
		pci_update_bars(d);
	}
	if (d->bridge)
		bridge_written(d, off, len, old_control);
	if (d->msix)
		msix_config_written(d, off, len);
	if (d->config_written)
		d->config_written(d, off, len);
	if (d->exp_cap)
		express_written(d, off, len, value);
}
