/* tests/unit/accel/fake-kvm.c - a KVM without a kernel. */
#include "tests/unit/accel/fake-kvm.h"

#include "util/bitmap.h"

static struct fake_kvm *fake;

static int get_log(struct fake_kvm *f, struct kvm_dirty_log *log)
{
	size_t bytes = BITMAP_WORDS(f->npages[log->slot]) * sizeof(u64);

	f->gets++;
	memcpy(log->dirty_bitmap, f->bitmap[log->slot], bytes);
	if (f->get_clears)
		memset(f->bitmap[log->slot], 0, bytes);
	return 0;
}

static int clear_log(struct fake_kvm *f, struct kvm_clear_dirty_log *log)
{
	u64 *bits = log->dirty_bitmap, end = log->first_page + log->num_pages;

	f->clears++;
	f->last_clear = *log;
	f->largest_clear = MAX(f->largest_clear, log->num_pages);
	if (log->first_page % 64 || end > f->npages[log->slot] ||
	    (log->num_pages % 64 && end != f->npages[log->slot]))
		return -EINVAL;
	for (u64 i = 0; i < BITMAP_WORDS(log->num_pages); i++)
		f->bitmap[log->slot][log->first_page / 64 + i] &= ~bits[i];
	return 0;
}

static int reset_rings(struct fake_kvm *f)
{
	int n = 0;

	f->resets++;
	for (int i = 0; i < f->kvm.nvcpus; i++) {
		struct kvm_ring *r = &f->kvcpus[i].ring;

		for (;;) {
			struct kvm_dirty_gfn *e = &r->gfns[f->reset[i] & (r->entries - 1)];

			if (f->run && !f->kvm.inhibit)
				f->run(f);
			if (!(e->flags & KVM_DIRTY_GFN_F_RESET))
				break;
			/* It does not look, and calls the ring full for ever after this. */
			g_assert_cmpuint(f->reset[i], !=, f->push[i]);
			e->flags = 0;
			f->reset[i]++;
			if (f->protect)
				f->protect(f, e->slot, e->offset, 1);
			n++;
		}
	}
	f->protects += n;
	return n;
}

static int set_slot(struct fake_kvm *f, struct kvm_userspace_memory_region *r)
{
	f->toggles += r->flags != f->flags[r->slot];
	if (r->flags && !f->flags[r->slot] && f->protect)
		f->protect(f, r->slot, 0, f->npages[r->slot]);
	f->flags[r->slot] = r->flags;
	return 0;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	if (fake->fail_errno && fake->fail_request == request)
		return -fake->fail_errno;
	switch (request) {
	case KVM_GET_DIRTY_LOG: return get_log(fake, arg);
	case KVM_CLEAR_DIRTY_LOG: return clear_log(fake, arg);
	case KVM_RESET_DIRTY_RINGS: return reset_rings(fake);
	case KVM_SET_USER_MEMORY_REGION: return set_slot(fake, arg);
	default: g_assert_not_reached();
	}
}

struct fake_kvm *fake_kvm_create(u64 npages, int ncpus, u32 entries)
{
	struct fake_kvm *f = g_new0(struct fake_kvm, 1);
	struct kvm_accel *kvm = &f->kvm;

	fake = f;
	f->block = (struct ramblock){ .id = "ram", .used_size = npages * DIRTY_PAGE_SIZE };
	dirty_map_init(&f->block.dirty, npages);
	dirty_map_client_start(&f->block.dirty, DIRTY_MIGRATION, false);
	kvm->ioctl = fake_ioctl;
	kvm->base.vm = &f->vm;
	kvm->dirty_mode = KVM_DIRTY_MANUAL;
	kvm->batch_pages = 1 << 15;
	kvm->logging = true;
	kvm->slots = g_ptr_array_new_with_free_func(g_free);
	kvm->vcpus = f->vcpus;
	kvm->nvcpus = ncpus;
	for (int i = 0; i < ncpus; i++) {
		f->vcpus[i] = &f->kvcpus[i];
		f->cpus[i].index = i;
		f->kvcpus[i].cpu = &f->cpus[i];
		f->kvcpus[i].kvm = kvm;
		f->kvcpus[i].ring.entries = entries;
		f->kvcpus[i].ring.gfns = g_new0(struct kvm_dirty_gfn, entries);
	}
	return f;
}

void fake_kvm_destroy(struct fake_kvm *f)
{
	for (int i = 0; i < f->kvm.nvcpus; i++)
		g_free(f->kvcpus[i].ring.gfns);
	for (int i = 0; i < FAKE_SLOTS; i++)
		g_free(f->bitmap[i]);
	dirty_map_client_stop(&f->block.dirty, DIRTY_MIGRATION);
	dirty_map_finish(&f->block.dirty);
	g_ptr_array_unref(f->kvm.slots);
	g_free(f);
}

void fake_kvm_slot(struct fake_kvm *f, u32 id, u64 block_page, u64 npages)
{
	struct kvm_slot s = { .id = id,
			      .gpa = block_page * DIRTY_PAGE_SIZE,
			      .npages = npages,
			      .block_page = block_page,
			      .block = &f->block,
			      .logging = true,
			      .present = true };

	g_ptr_array_add(f->kvm.slots, g_memdup2(&s, sizeof(s)));
	f->bitmap[id] = g_new0(u64, BITMAP_WORDS(npages));
	f->npages[id] = npages;
	f->flags[id] = KVM_MEM_LOG_DIRTY_PAGES;
}

void fake_kvm_push(struct fake_kvm *f, int cpu, u32 slot, u64 offset)
{
	struct kvm_ring *r = &f->kvcpus[cpu].ring;

	r->gfns[f->push[cpu]++ & (r->entries - 1)] = (struct kvm_dirty_gfn){
		.flags = KVM_DIRTY_GFN_F_DIRTY, .slot = slot, .offset = offset
	};
}

u32 fake_kvm_used(const struct fake_kvm *f, int cpu)
{
	return f->push[cpu] - f->reset[cpu];
}
