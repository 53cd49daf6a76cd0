/*
 * target/arm/model.h - what a CPU model gives to a CPU.
 */
#ifndef TARGET_ARM_MODEL_H
#define TARGET_ARM_MODEL_H

#include "target/arm/cpu.h"

struct arm_cpu_model;

/* arm_cpu_model_apply() - set what arm_cpu_reset() keeps: identity and features. */
void arm_cpu_model_apply(const struct arm_cpu_model *model, struct arm_cpu *cpu);

#endif
