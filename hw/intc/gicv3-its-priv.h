/*
 * hw/intc/gicv3-its-priv.h - the parts of the ITS. All of it runs under the machine lock.
 */
#ifndef HW_INTC_GICV3_ITS_PRIV_H
#define HW_INTC_GICV3_ITS_PRIV_H

#include "hw/intc/gicv3-priv.h"

#define ITS_DEVICE_BITS 16
#define ITS_ICID_BITS   16
#define ITS_ITE_SIZE    12

/* GITS_BASER<n>: what each table is for. */
enum its_table { ITS_DEVICES, ITS_COLLECTIONS, ITS_TABLES };

struct gicv3_its {
	struct device dev;
	struct gicv3 *gic;
	u64 base;
	struct mapping control, translation; /* frames of 64 KiB */

	/* Registers; names are those on the wire. */
	u32 ctlr, iidr;
	u64 cbaser, cwriter, creadr, baser[8];
};

#define GITS_CTLR_ENABLED   (1u << 0)
#define GITS_CREADR_STALLED 1

/* Entries as they are in the guest's tables. */
struct its_device {
	bool valid;
	unsigned event_bits;
	u64 itt; /* guest physical */
};
struct its_interrupt {
	bool valid;
	u32 intid;
	u16 icid;
};
struct its_collection {
	bool valid;
	u16 cpu;
};

/*
 * gicv3-its-tables.c: reading and writing entries. What is out of a table, or not in RAM, is not
 * there: reading gives an invalid entry, writing returns false.
 */
struct its_device its_device_get(struct gicv3_its *s, u32 id);
bool its_device_set(struct gicv3_its *s, u32 id, const struct its_device *d);
struct its_collection its_collection_get(struct gicv3_its *s, u32 icid);
bool its_collection_set(struct gicv3_its *s, u32 icid, const struct its_collection *c);
struct its_interrupt its_interrupt_get(struct gicv3_its *s, const struct its_device *d, u32 event);
bool its_interrupt_set(struct gicv3_its *s, const struct its_device *d, u32 event,
		       const struct its_interrupt *i);

/* its_lookup() - from device and event to interrupt and CPU. NULL: not mapped. */
struct gicv3_cpu *its_lookup(struct gicv3_its *s, u32 device, u32 event, struct its_interrupt *i);

/* its_lpi_set() - an LPI becomes pending or not, and the CPU is told. */
void its_lpi_set(struct gicv3_cpu *c, u32 intid, bool pending);

/* gicv3-its-commands.c: carry out what is in the queue between GITS_CREADR and GITS_CWRITER. */
void its_run_commands(struct gicv3_its *s);

#endif
