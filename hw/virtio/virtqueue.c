/*
 * hw/virtio/virtqueue.c - split virtqueues: taking chains from a ring and returning them.
 *
 * Source: Virtio 1.2, 2.6 and 2.7; layouts are those of <linux/virtio_ring.h>.
 */
#include "hw/virtio/virtqueue.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "hw/virtio/virtio.h"
#include "util/error.h"

#include <linux/virtio_ring.h>

_Static_assert(sizeof(struct vring_desc) == 16, "2.7.5");
_Static_assert(sizeof(struct vring_used_elem) == 8, "2.7.8");
_Static_assert(offsetof(struct vring_used, ring) == 4, "2.7.8");

#define AREA_DESC_SIZE(num)  (16ull * (num))
#define AREA_AVAIL_SIZE(num) (6ull + 2ull * (num)) /* with used_event, 2.7.6 */
#define AREA_USED_SIZE(num)  (6ull + 8ull * (num)) /* with avail_event, 2.7.8 */

/* Pieces of one chain while it is being read. */
struct gather {
	struct virtqueue *vq;
	unsigned out_num, num; /* the first out_num are readable, the rest writable */
	u64 out_len, in_len;
	struct iovec iov[VIRTQUEUE_MAX_SIZE];
	struct virtq_place place[VIRTQUEUE_MAX_SIZE];
	u64 gpa[VIRTQUEUE_MAX_SIZE];
};

static struct address_space *vq_memory(const struct virtqueue *vq)
{
	return vq->vdev->dev.machine->vm->memory;
}

static struct vring_avail *vq_avail(const struct virtqueue *vq)
{
	return (struct vring_avail *)vq->avail.host;
}

static struct vring_used *vq_used(const struct virtqueue *vq)
{
	return (struct vring_used *)vq->used.host;
}

/* Entry @vq->num of the available ring is used_event, of the used ring avail_event. */
static __virtio16 *vq_used_event(const struct virtqueue *vq)
{
	return &vq_avail(vq)->ring[vq->num];
}

static __virtio16 *vq_avail_event(const struct virtqueue *vq)
{
	return (__virtio16 *)&vq_used(vq)->ring[vq->num];
}

static u16 load_le16(const __virtio16 *p)
{
	return GUINT16_FROM_LE(__atomic_load_n(p, __ATOMIC_ACQUIRE));
}

/* A 16-bit field of the used ring; what was written before is visible before it. */
static void used_store16(struct virtqueue *vq, __virtio16 *p, u16 value)
{
	__atomic_store_n(p, GUINT16_TO_LE(value), __ATOMIC_RELEASE);
	memory_mark_dirty(vq->used.block, vq->used.offset + ((u8 *)p - vq->used.host), 2);
}

static bool area_map(struct virtqueue *vq, struct virtq_area *a, u64 gpa, u64 size, bool write)
{
	u64 len = size;

	a->host = address_space_ram(vq_memory(vq), gpa, &len, write, &a->block, &a->offset);
	return a->host && len >= size;
}

/* Look the rings up on the host, again whenever the memory map has changed. */
static bool vq_map(struct virtqueue *vq)
{
	u64 generation = vq->vdev->map_generation;

	if (likely(vq->map_generation == generation))
		return true;
	if (!area_map(vq, &vq->desc, vq->desc_gpa, AREA_DESC_SIZE(vq->num), false) ||
	    !area_map(vq, &vq->avail, vq->avail_gpa, AREA_AVAIL_SIZE(vq->num), false) ||
	    !area_map(vq, &vq->used, vq->used_gpa, AREA_USED_SIZE(vq->num), true))
		return false;
	vq->map_generation = generation;
	return true;
}

/* Whether the rings may be touched now. */
static bool vq_usable(struct virtqueue *vq)
{
	if (unlikely(vq->vdev->broken || !vq->ready))
		return false;
	if (likely(vq_map(vq)))
		return true;
	virtio_error(vq->vdev,
		     "queue %u: rings at %#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 " are not in RAM",
		     vq->index, vq->desc_gpa, vq->avail_gpa, vq->used_gpa);
	return false;
}

static bool gather_fail(struct gather *g, const char *what, u64 value)
{
	virtio_error(g->vq->vdev, "queue %u: %s (%#" PRIx64 ")", g->vq->index, what, value);
	return false;
}

static bool gather_buffer(struct gather *g, u64 gpa, u32 len, bool write)
{
	if (!write && g->num > g->out_num)
		return gather_fail(g, "readable descriptor after a writable one", gpa);
	if (gpa + len < gpa)
		return gather_fail(g, "buffer wraps around the address space", gpa);
	*(write ? &g->in_len : &g->out_len) += len;
	if (g->in_len + g->out_len > UINT32_MAX)
		return gather_fail(g, "chain is longer than 4 GiB", g->in_len + g->out_len);
	while (len) {
		struct virtq_place *place = &g->place[g->num];
		u64 n = len;
		u8 *host;

		if (g->num == VIRTQUEUE_MAX_SIZE)
			return gather_fail(g, "too many buffers in a chain", g->num);
		host = address_space_ram(vq_memory(g->vq), gpa, &n, write, &place->block,
					 &place->offset);
		if (!host)
			return gather_fail(g, "buffer is not in RAM", gpa);
		g->gpa[g->num] = gpa;
		g->iov[g->num++] = (struct iovec){ host, n };
		if (!write)
			g->out_num = g->num;
		gpa += n;
		len -= n;
	}
	return true;
}

static bool gather_table(struct gather *g, const struct vring_desc *table, unsigned size,
			 unsigned i, bool indirect);

static bool gather_indirect(struct gather *g, u64 gpa, u32 len, u16 flags)
{
	u64 n = len;
	const void *table;

	if (!virtio_has_feature(g->vq->vdev, VIRTIO_RING_F_INDIRECT_DESC))
		return gather_fail(g, "indirect descriptor without the feature", gpa);
	if (flags & VRING_DESC_F_NEXT)
		return gather_fail(g, "indirect descriptor with NEXT", flags);
	if (!len || len % sizeof(struct vring_desc) ||
	    len / sizeof(struct vring_desc) > VIRTQUEUE_MAX_SIZE)
		return gather_fail(g, "bad size of an indirect table", len);
	table = address_space_ram(vq_memory(g->vq), gpa, &n, false, NULL, NULL);
	if (!table || n < len)
		return gather_fail(g, "indirect table is not in RAM", gpa);
	return gather_table(g, table, len / sizeof(struct vring_desc), 0, true);
}

/* Follow a chain through @table of @size descriptors, from @i. Counting steps bounds loops. */
static bool gather_table(struct gather *g, const struct vring_desc *table, unsigned size,
			 unsigned i, bool indirect)
{
	for (unsigned steps = 0; steps < size; steps++) {
		/* One copy: the guest may change the table while it is being checked. */
		struct vring_desc desc;
		u64 gpa;
		u32 len;
		u16 flags;

		memcpy(&desc, &table[i], sizeof(desc));
		gpa = GUINT64_FROM_LE(desc.addr);
		len = GUINT32_FROM_LE(desc.len);
		flags = GUINT16_FROM_LE(desc.flags);
		if (flags & VRING_DESC_F_INDIRECT) {
			if (indirect)
				return gather_fail(g, "nested indirect descriptor", gpa);
			return gather_indirect(g, gpa, len, flags);
		}
		if (!gather_buffer(g, gpa, len, flags & VRING_DESC_F_WRITE))
			return false;
		if (!(flags & VRING_DESC_F_NEXT))
			return true;
		i = GUINT16_FROM_LE(desc.next);
		if (i >= size)
			return gather_fail(g, "next descriptor beyond the table", i);
	}
	return gather_fail(g, "descriptors form a loop", i);
}

static void gather_init(struct gather *g, struct virtqueue *vq)
{
	g->vq = vq;
	g->out_num = g->num = 0;
	g->out_len = g->in_len = 0;
}

/* One allocation: the header, then iov[num], gpa[num], in_place[in_num]. */
static struct virtqueue_elem *elem_new(const struct gather *g, u16 head)
{
	unsigned in_num = g->num - g->out_num;
	size_t iov_size = g->num * sizeof(g->iov[0]), gpa_size = g->num * sizeof(g->gpa[0]);
	size_t place_size = in_num * sizeof(g->place[0]);
	struct virtqueue_elem *elem = g_malloc(sizeof(*elem) + iov_size + gpa_size + place_size);

	*elem = (struct virtqueue_elem){
		.head = head,
		.out_num = g->out_num,
		.in_num = in_num,
		.out_len = g->out_len,
		.in_len = g->in_len,
		.out = (struct iovec *)(elem + 1),
	};
	elem->in = elem->out + g->out_num;
	elem->gpa = (u64 *)(elem->out + g->num);
	elem->in_place = (struct virtq_place *)(elem->gpa + g->num);
	memcpy(elem->out, g->iov, iov_size);
	memcpy(elem->gpa, g->gpa, gpa_size);
	memcpy(elem->in_place, &g->place[g->out_num], place_size);
	return elem;
}

struct virtqueue_elem *virtqueue_elem_remap(struct virtqueue *vq, u16 head, const u64 *gpa,
					    const u32 *len, unsigned out_num, unsigned in_num)
{
	struct gather g;

	gather_init(&g, vq);
	for (unsigned i = 0; i < out_num + in_num; i++)
		if (!gather_buffer(&g, gpa[i], len[i], i >= out_num))
			return NULL;
	return elem_new(&g, head);
}

/* Chains that the driver offers and that were not taken; 0 too if its index is impossible. */
static unsigned vq_pending(struct virtqueue *vq)
{
	u16 pending = load_le16(&vq_avail(vq)->idx) - vq->last_avail;

	if (likely(pending <= vq->num))
		return pending;
	virtio_error(vq->vdev, "queue %u: available index moved by %u with %u entries", vq->index,
		     pending, vq->num);
	return 0;
}

bool virtqueue_empty(struct virtqueue *vq)
{
	return !vq_usable(vq) || !vq_pending(vq);
}

struct virtqueue_elem *virtqueue_pop(struct virtqueue *vq)
{
	struct gather g;
	u16 head;

	if (virtqueue_empty(vq))
		return NULL;
	if (vq->inuse >= vq->num) {
		virtio_error(vq->vdev, "queue %u: more chains in flight than its %u entries",
			     vq->index, vq->num);
		return NULL;
	}
	head = load_le16(&vq_avail(vq)->ring[vq->last_avail % vq->num]);
	if (head >= vq->num) {
		virtio_error(vq->vdev, "queue %u: available descriptor %u of %u", vq->index, head,
			     vq->num);
		return NULL;
	}
	gather_init(&g, vq);
	if (!gather_table(&g, (struct vring_desc *)vq->desc.host, vq->num, head, false))
		return NULL;
	vq->last_avail++;
	vq->inuse++;
	return elem_new(&g, head);
}

void virtqueue_fill(struct virtqueue *vq, struct virtqueue_elem *elem, u32 len, unsigned n)
{
	if (vq_usable(vq)) {
		u16 slot = (u16)(vq->used_idx + n) % vq->num;
		struct vring_used_elem *used = &vq_used(vq)->ring[slot];

		used->id = GUINT32_TO_LE(elem->head);
		used->len = GUINT32_TO_LE(len);
		memory_mark_dirty(vq->used.block, vq->used.offset + ((u8 *)used - vq->used.host),
				  sizeof(*used));
	}
	g_free(elem);
}

void virtqueue_flush(struct virtqueue *vq, unsigned n)
{
	u16 old = vq->used_idx, now = old + n;

	vq->inuse -= n;
	if (!vq_usable(vq))
		return;
	vq->used_idx = now;
	used_store16(vq, &vq_used(vq)->idx, now);
	/* Went round past the entry signalled last: vring_need_event() could not tell. */
	if ((u16)(now - vq->signalled_used) < (u16)(now - old))
		vq->signalled_used_valid = false;
}

void virtqueue_push(struct virtqueue *vq, struct virtqueue_elem *elem, u32 len)
{
	virtqueue_fill(vq, elem, len, 0);
	virtqueue_flush(vq, 1);
}

void virtqueue_rewind(struct virtqueue *vq)
{
	vq->last_avail--;
	vq->inuse--;
}

void virtqueue_unpop(struct virtqueue *vq, struct virtqueue_elem *elem)
{
	virtqueue_rewind(vq);
	g_free(elem);
}

void virtqueue_detach(struct virtqueue *vq, struct virtqueue_elem *elem)
{
	vq->inuse--;
	g_free(elem);
}

void virtqueue_notify_off(struct virtqueue *vq)
{
	/* With event indexes the driver kicks at avail_event only, which stays where it is. */
	if (vq_usable(vq) && !virtio_has_feature(vq->vdev, VIRTIO_RING_F_EVENT_IDX))
		used_store16(vq, &vq_used(vq)->flags, VRING_USED_F_NO_NOTIFY);
}

bool virtqueue_notify_on(struct virtqueue *vq)
{
	if (!vq_usable(vq))
		return true;
	if (virtio_has_feature(vq->vdev, VIRTIO_RING_F_EVENT_IDX))
		used_store16(vq, vq_avail_event(vq), load_le16(&vq_avail(vq)->idx));
	else
		used_store16(vq, &vq_used(vq)->flags, 0);
	/* The driver publishes buffers, then reads our wish; we the other way round (2.7.10). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return !vq_pending(vq);
}

bool virtqueue_wants_interrupt(struct virtqueue *vq)
{
	u16 old = vq->signalled_used;
	bool valid = vq->signalled_used_valid;

	if (!vq_usable(vq))
		return false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* used index before the driver's wish */
	if (!virtio_has_feature(vq->vdev, VIRTIO_RING_F_EVENT_IDX))
		return !(load_le16(&vq_avail(vq)->flags) & VRING_AVAIL_F_NO_INTERRUPT);
	vq->signalled_used = vq->used_idx;
	vq->signalled_used_valid = true;
	return !valid || vring_need_event(load_le16(vq_used_event(vq)), vq->used_idx, old);
}

void virtqueue_reset(struct virtqueue *vq)
{
	vq->num = vq->num_max;
	vq->ready = false;
	vq->align = VIRTQUEUE_LEGACY_ALIGN;
	vq->desc_gpa = vq->avail_gpa = vq->used_gpa = 0;
	vq->last_avail = vq->used_idx = vq->signalled_used = 0;
	vq->signalled_used_valid = false;
	vq->inuse = 0;
	vq->map_generation = 0;
}

int virtqueue_load_done(struct virtqueue *vq, GError **err)
{
	const char *name = vq->vdev->dev.type->name;

	vq->map_generation = 0;
	vq->signalled_used_valid = false;
	if (!vq->ready)
		return 0;
	if (!vq_map(vq)) {
		error_set(err,
			  "%s queue %u: rings at %#" PRIx64 ", %#" PRIx64 ", %#" PRIx64
			  " are not in RAM",
			  name, vq->index, vq->desc_gpa, vq->avail_gpa, vq->used_gpa);
		return -EINVAL;
	}
	vq->used_idx = load_le16(&vq_used(vq)->idx);
	vq->inuse = (u16)(vq->last_avail - vq->used_idx);
	if (vq->inuse > vq->num) {
		error_set(err, "%s queue %u: %u chains in flight of %u (available %#x, used %#x)",
			  name, vq->index, vq->inuse, vq->num, vq->last_avail, vq->used_idx);
		return -EINVAL;
	}
	return 0;
}

/* Walks over the parts of an iovec that a byte range covers. */
struct span {
	const struct iovec *iov;
	unsigned n;    /* pieces */
	u64 skip, len; /* bytes before the range, bytes left of it */
	unsigned next;
	/* The part found: */
	unsigned piece;
	u64 at, size; /* bytes */
};

static bool span_next(struct span *s)
{
	for (; s->next < s->n && s->len; s->next++) {
		u64 size = s->iov[s->next].iov_len;

		if (s->skip >= size) {
			s->skip -= size;
			continue;
		}
		s->piece = s->next++;
		s->at = s->skip;
		s->size = MIN(size - s->skip, s->len);
		s->skip = 0;
		s->len -= s->size;
		return true;
	}
	return false;
}

static u8 *span_host(const struct span *s)
{
	return (u8 *)s->iov[s->piece].iov_base + s->at;
}

unsigned virtq_iov_slice(const struct iovec *iov, unsigned n, u64 offset, u64 len,
			 struct iovec *out)
{
	struct span s = { .iov = iov, .n = n, .skip = offset, .len = len };
	unsigned made = 0;

	while (span_next(&s))
		out[made++] = (struct iovec){ span_host(&s), s.size };
	return made;
}

u64 virtq_elem_read(const struct virtqueue_elem *elem, u64 offset, void *buf, u64 len)
{
	struct span s = { .iov = elem->out, .n = elem->out_num, .skip = offset, .len = len };
	u64 done = 0;

	while (span_next(&s)) {
		memcpy((u8 *)buf + done, span_host(&s), s.size);
		done += s.size;
	}
	return done;
}

u64 virtq_elem_write(const struct virtqueue_elem *elem, u64 offset, const void *buf, u64 len)
{
	struct span s = { .iov = elem->in, .n = elem->in_num, .skip = offset, .len = len };
	u64 done = 0;

	while (span_next(&s)) {
		const struct virtq_place *place = &elem->in_place[s.piece];

		memcpy(span_host(&s), (const u8 *)buf + done, s.size);
		memory_mark_dirty(place->block, place->offset + s.at, s.size);
		done += s.size;
	}
	return done;
}

void virtq_elem_mark_written(const struct virtqueue_elem *elem, u64 offset, u64 len)
{
	struct span s = { .iov = elem->in, .n = elem->in_num, .skip = offset, .len = len };

	while (span_next(&s)) {
		const struct virtq_place *place = &elem->in_place[s.piece];

		memory_mark_dirty(place->block, place->offset + s.at, s.size);
	}
}

void virtqueue_legacy_layout(struct virtqueue *vq)
{
	vq->avail_gpa = vq->desc_gpa + 16ull * vq->num;
	vq->used_gpa = ROUND_UP(vq->avail_gpa + 6 + 2ull * vq->num, (u64)vq->align);
}
