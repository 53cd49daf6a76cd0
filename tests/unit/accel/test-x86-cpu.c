/* tests/unit/accel/test-x86-cpu.c - x86 CPU models, topology and registers, under real KVM. */
#include "tests/unit/accel/guest.h"

#include "accel/kvm.h"
#include "target/i386/cpu.h"
#include "target/i386/model.h"
#include "util/keyval.h"
#include "util/lock.h"
#include "util/main-loop.h"

#include <cpuid.h>

static const struct x86_topology one = { 1, 1, 1, 1 };

static struct guest *idle_guest(int ncpus)
{
	static const u8 halt[] = { 0xf4 };

	return guest_create("", 2 * MiB, ncpus, halt, sizeof(halt));
}

struct feature_query {
	const char *name;
	bool on, unavailable, found;
};

static void look(void *opaque, const char *name, bool on, bool unavailable)
{
	struct feature_query *q = opaque;

	if (strcmp(q->name, name))
		return;
	q->found = true;
	q->on = on;
	q->unavailable = unavailable;
}

static bool has(const struct x86_cpu_model *m, const char *name, bool *unavailable)
{
	struct feature_query q = { .name = name };

	x86_cpu_model_features(m, look, &q);
	g_assert_true(q.found);
	if (unavailable)
		*unavailable = q.unavailable;
	return q.on;
}

static struct x86_cpu_model *model(struct guest *g, const char *text)
{
	g_autoptr(GError) err = NULL;
	struct x86_cpu_model *m = x86_cpu_model_create(g->vm, text, &one, &err);

	g_assert_no_error(err);
	return m;
}

static void test_flags(void)
{
	struct x86_cpu_model *m;
	struct guest *g;
	bool unavailable;

	if (guest_skip())
		return;
	g = idle_guest(1);
	m = model(g, "host");
	g_assert_true(has(m, "sse2", NULL));
	g_assert_true(has(m, "hypervisor", NULL));
	g_assert_true(has(m, "kvmclock", NULL));
	x86_cpu_model_destroy(m);

	/* Signs win over values, whatever the order; underscores and dots are dashes. */
	m = model(g, "host,-sse2,sse2=on,kvmclock=off,x2apic=off,+x2apic,lahf_lm=off,kvm=off");
	g_assert_false(has(m, "sse2", NULL));
	g_assert_false(has(m, "kvmclock", NULL));
	g_assert_true(has(m, "x2apic", NULL));
	g_assert_false(has(m, "lahf-lm", NULL));
	x86_cpu_model_destroy(m);

	/* No KVM offers this one. */
	m = model(g, "kvm64,check=off,+ia64");
	g_assert_false(has(m, "ia64", &unavailable));
	g_assert_true(unavailable);
	x86_cpu_model_destroy(m);

	/* A clock rate that cannot change would keep the guest from moving. */
	m = model(g, "host,migratable=on");
	g_assert_false(has(m, "invtsc", NULL));
	x86_cpu_model_destroy(m);
	guest_destroy(g);
}

static void test_refusals(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "pentium9", "pentium9" },
		{ "", "unknown model" },
		{ "host,+warp", "warp" },
		{ "host,sse2=maybe", "sse2=maybe" },
		{ "host,hv-relaxed=on", "hv-relaxed=on" },
		{ "host,hv_relaxed", "hv-relaxed=on" },
		{ "host,family=x", "family=x" },
		{ "host,phys-bits=99", "phys-bits=99" },
		{ "host,color=red", "color=red" },
		{ "kvm64,+ia64,enforce", "ia64" },
		{ "qemu64,migratable=off", "migratable" },
		{ "host,tsc-frequency=fast", "tsc-frequency=fast" },
	};
	struct guest *g;

	if (guest_skip())
		return;
	g = idle_guest(1);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		g_autoptr(GError) err = NULL;

		g_assert_null(x86_cpu_model_create(g->vm, bad[i].text, &one, &err));
		g_assert_nonnull(err);
		if (!strstr(err->message, bad[i].says))
			g_error("-cpu %s: '%s'", bad[i].text, err->message);
	}
	guest_destroy(g);
}

static void test_topology(void)
{
	struct x86_topology t = { .sockets = 2, .dies = 1, .cores = 3, .threads = 2 };
	static const u32 want[] = { 0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13 };
	g_autoptr(GError) err = NULL;
	struct x86_cpu_model *m;
	struct kvm_cpuid2 *c;
	struct guest *g;

	if (guest_skip())
		return;
	for (unsigned i = 0; i < ARRAY_SIZE(want); i++)
		g_assert_cmpuint(x86_topology_apic_id(&t, i), ==, want[i]);
	g = idle_guest(1);
	m = x86_cpu_model_create(g->vm, "host,level=0xb", &t, &err);
	g_assert_no_error(err);
	c = x86_cpuid_build(m, 13);
	g_assert_cmpuint(x86_cpuid_reg(c, 0, 0, REG_EAX), ==, 0xb);
	g_assert_cmpuint(x86_cpuid_reg(c, 1, 0, REG_EBX) >> 24, ==, 13);
	g_assert_cmpuint(x86_cpuid_reg(c, 1, 0, REG_EBX) >> 16 & 255, ==, 6);
	g_assert_cmphex(x86_cpuid_reg(c, 1, 0, REG_EDX) & BIT_1_EDX_HT, !=, 0);
	g_assert_cmpuint(x86_cpuid_reg(c, 0xb, 0, REG_EAX), ==, 1);
	g_assert_cmpuint(x86_cpuid_reg(c, 0xb, 0, REG_EBX), ==, 2);
	g_assert_cmpuint(x86_cpuid_reg(c, 0xb, 1, REG_EAX), ==, 3);
	g_assert_cmpuint(x86_cpuid_reg(c, 0xb, 1, REG_EBX), ==, 6);
	g_assert_cmpuint(x86_cpuid_reg(c, 0xb, 1, REG_EDX), ==, 13);
	g_free(c);
	x86_cpu_model_destroy(m);
	guest_destroy(g);
}

/* mov eax, 1; cpuid; mov [0x3000], ebx; mov [0x3004], ecx; mov [0x3008], edx; out 0xf1, al; hlt */
static const u8 ask_cpuid[] = { 0x66, 0xb8, 0x01, 0x00, 0x00, 0x00, 0x0f, 0xa2, 0x66,
				0x89, 0x1e, 0x00, 0x30, 0x66, 0x89, 0x0e, 0x04, 0x30,
				0x66, 0x89, 0x16, 0x08, 0x30, 0xe6, 0xf1, 0xf4 };

/* The guest really sees the leaves that were built. */
static void test_guest_sees(void)
{
	u32 seen[3], want_ecx, want_edx, extra, eax, ebx, ecx, edx;
	struct guest *g;

	if (guest_skip())
		return;
	g = guest_create("", 2 * MiB, 1, ask_cpuid, sizeof(ask_cpuid));
	want_ecx = x86_cpuid_reg(x86_cpu_of(g->vm->cpus[0])->cpuid, 1, 0, REG_ECX);
	want_edx = x86_cpuid_reg(x86_cpu_of(g->vm->cpus[0])->cpuid, 1, 0, REG_EDX);
	vm_start(g->vm);
	guest_wait_words(g, 1);
	memcpy(seen, g->ram->host + 0x3000, sizeof(seen));
	guest_destroy(g);
	__cpuid(1, eax, ebx, ecx, edx);
	(void)(eax + ebx);
	extra = seen[1] & ~want_ecx & ~BIT_1_ECX_OSXSAVE;
	if (extra && !(extra & ~ecx)) {
		g_test_skip("this KVM does not intercept CPUID");
		return;
	}
	g_assert_cmphex(seen[0] >> 24, ==, 0);
	/* OSXSAVE is state. */
	g_assert_cmphex(seen[1] & ~BIT_1_ECX_OSXSAVE, ==, want_ecx & ~BIT_1_ECX_OSXSAVE);
	g_assert_cmphex(seen[2], ==, want_edx);
}

static void fill_random(struct x86_cpu *cpu)
{
	struct x86_env *env = &cpu->env;

	for (int i = 0; i < 16; i++)
		env->regs[i] = (u64)g_test_rand_int() << 32 | (u32)g_test_rand_int();
	env->eip = 0x1234;
	env->eflags = 0x246;
	for (int i = 0; i < 8; i++) {
		env->fpregs[i].mant = (u64)1 << 63 | (u32)g_test_rand_int();
		env->fpregs[i].exp = g_test_rand_int() & 0x7fff;
	}
	env->fptag_vmstate = 0xff;
	for (int i = 0; i < 16; i++)
		for (int q = 0; q < (cpu->xcr0_mask & XSTATE_YMM ? 4 : 2); q++)
			env->xmm_regs[i].q[q] = (u64)g_test_rand_int() << 32 | 1;
	env->xcr0 = cpu->xcr0_mask & (XSTATE_FP | XSTATE_SSE | XSTATE_YMM);
	env->xstate_bv = env->xcr0 | XSTATE_FP | XSTATE_SSE;
	env->dr[0] = 0x1000;
	env->dr[3] = 0x5000;
	env->cr[2] = 0xabc000;
	env->star = 0x23001000000000ull;
	env->lstar = 0xffffffff81000000ull;
	env->kernelgsbase = 0xffff888000000000ull;
	env->sysenter_cs = 0x10;
	env->sysenter_esp = 0x7000;
	env->pat = 0x0407050600070106ull;
	env->steal_time_msr = 0;
	env->mtrr_var[2] = (struct x86_mtrr){ 0x80000006, 0xf80000800ull };
	env->mtrr_deftype = 0xc06;
	cpu->apic.tpr = 0x30;
	cpu->apic.lvt[0] = 0x300ef;
	cpu->apic.divide_conf = 0xb;
	cpu->apic.count_shift = 0;
	cpu->apic.spurious_vec = 0x1ff;
	cpu->apic.irr[2] = 0x100;
}

/* What was put comes back, for both vCPUs. */
static void test_round_trip(void)
{
	struct guest *g;

	if (guest_skip())
		return;
	g = idle_guest(2);
	for (int i = 0; i < 2; i++) {
		struct x86_cpu *cpu = x86_cpu_of(g->vm->cpus[i]);
		g_autoptr(GError) err = NULL;
		struct x86_env want;
		struct x86_apic apic;

		fill_random(cpu);
		vcpu_put_state(g->vm->cpus[i], &err);
		g_assert_no_error(err);
		want = cpu->env;
		apic = cpu->apic;
		memset(cpu->env.regs, 0, sizeof(cpu->env.regs));
		memset(cpu->env.xmm_regs, 0, sizeof(cpu->env.xmm_regs));
		memset(cpu->env.fpregs, 0, sizeof(cpu->env.fpregs));
		memset(cpu->env.segs, 0, sizeof(cpu->env.segs));
		memset(cpu->env.mtrr_var, 0, sizeof(cpu->env.mtrr_var));
		cpu->env.star = cpu->env.lstar = cpu->env.pat = cpu->env.xcr0 = 0;
		memset(&cpu->apic, 0, sizeof(cpu->apic));
		vcpu_get_state(g->vm->cpus[i], &err);
		g_assert_no_error(err);
		/* Time goes on, and hflags is derived. */
		want.tsc = cpu->env.tsc;
		want.hflags = cpu->env.hflags;
		g_assert_cmpmem(want.regs, sizeof(want.regs), cpu->env.regs, sizeof(want.regs));
		for (int s = 0; s < 6; s++) {
			g_assert_cmphex(want.segs[s].base, ==, cpu->env.segs[s].base);
			g_assert_cmphex(want.segs[s].flags, ==, cpu->env.segs[s].flags);
		}
		g_assert_cmpmem(want.xmm_regs, sizeof(want.xmm_regs), cpu->env.xmm_regs,
				sizeof(want.xmm_regs));
		for (int r = 0; r < 8; r++) {
			g_assert_cmphex(want.fpregs[r].mant, ==, cpu->env.fpregs[r].mant);
			g_assert_cmphex(want.fpregs[r].exp, ==, cpu->env.fpregs[r].exp);
		}
		g_assert_cmphex(want.eflags, ==, cpu->env.eflags);
		g_assert_cmphex(want.star, ==, cpu->env.star);
		g_assert_cmphex(want.lstar, ==, cpu->env.lstar);
		g_assert_cmphex(want.pat, ==, cpu->env.pat);
		g_assert_cmphex(want.xcr0, ==, cpu->env.xcr0);
		g_assert_cmphex(want.mtrr_var[2].mask, ==, cpu->env.mtrr_var[2].mask);
		g_assert_cmphex(want.mtrr_deftype, ==, cpu->env.mtrr_deftype);
		g_assert_cmphex(want.dr[3], ==, cpu->env.dr[3]);
		g_assert_cmpuint(want.mp_state, ==, cpu->env.mp_state);
		g_assert_cmphex(apic.tpr, ==, cpu->apic.tpr);
		g_assert_cmpmem(apic.lvt, sizeof(apic.lvt), cpu->apic.lvt, sizeof(apic.lvt));
		g_assert_cmpmem(apic.irr, sizeof(apic.irr), cpu->apic.irr, sizeof(apic.irr));
		g_assert_cmphex(apic.spurious_vec, ==, cpu->apic.spurious_vec);
		g_assert_cmphex(apic.apicbase, ==, cpu->apic.apicbase);
		g_assert_cmpuint(apic.id, ==, cpu->apic.id);
	}
	guest_destroy(g);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/x86/cpu/flags", test_flags);
	g_test_add_func("/x86/cpu/refusals", test_refusals);
	g_test_add_func("/x86/cpu/topology", test_topology);
	g_test_add_func("/x86/cpu/guest-sees", test_guest_sees);
	g_test_add_func("/x86/cpu/round-trip", test_round_trip);
	return g_test_run();
}
