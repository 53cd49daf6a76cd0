/*
 * hw/pci/msix.c - interrupts as messages (PCI Local Bus Specification 3.0, 6.8.2).
 *
 * Table and pending bits share a BAR that has nothing else: the table from its start, the pending
 * bits in its second half.
 */
#include "hw/pci/pci-priv.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "util/error.h"
#include "util/log.h"

#define BAR_BYTES   4096
#define ENTRY_BYTES PCI_MSIX_ENTRY_SIZE
#define VECTORS_MAX 2048

struct msix {
	u16 cap;
	unsigned vectors, bar;
	u32 pba_at;
	u8 *table;   /* ENTRY_BYTES each; migrates */
	u8 *pending; /* a bit each, rounded up to 64; migrates */
};

static unsigned pending_bytes(const struct msix *m)
{
	return ROUND_UP(m->vectors, 64u) / 8;
}

static u16 control(const struct pci_device *d)
{
	return pci_get16(d->config + d->msix->cap + PCI_MSIX_FLAGS);
}

bool msix_enabled(const struct pci_device *d)
{
	return d->msix && control(d) & PCI_MSIX_FLAGS_ENABLE;
}

static bool is_masked(const struct pci_device *d, unsigned vector)
{
	const u8 *entry = d->msix->table + vector * ENTRY_BYTES;

	return control(d) & PCI_MSIX_FLAGS_MASKALL ||
	       entry[PCI_MSIX_ENTRY_VECTOR_CTRL] & PCI_MSIX_ENTRY_CTRL_MASKBIT;
}

/* A message is a write on the bus, which takes the right to write there. */
static void send(struct pci_device *d, unsigned vector)
{
	const u8 *entry = d->msix->table + vector * ENTRY_BYTES;
	u64 addr = pci_get32(entry + PCI_MSIX_ENTRY_LOWER_ADDR) |
		   (u64)pci_get32(entry + PCI_MSIX_ENTRY_UPPER_ADDR) << 32;

	if (!(pci_get16(d->config + PCI_COMMAND) & PCI_COMMAND_MASTER))
		return;
	machine_send_msi(d->dev.machine, pci_requester_id(d), addr,
			 pci_get32(entry + PCI_MSIX_ENTRY_DATA));
}

void msix_notify(struct pci_device *d, unsigned vector)
{
	struct msix *m = d->msix;

	if (vector >= m->vectors || !msix_enabled(d))
		return;
	if (is_masked(d, vector))
		m->pending[vector / 8] |= 1 << vector % 8;
	else
		send(d, vector);
}

/* Send what waited and is masked no longer. */
static void send_pending(struct pci_device *d)
{
	struct msix *m = d->msix;

	if (!msix_enabled(d))
		return;
	for (unsigned v = 0; v < m->vectors; v++) {
		if (!(m->pending[v / 8] & 1 << v % 8) || is_masked(d, v))
			continue;
		m->pending[v / 8] &= ~(1 << v % 8);
		send(d, v);
	}
}

void msix_config_written(struct pci_device *d, u16 off, unsigned len)
{
	u16 at = d->msix->cap + PCI_MSIX_FLAGS;

	if (off > at + 1 || off + len <= at)
		return;
	pci_update_irq(d);
	send_pending(d);
}

static u64 bar_read(void *opaque, u64 off, unsigned size)
{
	const struct msix *m = ((struct pci_device *)opaque)->msix;

	if (off + size <= m->vectors * ENTRY_BYTES)
		return pci_get32(m->table + off);
	if (off >= m->pba_at && off + size <= m->pba_at + pending_bytes(m))
		return pci_get32(m->pending + (off - m->pba_at));
	return 0;
}

static void bar_write(void *opaque, u64 off, u64 value, unsigned size)
{
	struct pci_device *d = opaque;
	struct msix *m = d->msix;

	if (off + size > m->vectors * ENTRY_BYTES) {
		log_guest("%s: write of 0x%" PRIx64 " to MSI-X BAR at 0x%" PRIx64 "\n",
			  d->dev.type->name, value, off);
		return;
	}
	pci_set32(m->table + off, value);
	send_pending(d);
}

static const struct mmio_ops bar_ops = {
	.read = bar_read,
	.write = bar_write,
	.min_access = 4,
	.max_access = 4,
};

void msix_reset(struct pci_device *d)
{
	struct msix *m = d->msix;
	u16 flags = control(d) & ~(PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);

	pci_set16(d->config + m->cap + PCI_MSIX_FLAGS, flags);
	memset(m->table, 0, m->vectors * ENTRY_BYTES);
	memset(m->pending, 0, pending_bytes(m));
	for (unsigned v = 0; v < m->vectors; v++)
		m->table[v * ENTRY_BYTES + PCI_MSIX_ENTRY_VECTOR_CTRL] =
			PCI_MSIX_ENTRY_CTRL_MASKBIT;
}

static u64 power_of_two_above(u64 n)
{
	u64 p = BAR_BYTES;

	while (p < n)
		p *= 2;
	return p;
}

void msix_init(struct pci_device *d, unsigned vectors, unsigned bar)
{
	struct msix *m = g_new0(struct msix, 1);
	u8 *c;

	g_assert(vectors && vectors <= VECTORS_MAX);
	d->msix = m;
	m->vectors = vectors;
	m->bar = bar;
	m->pba_at = MAX(BAR_BYTES / 2, vectors * ENTRY_BYTES);
	m->table = g_malloc0(vectors * ENTRY_BYTES);
	m->pending = g_malloc0(pending_bytes(m));
	m->cap = pci_add_capability(d, PCI_CAP_ID_MSIX, PCI_CAP_MSIX_SIZEOF);
	c = d->config + m->cap;
	pci_set16(c + PCI_MSIX_FLAGS, vectors - 1);
	pci_set32(c + PCI_MSIX_TABLE, bar);
	pci_set32(c + PCI_MSIX_PBA, m->pba_at | bar);
	memset(d->cmask + m->cap, 0xff, PCI_CAP_MSIX_SIZEOF);
	pci_set16(d->wmask + m->cap + PCI_MSIX_FLAGS,
		  PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	pci_add_bar(d, bar, PCI_BAR_MEM32, power_of_two_above(m->pba_at + pending_bytes(m)),
		    &bar_ops, d);
	msix_reset(d);
}

void msix_finish(struct pci_device *d)
{
	g_free(d->msix->table);
	g_free(d->msix->pending);
	g_clear_pointer(&d->msix, g_free);
}

/* ---- migration ---- */

void msix_save(struct pci_device *d, struct state_writer *w)
{
	state_put_buffer(w, d->msix->table, d->msix->vectors * ENTRY_BYTES);
	state_put_buffer(w, d->msix->pending, DIV_ROUND_UP(d->msix->vectors, 8));
}

void msix_load(struct pci_device *d, struct state_reader *r)
{
	state_get_buffer(r, d->msix->table, d->msix->vectors * ENTRY_BYTES);
	state_get_buffer(r, d->msix->pending, DIV_ROUND_UP(d->msix->vectors, 8));
}

static int field_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	msix_save(field, w);
	return 0;
}

static int field_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	msix_load(field, r);
	return 0;
}

const struct state_codec msix_state_codec = { "msix state", field_save, field_load };
