/*
 * target/i386/kvm-msr.c - model-specific registers to and from KVM.
 *
 * Only registers that KVM_GET_MSR_INDEX_LIST names, or that every KVM has without naming them, are
 * moved; one that a kernel lacks keeps its value in struct x86_env.
 */
#include "accel/kvm.h"
#include "target/i386/cpu.h"
#include "util/error.h"

#include <linux/kvm.h>
#include <linux/kvm_para.h>

enum {
	MSR_TSC = 0x10,
	MSR_TSC_ADJUST = 0x3b,
	MSR_FEATURE_CONTROL = 0x3a,
	MSR_SPEC_CTRL = 0x48,
	MSR_SMI_COUNT = 0x34,
	MSR_MTRR_CAP = 0xfe,
	MSR_SYSENTER_CS = 0x174,
	MSR_SYSENTER_ESP = 0x175,
	MSR_SYSENTER_EIP = 0x176,
	MSR_MCG_STATUS = 0x17a,
	MSR_MCG_CTL = 0x17b,
	MSR_MISC_ENABLE = 0x1a0,
	MSR_MTRR_VAR = 0x200,
	MSR_PAT = 0x277,
	MSR_MTRR_DEFTYPE = 0x2ff,
	MSR_MC0_CTL = 0x400,
	MSR_TSC_DEADLINE = 0x6e0,
	MSR_XSS = 0xda0,
	MSR_STAR = 0xc0000081,
	MSR_LSTAR = 0xc0000082,
	MSR_CSTAR = 0xc0000083,
	MSR_FMASK = 0xc0000084,
	MSR_KERNELGSBASE = 0xc0000102,
	MSR_TSC_AUX = 0xc0000103,
	MSR_VM_HSAVE_PA = 0xc0010117,
	MSR_VIRT_SSBD = 0xc001011f,
};

/* Registers that KVM has always had: they need not be in its list. */
enum { LISTED, ALWAYS };

struct msr {
	u32 index;
	u16 offset; /* in struct x86_env */
	u8 size;    /* 4 or 8 */
	u8 when;    /* LISTED or ALWAYS */
};

#define MSR_AT(i, member, w)                                                                       \
	{                                                                                          \
		.index = i, .offset = offsetof(struct x86_env, member),                            \
		.size = sizeof(((struct x86_env *)0)->member), .when = w                           \
	}
#define MTRR_VAR_AT(n)                                                                             \
	MSR_AT(MSR_MTRR_VAR + 2 * n, mtrr_var[n].base, ALWAYS),                                    \
		MSR_AT(MSR_MTRR_VAR + 2 * n + 1, mtrr_var[n].mask, ALWAYS)

static const struct msr msrs[] = {
	MSR_AT(MSR_SYSENTER_CS, sysenter_cs, ALWAYS),
	MSR_AT(MSR_SYSENTER_ESP, sysenter_esp, ALWAYS),
	MSR_AT(MSR_SYSENTER_EIP, sysenter_eip, ALWAYS),
	MSR_AT(MSR_PAT, pat, ALWAYS),
	MSR_AT(MSR_STAR, star, LISTED),
	MSR_AT(MSR_LSTAR, lstar, LISTED),
	MSR_AT(MSR_CSTAR, cstar, LISTED),
	MSR_AT(MSR_FMASK, fmask, LISTED),
	MSR_AT(MSR_KERNELGSBASE, kernelgsbase, LISTED),
	MSR_AT(MSR_TSC_AUX, tsc_aux, LISTED),
	MSR_AT(MSR_VM_HSAVE_PA, vm_hsave, LISTED),
	MSR_AT(MSR_TSC, tsc, LISTED),
	MSR_AT(MSR_TSC_ADJUST, tsc_adjust, LISTED),
	MSR_AT(MSR_FEATURE_CONTROL, msr_ia32_feature_control, LISTED),
	MSR_AT(MSR_SPEC_CTRL, spec_ctrl, LISTED),
	MSR_AT(MSR_VIRT_SSBD, virt_ssbd, LISTED),
	MSR_AT(MSR_MISC_ENABLE, msr_ia32_misc_enable, LISTED),
	MSR_AT(MSR_XSS, xss, LISTED),
	MSR_AT(MSR_SMI_COUNT, msr_smi_count, LISTED),
	MSR_AT(MSR_KVM_SYSTEM_TIME_NEW, system_time_msr, LISTED),
	MSR_AT(MSR_KVM_WALL_CLOCK_NEW, wall_clock_msr, LISTED),
	MSR_AT(MSR_KVM_ASYNC_PF_INT, async_pf_int_msr, LISTED),
	MSR_AT(MSR_KVM_ASYNC_PF_EN, async_pf_en_msr, LISTED),
	MSR_AT(MSR_KVM_PV_EOI_EN, pv_eoi_en_msr, LISTED),
	MSR_AT(MSR_KVM_STEAL_TIME, steal_time_msr, LISTED),
	MSR_AT(MSR_KVM_POLL_CONTROL, poll_control_msr, LISTED),
	/* After the TSC, which it is compared with. */
	MSR_AT(MSR_TSC_DEADLINE, tsc_deadline, LISTED),
};

static const struct msr mtrrs[] = {
	MTRR_VAR_AT(0),
	MTRR_VAR_AT(1),
	MTRR_VAR_AT(2),
	MTRR_VAR_AT(3),
	MTRR_VAR_AT(4),
	MTRR_VAR_AT(5),
	MTRR_VAR_AT(6),
	MTRR_VAR_AT(7),
	MSR_AT(0x250, mtrr_fixed[0], ALWAYS),
	MSR_AT(0x258, mtrr_fixed[1], ALWAYS),
	MSR_AT(0x259, mtrr_fixed[2], ALWAYS),
	MSR_AT(0x268, mtrr_fixed[3], ALWAYS),
	MSR_AT(0x269, mtrr_fixed[4], ALWAYS),
	MSR_AT(0x26a, mtrr_fixed[5], ALWAYS),
	MSR_AT(0x26b, mtrr_fixed[6], ALWAYS),
	MSR_AT(0x26c, mtrr_fixed[7], ALWAYS),
	MSR_AT(0x26d, mtrr_fixed[8], ALWAYS),
	MSR_AT(0x26e, mtrr_fixed[9], ALWAYS),
	MSR_AT(0x26f, mtrr_fixed[10], ALWAYS),
	/* Last: it turns the others on. */
	MSR_AT(MSR_MTRR_DEFTYPE, mtrr_deftype, ALWAYS),
};

/* A list for KVM_GET_MSRS and KVM_SET_MSRS, and where each value belongs. */
struct msr_batch {
	struct kvm_msrs head;
	struct kvm_msr_entry entries[ARRAY_SIZE(msrs) + ARRAY_SIZE(mtrrs) + 2 + X86_MCE_BANKS * 4];
	u16 offset[ARRAY_SIZE(msrs) + ARRAY_SIZE(mtrrs) + 2 + X86_MCE_BANKS * 4];
	u8 size[ARRAY_SIZE(msrs) + ARRAY_SIZE(mtrrs) + 2 + X86_MCE_BANKS * 4];
};

/* KVM's list, sorted; made once, the same for all VMs. */
static GArray *listed;

static int by_value(gconstpointer a, gconstpointer b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

static int load_list(struct x86_cpu *cpu, GError **err)
{
	int fd = kvm_fd_of_system(cpu->vcpu->vm->accel);
	struct kvm_msr_list probe = { .nmsrs = 0 }, *list;
	int ret;

	if (listed)
		return 0;
	/* Fails with E2BIG and tells the number. */
	kvm_call(fd, KVM_GET_MSR_INDEX_LIST, &probe, "", NULL);
	list = g_malloc0(sizeof(*list) + probe.nmsrs * sizeof(u32));
	list->nmsrs = probe.nmsrs;
	ret = KVM_CALL(fd, KVM_GET_MSR_INDEX_LIST, list, err);
	if (ret >= 0) {
		listed = g_array_new(FALSE, FALSE, sizeof(u32));
		g_array_append_vals(listed, list->indices, list->nmsrs);
		g_array_sort(listed, by_value);
	}
	g_free(list);
	return ret;
}

static void batch_add(struct msr_batch *b, const struct msr *m)
{
	if (m->when == LISTED && !g_array_binary_search(listed, &m->index, by_value, NULL))
		return;
	b->entries[b->head.nmsrs].index = m->index;
	b->offset[b->head.nmsrs] = m->offset;
	b->size[b->head.nmsrs++] = m->size;
}

static int make_batch(struct x86_cpu *cpu, struct msr_batch *b, GError **err)
{
	_Static_assert(offsetof(struct msr_batch, entries) == sizeof(struct kvm_msrs),
		       "entries follow the head");
	int ret = load_list(cpu, err);

	memset(b, 0, sizeof(*b));
	if (ret < 0)
		return ret;
	for (unsigned i = 0; i < ARRAY_SIZE(msrs); i++)
		batch_add(b, &msrs[i]);
	if (cpu->has_mtrr)
		for (unsigned i = 0; i < ARRAY_SIZE(mtrrs); i++)
			batch_add(b, &mtrrs[i]);
	if (cpu->env.mcg_cap) {
		batch_add(b, &(struct msr)MSR_AT(MSR_MCG_STATUS, mcg_status, ALWAYS));
		batch_add(b, &(struct msr)MSR_AT(MSR_MCG_CTL, mcg_ctl, ALWAYS));
		for (u32 i = 0; i < (cpu->env.mcg_cap & 0xff) * 4; i++) {
			struct msr m = MSR_AT(MSR_MC0_CTL, mce_banks[0], ALWAYS);

			m.index += i;
			m.offset += i * sizeof(u64);
			batch_add(b, &m);
		}
	}
	return 0;
}

int x86_kvm_get_msrs(struct x86_cpu *cpu, int fd, GError **err)
{
	struct msr_batch b;
	int ret = make_batch(cpu, &b, err);

	if (ret < 0)
		return ret;
	ret = KVM_CALL(fd, KVM_GET_MSRS, &b.head, err);
	if (ret < 0)
		return ret;
	if ((u32)ret < b.head.nmsrs) {
		error_set(err, "KVM_GET_MSRS: register 0x%x cannot be read", b.entries[ret].index);
		return -EIO;
	}
	for (u32 i = 0; i < b.head.nmsrs; i++)
		memcpy((u8 *)&cpu->env + b.offset[i], &b.entries[i].data, b.size[i]);
	return 0;
}

int x86_kvm_put_msrs(struct x86_cpu *cpu, int fd, GError **err)
{
	struct msr_batch b;
	int ret = make_batch(cpu, &b, err);

	if (ret < 0)
		return ret;
	for (u32 i = 0; i < b.head.nmsrs; i++)
		memcpy(&b.entries[i].data, (u8 *)&cpu->env + b.offset[i], b.size[i]);
	ret = KVM_CALL(fd, KVM_SET_MSRS, &b.head, err);
	if (ret < 0)
		return ret;
	if ((u32)ret < b.head.nmsrs) {
		error_set(err, "KVM_SET_MSRS: register 0x%x cannot be set to 0x%llx",
			  b.entries[ret].index, (unsigned long long)b.entries[ret].data);
		return -EIO;
	}
	return 0;
}
