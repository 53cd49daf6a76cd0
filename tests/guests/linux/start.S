/*
 * start.S - entry of a test guest that is a program of arm64 Linux, without a C library.
 *
 * Source: Procedure Call Standard for the Arm 64-bit Architecture; Linux puts argc, the arguments
 * and the environment where the stack pointer points.
 */
	.text
	.globl _start
_start:
	mov x29, #0
	mov x30, #0
	mov x0, sp
	bl linux_start
	brk #0

	/* long linux_syscall(number, a, b, c, d, e, f): returns what the kernel did, -errno too. */
	.globl linux_syscall
linux_syscall:
	mov x8, x0
	mov x0, x1
	mov x1, x2
	mov x2, x3
	mov x3, x4
	mov x4, x5
	mov x5, x6
	svc #0
	ret

	.section .note.GNU-stack, "", @progbits
