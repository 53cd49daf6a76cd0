/*
 * accel/vcpu.h - a virtual CPU, and what an accelerator needs of its architecture.
 */
#ifndef ACCEL_VCPU_H
#define ACCEL_VCPU_H

#include "accel/accel.h"

#include <sys/types.h>

#define CORE_REGS_MAX 40

struct kvm_run;
struct cpu_debug_ops;
struct cpu_ops;
struct tcg_cpu;

struct vcpu {
	int index;
	struct vm *vm;
	const struct cpu_ops *ops;
	void *arch;       /* architectural state, owned by target/ */
	void *accel_data; /* owned by the accelerator */
	GThread *thread;
	pid_t tid; /* host thread id, for query-cpus-fast */

	/* Stop protocol, written under vm->cpu_lock (accel/vcpu-control.c). */
	bool stop_requested; /* atomic; checked at every exit */
	bool stopped;        /* parked; no guest code runs */
	bool unplugged;      /* atomic; thread must end */
	bool halted;         /* waits for an interrupt; accelerators without kernel help */

	/* Share of time the vCPU must sleep, 0..99 %; atomic; set by convergence control. */
	u32 throttle_pct;
	s64 throttle_until_us; /* atomic; monotonic; sleeps until then */
	s64 throttle_next_us;  /* of the throttle thread */

	/* Pages this vCPU wrote, as its dirty ring told; atomic; 0 without a ring. */
	u64 ring_pages;
};

/* The architecture of a vCPU: one const table per target. Accelerators reach a CPU only here. */
struct cpu_ops {
	const char *name;
	/* reset() - power-on state in cpu->arch. Machine lock held, vCPU stopped. */
	void (*reset)(struct vcpu *cpu);

	/* KVM: called by accel/kvm on the vCPU's own thread unless said otherwise. */
	int (*kvm_init_vm)(int vm_fd, struct vm *vm, GError **err); /* main thread, once */
	int (*kvm_init_vcpu)(struct vcpu *cpu, int vcpu_fd, GError **err);
	int (*kvm_get)(struct vcpu *cpu, int vcpu_fd, GError **err);
	int (*kvm_put)(struct vcpu *cpu, int vcpu_fd, GError **err);
	/* kvm_exit() - an exit that accel/kvm does not know. Return 0 handled, -errno fatal. */
	int (*kvm_exit)(struct vcpu *cpu, struct kvm_run *run);

	/* describe() - registers in cpu->arch as text, for "info registers" and error reports. Free
	 * with g_free(). NULL: none. */
	char *(*describe)(struct vcpu *cpu);

	/* core_regs() - general registers out of cpu->arch, in the order of the architecture's core
	 * files. Return: their number. NULL: there can be no core file of such vCPUs. */
	unsigned (*core_regs)(struct vcpu *cpu, u64 regs[CORE_REGS_MAX]);
	u16 elf_machine; /* EM_x */

	/* For a debugger, see accel/debug.h. NULL: it cannot look at such vCPUs. */
	const struct cpu_debug_ops *debug;

	/*
	 * TCG: tcg_cpu() - the translator's part of cpu->arch, registered and with an address
	 * space selected. Its ops->service must return false when vcpu_must_park(). NULL: the
	 * target cannot be translated.
	 */
	struct tcg_cpu *(*tcg_cpu)(struct vcpu *cpu);
};

/*
 * vcpu_create() - add a vCPU to the VM; it is parked until vm_start().
 * @arch: architectural state for @ops, owned by the caller until vcpu_destroy() returned.
 *
 * Return: the vCPU, in vm->cpus[]; its index is its place there. NULL with @err.
 * Context: main thread, machine lock held, accelerator attached.
 */
struct vcpu *vcpu_create(struct vm *vm, const struct cpu_ops *ops, void *arch, GError **err);

/* vcpu_destroy() - end the thread of the last vCPU and free it. Main thread, machine lock held
 * (dropped while waiting). */
void vcpu_destroy(struct vcpu *cpu);

/* vcpu_reset() - power-on state, also in the accelerator. Machine lock held, vCPU parked. */
int vcpu_reset(struct vcpu *cpu, GError **err);

/* vcpu_get_state(), vcpu_put_state() - bring registers into cpu->arch, or push them out of it.
 * vCPU parked, or on its own thread. Return: 0 or -errno with @err. */
int vcpu_get_state(struct vcpu *cpu, GError **err);
int vcpu_put_state(struct vcpu *cpu, GError **err);

/* vcpu_stop_all(), vcpu_resume_all() - used by the run state. Machine lock held (dropped while
 * waiting); on return of vcpu_stop_all() every vCPU is parked. */
void vcpu_stop_all(struct vm *vm);
void vcpu_resume_all(struct vm *vm);

/* vcpu_wait_runnable() - on a vCPU thread: park while stop is requested.
 * Return: false when the thread must end. */
bool vcpu_wait_runnable(struct vcpu *cpu);

enum vcpu_state { VCPU_RUNS, VCPU_PARKED, VCPU_ENDED };

/*
 * vcpu_poll() - vcpu_wait_runnable() for a thread that runs several vCPUs: does not wait.
 * @until_us: lowered to the monotonic time when a throttled vCPU may run again; 0: none yet.
 *
 * Such a thread is kicked when a parked vCPU may run again. Return: VCPU_ENDED for one that must
 * not be looked at any more.
 */
enum vcpu_state vcpu_poll(struct vcpu *cpu, s64 *until_us);

/* vcpu_thread_is() - the calling thread, which runs several vCPUs, now runs this one; NULL: none.
 */
void vcpu_thread_is(struct vcpu *cpu);

/* vcpu_must_park() - whether vcpu_wait_runnable() would wait or end; on the vCPU's thread. */
static inline bool vcpu_must_park(const struct vcpu *cpu)
{
	return unlikely(__atomic_load_n(&cpu->stop_requested, __ATOMIC_SEQ_CST) ||
			__atomic_load_n(&cpu->throttle_until_us, __ATOMIC_RELAXED));
}

/*
 * vcpu_park_self() - if the calling thread is a vCPU's, ask it to park at its next exit.
 *
 * For what must not go on until the main thread has acted (reset, fatal errors); whoever acts
 * resumes it with vcpu_resume_all() or vm_start(). No effect on other threads.
 */
void vcpu_park_self(void);

/* vcpu_self() - the vCPU whose thread this is, NULL on other threads: for devices with registers of
 * their own for each CPU. */
struct vcpu *vcpu_self(void);

/* vcpu_thread_init() - what every vCPU thread does first: name, signal mask, thread id. */
void vcpu_thread_init(struct vcpu *cpu);

/* vcpu_throttle_set(), vcpu_throttle_set_one() - vCPUs sleep @pct % of the time, 0 (off)..99.
 * Any thread. */
void vcpu_throttle_set(struct vm *vm, unsigned pct);
void vcpu_throttle_set_one(struct vcpu *cpu, unsigned pct);

#endif
