/*
 * vectors.S - exception vectors of the system loads, and their programs at EL0.
 *
 * x29 and x30 belong to the handlers. SVC 0 comes back at once, as after a trivial system call that
 * saves and restores what a compiler's function may use; SVC 1 ends a program at EL0. A data abort
 * goes to micro_fault() and comes back.
 */
	.text
	.balign 2048
	.globl micro_vectors
micro_vectors:
	.skip 0x200
	.balign 128			/* EL1, synchronous: the same as from EL0 */
	b sync
	.skip 0x200 - 4
	.balign 0x200
	b sync				/* EL0, synchronous */
	.balign 128

sync:
	mrs x29, esr_el1
	lsr x30, x29, #26
	cmp x30, #0x15			/* SVC */
	b.ne 1f
	tst x29, #0xffff
	b.ne 2f
	sub sp, sp, #64
	stp x0, x1, [sp]
	stp x2, x3, [sp, #16]
	stp x4, x5, [sp, #32]
	stp x6, x7, [sp, #48]
	mrs x29, elr_el1
	mrs x30, spsr_el1
	msr elr_el1, x29
	msr spsr_el1, x30
	ldp x0, x1, [sp]
	ldp x2, x3, [sp, #16]
	ldp x4, x5, [sp, #32]
	ldp x6, x7, [sp, #48]
	add sp, sp, #64
	eret
1:	sub sp, sp, #160
	stp x0, x1, [sp]
	stp x2, x3, [sp, #16]
	stp x4, x5, [sp, #32]
	stp x6, x7, [sp, #48]
	stp x8, x9, [sp, #64]
	stp x10, x11, [sp, #80]
	stp x12, x13, [sp, #96]
	stp x14, x15, [sp, #112]
	stp x16, x17, [sp, #128]
	str x18, [sp, #144]
	mov x0, x30
	mrs x1, far_el1
	bl micro_fault
	ldp x0, x1, [sp]
	ldp x2, x3, [sp, #16]
	ldp x4, x5, [sp, #32]
	ldp x6, x7, [sp, #48]
	ldp x8, x9, [sp, #64]
	ldp x10, x11, [sp, #80]
	ldp x12, x13, [sp, #96]
	ldp x14, x15, [sp, #112]
	ldp x16, x17, [sp, #128]
	ldr x18, [sp, #144]
	add sp, sp, #160
	eret
2:	ldr x29, =back			/* end of a program at EL0 */
	ldp x30, x0, [x29]
	mov sp, x0
	ldp x19, x20, [sp]
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	add sp, sp, #96
	ret

	/* void micro_user(u64 pc, u64 a, u64 b): run at EL0 until SVC 1 */
	.globl micro_user
micro_user:
	sub sp, sp, #96
	stp x19, x20, [sp]
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	ldr x3, =back
	mov x4, sp
	stp x30, x4, [x3]
	msr elr_el1, x0
	mov x4, #0x3c0			/* EL0t, interrupts masked */
	msr spsr_el1, x4
	mov x0, x1
	mov x1, x2
	eret

	/* At EL0, copied to a page that EL0 may execute: x0 rounds, x1 data */
	.balign 64
	.globl user_svc, user_touch, user_end
user_svc:
1:	mov x8, #172
	svc #0
	subs x0, x0, #1
	b.ne 1b
	svc #1
	.balign 64
user_touch:				/* a store to each of x0 pages from x1 on */
1:	str x0, [x1]
	add x1, x1, #4096
	subs x0, x0, #1
	b.ne 1b
	svc #1
user_end:

	/* u64 code_to_rewrite(void), in a page of its own */
	.balign 4096
	.globl code_to_rewrite
code_to_rewrite:
	mov x0, #0
	ret
	.balign 4096

	.bss
	.balign 16
back:	.skip 16
