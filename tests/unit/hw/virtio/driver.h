/*
 * tests/unit/hw/virtio/driver.h - a virtio driver that runs in a test: it owns a small machine with
 * virtio-mmio slots and talks to the devices in them through their registers and through rings in
 * guest memory, as a guest would.
 */
#ifndef TESTS_UNIT_HW_VIRTIO_DRIVER_H
#define TESTS_UNIT_HW_VIRTIO_DRIVER_H

#include "accel/vm.h"
#include "hw/machine.h"
#include "hw/virtio/virtio.h"

#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_mmio.h>
#include <linux/virtio_ring.h>

#define RAM_BYTES  (8 * MiB)
#define HOLE_GPA   (RAM_BYTES + MiB) /* nothing is there */
#define NSLOTS     4
#define QUEUE_SIZE 8

/* Which devices there are, and where they find their back ends: defined by each test. */
extern const struct device_type *const *const rig_devices[];
extern const struct machine_host rig_host;

/* A machine with RAM at 0 and empty slots. */
struct rig {
	struct vm *vm;
	struct machine *m;
	struct ramblock *ram;
	u64 next_gpa; /* of the bump allocator */
	u8 *before;   /* copy of RAM, see rig_watch() */
	bool irq[NSLOTS];
};

/* rig_new() - @legacy: version 1 of the transport. */
struct rig *rig_new(bool legacy);
void rig_free(struct rig *rig);

/* rig_add() - add a device from -device text into the next slot; asserts success. */
struct virtio_device *rig_add(struct rig *rig, const char *text);

/* rig_refuse() - the same must fail with a message that contains @want. */
void rig_refuse(struct rig *rig, const char *text, const char *want);

/* rig_run() - start or stop the VM. */
void rig_run(struct rig *rig, bool running);

/* rig_iterate() - run main loop sources until @done holds; asserts after 5 s. */
void rig_iterate(bool (*done)(void *opaque), void *opaque);

/* rig_alloc() - zeroed guest memory, 64-byte aligned. rig_at() - its host address. */
u64 rig_alloc(struct rig *rig, u64 len);
void *rig_at(struct rig *rig, u64 gpa);

/*
 * rig_watch(), rig_check() - see to it that every page that changes in between is reported dirty.
 *
 * Return (check): pages that changed.
 */
void rig_watch(struct rig *rig);
unsigned rig_check(struct rig *rig);

/* The driver's side of one device. */
struct drv {
	struct rig *rig;
	struct virtio_device *vdev;
	u64 base;
	unsigned slot;
};

struct drv_queue {
	struct drv *drv;
	unsigned index, num;
	u64 desc, avail, used;
	u16 next_desc, avail_idx, used_seen;
	bool event_idx;
};

u32 drv_read(struct drv *d, u64 off);
void drv_write(struct drv *d, u64 off, u32 value);

/* drv_probe() - reset, acknowledge and negotiate @features (with VERSION_1 on a modern slot). */
struct drv *drv_probe(struct rig *rig, struct virtio_device *vdev, u64 features);
void drv_free(struct drv *d);
void drv_ready(struct drv *d); /* sets DRIVER_OK */
bool drv_needs_reset(struct drv *d);

/* drv_queue() - set up queue @index with @num entries. */
struct drv_queue *drv_queue(struct drv *d, unsigned index, unsigned num);

/* One buffer of a chain. */
struct drv_buf {
	u64 gpa;
	u32 len;
	bool write;
};

/* drv_put_desc() - write one descriptor. */
void drv_put_desc(struct drv_queue *q, u16 i, u64 gpa, u32 len, u16 flags, u16 next);

/* drv_add() - make a chain of direct descriptors available. Return: its head. */
u16 drv_add(struct drv_queue *q, const struct drv_buf *bufs, unsigned n);
u16 drv_add_indirect(struct drv_queue *q, const struct drv_buf *bufs, unsigned n);
void drv_offer(struct drv_queue *q, u16 head); /* put a head into the available ring */
void drv_kick(struct drv_queue *q);

u16 drv_used_idx(struct drv_queue *q);
/* drv_take() - the next used chain; asserts that there is one. @len: bytes written. */
u16 drv_take(struct drv_queue *q, u32 *len);
bool drv_has_used(void *q); /* for rig_iterate() */

/* drv_request() - add, kick, wait, take; whatever changes must be dirty. Return: bytes written. */
u32 drv_request(struct drv_queue *q, const struct drv_buf *bufs, unsigned n);

/* rig_save(), rig_load() - every device's section; and from another rig's bytes. RAM is copied by
 * rig_copy_ram(). Return (load): 0 or -EINVAL with @err. */
GByteArray *rig_save(struct rig *rig);
int rig_load(struct rig *rig, const GByteArray *bytes, GError **err);
void rig_copy_ram(struct rig *to, const struct rig *from);

#endif
