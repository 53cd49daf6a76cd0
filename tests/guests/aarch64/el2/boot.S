/*
 * boot.S - entry of a test guest that stays at EL2, its vectors, and its world switch.
 *
 * Sources: Linux Documentation/arch/arm64/booting.rst for header and entry state; Arm DDI 0487,
 * D8 (translation), D1.11 (vectors), and the System register descriptions.
 */
#include "../layout.h"
#include "offsets.h"

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
	b 1f

	/* Further CPUs: PSCI CPU_ON enters here with the index in x0. */
	.globl secondary_entry
secondary_entry:
	mov x21, x0

1:	mrs x0, CurrentEL
	lsr x22, x0, #2			/* exception level at the start */
	cmp x22, #2
	b.ne .				/* needs virtualization=on */
	mov x0, #(1 << 31)		/* HCR_EL2.RW: EL1 is AArch64 */
	msr hcr_el2, x0
	mrs x0, id_aa64mmfr1_el1
	ubfx x0, x0, #40, #4		/* HCX */
	cbz x0, 5f
	mov x0, #(1 << 14)		/* HCRX_EL2.TCR2En: EL1 has its TCR2_EL1 */
	msr s3_4_c1_c2_2, x0
5:	mov x0, #3
	msr cnthctl_el2, x0
	msr cntvoff_el2, xzr
	isb
	cbnz x21, 3f
	ldr x0, =bss_start
	ldr x1, =bss_end
4:	str xzr, [x0], #8
	cmp x0, x1
	b.lo 4b
	adrp x0, table			/* 1 GiB blocks: the first is devices, the rest memory */
	ldr x1, =BLOCK_DEVICE
	str x1, [x0]
	ldr x1, =(BLOCK_NORMAL & ~(1 << 54)) /* UXN is XN at EL2; AP[1] clear: good with E2H set as well */
	mov x2, #1
2:	lsl x3, x2, #30
	orr x3, x3, x1
	str x3, [x0, x2, lsl #3]
	add x2, x2, #1
	cmp x2, #512
	b.lo 2b
	dsb sy
3:	adrp x0, table
	msr ttbr0_el2, x0
	ldr x0, =0x80823519		/* TCR_EL2: as TCR_EL1 in layout.h, and RES1 bits */
	msr tcr_el2, x0
	mov x0, #MAIR
	msr mair_el2, x0
	adr x0, vectors
	msr vbar_el2, x0
	isb
	tlbi alle2
	dsb nsh
	isb
	ldr x0, =0x30c51835		/* SCTLR_EL2: RES1 bits, I, C, M */
	msr sctlr_el2, x0
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
	mov x0, x1
	mov x1, x2
	mov x2, x3
	mov x3, x4
	smc #0
	ret

	/* void guest_enter(struct vcpu *v): run it until it traps to EL2 */
	.globl guest_enter
guest_enter:
	stp x19, x20, [sp, #-96]!
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	mov x1, sp
	str x1, [x0, #V_HOST_SP]
	msr tpidr_el2, x0
	ldr x1, [x0, #V_PC]
	msr elr_el2, x1
	ldr x1, [x0, #V_PSTATE]
	msr spsr_el2, x1
	ldr x1, [x0, #V_SP]
	msr sp_el1, x1
	ldp x2, x3, [x0, #16]
	ldp x4, x5, [x0, #32]
	ldp x6, x7, [x0, #48]
	ldp x8, x9, [x0, #64]
	ldp x10, x11, [x0, #80]
	ldp x12, x13, [x0, #96]
	ldp x14, x15, [x0, #112]
	ldp x16, x17, [x0, #128]
	ldp x18, x19, [x0, #144]
	ldp x20, x21, [x0, #160]
	ldp x22, x23, [x0, #176]
	ldp x24, x25, [x0, #192]
	ldp x26, x27, [x0, #208]
	ldp x28, x29, [x0, #224]
	ldr x30, [x0, #240]
	ldp x0, x1, [x0]
	eret

lower_sync:
	stp x0, x1, [sp, #-16]!
	mov x1, #0
	b leave_guest
lower_irq:
	stp x0, x1, [sp, #-16]!
	mov x1, #1
leave_guest:
	mrs x0, tpidr_el2
	str x1, [x0, #V_KIND]
	stp x2, x3, [x0, #16]
	stp x4, x5, [x0, #32]
	stp x6, x7, [x0, #48]
	stp x8, x9, [x0, #64]
	stp x10, x11, [x0, #80]
	stp x12, x13, [x0, #96]
	stp x14, x15, [x0, #112]
	stp x16, x17, [x0, #128]
	stp x18, x19, [x0, #144]
	stp x20, x21, [x0, #160]
	stp x22, x23, [x0, #176]
	stp x24, x25, [x0, #192]
	stp x26, x27, [x0, #208]
	stp x28, x29, [x0, #224]
	str x30, [x0, #240]
	ldp x2, x3, [sp], #16
	stp x2, x3, [x0]
	mrs x1, elr_el2
	str x1, [x0, #V_PC]
	mrs x1, spsr_el2
	str x1, [x0, #V_PSTATE]
	mrs x1, sp_el1
	str x1, [x0, #V_SP]
	mrs x1, esr_el2
	str x1, [x0, #V_ESR]
	mrs x1, far_el2
	str x1, [x0, #V_FAR]
	mrs x1, hpfar_el2
	str x1, [x0, #V_HPFAR]
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp x19, x20, [sp], #96
	ret

	/* An exception of EL2's own: el2_exception(kind) says whether to skip the instruction. */
	.macro own kind
	sub sp, sp, #192
	stp x0, x1, [sp]
	stp x2, x3, [sp, #16]
	stp x4, x5, [sp, #32]
	stp x6, x7, [sp, #48]
	stp x8, x9, [sp, #64]
	stp x10, x11, [sp, #80]
	stp x12, x13, [sp, #96]
	stp x14, x15, [sp, #112]
	stp x16, x17, [sp, #128]
	stp x18, x30, [sp, #144]
	mov x0, #\kind
	mrs x1, esr_el2
	mrs x2, elr_el2
	mrs x3, far_el2
	bl el2_exception
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
	.endm
own_sync:
	own 0
own_irq:
	own 1

	.balign 2048
vectors:
	.set vector, 0
	.rept 16
	.balign 128
	.if vector == 4
	b own_sync
	.elseif vector == 5
	b own_irq
	.elseif vector == 8
	b lower_sync
	.elseif vector == 9
	b lower_irq
	.endif
	mov x0, #vector
	mrs x1, esr_el2
	mrs x2, elr_el2
	mrs x3, far_el2
	bl trap_report
	.set vector, vector + 1
	.endr

	.bss
	.balign 4096
table:	.skip 4096
	.globl stacks
stacks:	.skip 16 << STACK_SHIFT
