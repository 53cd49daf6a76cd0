/* target/arm/kvm.c - an arm64 vCPU's registers to and from KVM. */
#include "target/arm/kvm.h"

#include "accel/kvm.h"
#include "target/arm/cpu-features.h"
#include "target/arm/sysreg.h"
#include "util/error.h"

#include <elf.h>
#include <linux/kvm.h>

#define CORE_U64(field)                                                                            \
	(KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | KVM_REG_ARM_CORE_REG(field))
#define CORE_U32(field)                                                                            \
	(KVM_REG_ARM64 | KVM_REG_SIZE_U32 | KVM_REG_ARM_CORE | KVM_REG_ARM_CORE_REG(field))
#define CORE_U128(field)                                                                           \
	(KVM_REG_ARM64 | KVM_REG_SIZE_U128 | KVM_REG_ARM_CORE | KVM_REG_ARM_CORE_REG(field))
/* Numbers count 32-bit words of struct kvm_regs. */
#define CORE_STEP(type) (sizeof(type) / sizeof(u32))

bool arm_kvm_used(const struct vm *vm)
{
	return accel_is_kvm(vm->accel);
}

bool arm_kvm_has_pauth(const struct vm *vm)
{
	return kvm_check_extension(vm->accel, KVM_CAP_ARM_PTRAUTH_ADDRESS) &&
	       kvm_check_extension(vm->accel, KVM_CAP_ARM_PTRAUTH_GENERIC);
}

/* ---- one register ---- */

static int one_reg(int fd, bool put, u64 index, void *value, GError **err)
{
	struct kvm_one_reg reg = { .id = index, .addr = (uintptr_t)value };
	int ret = put ? KVM_CALL(fd, KVM_SET_ONE_REG, &reg, err)
		      : KVM_CALL(fd, KVM_GET_ONE_REG, &reg, err);

	if (ret < 0)
		g_prefix_error(err, "register 0x%" PRIx64 ": ", index);
	return MIN(ret, 0);
}

/* Either way between KVM and @core. */
static int move_core(int fd, bool put, struct kvm_regs *core, GError **err)
{
	int ret = one_reg(fd, put, CORE_U64(regs.sp), &core->regs.sp, err);

	for (unsigned i = 0; !ret && i < 31; i++)
		ret = one_reg(fd, put, CORE_U64(regs.regs[0]) + i * CORE_STEP(u64),
			      &core->regs.regs[i], err);
	if (!ret)
		ret = one_reg(fd, put, CORE_U64(regs.pc), &core->regs.pc, err);
	if (!ret)
		ret = one_reg(fd, put, CORE_U64(regs.pstate), &core->regs.pstate, err);
	if (!ret)
		ret = one_reg(fd, put, CORE_U64(sp_el1), &core->sp_el1, err);
	if (!ret)
		ret = one_reg(fd, put, CORE_U64(elr_el1), &core->elr_el1, err);
	if (!ret)
		ret = one_reg(fd, put, CORE_U64(spsr[KVM_SPSR_EL1]), &core->spsr[KVM_SPSR_EL1],
			      err);
	for (unsigned i = 0; !ret && i < 32; i++)
		ret = one_reg(fd, put,
			      CORE_U128(fp_regs.vregs[0]) + i * CORE_STEP(core->fp_regs.vregs[0]),
			      &core->fp_regs.vregs[i], err);
	if (!ret)
		ret = one_reg(fd, put, CORE_U32(fp_regs.fpsr), &core->fp_regs.fpsr, err);
	if (!ret)
		ret = one_reg(fd, put, CORE_U32(fp_regs.fpcr), &core->fp_regs.fpcr, err);
	return ret;
}

/* ---- core registers ---- */

/* Which of sp_el[] is the current stack pointer. */
static unsigned sp_bank(const struct arm_cpu *cpu)
{
	return cpu->pstate & PSTATE_SPSEL ? cpu_el(cpu) : 0;
}

static void core_to_cpu(struct arm_cpu *cpu, const struct kvm_regs *core)
{
	u32 btype = 3u << PSTATE_BTYPE_SHIFT;

	memcpy(cpu->tcg.r, core->regs.regs, sizeof(core->regs.regs));
	tcg_set_pc(&cpu->tcg, core->regs.pc);
	cpu->pstate = core->regs.pstate & ~(PSTATE_NZCV | btype);
	cpu->btype = (core->regs.pstate & btype) >> PSTATE_BTYPE_SHIFT;
	cpu_set_nzcv(cpu, core->regs.pstate >> 28);
	cpu->sp_el[0] = core->regs.sp;
	cpu->sp_el[1] = core->sp_el1;
	cpu->tcg.r[31] = cpu->sp_el[sp_bank(cpu)];
	cpu->elr_el[1] = core->elr_el1;
	cpu->spsr_el[1] = core->spsr[KVM_SPSR_EL1];
	for (unsigned i = 0; i < 32; i++)
		memcpy(cpu_v(cpu, i)->d, &core->fp_regs.vregs[i], sizeof(core->fp_regs.vregs[i]));
	arm_set_fpcr(cpu, core->fp_regs.fpcr);
	arm_set_fpsr(cpu, core->fp_regs.fpsr);
}

static void core_from_cpu(struct kvm_regs *core, struct arm_cpu *cpu)
{
	u64 sp[2] = { cpu->sp_el[0], cpu->sp_el[1] };

	sp[sp_bank(cpu) & 1] = cpu->tcg.r[31];
	memcpy(core->regs.regs, cpu->tcg.r, sizeof(core->regs.regs));
	core->regs.pc = tcg_pc(&cpu->tcg);
	core->regs.pstate =
		cpu->pstate | cpu->btype << PSTATE_BTYPE_SHIFT | (u32)cpu_nzcv(cpu) << 28;
	core->regs.sp = sp[0];
	core->sp_el1 = sp[1];
	core->elr_el1 = cpu->elr_el[1];
	core->spsr[KVM_SPSR_EL1] = cpu->spsr_el[1];
	for (unsigned i = 0; i < 32; i++)
		memcpy(&core->fp_regs.vregs[i], cpu_v(cpu, i)->d, sizeof(core->fp_regs.vregs[i]));
	core->fp_regs.fpcr = cpu->fpcr;
	core->fp_regs.fpsr = arm_get_fpsr(cpu);
}

/* ---- the others ---- */

/* For "info registers": what this CPU's own table knows, too. ID registers are kept there in
 * another form. */
static void show_sysreg(struct arm_cpu *cpu, u64 index, u64 value)
{
	const struct arm_sysreg *reg;

	if ((index & KVM_REG_ARM_COPROC_MASK) != KVM_REG_ARM64_SYSREG ||
	    (index & 0xffff) >> 7 == SYSREG(3, 0, 0, 0, 0) >> 7)
		return;
	reg = arm_sysreg_find(cpu, index & 0xffff);
	if (reg && reg->offset)
		*(u64 *)((char *)cpu + reg->offset) = value;
}

static int get_sysregs(struct arm_vcpu *v, int fd, GError **err)
{
	struct arm_kvm_cpu *k = v->kvm;
	int ret = 0;

	for (unsigned i = 0; !ret && i < k->n; i++) {
		k->value[i] = 0; /* 32-bit ones fill one half */
		ret = one_reg(fd, false, k->index[i], &k->value[i], err);
		if (!ret)
			show_sysreg(&v->cpu, k->index[i], k->value[i]);
	}
	return ret;
}

static int put_sysregs(struct arm_vcpu *v, int fd, GError **err)
{
	struct arm_kvm_cpu *k = v->kvm;
	int ret = 0;

	for (unsigned i = 0; !ret && i < k->n; i++)
		ret = one_reg(fd, true, k->index[i], &k->value[i], err);
	return ret;
}

static int get_events(struct arm_vcpu *v, int fd, GError **err)
{
	struct kvm_vcpu_events e = { 0 };
	int ret = KVM_CALL(fd, KVM_GET_VCPU_EVENTS, &e, err);

	v->kvm->serror_pending = e.exception.serror_pending;
	v->kvm->serror_has_esr = e.exception.serror_has_esr;
	v->kvm->serror_esr = e.exception.serror_esr;
	return ret;
}

static int put_events(const struct arm_vcpu *v, int fd, GError **err)
{
	struct kvm_vcpu_events e = {
		.exception.serror_pending = v->kvm->serror_pending,
		.exception.serror_has_esr = v->kvm->serror_has_esr,
		.exception.serror_esr = v->kvm->serror_esr,
	};

	return KVM_CALL(fd, KVM_SET_VCPU_EVENTS, &e, err);
}

static int get_mp_state(struct arm_vcpu *v, int fd, GError **err)
{
	struct kvm_mp_state s;
	int ret = KVM_CALL(fd, KVM_GET_MP_STATE, &s, err);

	if (ret >= 0)
		v->powered_off = s.mp_state == KVM_MP_STATE_STOPPED;
	return ret;
}

static int put_mp_state(const struct arm_vcpu *v, int fd, GError **err)
{
	struct kvm_mp_state s = { .mp_state = v->powered_off ? KVM_MP_STATE_STOPPED
							     : KVM_MP_STATE_RUNNABLE };

	return KVM_CALL(fd, KVM_SET_MP_STATE, &s, err);
}

/* ---- a vCPU's life ---- */

/* To its power-on state; also what makes it a vCPU at all. */
static int init_vcpu(struct arm_vcpu *v, int fd, GError **err)
{
	struct kvm_vcpu_init init = { 0 };
	int ret = KVM_CALL(kvm_fd_of_vm(v->vcpu->vm->accel), KVM_ARM_PREFERRED_TARGET, &init, err);

	if (ret < 0)
		return ret;
	init.features[0] |= 1u << KVM_ARM_VCPU_PSCI_0_2;
	if (v->starts_off)
		init.features[0] |= 1u << KVM_ARM_VCPU_POWER_OFF;
	if (cpu_has(&v->cpu, ARM_FEAT_PAUTH))
		init.features[0] |=
			1u << KVM_ARM_VCPU_PTRAUTH_ADDRESS | 1u << KVM_ARM_VCPU_PTRAUTH_GENERIC;
	return KVM_CALL(fd, KVM_ARM_VCPU_INIT, &init, err);
}

int arm_kvm_by_index(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/* Those that move_core() does not know. */
static int list_sysregs(struct arm_vcpu *v, int fd, GError **err)
{
	struct kvm_reg_list probe = { 0 };
	g_autofree struct kvm_reg_list *list = NULL;
	struct arm_kvm_cpu *k = v->kvm;
	int ret;

	/* Fails, and tells how many there are. */
	kvm_call(fd, KVM_GET_REG_LIST, &probe, "KVM_GET_REG_LIST", NULL);
	list = g_malloc0(sizeof(*list) + probe.n * sizeof(u64));
	list->n = probe.n;
	ret = KVM_CALL(fd, KVM_GET_REG_LIST, list, err);
	if (ret < 0)
		return ret;
	k->index = g_new0(u64, list->n);
	k->value = g_new0(u64, list->n);
	for (u64 i = 0; i < list->n; i++) {
		u64 index = list->reg[i], size = index & KVM_REG_SIZE_MASK;

		if ((index & KVM_REG_ARM_COPROC_MASK) == KVM_REG_ARM_CORE)
			continue;
		if (size != KVM_REG_SIZE_U64 && size != KVM_REG_SIZE_U32) {
			error_set(err, "KVM has a register 0x%" PRIx64 " of an unknown size",
				  index);
			return -ENOTSUP;
		}
		k->index[k->n++] = index;
	}
	qsort(k->index, k->n, sizeof(k->index[0]), arm_kvm_by_index);
	return 0;
}

static int kvm_init_vcpu(struct vcpu *vcpu, int fd, GError **err)
{
	struct arm_vcpu *v = vcpu->arch;
	u64 mpidr, number = ARM64_SYS_REG(3, 0, 0, 0, 5);
	int ret;

	v->vcpu = vcpu;
	v->kvm = g_new0(struct arm_kvm_cpu, 1);
	ret = init_vcpu(v, fd, err);
	if (ret >= 0)
		ret = one_reg(fd, false, number, &mpidr, err);
	if (ret < 0)
		return ret;
	if (mpidr != v->cpu.mpidr) {
		error_set(err,
			  "vCPU %d: KVM gives it MPIDR_EL1 0x%" PRIx64 " instead of 0x%" PRIx64,
			  vcpu->index, mpidr, v->cpu.mpidr);
		return -ENOTSUP;
	}
	ret = list_sysregs(v, fd, err);
	return ret ? ret : get_sysregs(v, fd, err);
}

void arm_kvm_free(struct arm_vcpu *v)
{
	if (!v->kvm)
		return;
	g_free(v->kvm->index);
	g_free(v->kvm->value);
	g_clear_pointer(&v->kvm, g_free);
}

static int kvm_get(struct vcpu *vcpu, int fd, GError **err)
{
	struct arm_vcpu *v = vcpu->arch;
	struct kvm_regs core;

	if (move_core(fd, false, &core, err) || get_sysregs(v, fd, err) ||
	    get_events(v, fd, err) < 0 || get_mp_state(v, fd, err) < 0) {
		g_prefix_error(err, "vCPU %d: ", vcpu->index);
		return -EIO;
	}
	core_to_cpu(&v->cpu, &core);
	return 0;
}

/* After a reset KVM knows better what its registers are; only where to start is ours. */
static int put_reset(struct arm_vcpu *v, int fd, GError **err)
{
	if (init_vcpu(v, fd, err) < 0 || get_sysregs(v, fd, err))
		return -EIO;
	v->kvm->reset_wanted = false;
	v->kvm->serror_pending = 0;
	return 0;
}

static int kvm_put(struct vcpu *vcpu, int fd, GError **err)
{
	struct arm_vcpu *v = vcpu->arch;
	struct kvm_regs core = { 0 };

	core_from_cpu(&core, &v->cpu);
	if ((v->kvm->reset_wanted ? put_reset(v, fd, err) : put_sysregs(v, fd, err)) ||
	    move_core(fd, true, &core, err) || put_events(v, fd, err) < 0 ||
	    put_mp_state(v, fd, err) < 0) {
		g_prefix_error(err, "vCPU %d: ", vcpu->index);
		return -EIO;
	}
	return 0;
}

static void reset(struct vcpu *vcpu)
{
	struct arm_vcpu *v = vcpu->arch;

	arm_vcpu_reset(vcpu);
	if (v->kvm)
		v->kvm->reset_wanted = true;
}

const struct cpu_ops arm_kvm_cpu_ops = {
	.name = "arm",
	.reset = reset,
	.describe = arm_vcpu_describe,
	.core_regs = arm_vcpu_core_regs,
	.elf_machine = EM_AARCH64,
	.kvm_init_vcpu = kvm_init_vcpu,
	.kvm_get = kvm_get,
	.kvm_put = kvm_put,
};
