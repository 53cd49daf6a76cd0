/*
 * target/arm.h - arm64 vCPUs, for machines.
 */
#ifndef TARGET_ARM_H
#define TARGET_ARM_H

#include "accel/vcpu.h"
#include "target/arm/cpu.h"

struct arm_cpu_model;
struct state_registry;

/*
 * arm_cpu_model_create() - understand the text after -cpu.
 * @text:   "MODEL[,+property][,-property][,name=value]...".
 * @qarma5: model max signs pointers by QARMA5 unless @text chooses (machines before 10.0).
 *
 * Return: the model; NULL with @err naming model or property and what would work.
 * Context: accelerator attached.
 */
struct arm_cpu_model *arm_cpu_model_create(struct vm *vm, const char *text, bool qarma5,
					   GError **err);
void arm_cpu_model_destroy(struct arm_cpu_model *model);

/* arm_cpu_model_name() - "max", "cortex-a57", ...; arm_cpu_models() - all of them, NULL-terminated.
 * arm_cpu_model_compatible() - the value of "compatible" in its device tree node. */
const char *arm_cpu_model_name(const struct arm_cpu_model *model);
const char *arm_cpu_model_compatible(const struct arm_cpu_model *model);
const char *const *arm_cpu_models(void);

/* arm_cpu_model_props() - every property that -cpu MODEL,name=value takes, and its value. */
void arm_cpu_model_props(const struct arm_cpu_model *model,
			 void (*fn)(void *opaque, const char *name, bool on), void *opaque);

/* arm_cpu_model_has_pmu() - its CPUs have performance monitors. */
bool arm_cpu_model_has_pmu(const struct arm_cpu_model *model);

/* What the machine decides about its CPUs. */
struct arm_cpu_config {
	u64 mpidr; /* affinity in MPIDR_EL1's layout, without the RES1 bit */
	bool has_el2, has_el3;
	enum arm_conduit conduit;
	bool starts_off; /* after a reset it waits for PSCI's CPU_ON */
};

/*
 * arm_cpu_create() - add a vCPU to a VM.
 * @model: may be destroyed afterwards.
 *
 * Return: the vCPU (vm->cpus[]), reset and parked; NULL with @err.
 * Context: as vcpu_create().
 */
struct vcpu *arm_cpu_create(struct vm *vm, const struct arm_cpu_model *model,
			    const struct arm_cpu_config *config, GError **err);

/* arm_cpu_destroy() - as vcpu_destroy(), and free its registers. */
void arm_cpu_destroy(struct vcpu *vcpu);

/* arm_cpu_of_vcpu() - its registers; for interrupt controllers and timers, which live as long. */
struct arm_cpu *arm_cpu_of_vcpu(struct vcpu *vcpu);

/*
 * arm_cpu_boot() - let a vCPU that was just reset start at @entry with @x0 in x0 and zeroes in x1
 * to x3 (Linux, Documentation/arch/arm64/booting.rst), at EL2 if it has it, else at EL1.
 *
 * Return: 0, or -errno with @err when the accelerator refuses it.
 * Context: machine lock held, vCPU parked.
 */
int arm_cpu_boot(struct vcpu *vcpu, u64 entry, u64 x0, GError **err);

/*
 * arm_cpu_start_at() - let a vCPU that was just reset begin at @pc in the state that it has; one
 * that is off stays off.
 *
 * Return and context: as arm_cpu_boot().
 */
int arm_cpu_start_at(struct vcpu *vcpu, u64 pc, GError **err);

/*
 * arm_cpu_register_state() - its sections "cpu_common" and "cpu" travel in a migration.
 * @old_list: system registers are listed for receivers such as QEMU 7.2; else for QEMU 11.1.
 */
void arm_cpu_register_state(struct vcpu *vcpu, bool old_list, struct state_registry *reg);
void arm_cpu_unregister_state(struct vcpu *vcpu, struct state_registry *reg);

#endif
