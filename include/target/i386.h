/*
 * target/i386.h - x86 vCPUs, for machines.
 */
#ifndef TARGET_I386_H
#define TARGET_I386_H

#include "accel/vcpu.h"

/* Values of mp_state; KVM's. */
enum { X86_MP_RUNNABLE = 0, X86_MP_UNINITIALIZED = 1 };

/*
 * x86_cpu_create() - add a vCPU to a VM.
 *
 * Return: the vCPU (vm->cpus[]), reset and parked; NULL with @err.
 * Context: as vcpu_create().
 */
struct vcpu *x86_cpu_create(struct vm *vm, GError **err);

/* x86_cpu_destroy() - as vcpu_destroy(), and free its registers. */
void x86_cpu_destroy(struct vcpu *vcpu);

#endif
