/* trap.S - test guests on arm64 that expect synchronous exceptions: entries, and calls to EL0. */

	.text
	/* From EL1: all general registers in an array, which trap_taken(u64 *x) may change. */
	.globl trap_kernel
trap_kernel:
	msr spsel, #1
	sub sp, sp, #256
	stp x0, x1, [sp]
	stp x2, x3, [sp, #16]
	stp x4, x5, [sp, #32]
	stp x6, x7, [sp, #48]
	stp x8, x9, [sp, #64]
	stp x10, x11, [sp, #80]
	stp x12, x13, [sp, #96]
	stp x14, x15, [sp, #112]
	stp x16, x17, [sp, #128]
	stp x18, x19, [sp, #144]
	stp x20, x21, [sp, #160]
	stp x22, x23, [sp, #176]
	stp x24, x25, [sp, #192]
	stp x26, x27, [sp, #208]
	stp x28, x29, [sp, #224]
	str x30, [sp, #240]
	mov x0, sp
	bl trap_taken
	ldr x30, [sp, #240]
	ldp x28, x29, [sp, #224]
	ldp x26, x27, [sp, #208]
	ldp x24, x25, [sp, #192]
	ldp x22, x23, [sp, #176]
	ldp x20, x21, [sp, #160]
	ldp x18, x19, [sp, #144]
	ldp x16, x17, [sp, #128]
	ldp x14, x15, [sp, #112]
	ldp x12, x13, [sp, #96]
	ldp x10, x11, [sp, #80]
	ldp x8, x9, [sp, #64]
	ldp x6, x7, [sp, #48]
	ldp x4, x5, [sp, #32]
	ldp x2, x3, [sp, #16]
	ldp x0, x1, [sp]
	add sp, sp, #256
	eret

	/* u64 call_user(u64 pc, u64 x0, u64 sp, u64 spsr): run at EL0 until it takes an exception;
	 * returns its x0. The registers that a function must keep wait on the stack. */
	.globl call_user
call_user:
	stp x19, x20, [sp, #-96]!
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	msr elr_el1, x0
	msr spsr_el1, x3
	msr sp_el0, x2
	mov x0, x1
	eret

	.globl trap_user
trap_user:
	str x0, [sp, #-16]!
	mov x0, #0
	bl trap_taken
	ldr x0, [sp], #16
	ldp x29, x30, [sp, #80]
	ldp x27, x28, [sp, #64]
	ldp x25, x26, [sp, #48]
	ldp x23, x24, [sp, #32]
	ldp x21, x22, [sp, #16]
	ldp x19, x20, [sp], #96
	ret
