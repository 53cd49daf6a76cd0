/*
 * trap.h - synchronous exceptions that a test guest expects, code at EL0, and page tables.
 */
#ifndef TESTS_GUESTS_AARCH64_TRAP_H
#define TESTS_GUESTS_AARCH64_TRAP_H

#include "arm.h"

/* The last exception, and how many there were. The handler goes on behind the instruction, or at
 * trap_resume if that is set, with the bits of trap_spsr_set added to SPSR_EL1. */
extern volatile struct trap {
	u64 count, esr, elr, far, spsr;
} trap;
extern volatile u64 trap_resume, trap_spsr_set;

u64 call_user(u64 pc, u64 x0, u64 sp, u64 spsr);
#define USER_STATE 0x3c0 /* SPSR of EL0 with interrupts masked */

/* Class and fault code of the last exception as two numbers; 0 if there was none. */
#define trap_ec()  (trap.count ? trap.esr >> 26 : 0)
#define trap_fsc() (trap.count ? trap.esr & 0x3f : 0)

/* Do it and count exceptions from 0. */
#define TRY(...)                                                                                   \
	do {                                                                                       \
		trap.count = 0;                                                                    \
		__VA_ARGS__;                                                                       \
	} while (0)

/* One access; trap says how it went. */
static inline u64 peek(u64 va)
{
	u64 val = 0;

	trap.count = 0;
	asm volatile("ldr %0, [%1]" : "+r"(val) : "r"(va) : "memory");
	return val;
}

static inline void poke(u64 va, u64 val)
{
	trap.count = 0;
	asm volatile("str %0, [%1]" : : "r"(val), "r"(va) : "memory");
}

/* ---- upper half of the address space, in pages of a granule that can be chosen ---- */

#define HIGH 0xfffffff000000000ul

#define PTE_USER  (1ul << 6)
#define PTE_RO    (1ul << 7)
#define PTE_AF    (1ul << 10)
#define PTE_NG    (1ul << 11)
#define PTE_GP    (1ul << 50)
#define PTE_DBM   (1ul << 51)
#define PTE_PXN   (1ul << 53)
#define PTE_UXN   (1ul << 54)
#define PTE_DATA  (PTE_AF | 3ul << 8 | 1ul << 2 | PTE_PXN | PTE_UXN) /* Normal memory */
#define PTE_CODE  (PTE_AF | 3ul << 8 | 1ul << 2)
#define PTE_VALID 3ul

/* Start anew with empty tables of pages of 1 << @lg bytes (12, 14, 16) in TTBR1_EL1. */
void map_begin(unsigned lg);
/* Descriptor of the page at @va in the table @root (0: that of map_begin()), made if needed. */
volatile u64 *map_entry(u64 root, u64 va);
u64 map_root(void); /* another root */
void map_page(u64 va, u64 pa, u64 attributes);
/* A page of its own for data, filled with @value, identity mapped. */
u64 page_alloc(u64 value);

static inline void tlbi_all(void)
{
	asm volatile("dsb ishst; tlbi vmalle1is; dsb ish; isb" : : : "memory");
}

#endif
