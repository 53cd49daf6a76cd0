/*
 * boot.S - entry of a test guest on arm64: Image header, EL2 to EL1, identity map, vectors.
 *
 * Sources: Linux Documentation/arch/arm64/booting.rst for header and entry state; Arm DDI 0487,
 * D8 (translation), D1.11 (vectors), and the System register descriptions.
 */
#include "layout.h"

	.section .head, "ax"
	.globl start
start:
	b entry
	.long 0
	.quad TEXT_OFFSET
	.quad image_size
	.quad 0x0a			/* little endian, 4 KiB pages, anywhere */
	.quad 0, 0, 0
	.ascii "ARM\x64"
	.long 0

	.text
entry:					/* x0: device tree; MMU and caches off */
	mov x20, x0
	mov x21, #0			/* CPU index */
	b from_any_el

	/* Further CPUs: PSCI CPU_ON enters here with the index in x0. */
	.globl secondary_entry
secondary_entry:
	mov x21, x0

from_any_el:
	mrs x0, CurrentEL
	lsr x22, x0, #2			/* exception level at the start */
	cmp x22, #2
	b.ne 1f
	mov x0, #(1 << 31)		/* HCR_EL2.RW: EL1 is AArch64 */
	msr hcr_el2, x0
	mov x0, #3			/* counter and timer are EL1's */
	msr cnthctl_el2, x0
	ldr x0, =cntvoff_value		/* 0 unless a program says another */
	msr cntvoff_el2, x0
	mov x0, #0x3c5			/* EL1h, all interrupts masked */
	msr spsr_el2, x0
	adr x0, 1f
	msr elr_el2, x0
	eret

1:	mov x0, #(3 << 20)		/* CPACR_EL1.FPEN: floating point does not trap */
	msr cpacr_el1, x0
	cbnz x21, 3f
	ldr x0, =bss_start		/* not part of the flat image, and old after a reset */
	ldr x1, =bss_end
4:	str xzr, [x0], #8
	cmp x0, x1
	b.lo 4b
	adrp x0, table			/* 1 GiB blocks: the first is devices, the rest memory */
	ldr x1, =BLOCK_DEVICE
	str x1, [x0]
	ldr x1, =BLOCK_NORMAL
	mov x2, #1
2:	lsl x3, x2, #30
	orr x3, x3, x1
	str x3, [x0, x2, lsl #3]
	add x2, x2, #1
	cmp x2, #512
	b.lo 2b
	dsb sy
3:	adrp x0, table
	msr ttbr0_el1, x0
	ldr x0, =TCR
	msr tcr_el1, x0
	mov x0, #MAIR
	msr mair_el1, x0
	adr x0, vectors
	msr vbar_el1, x0
	isb
	tlbi vmalle1
	dsb nsh
	isb
	ldr x0, =SCTLR
	msr sctlr_el1, x0
	isb
	adrp x1, stacks
	add x2, x21, #1
	add x1, x1, x2, lsl #STACK_SHIFT
	mov sp, x1
	mov x0, x21
	mov x1, x22
	mov x2, x20
	bl arch_start
	b .

	/* long psci_call(u64 use_smc, u64 function, u64 a, u64 b, u64 c) */
	.globl psci_call
psci_call:
	mov x5, x0
	mov x0, x1
	mov x1, x2
	mov x2, x3
	mov x3, x4
	cbnz x5, 1f
	hvc #0
	ret
1:	smc #0
	ret

	.balign 2048
vectors:				/* what a program does not handle is reported, and stops it */
	.set vector, 0
	.rept 16
	.balign 128
	.if vector == 5
	b irq_entry
	.elseif vector == 0 || vector == 4
	b trap_kernel			/* weak: without trap.S it is the next instruction */
	.elseif vector == 8
	b trap_user
	.endif
	mov x0, #vector
	b report
	.set vector, vector + 1
	.endr
report:
	mrs x1, esr_el1
	mrs x2, elr_el1
	mrs x3, far_el1
	bl trap_report

	.weak trap_kernel
	.weak trap_user
	.weak irq_handler
irq_entry:
	sub sp, sp, #192
	stp x0, x1, [sp]
	stp x2, x3, [sp, #16]
	ldr x0, =irq_handler
	cbz x0, 1f
	stp x4, x5, [sp, #32]
	stp x6, x7, [sp, #48]
	stp x8, x9, [sp, #64]
	stp x10, x11, [sp, #80]
	stp x12, x13, [sp, #96]
	stp x14, x15, [sp, #112]
	stp x16, x17, [sp, #128]
	stp x18, x30, [sp, #144]
	blr x0
	ldp x18, x30, [sp, #144]
	ldp x16, x17, [sp, #128]
	ldp x14, x15, [sp, #112]
	ldp x12, x13, [sp, #96]
	ldp x10, x11, [sp, #80]
	ldp x8, x9, [sp, #64]
	ldp x6, x7, [sp, #48]
	ldp x4, x5, [sp, #32]
	ldp x2, x3, [sp, #16]
	ldp x0, x1, [sp]
	add sp, sp, #192
	eret
1:	mov x0, #5			/* nobody handles it */
	b report
	.weak cntvoff_value

	.bss
	.balign 4096
table:	.skip 4096
	.globl stacks
stacks:	.skip 16 << STACK_SHIFT
