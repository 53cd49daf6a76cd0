/*
 * accel/kvm/slots.c - memory slots follow the flat map of guest memory.
 *
 * After each change of the map the slots that it needs are computed anew, neighbours that are
 * contiguous in one block joined, and only the differences issued: each call is slow (it waits for
 * all vCPUs to leave the old slots).
 */
#include "accel/kvm/kvm.h"
#include "util/error.h"
#include "util/log.h"

#include <assert.h>

#define KVM_PAGE DIRTY_PAGE_SIZE
/* Below KVM_MEM_MAX_NR_PAGES, 2^31 - 1 (Linux include/linux/kvm_host.h), and a multiple of 64. */
#define SLOT_MAX_PAGES ((u64)1 << 30)

int kvm_slot_set(struct kvm_accel *kvm, const struct kvm_slot *slot, u64 npages, bool logging,
		 GError **err)
{
	struct kvm_userspace_memory_region r = {
		.slot = slot->id,
		.flags = (slot->readonly ? KVM_MEM_READONLY : 0) |
			 (logging ? KVM_MEM_LOG_DIRTY_PAGES : 0),
		.guest_phys_addr = slot->gpa,
		.memory_size = npages * KVM_PAGE,
		.userspace_addr = (u64)(uintptr_t)slot->block->host + slot->block_page * KVM_PAGE,
	};
	int ret = kvm_vm_ioctl(kvm, KVM_SET_USER_MEMORY_REGION, &r);

	if (ret < 0)
		error_set_errno(err, -ret,
				"KVM_SET_USER_MEMORY_REGION slot %u (0x%" PRIx64 ", 0x%" PRIx64
				" bytes of '%s', flags 0x%x)",
				slot->id, slot->gpa, npages * KVM_PAGE, slot->block->id, r.flags);
	return ret;
}

struct kvm_slot *kvm_slot_find(struct kvm_accel *kvm, u32 id)
{
	for (unsigned i = 0; i < kvm->slots->len; i++) {
		struct kvm_slot *s = g_ptr_array_index(kvm->slots, i);

		if (s->id == id)
			return s;
	}
	return NULL;
}

static int by_base(gconstpointer a, gconstpointer b)
{
	const struct flat_range *x = a, *y = b;

	return x->base < y->base ? -1 : x->base > y->base;
}

static bool same_slot(const struct kvm_slot *a, const struct kvm_slot *b)
{
	return a->gpa == b->gpa && a->npages == b->npages && a->block == b->block &&
	       a->block_page == b->block_page && a->readonly == b->readonly;
}

/* Appends a run of pages, joined to the slot before it where both are contiguous. */
static void append_run(GPtrArray *slots, struct kvm_slot run)
{
	struct kvm_slot *last = slots->len ? g_ptr_array_index(slots, slots->len - 1) : NULL;

	if (last && last->block == run.block && last->readonly == run.readonly &&
	    last->gpa + last->npages * KVM_PAGE == run.gpa &&
	    last->block_page + last->npages == run.block_page) {
		run.npages += last->npages;
		run.gpa = last->gpa;
		run.block_page = last->block_page;
		g_ptr_array_remove_index(slots, slots->len - 1);
	}
	while (run.npages) {
		struct kvm_slot *s = g_memdup2(&run, sizeof(run));

		s->npages = MIN(run.npages, SLOT_MAX_PAGES);
		g_ptr_array_add(slots, s);
		run.npages -= s->npages;
		run.block_page += s->npages;
		run.gpa += s->npages * KVM_PAGE;
	}
}

/* The slots that the map needs, by gpa. What fills no whole page stays with the address space. */
static GPtrArray *wanted_slots(struct kvm_accel *kvm)
{
	GPtrArray *slots = g_ptr_array_new_with_free_func(g_free);

	g_array_sort(kvm->ranges, by_base);
	for (unsigned i = 0; i < kvm->ranges->len; i++) {
		const struct flat_range *r = &g_array_index(kvm->ranges, struct flat_range, i);
		u64 first = ROUND_UP(r->base, KVM_PAGE);
		u64 end = ROUND_DOWN(r->base + r->size, KVM_PAGE);
		u64 offset = r->offset + (first - r->base);

		if (r->map->kind == MAP_MMIO || first >= end || !IS_ALIGNED(offset, KVM_PAGE))
			continue;
		append_run(slots, (struct kvm_slot){
					  .gpa = first,
					  .npages = (end - first) / KVM_PAGE,
					  .block = r->map->block,
					  .block_page = offset / KVM_PAGE,
					  .readonly = r->map->kind != MAP_RAM ||
						      r->map->block->flags & RAM_READONLY,
				  });
	}
	return slots;
}

static const struct kvm_slot *find_same(GPtrArray *slots, const struct kvm_slot *like)
{
	for (unsigned i = 0; i < slots->len; i++)
		if (same_slot(g_ptr_array_index(slots, i), like))
			return g_ptr_array_index(slots, i);
	return NULL;
}

/* The slots that are to go; they stay owned by kvm->slots. */
static GPtrArray *doomed_slots(struct kvm_accel *kvm, GPtrArray *wanted)
{
	GPtrArray *doomed = g_ptr_array_new();

	for (unsigned i = 0; i < kvm->slots->len; i++)
		if (!find_same(wanted, g_ptr_array_index(kvm->slots, i)))
			g_ptr_array_add(doomed, g_ptr_array_index(kvm->slots, i));
	return doomed;
}

/* No write that only the kernel knows of may go with its slot. vCPUs are paused. */
static void save_dirty_state(struct kvm_accel *kvm, GPtrArray *doomed)
{
	g_autoptr(GError) err = NULL;
	int ret = 0;

	if (kvm->dirty_mode == KVM_DIRTY_RING)
		ret = kvm_ring_sync_all(kvm, &err);
	for (unsigned i = 0; i < doomed->len; i++) {
		struct kvm_slot *s = g_ptr_array_index(doomed, i);

		if (!s->logging)
			continue;
		if (kvm->dirty_mode != KVM_DIRTY_RING && !ret)
			ret = kvm_log_slot_sync(kvm, s, &err);
		if (ret)
			dirty_map_set(&s->block->dirty, s->block_page, s->npages, DIRTY_ALL);
	}
	if (ret)
		log_warn("%s; the pages of slots that go count as written", err->message);
}

static int lowest_free_id(GPtrArray *slots)
{
	for (u32 id = 0;; id++) {
		unsigned i = 0;

		while (i < slots->len) {
			const struct kvm_slot *s = g_ptr_array_index(slots, i);

			if (s->present && s->id == id)
				break;
			i++;
		}
		if (i == slots->len)
			return id;
	}
}

/*
 * A slot made with the log on was seen to miss a write on one kernel; and its pages would start
 * out clean in KVM's eyes in either case. So it is made first and logged by a second call.
 */
static int add_slot(struct kvm_accel *kvm, struct kvm_slot *s, GError **err)
{
	int ret = kvm_slot_set(kvm, s, s->npages, false, err);

	if (!ret && kvm->logging && !s->readonly) {
		ret = kvm_slot_set(kvm, s, s->npages, true, err);
		s->logging = !ret;
	}
	return ret;
}

/* Deletes @doomed, creates what @wanted has beyond kvm->slots, and makes @wanted kvm->slots. */
static int replace_slots(struct kvm_accel *kvm, GPtrArray *doomed, GPtrArray *wanted, GError **err)
{
	GPtrArray *old = kvm->slots;
	int ret = 0;

	for (unsigned i = 0; i < doomed->len && !ret; i++)
		ret = kvm_slot_set(kvm, g_ptr_array_index(doomed, i), 0, false, err);
	for (unsigned i = 0; i < wanted->len; i++) {
		struct kvm_slot *s = g_ptr_array_index(wanted, i);
		const struct kvm_slot *have = find_same(old, s);

		if (have)
			*s = *have;
	}
	for (unsigned i = 0; i < wanted->len && !ret; i++) {
		struct kvm_slot *s = g_ptr_array_index(wanted, i);

		if (s->present)
			continue;
		s->id = lowest_free_id(wanted);
		ret = add_slot(kvm, s, err);
		s->present = !ret;
	}
	for (unsigned i = wanted->len; i-- > 0;)
		if (!((struct kvm_slot *)g_ptr_array_index(wanted, i))->present)
			g_ptr_array_remove_index(wanted, i);
	kvm->slots = wanted;
	g_ptr_array_unref(old);
	return ret;
}

static void listener_commit(struct as_listener *l)
{
	struct kvm_accel *kvm = container_of(l, struct kvm_accel, listener);
	GError *err = NULL;
	GPtrArray *wanted, *doomed;
	int ret;

	if (!kvm->ranges_changed)
		return;
	kvm->ranges_changed = false;
	wanted = wanted_slots(kvm);
	doomed = doomed_slots(kvm, wanted);
	/* Between the deletion of a slot and the creation of its successor the guest would find a
	 * hole, and code in it could not be fetched. */
	if (doomed->len) {
		kvm_pause(kvm);
		save_dirty_state(kvm, doomed);
	}
	g_rw_lock_writer_lock(&kvm->slots_lock);
	ret = replace_slots(kvm, doomed, wanted, &err);
	g_rw_lock_writer_unlock(&kvm->slots_lock);
	if (doomed->len)
		kvm_unpause(kvm);
	g_ptr_array_unref(doomed);
	if (!ret)
		return;
	if (kvm->nvcpus) {
		log_warn("%s", err->message);
		vm_request_stop(kvm->base.vm, RUN_STATE_INTERNAL_ERROR);
		g_error_free(err);
	} else if (!kvm->slot_error) {
		kvm->slot_error = err;
	} else {
		g_error_free(err);
	}
}

static void listener_add(struct as_listener *l, const struct flat_range *r)
{
	struct kvm_accel *kvm = container_of(l, struct kvm_accel, listener);

	g_array_append_val(kvm->ranges, *r);
	kvm->ranges_changed = true;
}

static void listener_del(struct as_listener *l, const struct flat_range *r)
{
	struct kvm_accel *kvm = container_of(l, struct kvm_accel, listener);

	for (unsigned i = 0; i < kvm->ranges->len; i++) {
		const struct flat_range *have = &g_array_index(kvm->ranges, struct flat_range, i);

		if (have->base == r->base && have->size == r->size && have->map == r->map &&
		    have->offset == r->offset) {
			g_array_remove_index_fast(kvm->ranges, i);
			kvm->ranges_changed = true;
			return;
		}
	}
	assert(!"a range that was never added is deleted");
}

void kvm_slots_init(struct kvm_accel *kvm)
{
	g_rw_lock_init(&kvm->slots_lock);
	kvm->slots = g_ptr_array_new_with_free_func(g_free);
	kvm->ranges = g_array_new(FALSE, FALSE, sizeof(struct flat_range));
	kvm->listener.add = listener_add;
	kvm->listener.del = listener_del;
	kvm->listener.commit = listener_commit;
	address_space_listen(kvm->base.vm->memory, &kvm->listener);
}

void kvm_slots_finish(struct kvm_accel *kvm)
{
	if (!kvm->slots)
		return;
	address_space_unlisten(kvm->base.vm->memory, &kvm->listener);
	g_ptr_array_unref(kvm->slots);
	g_array_unref(kvm->ranges);
	g_clear_error(&kvm->slot_error);
	g_rw_lock_clear(&kvm->slots_lock);
}
