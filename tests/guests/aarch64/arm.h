/*
 * arm.h - what arm64 test guests of interrupts share: registers, CPU 0's controller, IRQs.
 */
#ifndef TESTS_GUESTS_AARCH64_ARM_H
#define TESTS_GUESTS_AARCH64_ARM_H

#include "../guest.h"

#define mrs(name)                                                                                  \
	({                                                                                         \
		u64 val_;                                                                          \
		asm volatile("mrs %0, " name : "=r"(val_) : : "memory");                           \
		val_;                                                                              \
	})
#define msr(name, val) asm volatile("msr " name ", %0; isb" : : "r"((u64)(val)) : "memory")

/* say() with numbers that are worked out from left to right: they have side effects. */
#define say2(fmt, a, b)                                                                            \
	do {                                                                                       \
		u64 a_ = (a);                                                                      \
		u64 b_ = (b);                                                                      \
		say(fmt, a_, b_);                                                                  \
	} while (0)
#define say3(fmt, a, b, c)                                                                         \
	do {                                                                                       \
		u64 a3_ = (a);                                                                     \
		u64 b3_ = (b);                                                                     \
		u64 c3_ = (c);                                                                     \
		say(fmt, a3_, b3_, c3_);                                                           \
	} while (0)

#define ICC_PMR     "S3_0_C4_C6_0"
#define ICC_IAR0    "S3_0_C12_C8_0"
#define ICC_EOIR0   "S3_0_C12_C8_1"
#define ICC_BPR0    "S3_0_C12_C8_3"
#define ICC_AP1R0   "S3_0_C12_C9_0"
#define ICC_DIR     "S3_0_C12_C11_1"
#define ICC_RPR     "S3_0_C12_C11_3"
#define ICC_SGI1R   "S3_0_C12_C11_5"
#define ICC_IAR1    "S3_0_C12_C12_0"
#define ICC_EOIR1   "S3_0_C12_C12_1"
#define ICC_HPPIR1  "S3_0_C12_C12_2"
#define ICC_BPR1    "S3_0_C12_C12_3"
#define ICC_CTLR    "S3_0_C12_C12_4"
#define ICC_IGRPEN0 "S3_0_C12_C12_6"
#define ICC_IGRPEN1 "S3_0_C12_C12_7"

#define GICD 0x08000000UL
#define GICR 0x080a0000UL /* 128 KiB for each CPU, SGIs and PPIs in the second half */

static inline volatile u32 *reg32(u64 addr)
{
	return (volatile u32 *)addr;
}

static inline u64 gicr_sgi(unsigned cpu)
{
	return GICR + cpu * 0x20000UL + 0x10000;
}

static inline void irq_on(void)
{
	asm volatile("msr daifclr, #2; isb" : : : "memory");
}

static inline void irq_off(void)
{
	asm volatile("msr daifset, #2; isb" : : : "memory");
}

/* arch.c */
u64 arm_start_level(void);                          /* exception level at the start: 1, 2 */
void __attribute__((noreturn)) arm_power_off(void); /* end the machine by PSCI */
long psci_call(u64 use_smc, u64 function, u64 a, u64 b, u64 c);

/* gic.c: a GICv3 with everything in group 1, priority 0xa0. */
void gic_init_dist(void);        /* once */
void gic_init_cpu(unsigned cpu); /* on each CPU */

/* Called by boot.S for an IRQ at EL1, with IRQs masked; a program without it dies on one. */
void irq_handler(void);

#endif
