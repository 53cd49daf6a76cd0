/* tests/unit/hw/virtio/driver.c - a virtio driver that runs in a test. */
#include "tests/unit/hw/virtio/driver.h"

#include "hw/virtio/virtio-mmio.h"
#include "migration/registry.h"
#include "util/error.h"
#include "util/keyval.h"
#include "util/lock.h"
#include "util/main-loop.h"
#include "util/timer.h"

#define SLOTS_GPA 0x10000000

/* ---- Machine -------------------------------------------------------------------------------- */

struct rig_machine {
	struct machine m;
	struct rig *rig;
	struct mapping ram;
};

static int rig_init(struct machine *m, GError **err)
{
	for (unsigned i = 0; i < NSLOTS; i++)
		if (!virtio_mmio_create(m, SLOTS_GPA + i * VIRTIO_MMIO_SIZE, i, err))
			return -EINVAL;
	return 0;
}

static void rig_irq(struct machine *m, unsigned line, bool level)
{
	((struct rig_machine *)m)->rig->irq[line] = level;
}

static const struct machine_type rig_type = {
	.name = "rig",
	.desc = "slots for virtio devices",
	.default_ram_id = "rig.ram",
	.default_ram_size = RAM_BYTES,
	.max_cpus = 1,
	.instance_size = sizeof(struct rig_machine),
	.init = rig_init,
	.irq_set = rig_irq,
};

static const struct machine_type *const rig_machines[] = { &rig_type, NULL };
static const struct hw_target rig_target = {
	.name = "rig",
	.default_machine = "rig",
	.machines = rig_machines,
	.devices = rig_devices,
};

struct rig *rig_new(bool legacy)
{
	static const struct vm_owner owner;
	struct rig *rig = g_new0(struct rig, 1);
	struct ram_spec spec = { .id = "rig.ram", .size = RAM_BYTES, .fd = -1 };
	struct rig_machine *m;
	GError *err = NULL;

	if (!machine_lock_held())
		main_loop_init();
	rig->vm = vm_create(false, &owner);
	rig->ram = ram_create(rig->vm->ram, &spec, &err);
	g_assert_no_error(err);
	rig->m =
		machine_create(&rig_target, &rig_type, rig->vm, state_registry_create(), &rig_host);
	m = (struct rig_machine *)rig->m;
	m->rig = rig;
	m->ram = (struct mapping){
		.name = "ram", .size = RAM_BYTES, .kind = MAP_RAM, .block = rig->ram
	};
	address_space_map(rig->vm->memory, &m->ram);
	rig->m->opt.ram_size = RAM_BYTES;
	rig->next_gpa = 64 * KiB;
	if (legacy)
		machine_add_global(rig->m, "virtio-mmio", "force-legacy", "on", &err);
	g_assert_no_error(err);
	machine_init(rig->m, &err);
	g_assert_no_error(err);
	rig_run(rig, true);
	return rig;
}

void rig_free(struct rig *rig)
{
	struct state_registry *reg = rig->m->registry;

	address_space_unmap(rig->vm->memory, &((struct rig_machine *)rig->m)->ram);
	machine_destroy(rig->m);
	state_registry_destroy(reg);
	vm_destroy(rig->vm);
	g_free(rig->before);
	g_free(rig);
}

static struct device *add(struct rig *rig, const char *text, GError **err)
{
	JsonObject *opts = keyval_parse(text, "driver", err);
	struct device *dev;

	g_assert_nonnull(opts);
	dev = device_add(rig->m, opts, err);
	json_object_unref(opts);
	return dev;
}

struct virtio_device *rig_add(struct rig *rig, const char *text)
{
	GError *err = NULL;
	struct device *dev = add(rig, text, &err);

	g_assert_no_error(err);
	return container_of(dev, struct virtio_device, dev);
}

void rig_refuse(struct rig *rig, const char *text, const char *want)
{
	GError *err = NULL;

	g_assert_null(add(rig, text, &err));
	g_assert_nonnull(err);
	if (!strstr(err->message, want))
		g_error("'%s' lacks '%s'", err->message, want);
	g_error_free(err);
}

void rig_run(struct rig *rig, bool running)
{
	if (running)
		vm_start(rig->vm);
	else
		vm_stop(rig->vm, RUN_STATE_FINISH_MIGRATE);
}

void rig_iterate(bool (*done)(void *opaque), void *opaque)
{
	s64 end = clock_ns(CLOCK_TYPE_REALTIME) + 5 * NS_PER_S;

	while (!done(opaque)) {
		g_assert_cmpint(clock_ns(CLOCK_TYPE_REALTIME), <, end);
		if (!g_main_context_iteration(NULL, FALSE))
			g_usleep(200);
	}
}

u64 rig_alloc(struct rig *rig, u64 len)
{
	u64 gpa = rig->next_gpa;

	rig->next_gpa = ROUND_UP(gpa + len, 64);
	g_assert_cmpuint(rig->next_gpa, <=, RAM_BYTES);
	return gpa;
}

void *rig_at(struct rig *rig, u64 gpa)
{
	g_assert_cmpuint(gpa, <, RAM_BYTES);
	return rig->ram->host + gpa;
}

void rig_watch(struct rig *rig)
{
	struct dirty_map *map = &rig->ram->dirty;

	if (dirty_map_client_active(map, DIRTY_MIGRATION))
		dirty_map_client_stop(map, DIRTY_MIGRATION);
	dirty_map_client_start(map, DIRTY_MIGRATION, false);
	g_free(rig->before);
	rig->before = g_memdup2(rig->ram->host, RAM_BYTES);
}

unsigned rig_check(struct rig *rig)
{
	unsigned changed = 0;

	for (u64 page = 0; page < RAM_BYTES >> DIRTY_PAGE_BITS; page++) {
		u64 at = page << DIRTY_PAGE_BITS;

		if (!memcmp(rig->before + at, rig->ram->host + at, DIRTY_PAGE_SIZE))
			continue;
		changed++;
		if (!dirty_map_test(&rig->ram->dirty, DIRTY_MIGRATION, page))
			g_error("page %#" PRIx64 " changed and is not dirty", at);
	}
	return changed;
}

/* ---- Registers ------------------------------------------------------------------------------ */

u32 drv_read(struct drv *d, u64 off)
{
	enum mem_result result;
	u32 value = address_space_ld(d->rig->vm->memory, d->base + off, 4, &result);

	g_assert_cmpint(result, ==, MEM_OK);
	return value;
}

void drv_write(struct drv *d, u64 off, u32 value)
{
	g_assert_cmpint(address_space_st(d->rig->vm->memory, d->base + off, value, 4), ==, MEM_OK);
}

static void set_status(struct drv *d, u32 bit)
{
	drv_write(d, VIRTIO_MMIO_STATUS, drv_read(d, VIRTIO_MMIO_STATUS) | bit);
}

static void negotiate(struct drv *d, u64 features)
{
	if (d->vdev->bus->legacy) {
		drv_write(d, VIRTIO_MMIO_GUEST_PAGE_SIZE, 4096);
		drv_write(d, VIRTIO_MMIO_DRIVER_FEATURES, features);
		return;
	}
	features |= 1ull << VIRTIO_F_VERSION_1;
	for (unsigned i = 0; i < 2; i++) {
		drv_write(d, VIRTIO_MMIO_DRIVER_FEATURES_SEL, i);
		drv_write(d, VIRTIO_MMIO_DRIVER_FEATURES, features >> (32 * i));
	}
	set_status(d, VIRTIO_CONFIG_S_FEATURES_OK);
	g_assert_cmpuint(drv_read(d, VIRTIO_MMIO_STATUS) & VIRTIO_CONFIG_S_FEATURES_OK, !=, 0);
}

struct drv *drv_probe(struct rig *rig, struct virtio_device *vdev, u64 features)
{
	struct drv *d = g_new0(struct drv, 1);

	d->rig = rig;
	d->vdev = vdev;
	while (d->slot < NSLOTS) {
		d->base = SLOTS_GPA + d->slot * VIRTIO_MMIO_SIZE;
		if (drv_read(d, VIRTIO_MMIO_DEVICE_ID) == vdev->cls->id)
			break;
		d->slot++;
	}
	g_assert_cmpuint(d->slot, <, NSLOTS);
	drv_write(d, VIRTIO_MMIO_STATUS, 0);
	set_status(d, VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER);
	negotiate(d, features);
	return d;
}

void drv_free(struct drv *d)
{
	g_free(d);
}

void drv_ready(struct drv *d)
{
	set_status(d, VIRTIO_CONFIG_S_DRIVER_OK);
}

bool drv_needs_reset(struct drv *d)
{
	return drv_read(d, VIRTIO_MMIO_STATUS) & VIRTIO_CONFIG_S_NEEDS_RESET;
}

/* ---- Queues --------------------------------------------------------------------------------- */

static void write64(struct drv *d, u64 off, u64 value)
{
	drv_write(d, off, value);
	drv_write(d, off + 4, value >> 32);
}

static void place_rings(struct drv_queue *q)
{
	struct rig *rig = q->drv->rig;
	u64 avail = 16ull * q->num, used = ROUND_UP(avail + 6 + 2ull * q->num, 4096);

	rig->next_gpa = ROUND_UP(rig->next_gpa, 4096);
	q->desc = rig_alloc(rig, used + 6 + 8ull * q->num);
	q->avail = q->desc + avail;
	q->used = q->desc + used;
}

struct drv_queue *drv_queue(struct drv *d, unsigned index, unsigned num)
{
	struct drv_queue *q = g_new0(struct drv_queue, 1);

	q->drv = d;
	q->index = index;
	q->num = num;
	q->event_idx = virtio_has_feature(d->vdev, VIRTIO_RING_F_EVENT_IDX);
	place_rings(q);
	drv_write(d, VIRTIO_MMIO_QUEUE_SEL, index);
	g_assert_cmpuint(drv_read(d, VIRTIO_MMIO_QUEUE_NUM_MAX), >=, num);
	drv_write(d, VIRTIO_MMIO_QUEUE_NUM, num);
	if (d->vdev->bus->legacy) {
		drv_write(d, VIRTIO_MMIO_QUEUE_ALIGN, 4096);
		drv_write(d, VIRTIO_MMIO_QUEUE_PFN, q->desc >> 12);
		return q;
	}
	write64(d, VIRTIO_MMIO_QUEUE_DESC_LOW, q->desc);
	write64(d, VIRTIO_MMIO_QUEUE_AVAIL_LOW, q->avail);
	write64(d, VIRTIO_MMIO_QUEUE_USED_LOW, q->used);
	drv_write(d, VIRTIO_MMIO_QUEUE_READY, 1);
	return q;
}

void drv_put_desc(struct drv_queue *q, u16 i, u64 gpa, u32 len, u16 flags, u16 next)
{
	struct vring_desc *desc = rig_at(q->drv->rig, q->desc + 16ull * i);

	*desc = (struct vring_desc){
		.addr = GUINT64_TO_LE(gpa),
		.len = GUINT32_TO_LE(len),
		.flags = GUINT16_TO_LE(flags),
		.next = GUINT16_TO_LE(next),
	};
}

void drv_offer(struct drv_queue *q, u16 head)
{
	struct vring_avail *avail = rig_at(q->drv->rig, q->avail);

	avail->ring[q->avail_idx++ % q->num] = GUINT16_TO_LE(head);
	__atomic_store_n(&avail->idx, GUINT16_TO_LE(q->avail_idx), __ATOMIC_RELEASE);
}

u16 drv_add(struct drv_queue *q, const struct drv_buf *bufs, unsigned n)
{
	u16 head = q->next_desc % q->num;

	for (unsigned i = 0; i < n; i++) {
		u16 at = q->next_desc++ % q->num;

		drv_put_desc(q, at, bufs[i].gpa, bufs[i].len,
			     (bufs[i].write ? VRING_DESC_F_WRITE : 0) |
				     (i + 1 < n ? VRING_DESC_F_NEXT : 0),
			     q->next_desc % q->num);
	}
	drv_offer(q, head);
	return head;
}

u16 drv_add_indirect(struct drv_queue *q, const struct drv_buf *bufs, unsigned n)
{
	struct drv_queue table = *q;
	u16 head = q->next_desc++ % q->num;

	table.desc = rig_alloc(q->drv->rig, 16ull * n);
	for (unsigned i = 0; i < n; i++)
		drv_put_desc(&table, i, bufs[i].gpa, bufs[i].len,
			     (bufs[i].write ? VRING_DESC_F_WRITE : 0) |
				     (i + 1 < n ? VRING_DESC_F_NEXT : 0),
			     i + 1);
	drv_put_desc(q, head, table.desc, 16 * n, VRING_DESC_F_INDIRECT, 0);
	drv_offer(q, head);
	return head;
}

void drv_kick(struct drv_queue *q)
{
	drv_write(q->drv, VIRTIO_MMIO_QUEUE_NOTIFY, q->index);
}

u16 drv_used_idx(struct drv_queue *q)
{
	struct vring_used *used = rig_at(q->drv->rig, q->used);

	return GUINT16_FROM_LE(__atomic_load_n(&used->idx, __ATOMIC_ACQUIRE));
}

bool drv_has_used(void *opaque)
{
	struct drv_queue *q = opaque;

	return drv_used_idx(q) != q->used_seen;
}

u16 drv_take(struct drv_queue *q, u32 *len)
{
	struct vring_used *used = rig_at(q->drv->rig, q->used);
	struct vring_used_elem *e = &used->ring[q->used_seen % q->num];

	g_assert_true(drv_has_used(q));
	q->used_seen++;
	if (len)
		*len = GUINT32_FROM_LE(e->len);
	/* used_event, at the end of the available ring: interrupt at the next one. */
	*(u16 *)rig_at(q->drv->rig, q->avail + 4 + 2ull * q->num) = GUINT16_TO_LE(q->used_seen);
	return GUINT32_FROM_LE(e->id);
}

u32 drv_request(struct drv_queue *q, const struct drv_buf *bufs, unsigned n)
{
	u16 head = drv_add(q, bufs, n);
	u32 len;

	rig_watch(q->drv->rig);
	drv_kick(q);
	rig_iterate(drv_has_used, q);
	rig_check(q->drv->rig);
	g_assert_cmpuint(drv_take(q, &len), ==, head);
	return len;
}

/* ---- State ---------------------------------------------------------------------------------- */

GByteArray *rig_save(struct rig *rig)
{
	struct state_registry *reg = rig->m->registry;
	struct state_writer w;
	GByteArray *bytes;
	GError *err = NULL;

	state_writer_init(&w);
	for (guint i = 0; i < reg->entries->len; i++) {
		state_save_entry(&w, g_ptr_array_index(reg->entries, i), true, NULL, &err);
		g_assert_no_error(err);
	}
	bytes = g_byte_array_ref(w.buf);
	state_writer_finish(&w);
	return bytes;
}

int rig_load(struct rig *rig, const GByteArray *bytes, GError **err)
{
	struct state_reader r;
	int ret = 0;

	state_reader_init_memory(&r, bytes->data, bytes->len);
	while (!ret && !state_at_eof(&r)) {
		char name[256];
		struct state_entry *e;
		u32 section, instance, version;

		state_get_u8(&r);
		section = state_get_be32(&r);
		state_get_cstr8(&r, name);
		instance = state_get_be32(&r);
		version = state_get_be32(&r);
		e = state_registry_find(rig->m->registry, name, instance);
		if (!e)
			g_error("no section '%s' here", name);
		ret = state_load_entry(&r, e, version, section, true, err);
	}
	state_reader_finish(&r);
	return ret;
}

void rig_copy_ram(struct rig *to, const struct rig *from)
{
	memcpy(to->ram->host, from->ram->host, RAM_BYTES);
	to->next_gpa = from->next_gpa;
}
