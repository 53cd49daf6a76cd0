/*
 * target/i386/cpuid.c - what CPUID tells the guest: a model's leaves, with the topology of -smp.
 *
 * Sources: Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E.
 */
#include "accel/kvm.h"
#include "target/i386/cpu.h"
#include "target/i386/model.h"
#include "util/error.h"

#include <linux/kvm.h>

#define ENTRIES_MAX  256
#define KVM_BASE     0x40000000u
#define CLFLUSH_SIZE 8 /* in units of 8 bytes */

enum { TOPO_INVALID, TOPO_THREAD, TOPO_CORE, TOPO_DIE = 5 };

struct kvm_cpuid2 *x86_cpuid_supported(struct vm *vm, GError **err)
{
	struct kvm_cpuid2 *c = g_malloc0(sizeof(*c) + ENTRIES_MAX * sizeof(c->entries[0]));

	/* Without KVM nothing executes CPUID; the tables are still read by management. */
	if (!accel_is_kvm(vm->accel))
		return c;
	c->nent = ENTRIES_MAX;
	if (KVM_CALL(kvm_fd_of_system(vm->accel), KVM_GET_SUPPORTED_CPUID, c, err) >= 0)
		return c;
	g_free(c);
	return NULL;
}

static const struct kvm_cpuid_entry2 *find(const struct kvm_cpuid2 *c, u32 function, u32 index)
{
	for (u32 i = 0; i < c->nent; i++)
		if (c->entries[i].function == function && c->entries[i].index == index)
			return &c->entries[i];
	return NULL;
}

u32 x86_cpuid_reg(const struct kvm_cpuid2 *c, u32 function, u32 index, enum x86_reg reg)
{
	const struct kvm_cpuid_entry2 *e = find(c, function, index);

	if (!e)
		return 0;
	switch (reg) {
	case REG_EAX: return e->eax;
	case REG_EBX: return e->ebx;
	case REG_ECX: return e->ecx;
	case REG_EDX: return e->edx;
	}
	g_assert_not_reached();
}

static unsigned bits_for(unsigned n)
{
	return n > 1 ? 32 - __builtin_clz(n - 1) : 0;
}

u32 x86_topology_apic_id(const struct x86_topology *t, unsigned index)
{
	unsigned threads = MAX(t->threads, 1), cores = MAX(t->cores, 1), dies = MAX(t->dies, 1);
	u32 id = index / (threads * cores * dies);

	id = id << bits_for(dies) | index / (threads * cores) % dies;
	id = id << bits_for(cores) | index / threads % cores;
	return id << bits_for(threads) | index % threads;
}

/* Bits of an APIC identifier below the socket's. */
static unsigned socket_shift(const struct x86_topology *t)
{
	return bits_for(t->threads) + bits_for(t->cores) + bits_for(t->dies);
}

static unsigned per_socket(const struct x86_topology *t)
{
	return t->threads * t->cores * t->dies;
}

/* XCR0 bits that the model's features allow. */
static u64 xcr0_mask(const struct x86_cpu_model *m)
{
	const u32 *f = m->words;
	u64 mask = XSTATE_FP | XSTATE_SSE;

	if (!(f[FEAT_1_ECX] & BIT_1_ECX_XSAVE))
		return 0;
	if (f[FEAT_1_ECX] & BIT_1_ECX_AVX)
		mask |= XSTATE_YMM;
	if (f[FEAT_7_0_EBX] & BIT_7_EBX_AVX512F)
		mask |= XSTATE_OPMASK | XSTATE_ZMM_HI256 | XSTATE_HI16_ZMM;
	if (f[FEAT_7_0_ECX] & BIT_7_ECX_PKU)
		mask |= XSTATE_PKRU;
	return mask & x86_cpuid_reg(m->supported, 0xd, 0, REG_EAX);
}

static struct kvm_cpuid_entry2 *add(struct kvm_cpuid2 *c, u32 function, u32 index, bool indexed)
{
	struct kvm_cpuid_entry2 *e;

	g_assert(c->nent < ENTRIES_MAX);
	e = &c->entries[c->nent++];
	e->function = function;
	e->index = index;
	e->flags = indexed ? KVM_CPUID_FLAG_SIGNIFCANT_INDEX : 0;
	return e;
}

static void add_xsave(struct kvm_cpuid2 *c, const struct x86_cpu_model *m)
{
	u64 mask = xcr0_mask(m);
	struct kvm_cpuid_entry2 *e = add(c, 0xd, 0, true);
	u32 size = 576; /* legacy area and header */

	if (!mask)
		return;
	e->eax = mask;
	add(c, 0xd, 1, true)->eax = m->words[FEAT_D_1_EAX];
	for (u32 i = 2; i < 32; i++) {
		const struct kvm_cpuid_entry2 *have = find(m->supported, 0xd, i);
		struct kvm_cpuid_entry2 *sub;

		if (!(mask >> i & 1) || !have)
			continue;
		sub = add(c, 0xd, i, true);
		*sub = *have;
		size = MAX(size, have->eax + have->ebx);
	}
	e->ebx = e->ecx = size;
}

/* Leaf 0xb, and 0x1f which also knows dies. */
static void add_topology(struct kvm_cpuid2 *c, const struct x86_cpu_model *m, u32 leaf, u32 apic_id)
{
	const struct x86_topology *t = &m->topo;
	const struct {
		u32 shift, count, type;
	} levels[] = {
		{ bits_for(t->threads), t->threads, TOPO_THREAD },
		{ bits_for(t->threads) + bits_for(t->cores), t->threads * t->cores, TOPO_CORE },
		{ socket_shift(t), per_socket(t), TOPO_DIE },
		{ 0, 0, TOPO_INVALID },
	};
	u32 index = 0;

	for (u32 i = 0; i < ARRAY_SIZE(levels); i++) {
		struct kvm_cpuid_entry2 *e;

		if (leaf == 0xb && levels[i].type == TOPO_DIE)
			continue;
		e = add(c, leaf, index, true);
		e->eax = leaf == 0xb && levels[i].type == TOPO_CORE ? socket_shift(t)
								    : levels[i].shift;
		e->ebx = leaf == 0xb && levels[i].type == TOPO_CORE ? per_socket(t)
								    : levels[i].count;
		e->ecx = index | levels[i].type << 8;
		e->edx = apic_id;
		index++;
	}
}

/* The host's caches, shared as far as the guest's topology goes. */
static void add_caches(struct kvm_cpuid2 *c, const struct x86_cpu_model *m, u32 leaf)
{
	for (u32 i = 0; i < 8; i++) {
		const struct kvm_cpuid_entry2 *have = find(m->supported, leaf, i);
		struct kvm_cpuid_entry2 *e = add(c, leaf, i, true);
		u32 sharing;

		if (!m->passthrough || !have || !(have->eax & 31))
			return;
		*e = *have;
		sharing = (have->eax >> 5 & 7) < 3 ? m->topo.threads : per_socket(&m->topo);
		e->eax = (have->eax & 0x3fff) | (sharing - 1) << 14;
		if (leaf == 4)
			e->eax |= (u32)(m->topo.cores * m->topo.dies - 1) << 26;
	}
}

static void fill_standard(struct kvm_cpuid_entry2 *e, const struct x86_cpu_model *m, u32 apic_id)
{
	switch (e->function) {
	case 0:
		e->eax = m->level;
		memcpy(&e->ebx, m->vendor, 4);
		memcpy(&e->edx, m->vendor + 4, 4);
		memcpy(&e->ecx, m->vendor + 8, 4);
		break;
	case 1:
		e->eax = m->stepping | (m->model & 15) << 4 | MIN(m->family, 15) << 8 |
			 (m->model >> 4) << 16 | (m->family > 15 ? m->family - 15 : 0) << 20;
		e->ebx = apic_id << 24 | MIN(per_socket(&m->topo), 255u) << 16 | CLFLUSH_SIZE << 8;
		e->edx &= ~BIT_1_EDX_HT;
		e->edx |= per_socket(&m->topo) > 1 ? BIT_1_EDX_HT : 0;
		break;
	}
}

static void fill_extended(struct kvm_cpuid_entry2 *e, const struct x86_cpu_model *m, u32 apic_id)
{
	bool amd = !strcmp(m->vendor, "AuthenticAMD");
	u32 f = e->function;

	switch (f) {
	case 0x80000000:
		e->eax = m->xlevel;
		if (amd) {
			memcpy(&e->ebx, m->vendor, 4);
			memcpy(&e->edx, m->vendor + 4, 4);
			memcpy(&e->ecx, m->vendor + 8, 4);
		}
		break;
	case 0x80000001:
		if (amd) {
			struct kvm_cpuid_entry2 one = { .function = 1 };

			fill_standard(&one, m, apic_id);
			e->eax = one.eax;
			if (per_socket(&m->topo) > 1)
				e->ecx |= BIT_8000_0001_ECX_CMP_LEGACY;
		}
		break;
	case 0x80000002:
	case 0x80000003:
	case 0x80000004:
		memcpy(&e->eax, m->model_id + (f - 0x80000002) * 16, 4);
		memcpy(&e->ebx, m->model_id + (f - 0x80000002) * 16 + 4, 4);
		memcpy(&e->ecx, m->model_id + (f - 0x80000002) * 16 + 8, 4);
		memcpy(&e->edx, m->model_id + (f - 0x80000002) * 16 + 12, 4);
		break;
	case 0x80000008:
		e->eax = m->phys_bits | (m->words[FEAT_7_0_ECX] & BIT_7_ECX_LA57 ? 57 : 48) << 8;
		e->ecx = amd ? (per_socket(&m->topo) - 1) | socket_shift(&m->topo) << 12 : 0;
		break;
	case 0x8000001e:
		e->eax = apic_id;
		e->ebx = apic_id >> bits_for(m->topo.threads) | (m->topo.threads - 1) << 8;
		e->ecx = 0;
		break;
	}
}

/* Feature words of a leaf, over what the host has there. */
static void fill_words(struct kvm_cpuid_entry2 *e, const struct x86_cpu_model *m)
{
	const struct kvm_cpuid_entry2 *have = find(m->supported, e->function, e->index);

	if (m->passthrough && have) {
		e->eax = have->eax;
		e->ebx = have->ebx;
		e->ecx = have->ecx;
		e->edx = have->edx;
	}
	for (int w = 0; w < FEAT_WORDS; w++) {
		u32 *regs[] = { &e->eax, &e->ebx, &e->ecx, &e->edx };

		if (x86_words[w].function == e->function && x86_words[w].index == e->index)
			*regs[x86_words[w].reg] = m->words[w];
	}
}

static void add_plain(struct kvm_cpuid2 *c, const struct x86_cpu_model *m, u32 function,
		      u32 apic_id)
{
	struct kvm_cpuid_entry2 *e = add(c, function, 0, false);

	fill_words(e, m);
	if (function < 0x80000000)
		fill_standard(e, m, apic_id);
	else
		fill_extended(e, m, apic_id);
}

static void add_leaf7(struct kvm_cpuid2 *c, const struct x86_cpu_model *m)
{
	struct kvm_cpuid_entry2 *e = add(c, 7, 0, true);

	fill_words(e, m);
	e->eax = m->words[FEAT_7_1_EAX] ? 1 : 0;
	if (e->eax)
		fill_words(add(c, 7, 1, true), m);
}

struct kvm_cpuid2 *x86_cpuid_build(const struct x86_cpu_model *m, u32 apic_id)
{
	struct kvm_cpuid2 *c = g_malloc0(sizeof(*c) + ENTRIES_MAX * sizeof(c->entries[0]));

	for (u32 f = 0; f <= m->level; f++) {
		if (f == 4)
			add_caches(c, m, f);
		else if (f == 7)
			add_leaf7(c, m);
		else if (f == 0xb || (f == 0x1f && m->topo.dies > 1))
			add_topology(c, m, f, apic_id);
		else if (f == 0xd)
			add_xsave(c, m);
		else if (f <= 6)
			add_plain(c, m, f, apic_id);
	}
	if (m->expose_kvm) {
		struct kvm_cpuid_entry2 *e = add(c, KVM_BASE, 0, false);

		e->eax = KVM_BASE + 1;
		e->ebx = x86_cpuid_reg(m->supported, KVM_BASE, 0, REG_EBX);
		e->ecx = x86_cpuid_reg(m->supported, KVM_BASE, 0, REG_ECX);
		e->edx = x86_cpuid_reg(m->supported, KVM_BASE, 0, REG_EDX);
		fill_words(add(c, KVM_BASE + 1, 0, false), m);
	}
	for (u32 f = 0x80000000; f <= m->xlevel; f++) {
		if (f == 0x8000001d)
			add_caches(c, m, f);
		else
			add_plain(c, m, f, apic_id);
	}
	return c;
}
