/*
 * boot.S - entry of a test guest on x86-64: PVH start, identity map, long mode, traps, more CPUs.
 *
 * Sources: the PVH entry and its ELF note are described by Xen's public "x86/HVM direct boot ABI";
 * modes and descriptors by the Intel SDM, volume 3, chapters 3, 6 and 9.
 */
#include "layout.h"

	.section .note.pvh, "a", @note
	.long 4, 4, 18			/* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz "Xen"
	.long start32

	.text
	.code32
	.globl start32
start32:				/* ebx: struct hvm_start_info, flat 32-bit segments */
	cli
	cld
	mov %ebx, pvh_start_info

	mov $pdpt, %eax
	or $PTE_TABLE, %eax
	mov %eax, pml4
	mov $pd, %eax			/* the page directories cover MAP_GIB GiB in 2 MiB steps */
	or $PTE_TABLE, %eax
	mov $pdpt, %edi
	mov $MAP_GIB, %ecx
1:	mov %eax, (%edi)
	add $4096, %eax
	add $8, %edi
	loop 1b
	xor %edx, %edx
	mov $PTE_LARGE, %eax
	mov $pd, %edi
	mov $(MAP_GIB * 512), %ecx
2:	mov %eax, (%edi)
	mov %edx, 4(%edi)
	add $0x200000, %eax
	adc $0, %edx
	add $8, %edi
	loop 2b

	lgdt gdt_pointer
	xor %ebp, %ebp			/* CPU index */
	jmp enter_long_mode

	/* Further CPUs: smp.c copies this below 1 MiB, a start-up interrupt enters it in real mode. */
	.code16
	.globl trampoline, trampoline_end
trampoline:
	cli
	xor %ax, %ax
	mov %ax, %ds
	lgdtl TRAMPOLINE + (gdt_pointer_copy - trampoline)
	mov %cr0, %eax
	or $1, %al
	mov %eax, %cr0
	ljmpl $SEL_CODE32, $trampoline32
	.balign 4
gdt_pointer_copy:
	.word gdt_end - gdt - 1
	.long gdt
trampoline_end:

	.code32
trampoline32:
	mov $SEL_DATA, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	mov smp_index, %ebp

enter_long_mode:
	mov %cr4, %eax
	or $0x20, %eax			/* PAE */
	mov %eax, %cr4
	mov $pml4, %eax
	mov %eax, %cr3
	mov $0xc0000080, %ecx		/* EFER.LME */
	rdmsr
	or $0x100, %eax
	wrmsr
	mov %cr0, %eax
	or $0x80000001, %eax		/* PG, PE */
	mov %eax, %cr0
	ljmp $SEL_CODE, $start64

	.code64
start64:
	mov $SEL_DATA, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	mov %ebp, %edi
	mov %ebp, %eax
	inc %eax
	shl $STACK_SHIFT, %eax
	lea stacks(%rax), %rsp
	call arch_start
	ud2

/*
 * void __attribute__((noreturn)) enter_user(void (*fn)(unsigned), unsigned index, void *stack_top)
 * Goes on at CPL 3 with IOPL 3 and interrupts off.
 */
	.globl enter_user
enter_user:
	mov %rdi, %rax
	mov %esi, %edi
	sub $8, %rdx			/* as if called: stack 8 off a multiple of 16 */
	pushq $SEL_USER_DATA
	pushq %rdx
	pushq $0x3002
	pushq $SEL_USER_CODE
	pushq %rax
	iretq

/*
 * One 16-byte stub a vector. Some hypervisors run CPL 3 natively but drop IOPL, so that IN and OUT
 * of the console driver arrive here as #GP: these two are carried out at CPL 0. Everything else is
 * reported by trap_report() and ends the guest.
 */
	.balign 16
	.globl trap_stubs
trap_stubs:
	.set vector, 0
	.rept NR_TRAPS
	.balign 16
	.if !(TRAPS_WITH_CODE & (1 << vector))
	push $0
	.endif
	push $vector
	jmp trap
	.set vector, vector + 1
	.endr

trap:
	cmpl $13, (%rsp)
	jne 3f
	push %rcx
	mov 24(%rsp), %rcx		/* rip: above rcx, vector, error code */
	cmpb $0xee, (%rcx)
	jne 1f
	out %al, %dx
	jmp 2f
1:	cmpb $0xec, (%rcx)
	jne 4f
	in %dx, %al
2:	incq 24(%rsp)
	pop %rcx
	add $16, %rsp
	iretq
4:	pop %rcx
3:	mov %rsp, %rdi
	mov %cr2, %rsi
	and $-16, %rsp
	call trap_report

	.data
	.balign 16
	.globl gdt
gdt:	.quad 0
	.quad 0x00af9b000000ffff	/* SEL_CODE: 64-bit code */
	.quad 0x00cf93000000ffff	/* SEL_DATA */
	.quad 0x00affb000000ffff	/* SEL_USER_CODE: 64-bit code, DPL 3 */
	.quad 0x00cff3000000ffff	/* SEL_USER_DATA: DPL 3 */
	.quad 0x00cf9b000000ffff	/* SEL_CODE32 */
	.fill 16 * 2, 8, 0		/* SEL_TSS: one a CPU, written by arch_start() */
gdt_end:
gdt_pointer:
	.word gdt_end - gdt - 1
	.quad gdt
	.globl pvh_start_info, smp_index
	.balign 8
pvh_start_info:
	.quad 0
smp_index:
	.quad 0

	.bss
	.balign 4096
pml4:	.skip 4096
pdpt:	.skip 4096
pd:	.skip 4096 * MAP_GIB
	.globl stacks
stacks:	.skip 16 << STACK_SHIFT
