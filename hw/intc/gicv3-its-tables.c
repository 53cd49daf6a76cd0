/*
 * hw/intc/gicv3-its-tables.c - the ITS's tables in guest memory (Arm IHI 0069H, 5.3).
 *
 * The format of entries is the implementation's. It is the one that QEMU's ITS leaves in memory
 * (seen there after MAPD, MAPC and MAPTI), so that a guest's tables can move between the two.
 */
#include "hw/intc/gicv3-its-priv.h"

#define BASER_VALID    (1ull << 63)
#define BASER_INDIRECT (1ull << 62)
#define ENTRY_SIZE     8 /* of devices and collections, and of first-level tables */

/* Device: valid, event bits less 1 in 5:1, address of its table >> 8 in 49:6. */
#define DTE_SIZE_SHIFT 1
#define DTE_ITT_SHIFT  6
#define DTE_ITT_MASK   0xfffffffffffull
/* Collection: valid, number of the redistributor. */
#define CTE_CPU_SHIFT 1
/* Interrupt: valid, physical, INTID in 25:2, collection in 47:32; then a doorbell of 32 bits. */
#define ITE_PHYSICAL    2
#define ITE_INTID_SHIFT 2
#define ITE_ICID_SHIFT  32
#define ITE_NO_DOORBELL 1023

static bool read_le64(struct gicv3_its *s, u64 gpa, u64 *val)
{
	struct gic_ram ram;

	if (!gic_guest_ram(s->gic, gpa, 8, false, &ram))
		return false;
	memcpy(val, ram.host, 8);
	*val = GUINT64_FROM_LE(*val);
	return true;
}

static bool write_bytes(struct gicv3_its *s, u64 gpa, const void *data, unsigned len)
{
	struct gic_ram ram;

	if (!gic_guest_ram(s->gic, gpa, len, true, &ram))
		return false;
	memcpy(ram.host, data, len);
	gic_guest_wrote(&ram, len);
	return true;
}

static unsigned page_size(u64 baser)
{
	static const u32 sizes[] = { 4 * KiB, 16 * KiB, 64 * KiB, 64 * KiB };

	return sizes[baser >> 8 & 3];
}

/* Pages of 64 KiB have the address's bits 51:48 in 15:12. */
static u64 table_base(u64 baser)
{
	if (page_size(baser) == 64 * KiB)
		return (baser & 0x0000ffffffff0000) | (baser >> 12 & 0xf) << 48;
	return baser & 0x0000fffffffff000;
}

/* Address of an entry; false if the table does not reach that far. */
static bool entry_address(struct gicv3_its *s, enum its_table table, u32 id, u64 *gpa)
{
	u64 baser = s->baser[table], page = page_size(baser);
	u64 size = ((baser & 0xff) + 1) * page, per_page = page / ENTRY_SIZE, first;

	if (!(baser & BASER_VALID))
		return false;
	if (!(baser & BASER_INDIRECT)) {
		*gpa = table_base(baser) + (u64)id * ENTRY_SIZE;
		return (u64)id * ENTRY_SIZE < size;
	}
	if (id / per_page * ENTRY_SIZE >= size ||
	    !read_le64(s, table_base(baser) + id / per_page * ENTRY_SIZE, &first) ||
	    !(first & BASER_VALID))
		return false;
	*gpa = (first & 0x000ffffffffff000) + id % per_page * ENTRY_SIZE;
	return true;
}

static u64 get_entry(struct gicv3_its *s, enum its_table table, u32 id)
{
	u64 gpa, val;

	return entry_address(s, table, id, &gpa) && read_le64(s, gpa, &val) ? val : 0;
}

static bool set_entry(struct gicv3_its *s, enum its_table table, u32 id, u64 val)
{
	u64 gpa, le = GUINT64_TO_LE(val);

	return entry_address(s, table, id, &gpa) && write_bytes(s, gpa, &le, sizeof(le));
}

struct its_device its_device_get(struct gicv3_its *s, u32 id)
{
	u64 e = id >> ITS_DEVICE_BITS ? 0 : get_entry(s, ITS_DEVICES, id);

	return (struct its_device){ e & 1, (e >> DTE_SIZE_SHIFT & 0x1f) + 1,
				    (e >> DTE_ITT_SHIFT & DTE_ITT_MASK) << 8 };
}

bool its_device_set(struct gicv3_its *s, u32 id, const struct its_device *d)
{
	u64 e = d->valid ? 1 | (u64)(d->event_bits - 1) << DTE_SIZE_SHIFT |
				   (d->itt >> 8) << DTE_ITT_SHIFT
			 : 0;

	return !(id >> ITS_DEVICE_BITS) && set_entry(s, ITS_DEVICES, id, e);
}

struct its_collection its_collection_get(struct gicv3_its *s, u32 icid)
{
	u64 e = get_entry(s, ITS_COLLECTIONS, icid);

	return (struct its_collection){ e & 1, e >> CTE_CPU_SHIFT };
}

bool its_collection_set(struct gicv3_its *s, u32 icid, const struct its_collection *c)
{
	return set_entry(s, ITS_COLLECTIONS, icid, c->valid ? 1 | (u64)c->cpu << CTE_CPU_SHIFT : 0);
}

struct its_interrupt its_interrupt_get(struct gicv3_its *s, const struct its_device *d, u32 event)
{
	struct its_interrupt none = { 0 };
	u64 e;

	if (!d->valid || event >> d->event_bits ||
	    !read_le64(s, d->itt + (u64)event * ITS_ITE_SIZE, &e))
		return none;
	return (struct its_interrupt){ (e & 1) && e & ITE_PHYSICAL, e >> ITE_INTID_SHIFT & 0xffffff,
				       e >> ITE_ICID_SHIFT };
}

bool its_interrupt_set(struct gicv3_its *s, const struct its_device *d, u32 event,
		       const struct its_interrupt *i)
{
	struct {
		u64 low;
		u32 high;
	} __attribute__((packed)) e = { 0 };

	if (i->valid) {
		e.low = GUINT64_TO_LE(1 | ITE_PHYSICAL | (u64)i->intid << ITE_INTID_SHIFT |
				      (u64)i->icid << ITE_ICID_SHIFT);
		e.high = GUINT32_TO_LE(ITE_NO_DOORBELL);
	}
	return d->valid && !(event >> d->event_bits) &&
	       write_bytes(s, d->itt + (u64)event * ITS_ITE_SIZE, &e, sizeof(e));
}

struct gicv3_cpu *its_lookup(struct gicv3_its *s, u32 device, u32 event, struct its_interrupt *i)
{
	struct its_device d = its_device_get(s, device);
	struct its_collection c;

	*i = its_interrupt_get(s, &d, event);
	if (!i->valid)
		return NULL;
	c = its_collection_get(s, i->icid);
	return c.valid && c.cpu < s->gic->num_cpu ? &s->gic->cpu[c.cpu] : NULL;
}

void its_lpi_set(struct gicv3_cpu *c, u32 intid, bool pending)
{
	g_mutex_lock(&c->gic->lock);
	gic_lpi_set(c, intid, pending);
	gic_update(c);
	g_mutex_unlock(&c->gic->lock);
}
