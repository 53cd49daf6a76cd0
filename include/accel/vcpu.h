/*
 * accel/vcpu.h - a virtual CPU, and what an accelerator needs of its architecture.
 */
#ifndef ACCEL_VCPU_H
#define ACCEL_VCPU_H

#include "accel/accel.h"

#include <sys/types.h>

struct kvm_run;
struct cpu_ops;

struct vcpu {
	int index;
	struct vm *vm;
	const struct cpu_ops *ops;
	void *arch;          /* architectural state, owned by target/ */
	void *accel_data;    /* owned by the accelerator */
	GThread *thread;
	pid_t tid;           /* host thread id, for query-cpus-fast */

	/* Stop protocol, guarded by vm's cpu lock (accel/vcpu-control.c). */
	bool stop_requested; /* atomic; checked at every exit */
	bool stopped;        /* parked; no guest code runs */
	bool unplugged;      /* thread must end */
	bool halted;         /* waits for an interrupt; accelerators without kernel help */

	/* Share of time the vCPU must sleep, 0..99 %; atomic; set by convergence control. */
	u32 throttle_pct;
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

	/* TCG: run until cpu->stop_requested or an event; see accel/tcg. */
	int (*tcg_exec)(struct vcpu *cpu);
};

/* vcpu_stop_all(), vcpu_resume_all() - used by the run state. Machine lock held (dropped while
 * waiting); on return of vcpu_stop_all() every vCPU is parked. */
void vcpu_stop_all(struct vm *vm);
void vcpu_resume_all(struct vm *vm);

/* vcpu_wait_runnable() - on a vCPU thread: park while stop is requested.
 * Return: false when the thread must end. */
bool vcpu_wait_runnable(struct vcpu *cpu);

/* vcpu_throttle_set() - all vCPUs sleep @pct % of the time (0: off). Any thread. */
void vcpu_throttle_set(struct vm *vm, unsigned pct);

#endif
