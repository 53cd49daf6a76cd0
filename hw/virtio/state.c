/*
 * hw/virtio/state.c - virtio devices in the migration stream.
 *
 * The layout is the one QEMU uses: read off streams that qemu-system-aarch64 7.2 wrote for each
 * device on a virtio-mmio bus. Every section is one field, "virtio": transport, common state,
 * queues, the device's own part, then subsections of a table named "virtio".
 */
#include "hw/virtio/virtio.h"

#include "util/error.h"

#include <linux/virtio_config.h>

#define WIRE_ELEM_PIECES 1024 /* slots for addresses and lengths of a chain, either direction */

/* ---- Subsections -------------------------------------------------------------------------- */

static bool needs_64bit_features(void *obj)
{
	return ((struct virtio_device *)obj)->host_features >> 32;
}

static const struct state_field features_fields[] = { { .name = "guest_features",
							.type = STATE_U64,
							.size = sizeof(u64),
							.offset = offsetof(struct virtio_device,
									   features) },
						      FIELD_END };

static const struct state_desc features_state = {
	.name = "virtio/64bit_features",
	.version = 1,
	.min_version = 1,
	.fields = features_fields,
	.needed = needs_64bit_features,
};

/* Addresses of the driver and device area for all the queues there could be. */
static int rings_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	struct virtio_device *vdev = field;

	for (unsigned i = 0; i < VIRTIO_QUEUE_MAX; i++) {
		state_put_be64(w, i < vdev->nqueues ? vdev->vqs[i].avail_gpa : 0);
		state_put_be64(w, i < vdev->nqueues ? vdev->vqs[i].used_gpa : 0);
	}
	return 0;
}

static int rings_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	struct virtio_device *vdev = field;

	for (unsigned i = 0; i < VIRTIO_QUEUE_MAX; i++) {
		u64 avail = state_get_be64(r), used = state_get_be64(r);

		if (i < vdev->nqueues) {
			vdev->vqs[i].avail_gpa = avail;
			vdev->vqs[i].used_gpa = used;
		}
	}
	return 0;
}

static const struct state_codec rings_codec = { "vq", rings_save, rings_load };

static bool needs_rings(void *obj)
{
	return ((struct virtio_device *)obj)->host_features >> VIRTIO_F_VERSION_1 & 1;
}

static const struct state_field rings_fields[] = { { .name = "vq",
						     .type = STATE_CUSTOM,
						     .size = sizeof(struct virtio_device),
						     .codec = &rings_codec },
						   FIELD_END };

static const struct state_desc rings_state = {
	.name = "virtio/virtqueues",
	.version = 1,
	.min_version = 1,
	.fields = rings_fields,
	.needed = needs_rings,
};

static int sizes_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	struct virtio_device *vdev = field;

	for (unsigned i = 0; i < VIRTIO_QUEUE_MAX; i++)
		state_put_be32(w, i < vdev->nqueues ? vdev->vqs[i].num_max : 0);
	return 0;
}

/* The sizes that the source offered: a driver that negotiates again after a reset finds them. */
static int sizes_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	struct virtio_device *vdev = field;

	for (unsigned i = 0; i < VIRTIO_QUEUE_MAX; i++) {
		u32 num = state_get_be32(r);

		if (i >= vdev->nqueues)
			continue;
		if (!IS_POW2(num) || num > VIRTQUEUE_MAX_SIZE) {
			error_set(err, "%s queue %u: default size %u", vdev->dev.type->name, i,
				  num);
			return -EINVAL;
		}
		vdev->vqs[i].num_max = num;
	}
	return 0;
}

static const struct state_codec sizes_codec = { "vq", sizes_save, sizes_load };

static bool needs_sizes(void *obj)
{
	const struct virtio_device *vdev = obj;

	for (unsigned i = 0; i < vdev->nqueues; i++)
		if (vdev->vqs[i].num != vdev->vqs[i].num_max)
			return true;
	return false;
}

static const struct state_field sizes_fields[] = { { .name = "vq",
						     .type = STATE_CUSTOM,
						     .size = sizeof(struct virtio_device),
						     .codec = &sizes_codec },
						   FIELD_END };

static const struct state_desc sizes_state = {
	.name = "virtio/ringsize",
	.version = 1,
	.min_version = 1,
	.fields = sizes_fields,
	.needed = needs_sizes,
};

static bool needs_broken(void *obj)
{
	return ((struct virtio_device *)obj)->broken;
}

static const struct state_field broken_fields[] = { FIELD_BOOL(struct virtio_device, broken),
						    FIELD_END };

static const struct state_desc broken_state = {
	.name = "virtio/broken",
	.version = 1,
	.min_version = 1,
	.fields = broken_fields,
	.needed = needs_broken,
};

static int extra_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	struct virtio_device *vdev = field;

	return state_save_nested(w, vdev->bus->ops->extra_state, vdev->bus->dev, err);
}

static int extra_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	struct virtio_device *vdev = field;

	if (!vdev->bus->ops->extra_state) {
		error_set(err, "%s: the transport has no extra state", vdev->dev.type->name);
		return -EINVAL;
	}
	return state_load_nested(r, vdev->bus->ops->extra_state, vdev->bus->dev, version, err);
}

static const struct state_codec extra_codec = { "virtio_extra", extra_save, extra_load };

static bool needs_extra(void *obj)
{
	const struct virtio_device *vdev = obj;
	const struct state_desc *extra = vdev->bus->ops->extra_state;

	return extra && (!extra->needed || extra->needed(vdev->bus->dev));
}

static const struct state_field extra_fields[] = { { .name = "extra_state",
						     .type = STATE_CUSTOM,
						     .size = sizeof(struct virtio_device),
						     .codec = &extra_codec },
						   FIELD_END };

static const struct state_desc extra_state = {
	.name = "virtio/extra_state",
	.version = 1,
	.min_version = 1,
	.fields = extra_fields,
	.needed = needs_extra,
};

/* Follows from the status; sent because QEMU's side looks at it alone. */
static int started_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	state_put_u8(w, 1);
	return 0;
}

static int started_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	state_get_u8(r);
	return 0;
}

static const struct state_codec started_codec = { "bool", started_save, started_load };

static bool needs_started(void *obj)
{
	return ((struct virtio_device *)obj)->status & VIRTIO_CONFIG_S_DRIVER_OK;
}

static const struct state_field started_fields[] = { { .name = "started",
						       .type = STATE_CUSTOM,
						       .size = sizeof(struct virtio_device),
						       .codec = &started_codec },
						     FIELD_END };

static const struct state_desc started_state = {
	.name = "virtio/started",
	.version = 1,
	.min_version = 1,
	.fields = started_fields,
	.needed = needs_started,
};

static const struct state_field no_fields[] = { FIELD_END };

static const struct state_desc *const core_subsections[] = {
	&features_state, &rings_state,   &sizes_state, &broken_state,
	&extra_state,    &started_state, NULL
};

static const struct state_desc core_state = {
	.name = "virtio",
	.version = 1,
	.min_version = 1,
	.fields = no_fields,
	.subsections = core_subsections,
};

/* ---- The field ----------------------------------------------------------------------------- */

static void queues_save(struct state_writer *w, const struct virtio_device *vdev)
{
	state_put_be32(w, vdev->nqueues);
	for (unsigned i = 0; i < vdev->nqueues; i++) {
		const struct virtqueue *vq = &vdev->vqs[i];

		state_put_be32(w, vq->num);
		if (vdev->bus->ops->saves_align)
			state_put_be32(w, vq->align);
		state_put_be64(w, vq->desc_gpa);
		state_put_be16(w, vq->last_avail);
		if (vdev->bus->ops->save_queue)
			vdev->bus->ops->save_queue(&vdev->vqs[i], w);
	}
}

static int queues_load(struct state_reader *r, struct virtio_device *vdev, GError **err)
{
	u32 n = state_get_be32(r);

	if (n > vdev->nqueues) {
		error_set(err, "%s: the source has %u queues, this device %u", vdev->dev.type->name,
			  n, vdev->nqueues);
		return -EINVAL;
	}
	for (unsigned i = 0; i < n; i++) {
		struct virtqueue *vq = &vdev->vqs[i];
		u32 num = state_get_be32(r);
		u32 align = vdev->bus->ops->saves_align ? state_get_be32(r) : vq->align;

		if (!IS_POW2(num) || num > VIRTQUEUE_MAX_SIZE || !IS_POW2(align)) {
			error_set(err,
				  "%s queue %u: size %u or alignment %u is not a power of two"
				  " in range",
				  vdev->dev.type->name, i, num, align);
			return -EINVAL;
		}
		vq->num = num;
		vq->align = align;
		vq->desc_gpa = state_get_be64(r);
		vq->last_avail = state_get_be16(r);
		vq->ready = vq->desc_gpa;
		if (vdev->bus->ops->load_queue)
			vdev->bus->ops->load_queue(vq, r);
	}
	return 0;
}

static int core_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	struct virtio_device *vdev = field;
	const struct virtio_class *cls = vdev->cls;
	int ret = 0;

	vdev->bus->ops->save_config(vdev->bus, w);
	state_put_u8(w, vdev->status);
	state_put_u8(w, vdev->isr);
	state_put_be16(w, vdev->queue_sel);
	state_put_be32(w, vdev->features);
	state_put_be32(w, vdev->config_size);
	state_put_buffer(w, vdev->config, vdev->config_size);
	queues_save(w, vdev);
	if (cls->save)
		ret = cls->save(vdev, w, err);
	return ret ?: state_save_nested(w, &core_state, vdev, err);
}

/* The sizes may differ: a version may have grown its configuration. It is read afresh anyway. */
static void config_load(struct state_reader *r, struct virtio_device *vdev)
{
	u32 len = state_get_be32(r), mine = MIN(len, vdev->config_size);

	state_get_buffer(r, vdev->config, mine);
	for (u32 i = mine; i < MIN(len, UINT16_MAX); i++)
		state_get_u8(r);
}

/* Everything was decoded: see whether it can be, then take it up. */
static int load_done(struct virtio_device *vdev, GError **err)
{
	u64 unknown = vdev->features & ~vdev->host_features;
	int ret;

	if (unknown) {
		error_set(err,
			  "%s: the guest uses features %#" PRIx64 " that are not offered here"
			  " (offered: %#" PRIx64 ")",
			  vdev->dev.type->name, unknown, vdev->host_features);
		return -EINVAL;
	}
	ret = vdev->bus->ops->load_done(vdev->bus, err);
	for (unsigned i = 0; !ret && i < vdev->nqueues; i++)
		ret = virtqueue_load_done(&vdev->vqs[i], err);
	if (!ret && vdev->cls->load_done)
		ret = vdev->cls->load_done(vdev, err);
	return ret;
}

static int core_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	struct virtio_device *vdev = field;
	int ret;

	virtio_device_reset(&vdev->dev);
	ret = vdev->bus->ops->load_config(vdev->bus, r, err);
	if (ret)
		return ret;
	vdev->status = state_get_u8(r);
	vdev->isr = state_get_u8(r);
	vdev->queue_sel = state_get_be16(r);
	vdev->features = state_get_be32(r);
	config_load(r, vdev);
	ret = queues_load(r, vdev, err);
	if (!ret && vdev->cls->load)
		ret = vdev->cls->load(vdev, r, version, err);
	if (!ret)
		ret = state_load_nested(r, &core_state, vdev, 1, err);
	return ret ?: load_done(vdev, err);
}

const struct state_codec virtio_state_codec = { "virtio", core_save, core_load };

const struct state_field virtio_state_fields[] = { VIRTIO_STATE_FIELD, FIELD_END };

/* ---- Chains in flight ----------------------------------------------------------------------- */

/*
 * On the wire a chain is the memory image of a structure on a 64-bit little-endian host: index,
 * numbers of readable and writable pieces, and room for the greatest number of guest addresses
 * and of iovecs, of which only the lengths mean something elsewhere.
 */
struct wire_iovec {
	u64 base, len;
};

struct wire_elem {
	u32 index, out_num, in_num, pad;
	u64 in_gpa[WIRE_ELEM_PIECES];
	u64 out_gpa[WIRE_ELEM_PIECES];
	struct wire_iovec in[WIRE_ELEM_PIECES];
	struct wire_iovec out[WIRE_ELEM_PIECES];
};

_Static_assert(sizeof(struct wire_elem) == 16 + 1024 * 48, "VirtQueueElement on the wire");

void virtio_elem_save(struct state_writer *w, const struct virtqueue_elem *elem)
{
	g_autofree struct wire_elem *wire = g_new0(struct wire_elem, 1);

	wire->index = GUINT32_TO_LE(elem->head);
	wire->out_num = GUINT32_TO_LE(elem->out_num);
	wire->in_num = GUINT32_TO_LE(elem->in_num);
	for (unsigned i = 0; i < elem->out_num; i++) {
		wire->out_gpa[i] = GUINT64_TO_LE(elem->gpa[i]);
		wire->out[i].len = GUINT64_TO_LE(elem->out[i].iov_len);
	}
	for (unsigned i = 0; i < elem->in_num; i++) {
		wire->in_gpa[i] = GUINT64_TO_LE(elem->gpa[elem->out_num + i]);
		wire->in[i].len = GUINT64_TO_LE(elem->in[i].iov_len);
	}
	state_put_buffer(w, wire, sizeof(*wire));
}

struct virtqueue_elem *virtio_elem_load(struct state_reader *r, struct virtqueue *vq, GError **err)
{
	g_autofree struct wire_elem *wire = g_new0(struct wire_elem, 1);
	u64 gpa[VIRTQUEUE_MAX_SIZE];
	u32 len[VIRTQUEUE_MAX_SIZE];
	struct virtqueue_elem *elem = NULL;
	u32 head, out_num, in_num;

	state_get_buffer(r, wire, sizeof(*wire));
	head = GUINT32_FROM_LE(wire->index);
	out_num = GUINT32_FROM_LE(wire->out_num);
	in_num = GUINT32_FROM_LE(wire->in_num);
	if (head < vq->num && out_num <= VIRTQUEUE_MAX_SIZE &&
	    in_num <= VIRTQUEUE_MAX_SIZE - out_num) {
		for (unsigned i = 0; i < out_num + in_num; i++) {
			unsigned in = i - out_num;

			gpa[i] = GUINT64_FROM_LE(i < out_num ? wire->out_gpa[i] : wire->in_gpa[in]);
			len[i] = GUINT64_FROM_LE(i < out_num ? wire->out[i].len : wire->in[in].len);
		}
		elem = virtqueue_elem_remap(vq, head, gpa, len, out_num, in_num);
	}
	if (!elem)
		error_set(err,
			  "%s queue %u: chain in flight at descriptor %u, %u + %u buffers, is"
			  " not one",
			  vq->vdev->dev.type->name, vq->index, head, out_num, in_num);
	return elem;
}
