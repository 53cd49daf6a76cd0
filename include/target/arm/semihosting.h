/*
 * target/arm/semihosting.h - calls of a guest to its host by HLT #0xF000.
 *
 * Source: Arm, "Semihosting for AArch32 and AArch64" (the ABI specification, version 3).
 */
#ifndef TARGET_ARM_SEMIHOSTING_H
#define TARGET_ARM_SEMIHOSTING_H

#include "util/base.h"

#define SEMIHOSTING_IMM 0xf000 /* of HLT */

struct arm_cpu;
struct vm;

/* Where the console of calls is, if it is a character device. */
struct semihosting_console {
	/* write() - may block; called without locks. */
	void (*write)(void *opaque, const void *buf, size_t len);
	/* read() - wait a little while for input, and take up to @len bytes; 0: nothing has come.
	 * Called without locks. */
	size_t (*read)(void *opaque, void *buf, size_t len);
	void *opaque;
};

struct semihosting_config {
	bool userspace;      /* also from EL0 */
	const char *cmdline; /* for SYS_GET_CMDLINE */
	/* NULL: standard input, output and error of the process. Copied. */
	const struct semihosting_console *console;
};

/*
 * arm_semihosting_enable() - let the guest of @vm open, read, write, rename and remove any file
 * that the process may, and end the machine.
 *
 * Context: main thread, before the VM starts. Until then HLT is undefined, as without it.
 */
void arm_semihosting_enable(struct vm *vm, const struct semihosting_config *config);
bool arm_semihosting_enabled(void);

/* arm_semihosting_disable() - close what the guest has open. The vCPUs are gone. */
void arm_semihosting_disable(void);

/* arm_semihosting_set_heap() - memory that the machine leaves to its program: SYS_HEAPINFO. */
void arm_semihosting_set_heap(u64 base, u64 limit);

/*
 * arm_semihosting_call() - by exec_HLT(): do what x0 and x1 say, the result to x0.
 *
 * May have the instruction executed again instead, to wait for input. Return: false if calls are
 * not enabled, or not for this exception level. Context: the vCPU's thread, in a helper; may raise
 * a data abort before anything is done.
 */
bool arm_semihosting_call(struct arm_cpu *cpu);

#endif
