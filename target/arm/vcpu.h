/*
 * target/arm/vcpu.h - an arm64 vCPU: its registers, its view of memory, its power state.
 */
#ifndef TARGET_ARM_VCPU_H
#define TARGET_ARM_VCPU_H

#include "target/arm.h"
#include "target/arm/mmu.h"

/* A piece of RAM in the memory map; a page is looked up here before the map is searched. */
struct arm_ram_window {
	u64 base, size; /* guest physical, bytes; size 0: none */
	struct ramblock *block;
	u64 offset; /* of base in the block */
};

struct arm_wire;

struct arm_vcpu {
	struct arm_cpu cpu; /* first: vcpu.arch points here */
	struct vcpu *vcpu;
	struct arm_bus bus;
	struct arm_ram_window window; /* used by the vCPU's thread only */
	bool starts_off;
	/* Powered off, as PSCI has it. Written with the machine lock held; read by its own thread
	 * without. Another vCPU may change the registers of one that is off. */
	bool powered_off;
	struct arm_wire *wire;   /* state.c; NULL: not registered */
	struct arm_kvm_cpu *kvm; /* kvm.c; NULL under other accelerators */
};

static inline struct arm_vcpu *arm_vcpu_of(struct arm_cpu *cpu)
{
	return container_of(cpu, struct arm_vcpu, cpu);
}

/* bus.c: connect v->bus to the machine's memory. */
void arm_bus_init(struct arm_vcpu *v);

/*
 * arm_cpu_boot_at() - after a reset: start at @entry at exception level @el, with @x0 in x0.
 * arm_boot_el() - the highest level that the machine's user has: 2 or 1.
 */
void arm_cpu_boot_at(struct arm_cpu *cpu, unsigned el, u64 entry, u64 x0);
unsigned arm_boot_el(const struct arm_cpu *cpu);

/* Members of struct cpu_ops under every accelerator. */
void arm_vcpu_reset(struct vcpu *vcpu);
char *arm_vcpu_describe(struct vcpu *vcpu);
unsigned arm_vcpu_core_regs(struct vcpu *vcpu, u64 regs[CORE_REGS_MAX]);

/*
 * arm_psci_call() - answer the call whose function is in x0.
 *
 * Context: the vCPU's thread in tcg_ops.service, machine lock not held.
 */
void arm_psci_call(struct arm_vcpu *v);

#endif
