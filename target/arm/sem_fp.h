/*
 * target/arm/sem_fp.h - what the reference functions of FP and SIMD instructions share.
 */
#ifndef TARGET_ARM_SEM_FP_H
#define TARGET_ARM_SEM_FP_H

#include "target/arm/cpu.h"
#include "target/arm/fp.h"

static inline struct fp_env fp_begin(const struct arm_cpu *cpu)
{
	return (struct fp_env){ cpu->fpcr, cpu->fpsr };
}

static inline void fp_end(struct arm_cpu *cpu, const struct fp_env *env)
{
	cpu->fpsr = env->fpsr;
}

/* VFPExpandImm(). */
u64 fp_expand_imm(unsigned lg, unsigned imm8);

#endif
