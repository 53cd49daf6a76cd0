/*
 * The guest of dirty-probe on x86-64: protected mode with pages of 4 MiB, each at its own address.
 *
 * With paging off QEMU 7.2 would not use the host's nested page tables. Addresses have 32 bits, so
 * that memory of up to 2 GiB can be written.
 */
#ifdef __x86_64__
#include "vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/* edx pages, ebp bytes between pages, edi step, ebx mask; RAM and the exit are constants of vm.h */
asm(".text\n"
    ".code32\n"
    ".globl guest_code, guest_code_end\n"
    "guest_code:\n"
    "1:	mov	%edx, %ecx\n"
    "	xor	%esi, %esi\n"
    "2:	mov	%esi, %eax\n"
    "	imul	%ebp, %eax\n"
    "	mov	%ecx, 0x40000000(%eax)\n"
    "	add	%edi, %esi\n"
    "	and	%ebx, %esi\n"
    "	dec	%ecx\n"
    "	jnz	2b\n"
    "	mov	%edx, 0x20000\n"
    "	jmp	1b\n"
    "guest_code_end:\n"
    ".code64\n");
_Static_assert(PROBE_RAM_GPA == 0x40000000 && PROBE_EXIT_GPA == 0x20000, "as in guest_code");

/* Of an entry of the page directory: present, writable, accessed, dirty, 4 MiB. */
#define PDE_FLAGS 0xe3u
#define CR0_PE    (1u << 0)
#define CR0_ET    (1u << 4)
#define CR0_PG    (1u << 31)
#define CR4_PSE   (1u << 4)
#define MIB_LIMIT 2048

static struct kvm_segment flat(uint8_t type, uint16_t selector)
{
	return (struct kvm_segment){
		.limit = 0xffffffff,
		.selector = selector,
		.type = type,
		.present = 1,
		.db = 1,
		.s = 1,
		.g = 1,
	};
}

void guest_setup(struct probe_vm *p)
{
	uint32_t *directory = (uint32_t *)p->tables;
	struct kvm_regs r = {
		.rip = PROBE_CODE_GPA,
		.rflags = 2,
		.rdx = p->written,
		.rbp = p->options->stride * PROBE_PAGE,
		.rdi = p->options->step,
		.rbx = p->written - 1,
	};
	struct kvm_sregs s;

	if (p->options->mib > MIB_LIMIT) {
		printf("dirty-probe: -m %lu: on x86-64 the guest writes %d MiB at most\n",
		       p->options->mib, MIB_LIMIT);
		exit(2);
	}
	for (uint32_t i = 0; i < 1024; i++)
		directory[i] = i << 22 | PDE_FLAGS;
	if (ioctl(p->vcpu, KVM_GET_SREGS, &s))
		fail("KVM_GET_SREGS");
	s.cs = flat(11, 8);
	s.ds = s.es = s.fs = s.gs = s.ss = flat(3, 16);
	s.cr0 = CR0_PE | CR0_ET | CR0_PG;
	s.cr3 = PROBE_TABLES_GPA;
	s.cr4 = CR4_PSE;
	s.efer = 0;
	if (ioctl(p->vcpu, KVM_SET_SREGS, &s))
		fail("KVM_SET_SREGS");
	if (ioctl(p->vcpu, KVM_SET_REGS, &r))
		fail("KVM_SET_REGS");
}

int check_ids(const struct probe_options *o)
{
	(void)o;
	printf("dirty-probe: -I: on x86-64 there is no engine whose ID could be hidden\n");
	return 2;
}
#endif
