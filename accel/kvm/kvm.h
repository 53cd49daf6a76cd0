/*
 * accel/kvm/kvm.h - the KVM accelerator: what its files share.
 *
 * Source: Linux Documentation/virt/kvm/api.rst.
 *
 * Locks, in the order of taking them: machine lock, ring_lock, slots_lock. None is held while a
 * vCPU thread is waited for, except that the machine lock's holder may pause vCPUs (they are then
 * out of KVM_RUN, perhaps waiting for that very lock).
 */
#ifndef ACCEL_KVM_KVM_H
#define ACCEL_KVM_KVM_H

#include "accel/accel.h"
#include "accel/kvm.h"
#include "accel/vcpu.h"
#include "memory/dirty-log.h"

#include <linux/kvm.h>
#include <pthread.h>

/* Newer than the oldest kernel headers that we build with. */
#ifndef KVM_CAP_DIRTY_LOG_RING_ACQ_REL
#define KVM_CAP_DIRTY_LOG_RING_ACQ_REL 223
#endif
#ifndef KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP
#define KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP 225
#endif
/* Headers from before an architecture had rings say 0. */
#if defined(__aarch64__) && KVM_DIRTY_LOG_PAGE_OFFSET == 0
#undef KVM_DIRTY_LOG_PAGE_OFFSET
#define KVM_DIRTY_LOG_PAGE_OFFSET 64
#endif

enum kvm_dirty_mode {
	KVM_DIRTY_LEGACY,               /* GET re-protects at once */
	KVM_DIRTY_MANUAL,               /* CLEAR re-protects */
	KVM_DIRTY_MANUAL_INITIALLY_SET, /* and enabling protects nothing */
	KVM_DIRTY_RING,
};

/* What -accel kvm and -machine asked for. */
struct kvm_options {
	char *device;
	enum kvm_dirty_mode dirty_mode;
	bool dirty_mode_auto;
	u64 ring_entries; /* 0: no ring */
	u64 batch_pages;  /* 0: adapt */
};

/* One memory slot: a run of guest physical pages that is contiguous in one block. */
struct kvm_slot {
	u32 id;
	u64 gpa; /* bytes */
	u64 npages;
	u64 block_page; /* first page in @block */
	struct ramblock *block;
	bool readonly;
	bool logging; /* KVM_MEM_LOG_DIRTY_PAGES is set */
	bool present; /* KVM has it */
};

struct kvm_vcpu;

struct kvm_accel {
	struct accel base;
	struct kvm_options opt;
	/* ioctl(2) that returns -errno; unit tests put their own here. */
	int (*ioctl)(int fd, unsigned long request, void *arg);
	int sys_fd, vm_fd;
	int run_size;    /* bytes of struct kvm_run's mapping */
	bool arch_ready; /* cpu_ops->kvm_init_vm() has run */

	/* vCPUs by index; the array is made for all that KVM allows, so that it never moves. */
	struct kvm_vcpu **vcpus;
	int max_vcpus, nvcpus; /* nvcpus: atomic */

	/* Slots by gpa; changed with the machine lock and slots_lock for writing. */
	GRWLock slots_lock;
	GPtrArray *slots;
	GArray *ranges; /* of struct flat_range: what the listener was told */
	bool ranges_changed;
	GError *slot_error; /* why a slot could not be set before the first vCPU; NULL */
	struct as_listener listener;

	/* Pause: vCPUs stay out of KVM_RUN while inhibit > 0. */
	int inhibit;  /* atomic; written under pause_lock */
	int watchers; /* atomic; threads that wait on pause_cond for vCPUs to leave */
	GMutex pause_lock;
	GCond pause_cond;

	/* Interrupt routing; guarded by the machine lock. */
	struct kvm_irq_routing *routing;
	u64 *gsi_used;
	unsigned max_gsi;

	/* Dirty tracking. */
	enum kvm_dirty_mode dirty_mode;
	bool logging;                 /* start() without stop(); slots_lock */
	u64 batch_pages;              /* atomic */
	struct dirty_log_stats stats; /* atomics */
	GMutex ring_lock;             /* harvest and the reset that belongs to it are one step */
	GThread *reaper;
	GMutex reaper_lock;
	GCond reaper_cond;
	bool reaper_quit, reaper_wanted;
	bool flush_before_harvest; /* vCPUs must leave the guest before rings are complete */
	bool ring_and_bitmap;      /* what the kernel writes for no vCPU is in slots' bitmaps */
	int ring_errno; /* a reset outside sync() failed; told by the next sync(); ring_lock */
};

/* Producer and consumer of one vCPU's dirty ring (api.rst, "8.29 KVM_CAP_DIRTY_LOG_RING"). */
struct kvm_ring {
	struct kvm_dirty_gfn *gfns; /* shared with the kernel; NULL: none */
	u32 entries;                /* power of two */
	u32 fetch;   /* next entry to harvest; counts on without wrapping at entries */
	u32 reset;   /* next entry that the kernel will reset */
	bool excess; /* it has overflowed, and may still count too many in use */
	/* Until it is repaired: entries were overwritten, ... */
	bool overflowed;
	bool stuck; /* ... also such as were harvested: how far the kernel is, is not known */
};

struct kvm_vcpu {
	struct vcpu *cpu;
	struct kvm_accel *kvm;
	int fd;
	pthread_t pthread;
	struct kvm_run *run;
	int in_run; /* atomic; inside KVM_RUN */
	u64 exits;  /* atomic; returns from KVM_RUN */
	struct kvm_ring ring;
	bool empty_full;    /* the last ring-full exit found nothing, ... */
	u32 empty_full_at;  /* ... at this fetch index; ring_lock */
	int reset_failures; /* in a row, at ring-full exits */
	bool started;       /* thread has set pthread and tid; vm->cpu_lock */
};

/* Adds to a counter that others read without locks. */
#define stat_add(kvm, field, n) __atomic_fetch_add(&(kvm)->stats.field, (u64)(n), __ATOMIC_RELAXED)

static inline struct kvm_accel *kvm_of(struct accel *a)
{
	return container_of(a, struct kvm_accel, base);
}

static inline struct kvm_vcpu *kvm_vcpu_of(struct vcpu *cpu)
{
	return cpu->accel_data;
}

static inline int kvm_vm_ioctl(struct kvm_accel *kvm, unsigned long request, void *arg)
{
	return kvm->ioctl(kvm->vm_fd, request, arg);
}

/* options.c */
int kvm_options_parse(struct kvm_options *opt, JsonObject *props, GError **err);
void kvm_options_finish(struct kvm_options *opt);
extern const char kvm_props_help[];
const char *kvm_dirty_mode_name(enum kvm_dirty_mode mode);

/* slots.c */
void kvm_slots_init(struct kvm_accel *kvm);
void kvm_slots_finish(struct kvm_accel *kvm);
/* kvm_slot_set() - issue KVM_SET_USER_MEMORY_REGION; npages 0 deletes. 0 or -errno with @err. */
int kvm_slot_set(struct kvm_accel *kvm, const struct kvm_slot *slot, u64 npages, bool logging,
		 GError **err);
/* kvm_slot_find() - by the kernel's slot number (address space 0); slots_lock held. */
struct kvm_slot *kvm_slot_find(struct kvm_accel *kvm, u32 id);

/* run.c */
int kvm_vcpu_create(struct accel *a, struct vcpu *cpu, GError **err);
void kvm_vcpu_destroy(struct accel *a, struct vcpu *cpu);
void kvm_vcpu_kick(struct accel *a, struct vcpu *cpu);
void kvm_kick_init(void);

/* pause.c */
/* kvm_pause(), kvm_unpause() - keep all vCPUs out of KVM_RUN; nests. Not on a vCPU inside
 * KVM_RUN; any lock that vCPUs take outside KVM_RUN may be held. */
void kvm_pause(struct kvm_accel *kvm);
void kvm_unpause(struct kvm_accel *kvm);
/* kvm_run_enter(), kvm_run_leave() - around KVM_RUN, on the vCPU's thread. */
void kvm_run_enter(struct kvm_vcpu *kv);
void kvm_run_leave(struct kvm_vcpu *kv);
/* kvm_flush_vcpus() - every vCPU that runs has left KVM_RUN once since the call. */
void kvm_flush_vcpus(struct kvm_accel *kvm);

/* irq.c */
int kvm_irq_init(struct kvm_accel *kvm, GError **err);
void kvm_irq_finish(struct kvm_accel *kvm);
void kvm_gsi_set(struct accel *a, unsigned gsi, bool level);
int kvm_irqfd_add(struct accel *a, unsigned gsi, int fd);
int kvm_irqfd_del(struct accel *a, unsigned gsi, int fd);
int kvm_msi_send(struct accel *a, u64 addr, u32 data);
int kvm_msi_route_add(struct accel *a, u64 addr, u32 data);
int kvm_msi_route_change(struct accel *a, unsigned gsi, u64 addr, u32 data);
void kvm_msi_route_del(struct accel *a, unsigned gsi);
int kvm_ioeventfd_add(struct accel *a, const struct ioeventfd *e);
int kvm_ioeventfd_del(struct accel *a, const struct ioeventfd *e);

/* dirty-log.c */
extern const struct dirty_log_ops kvm_log_ops;
int kvm_dirty_init(struct kvm_accel *kvm, GError **err);
/* kvm_log_slot_sync() - merge one slot's log; slots_lock held. */
int kvm_log_slot_sync(struct kvm_accel *kvm, const struct kvm_slot *slot, GError **err);
/* kvm_log_sync() - likewise all logged slots of @block, NULL: all; slots_lock not held. */
int kvm_log_sync(struct kvm_accel *kvm, struct ramblock *block, GError **err);
int kvm_log_start(void *backend, struct ramblock *block, bool *all_dirty, GError **err);
void kvm_log_stop(void *backend, struct ramblock *block);
void kvm_log_stats(void *backend, struct dirty_log_stats *out);
const char *kvm_log_mode(void *backend);

/* dirty-ring.c */
extern const struct dirty_log_ops kvm_ring_ops;
int kvm_ring_enable(struct kvm_accel *kvm, u64 entries, GError **err);
int kvm_ring_map(struct kvm_vcpu *kv, GError **err);
void kvm_ring_unmap(struct kvm_vcpu *kv);
void kvm_ring_finish(struct kvm_accel *kvm);
/* kvm_ring_full() - handle KVM_EXIT_DIRTY_RING_FULL. On the vCPU's thread, no locks held. */
int kvm_ring_full(struct kvm_vcpu *kv, GError **err);
/* kvm_ring_check() - after an exit: wake the reaper if the ring is half full. */
void kvm_ring_check(struct kvm_vcpu *kv);
/* kvm_ring_sync_all() - harvest and reset all rings. No ring_lock or slots_lock held. */
int kvm_ring_sync_all(struct kvm_accel *kvm, GError **err);

#endif
