/* The guest of dirty-probe on riscv64: it runs in VS-mode without translation of its own. */
#ifdef __riscv
#include "vm.h"

#include <stdio.h>
#include <sys/ioctl.h>

/* a0 RAM, a1 pages, a2 the address whose write exits, a5 bytes between pages, a6 step, a7 mask */
asm(".text\n"
    ".balign 4\n"
    ".globl guest_code, guest_code_end\n"
    "guest_code:\n"
    "1:	mv	t0, a1\n"
    "	li	t1, 0\n"
    "2:	mul	t2, t1, a5\n"
    "	add	t2, t2, a0\n"
    "	sd	t0, 0(t2)\n"
    "	add	t1, t1, a6\n"
    "	and	t1, t1, a7\n"
    "	addi	t0, t0, -1\n"
    "	bnez	t0, 2b\n"
    "	sd	a1, 0(a2)\n"
    "	j	1b\n"
    "guest_code_end:\n");

static void set_register(struct probe_vm *p, uint64_t core_register, uint64_t value)
{
	struct kvm_one_reg r = {
		.id = KVM_REG_RISCV | KVM_REG_SIZE_U64 | KVM_REG_RISCV_CORE | core_register,
		.addr = (uintptr_t)&value,
	};

	if (ioctl(p->vcpu, KVM_SET_ONE_REG, &r))
		fail("KVM_SET_ONE_REG");
}

/* The first vCPU of a VM is runnable, in VS-mode, with vsatp 0. */
void guest_setup(struct probe_vm *p)
{
	const struct {
		uint64_t reg, value;
	} start[] = {
		{ KVM_REG_RISCV_CORE_REG(regs.a0), PROBE_RAM_GPA },
		{ KVM_REG_RISCV_CORE_REG(regs.a1), p->written },
		{ KVM_REG_RISCV_CORE_REG(regs.a2), PROBE_EXIT_GPA },
		{ KVM_REG_RISCV_CORE_REG(regs.a5), p->options->stride * PROBE_PAGE },
		{ KVM_REG_RISCV_CORE_REG(regs.a6), p->options->step },
		{ KVM_REG_RISCV_CORE_REG(regs.a7), p->written - 1 },
		{ KVM_REG_RISCV_CORE_REG(regs.pc), PROBE_CODE_GPA },
	};

	for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++)
		set_register(p, start[i].reg, start[i].value);
}

int check_ids(const struct probe_options *o)
{
	(void)o;
	printf("dirty-probe: -I: on riscv64 there is no engine whose ID could be hidden\n");
	return 2;
}
#endif
