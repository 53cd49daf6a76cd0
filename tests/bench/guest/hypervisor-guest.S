/*
 * tests/bench/guest/hypervisor-guest.S - what the VM of hypervisor.c executes at EL1, with the MMU off
 * and interrupts masked: x0 rounds of the operation at x20, then a write to GUEST_EXIT.
 *
 * Sources: Arm SMC Calling Convention (DEN0028) and PSCI (DEN0022); GICv3 architecture (IHI 0069).
 */
#include "hypervisor.h"

#define PSCI_VERSION  0x84000000
#define GICD_CTLR     0x0
#define GICD_IIDR     0x8
#define GICR_SGI_BASE 0x10000
#define GICR_FRAMES   0x20000
#define GICR_IGROUP   0x80
#define GICR_ISENABLE 0x100
#define NO_INTERRUPT  1023

/* Numbers of GICv3's system registers, which older assemblers do not know. */
#define ICC_PMR_EL1     S3_0_C4_C6_0
#define ICC_IAR1_EL1    S3_0_C12_C12_0
#define ICC_EOIR1_EL1   S3_0_C12_C12_1
#define ICC_SGI1R_EL1   S3_0_C12_C11_5
#define ICC_IGRPEN1_EL1 S3_0_C12_C12_7

	.section .rodata
	.balign 8
	.globl	guest_code, guest_code_end
guest_code:
	br	x20

	/* Group 1 and SGI 0 of this vCPU on; x9 is its number. */
	.macro	gic_on
	mrs	x9, mpidr_el1
	and	x9, x9, #0xff
	ldr	x1, =GUEST_GICD
	mov	w2, #0x12		/* affinity routing, group 1 */
	str	w2, [x1, #GICD_CTLR]
	ldr	x1, =GUEST_GICR + GICR_SGI_BASE
	mov	x2, #GICR_FRAMES
	madd	x1, x9, x2, x1
	mov	w2, #-1
	str	w2, [x1, #GICR_IGROUP]
	mov	w2, #1
	str	w2, [x1, #GICR_ISENABLE]
	mov	x2, #0xff
	msr	ICC_PMR_EL1, x2
	mov	x2, #1
	msr	ICC_IGRPEN1_EL1, x2
	isb
	.endm

	/* SGI 0 to the vCPUs of a mask in \to. */
	.macro	send to
	msr	ICC_SGI1R_EL1, \to
	isb
	.endm

	/* Poll for an interrupt and end it. */
	.macro	take
99:	mrs	x3, ICC_IAR1_EL1
	and	w4, w3, #0xffffff
	cmp	w4, #NO_INTERRUPT
	b.eq	99b
	msr	ICC_EOIR1_EL1, x3
	isb
	.endm

	.globl	guest_hvc
guest_hvc:
	mov	x19, x0
1:	ldr	w0, =PSCI_VERSION
	hvc	#0
	subs	x19, x19, #1
	b.ne	1b
	b	done

	.globl	guest_mmio
guest_mmio:
	ldr	x1, =GUEST_MMIO
1:	str	w0, [x1]
	subs	x0, x0, #1
	b.ne	1b
	b	done

	.globl	guest_vgic
guest_vgic:
	ldr	x1, =GUEST_GICD
1:	ldr	w2, [x1, #GICD_IIDR]
	subs	x0, x0, #1
	b.ne	1b
	b	done

	.globl	guest_sgi
guest_sgi:
	gic_on
	mov	x10, #1
1:	send	x10
	take
	subs	x0, x0, #1
	b.ne	1b
	b	done

	.globl	guest_ipi
guest_ipi:
	gic_on
	ldr	x1, =GUEST_RAM
2:	ldar	w2, [x1]		/* the other has its SGI on */
	cbz	w2, 2b
	mov	x10, #2
1:	send	x10
	take
	subs	x0, x0, #1
	b.ne	1b
	stlr	wzr, [x1]
	b	done

	.globl	guest_ipi_back
guest_ipi_back:
	gic_on
	ldr	x1, =GUEST_RAM
	mov	w2, #1
	stlr	w2, [x1]
	mov	x10, #1
1:	take
	send	x10
	subs	x0, x0, #1
	b.ne	1b
	b	done

	.globl	guest_fault
guest_fault:
	ldr	x1, =GUEST_RAM
1:	str	w0, [x1]
	add	x1, x1, #4096
	subs	x0, x0, #1
	b.ne	1b
	b	done

done:
	ldr	x1, =GUEST_EXIT
	str	wzr, [x1]
	br	x20			/* what it is now */

	.ltorg
guest_code_end:

	.section .note.GNU-stack, "", %progbits
