/*
 * x86.h - what the files of this folder share.
 */
#ifndef TESTS_GUESTS_X86_X86_H
#define TESTS_GUESTS_X86_X86_H

#include "../guest.h"

extern char stacks[]; /* one a CPU, 1 << STACK_SHIFT bytes: lower half CPL 3, upper half traps */

void __attribute__((noreturn)) enter_user(void (*fn)(unsigned), unsigned index, void *stack_top);
void smp_entry(unsigned index);
void arch_start(unsigned index);
void traps_init(void);           /* builds the interrupt table; once */
void traps_load(unsigned index); /* gives this CPU the table and a task state segment */

#endif
