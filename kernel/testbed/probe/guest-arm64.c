/* The guest of dirty-probe on arm64: it runs at EL1 with the MMU off. */
#ifdef __aarch64__
#include "vm.h"

#include <stdio.h>
#include <sys/ioctl.h>

/* x0 RAM, x1 pages, x2 the address whose write exits, x5 bytes between pages, x7 step, x8 mask */
asm(".text\n"
    ".balign 4\n"
    ".globl guest_code, guest_code_end\n"
    "guest_code:\n"
    "1:	mov	x3, x1\n"
    "	mov	x4, #0\n"
    "2:	madd	x6, x4, x5, x0\n"
    "	str	x3, [x6]\n"
    "	add	x4, x4, x7\n"
    "	and	x4, x4, x8\n"
    "	subs	x3, x3, #1\n"
    "	b.ne	2b\n"
    "	str	x1, [x2]\n"
    "	b	1b\n"
    "guest_code_end:\n");

static void set_register(struct probe_vm *p, uint64_t core_register, uint64_t value)
{
	struct kvm_one_reg r = {
		.id = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | core_register,
		.addr = (uintptr_t)&value,
	};

	if (ioctl(p->vcpu, KVM_SET_ONE_REG, &r))
		fail("KVM_SET_ONE_REG");
}

void guest_setup(struct probe_vm *p)
{
	struct kvm_vcpu_init init = { 0 };
	const struct {
		uint64_t reg, value;
	} start[] = {
		{ KVM_REG_ARM_CORE_REG(regs.regs[0]), PROBE_RAM_GPA },
		{ KVM_REG_ARM_CORE_REG(regs.regs[1]), p->written },
		{ KVM_REG_ARM_CORE_REG(regs.regs[2]), PROBE_EXIT_GPA },
		{ KVM_REG_ARM_CORE_REG(regs.regs[5]), p->options->stride * PROBE_PAGE },
		{ KVM_REG_ARM_CORE_REG(regs.regs[7]), p->options->step },
		{ KVM_REG_ARM_CORE_REG(regs.regs[8]), p->written - 1 },
		{ KVM_REG_ARM_CORE_REG(regs.pc), PROBE_CODE_GPA },
	};

	if (ioctl(p->vm, KVM_ARM_PREFERRED_TARGET, &init))
		fail("KVM_ARM_PREFERRED_TARGET");
	if (ioctl(p->vcpu, KVM_ARM_VCPU_INIT, &init))
		fail("KVM_ARM_VCPU_INIT");
	for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++)
		set_register(p, start[i].reg, start[i].value);
}

/* The field of an ID register, of ID_AA64MMFR<number>_EL1. */
static unsigned int memory_feature(const struct probe_vm *p, unsigned int number,
				   unsigned int shift)
{
	uint64_t value;
	struct kvm_one_reg r = {
		.id = ARM64_SYS_REG(3, 0, 0, 7, number),
		.addr = (uintptr_t)&value,
	};

	if (ioctl(p->vcpu, KVM_GET_ONE_REG, &r))
		fail("KVM_GET_ONE_REG");
	return value >> shift & 15;
}

/* FEAT_HDBSS is the value 4 of HAFDBS; both engines belong to EL2. */
int check_ids(const struct probe_options *o)
{
	struct probe_vm p;
	unsigned int hafdbs, hacdbs;

	vm_create(&p, o);
	hafdbs = memory_feature(&p, 1, 0);
	hacdbs = memory_feature(&p, 4, 12);
	printf("ID registers of the guest: HAFDBS %u, HACDBS %u\n", hafdbs, hacdbs);
	return hafdbs > 3 || hacdbs;
}
#endif
