/*
 * layout.h - numbers that boot.S and the C files of this folder must agree on.
 */
#ifndef TESTS_GUESTS_X86_LAYOUT_H
#define TESTS_GUESTS_X86_LAYOUT_H

#define SEL_CODE      0x08
#define SEL_DATA      0x10
#define SEL_USER_CODE 0x1b
#define SEL_USER_DATA 0x23
#define SEL_CODE32    0x28
#define SEL_TSS       0x30

#define PTE_TABLE 0x07 /* present, writable, user */
#define PTE_LARGE 0x87
#define MAP_GIB   16

#define TRAMPOLINE 0x7000 /* start-up vector 7; below it lies the BIOS data area */

#define STACK_SHIFT 14 /* the upper half is for traps */

#define NR_TRAPS        32
#define TRAPS_WITH_CODE 0x00027d00 /* #DF #TS #NP #SS #GP #PF #AC push an error code */

#endif
