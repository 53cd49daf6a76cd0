/*
 * target/arm/model.h - what a CPU model gives to a CPU.
 */
#ifndef TARGET_ARM_MODEL_H
#define TARGET_ARM_MODEL_H

#include "target/arm/cpu.h"
#include "target/arm/engines.h"

struct arm_cpu_model;

/* arm_cpu_model_apply() - set what arm_cpu_reset() keeps: identity and
 * features. cpu->has_el2 has been set. */
void arm_cpu_model_apply(const struct arm_cpu_model *model, struct arm_cpu *cpu);

/* arm_cpu_model_engines() - for arm_engines_create(). */
const struct arm_engines_config *arm_cpu_model_engines(const struct arm_cpu_model *model);

#endif
