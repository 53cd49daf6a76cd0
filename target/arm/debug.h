/*
 * target/arm/debug.h - an arm64 vCPU for a debugger.
 */
#ifndef TARGET_ARM_DEBUG_H
#define TARGET_ARM_DEBUG_H

#include "accel/debug.h"

/* vcpu.c puts it into the vCPU's cpu_ops. */
extern const struct cpu_debug_ops arm_debug_ops;

#endif
