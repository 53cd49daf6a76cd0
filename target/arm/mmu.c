/*
 * target/arm/mmu.c - translation contexts: a soft TLB for each address space and privilege.
 *
 * Switching between exception levels, PAN and address spaces selects another context and flushes
 * nothing. A kernel has one context for all address spaces as long as nearly all of its
 * translations are global (those of the upper range without nG): new processes then find it warm.
 * The few others are dropped when the ASID changes. If there are many of them (page-table
 * isolation), each address space gets a context of its own for the kernel, too.
 */
#include "target/arm/mmu.h"
#include "target/arm/cpu-features.h"
#include "target/arm/engines-priv.h"
#include "target/arm/excp.h"
#include "target/arm/mmu-internal.h"
#include "target/arm/sem.h"
#include "util/log.h"

#define ISS_WNR        (1u << 6)
#define ISS_S1PTW      (1u << 7)
#define ISS_ISV        (1u << 24)
#define FSC_EXTERNAL   0x10
#define FSC_PERMISSION 0x0c

/* Bits of SCTLR_ELx that change what tables mean: M, WXN. */
#define SCTLR_TRANSLATION (1ull << 0 | 1ull << 19)

/* ---- contexts ---- */

#define TCR_A1  (1ull << 22)
#define TCR_AS  (1ull << 36)
#define VTCR_VS (1ull << 19)

#define KEY_PAN     (1ull << 35)
#define KEY_KIND(k) ((k) >> 32 & 15) /* level, user, PAN */
#define KEY_SHARED  (1ull << 37)     /* in place of an ASID */
#define FLOODS      16               /* context switches that had to flush all, net of others */

static unsigned asid_of(const struct arm_cpu *cpu, unsigned el)
{
	u64 tcr = cpu->tcr_el[el], asid;

	if (el == 3 || (el == 2 && !arm_is_host(cpu)))
		return 0;
	asid = (tcr & TCR_A1 ? cpu->ttbr1_el[el] : cpu->ttbr0_el[el]) >> 48;
	return tcr & TCR_AS ? asid : asid & 0xff;
}

unsigned arm_vmid(const struct arm_cpu *cpu)
{
	u64 vmid = cpu->vttbr_el2 >> 48;

	return cpu_has(cpu, ARM_FEAT_VMID16) && cpu->vtcr_el2 & VTCR_VS ? vmid : vmid & 0xff;
}

/* A context for all address spaces. */
static bool is_shared(const struct arm_cpu *cpu, const struct arm_regime *r)
{
	return !r->user && !cpu->mmu->split && (r->el == 1 || (r->el == 2 && arm_is_host(cpu)));
}

static u64 context_key(const struct arm_cpu *cpu, const struct arm_regime *r)
{
	u64 vmid = r->el == 1 && cpu->has_el2 ? arm_vmid(cpu) : 0;
	u64 space = is_shared(cpu, r) ? KEY_SHARED : asid_of(cpu, r->el);

	return space | vmid << 16 | (u64)r->el << 32 | (u64)r->user << 34 | (r->pan ? KEY_PAN : 0) |
	       (u64)r->stage2 << 36 | (u64)cpu->mmu->controls_of[r->el] << 40;
}

static unsigned key_asid(u64 key)
{
	return key & 0xffff;
}

static unsigned key_vmid(u64 key)
{
	return key >> 16 & 0xffff;
}

static unsigned key_el(u64 key)
{
	return key >> 32 & 3;
}

static unsigned key_controls(u64 key)
{
	return key >> 40;
}

static void flush_context(struct arm_context *c)
{
	if (c->tlb)
		tcg_mmu_flush(c->tlb);
	c->nblocks = 0;
	c->nown = 0;
	c->has_global = false;
}

static struct arm_context *current(const struct arm_cpu *cpu)
{
	return cpu->tcg.mmu->owner;
}

/* A context gets another meaning: nobody may turn to it. */
static void forget_peers(struct arm_cpu *cpu)
{
	cpu->mmu->peers_stamp++;
	tcg_set_views(&cpu->tcg, (struct tcg_mmu *[2]){ NULL, NULL }, NULL);
}

/* The context for @key, replacing the one that was used longest ago. */
static struct arm_context *context_for(struct arm_cpu *cpu, u64 key)
{
	struct arm_mmu *mmu = cpu->mmu;
	struct arm_context *oldest = &mmu->contexts[0];
	u8 *recent = &mmu->recent[KEY_KIND(key)];

	for (unsigned k = 0, i = *recent; k < ARM_CONTEXTS; k++, i = (i + 1) % ARM_CONTEXTS) {
		if (mmu->keys[i] == key) {
			mmu->contexts[i].used = ++mmu->clock;
			*recent = i;
			return &mmu->contexts[i];
		}
	}
	for (unsigned i = 1; i < ARM_CONTEXTS; i++)
		if (mmu->contexts[i].used < oldest->used)
			oldest = &mmu->contexts[i];
	if (!oldest->tlb) {
		oldest->tlb = tcg_mmu_create();
		oldest->tlb->owner = oldest;
	} else {
		flush_context(oldest);
		forget_peers(cpu);
	}
	*recent = oldest - mmu->contexts;
	mmu->keys[*recent] = key;
	oldest->used = ++mmu->clock;
	return oldest;
}

/* ---- controls ---- */

static struct arm_controls controls_now(const struct arm_cpu *cpu, unsigned el)
{
	struct arm_controls c = { .sctlr = cpu->sctlr_el[el] & SCTLR_TRANSLATION,
				  .tcr = cpu->tcr_el[el],
				  .mair = cpu->mair_el[el] };

	if (el == 2)
		c.hcr = cpu->hcr_el2 & HCR_E2H;
	if (el == 1 && cpu->has_el2) {
		c.hcr = arm_hcr(cpu) & (HCR_VM | HCR_PTW | HCR_DC | HCR_TGE | HCR_FWB);
		c.vtcr = c.hcr & HCR_VM ? cpu->vtcr_el2 : 0;
	}
	return c;
}

/* Number @i of the controls is given another meaning: the contexts that have it are void. */
static void forget_controls(struct arm_cpu *cpu, unsigned i)
{
	struct arm_mmu *mmu = cpu->mmu;

	forget_peers(cpu);
	for (unsigned k = 0; k < ARM_CONTEXTS; k++) {
		if (mmu->keys[k] == ~(u64)0 || key_controls(mmu->keys[k]) != i)
			continue;
		flush_context(&mmu->contexts[k]);
		mmu->keys[k] = ~(u64)0;
	}
}

static unsigned number_of(struct arm_cpu *cpu, const struct arm_controls *c)
{
	struct arm_mmu *mmu = cpu->mmu;
	unsigned oldest = 0;

	for (unsigned i = 0; i < ARM_CONTROLS; i++) {
		if (mmu->controls_used[i] && !memcmp(&mmu->controls[i], c, sizeof(*c)))
			return i;
		if (mmu->controls_used[i] < mmu->controls_used[oldest])
			oldest = i;
	}
	forget_controls(cpu, oldest);
	mmu->controls[oldest] = *c;
	return oldest;
}

static void find_controls(struct arm_cpu *cpu, unsigned el)
{
	struct arm_mmu *mmu = cpu->mmu;
	struct arm_controls c;
	unsigned n;

	if (mmu->controls_known >> el & 1)
		return;
	for (unsigned other = 0; other < 4; other++) /* these are not to be replaced */
		if (mmu->controls_known >> other & 1)
			mmu->controls_used[mmu->controls_of[other]] = ++mmu->clock;
	c = controls_now(cpu, el);
	n = number_of(cpu, &c);
	mmu->controls_used[n] = ++mmu->clock;
	mmu->controls_of[el] = n;
	mmu->controls_known |= 1u << el;
}

void arm_mmu_controls_changed(struct arm_cpu *cpu)
{
	if (cpu->mmu)
		cpu->mmu->controls_known = 0;
}

/* ---- shared contexts ---- */

/* Another address space: what the old one alone had in the context goes. */
static void change_space(struct arm_mmu *mmu, struct arm_context *c, unsigned asid)
{
	if (c->nown > ARM_OWN) {
		flush_context(c);
		mmu->split = ++mmu->floods > FLOODS;
	} else if (c->nown) {
		for (unsigned i = 0; i < c->nown; i++)
			tcg_mmu_flush_page(c->tlb, c->own[i]);
		mmu->floods -= mmu->floods > 0;
	}
	c->nown = 0;
	c->asid = asid;
	c->pan_peer = c->user_peer = NULL;
}

/* A translation of the current address space only is about to be cached. */
static void note_own(struct arm_context *c, u64 va)
{
	for (unsigned i = 0; i < c->nown && i < ARM_OWN; i++)
		if (c->own[i] == (va & TCG_PAGE_MASK))
			return;
	if (c->nown < ARM_OWN)
		c->own[c->nown] = va & TCG_PAGE_MASK;
	if (c->nown <= ARM_OWN)
		c->nown++;
}

static struct arm_context *choose_context(struct arm_cpu *cpu, const struct arm_regime *r)
{
	struct arm_context *c;
	unsigned asid;

	find_controls(cpu, r->el);
	c = context_for(cpu, context_key(cpu, r));
	c->shared = is_shared(cpu, r);
	asid = asid_of(cpu, r->el);
	if (c->shared && c->asid != asid)
		change_space(cpu->mmu, c, asid);
	return c;
}

/* ---- what translated code may turn to by itself ---- */

/* Forget them if one of them may have become another. */
static void check_peers(const struct arm_mmu *mmu, struct arm_context *c)
{
	if (c->peers_stamp == mmu->peers_stamp)
		return;
	c->pan_peer = c->user_peer = NULL;
	c->peers_stamp = mmu->peers_stamp;
}

/* Of context @c, the current one, with @r its regime: those that were used beside it before. */
static void set_views(struct arm_cpu *cpu, struct arm_context *c, const struct arm_regime *r)
{
	struct tcg_mmu *views[2] = { NULL, NULL }, *data = NULL;

	if (!r->user) {
		check_peers(cpu->mmu, c);
		views[r->pan] = c->tlb;
		if (c->pan_peer && (!c->shared || c->pan_peer->asid == c->asid))
			views[!r->pan] = c->pan_peer->tlb;
		if (c->user_peer && !(cpu->pstate & PSTATE_UAO))
			data = c->user_peer->tlb;
	}
	tcg_set_views(&cpu->tcg, views, data);
}

static u64 key_of(const struct arm_cpu *cpu, const struct arm_context *c)
{
	return cpu->mmu->keys[c - cpu->mmu->contexts];
}

static void select_context(struct arm_cpu *cpu)
{
	struct arm_context *old = cpu->tcg.mmu ? current(cpu) : NULL, *c;
	struct arm_regime r = arm_regime_current(cpu, false);

	c = choose_context(cpu, &r);
	if (old && (key_of(cpu, old) ^ key_of(cpu, c)) == KEY_PAN) {
		check_peers(cpu->mmu, old);
		check_peers(cpu->mmu, c);
		old->pan_peer = c;
		c->pan_peer = old;
	}
	tcg_select(&cpu->tcg, c->tlb, arm_state_key(cpu));
	set_views(cpu, c, &r);
}

void arm_mmu_begin_unpriv(struct arm_cpu *cpu)
{
	struct arm_regime r = arm_regime_current(cpu, true);
	struct arm_context *old = current(cpu), *c = choose_context(cpu, &r);

	cpu->mmu_saved = cpu->tcg.mmu;
	if (r.user && cpu_el(cpu) == 1) {
		check_peers(cpu->mmu, old);
		old->user_peer = c;
		tcg_set_views(&cpu->tcg, cpu->tcg.views, c->tlb);
	}
	tcg_select_data(&cpu->tcg, c->tlb);
}

void arm_mmu_end_unpriv(struct arm_cpu *cpu)
{
	if (cpu->mmu_saved) {
		tcg_select_data(&cpu->tcg, cpu->mmu_saved);
		cpu->mmu_saved = NULL;
	}
}

void arm_mmu_flush(struct arm_cpu *cpu)
{
	for (unsigned i = 0; i < ARM_CONTEXTS; i++)
		flush_context(&cpu->mmu->contexts[i]);
	cpu->mmu->controls_known = 0;
	for (unsigned i = 0; i < BUS_CACHE; i++)
		cpu->mmu->cache[i].phys = ~(u64)0;
}

void arm_mmu_rearm(struct arm_cpu *cpu)
{
	for (unsigned i = 0; i < ARM_CONTEXTS; i++)
		if (cpu->mmu->contexts[i].tlb)
			tcg_mmu_rearm(cpu->mmu->contexts[i].tlb);
	for (unsigned i = 0; i < BUS_CACHE; i++)
		cpu->mmu->cache[i].phys = ~(u64)0;
}

static bool in_block(const struct arm_context *c, u64 va)
{
	for (unsigned i = 0; i < c->nblocks; i++)
		if (va >= c->blocks[i].start && va <= c->blocks[i].last)
			return true;
	return false;
}

/* Whether a translation of @va for @asid may be cached; global ones are for every ASID. */
static bool may_hold(const struct arm_context *c, u64 key, unsigned asid, u64 va)
{
	if (va != ~(u64)0 && va >> 55 & 1 && c->has_global)
		return true;
	return c->shared ? c->nown && c->asid == asid : key_asid(key) == asid;
}

void arm_mmu_flush_matching(struct arm_cpu *cpu, unsigned el, int vmid, int asid, u64 va)
{
	for (unsigned i = 0; i < ARM_CONTEXTS; i++) {
		struct arm_context *c = &cpu->mmu->contexts[i];
		u64 key = cpu->mmu->keys[i];

		/* keys that are free have no level */
		if (key_el(key) != el || (vmid >= 0 && key_vmid(key) != vmid) || !c->tlb ||
		    (asid >= 0 && !may_hold(c, key, asid, va)))
			continue;
		if (va == ~(u64)0 || in_block(c, va))
			flush_context(c);
		else
			tcg_mmu_flush_page(c->tlb, va);
	}
}

/* Bytes by which range @i grows to take the block in. */
static u64 growth(const struct arm_context *c, unsigned i, u64 start, u64 last)
{
	return MAX(c->blocks[i].last, last) - MIN(c->blocks[i].start, start) -
	       (c->blocks[i].last - c->blocks[i].start);
}

static void note_block(struct arm_context *c, u64 va, u64 size)
{
	u64 start = va & ~(size - 1), last = start + size - 1;
	unsigned best = 0;

	if (size <= TCG_PAGE_SIZE || in_block(c, va))
		return;
	for (unsigned i = 1; i < c->nblocks; i++)
		if (growth(c, i, start, last) < growth(c, best, start, last))
			best = i;
	if (c->nblocks &&
	    (c->nblocks == ARRAY_SIZE(c->blocks) || growth(c, best, start, last) <= size)) {
		c->blocks[best].start = MIN(c->blocks[best].start, start);
		c->blocks[best].last = MAX(c->blocks[best].last, last);
		return;
	}
	c->blocks[c->nblocks].start = start;
	c->blocks[c->nblocks++].last = last;
}

/* ---- accesses ---- */

void arm_bus_lookup(struct arm_cpu *cpu, u64 phys, struct arm_bus_page *page)
{
	struct arm_mmu *mmu = cpu->mmu;
	unsigned slot = (phys >> TCG_PAGE_BITS) % BUS_CACHE;

	if (mmu->cache[slot].phys != phys) {
		mmu->bus->page(mmu->bus->opaque, phys, &mmu->cache[slot].page);
		mmu->cache[slot].phys = phys;
	}
	*page = mmu->cache[slot].page;
}

/* ISS[23:14] of a stage-2 data abort: size, sign, register of a simple load or store. */
static u32 instruction_syndrome(struct arm_cpu *cpu)
{
	struct a64_insn insn;
	unsigned size, opc;
	u32 acqrel = 0;

	a64_decode(tcg_fetch(&cpu->tcg, cpu_pc(cpu)), &insn);
	switch (insn.op) {
	case A64_LDST_u:
	case A64_LDST_r:
		size = insn.raw >> 30;
		opc = insn.raw >> 22 & 3;
		break;
	case A64_LDST_i: /* not with writeback */
		if (insn.args.LDST_i.mode & 1)
			return 0;
		size = insn.args.LDST_i.size;
		opc = insn.args.LDST_i.opc;
		break;
	case A64_LDST_ord:
		size = insn.args.LDST_ord.size;
		opc = insn.args.LDST_ord.l;
		acqrel = 1u << 14;
		break;
	default: return 0;
	}
	if (size == 3 && opc > 1)
		return 0;
	return ISS_ISV | size << 22 | (opc >= 2) << 21 | (insn.raw & 31) << 16 |
	       (size == 3 || opc == 2) << 15 | acqrel;
}

/* ISS.WnR of an instruction that reads and writes is 0 if the read would have had the fault. */
static bool is_write_fault(struct arm_cpu *cpu, const struct arm_translation *t)
{
	bool reads_too = (t->fsc & 0x3c) != FSC_PERMISSION || !t->read;
	struct a64_insn insn;

	if (!reads_too)
		return true;
	a64_decode(tcg_fetch(&cpu->tcg, cpu_pc(cpu)), &insn);
	return insn.op != A64_ATOMIC && insn.op != A64_CAS && insn.op != A64_CASP;
}

static _Noreturn void raise_fault(struct arm_cpu *cpu, u64 va, enum tcg_access access,
				  const struct arm_translation *t)
{
	u32 iss = t->fsc | (t->s1ptw ? ISS_S1PTW : 0);

	arm_mmu_end_unpriv(cpu);
	if ((access == TCG_WRITE && is_write_fault(cpu, t)) || (t->hw_update && access != TCG_EXEC))
		iss |= ISS_WNR;
	if (t->stage2) {
		cpu->excp.target_el = 2;
		cpu->excp.iss2 = t->hdbssf ? ESR_ISS2_HDBSSF : 0;
		cpu->hpfar_el2 = (t->ipa & 0x000ffffffffff000) >> 8;
		if (access != TCG_EXEC && !t->s1ptw)
			iss |= instruction_syndrome(cpu);
	}
	arm_raise(cpu, access == TCG_EXEC ? EC_IABORT : EC_DABORT, iss, va);
}

static const char *const access_names[] = {
	[TCG_READ] = "read", [TCG_WRITE] = "write", [TCG_EXEC] = "fetch"
};

/* The address as TLBI names it. */
static u64 without_tag(u64 va)
{
	return (u64)((s64)(va << 8) >> 8);
}

void arm_mmu_fill(struct tcg_cpu *tcg, u64 va, enum tcg_access access, unsigned size,
		  struct tcg_page *page)
{
	struct arm_cpu *cpu = arm_cpu_of(tcg);
	struct arm_regime regime = arm_regime_current(cpu, cpu->mmu_saved != NULL);
	struct arm_translation t;
	struct arm_bus_page bus;

	if (!arm_translate_address(cpu, &regime, va, access, &t)) {
		log_write(LOG_MMU, "EL%u: %s of 0x%" PRIx64 ": fault 0x%x%s\n", cpu_el(cpu),
			  access_names[access], va, t.fsc, t.stage2 ? " of stage 2" : "");
		raise_fault(cpu, va, access, &t);
	}
	if (log_enabled(LOG_MMU))
		log_write(LOG_MMU, "EL%u: %s of 0x%" PRIx64 " is at 0x%" PRIx64 ", %s%s%s\n",
			  cpu_el(cpu), access_names[access], va, t.phys, t.read ? "r" : "-",
			  t.write ? "w" : "-", t.device ? " device" : "");
	if (t.device && access != TCG_EXEC && va & (size - 1) && size <= 8) {
		t.fsc = 0x21; /* alignment */
		t.stage2 = t.s1ptw = false;
		raise_fault(cpu, va, access, &t);
	}
	if (regime.el == 2 && access == TCG_READ && engines_checked(cpu))
		arm_dirty_el2_reads(cpu, t.phys);
	note_block(current(cpu), without_tag(va), t.size);
	if (!t.not_global)
		current(cpu)->has_global = true;
	else if (current(cpu)->shared)
		note_own(current(cpu), without_tag(va));
	arm_bus_lookup(cpu, t.phys & TCG_PAGE_MASK, &bus);
	*page = (struct tcg_page){
		.phys = t.phys & TCG_PAGE_MASK,
		.host = bus.host,
		.readable = t.read,
		.writable = t.write && bus.writable,
		.track = bus.track,
		.strict = t.device,
		.guarded = t.guarded,
	};
	if (access == TCG_EXEC && t.guarded && !cpu->bti_on) {
		cpu->bti_seen = true;
		tcg->exit_request = 1; /* vcpu.c turns bti_on */
	}
	if (access == TCG_WRITE && bus.host && !bus.writable)
		page->host = NULL; /* ROM: the machine decides what a store does */
}

static _Noreturn void external_abort(struct arm_cpu *cpu)
{
	enum tcg_access access = cpu->tcg.io_access;
	u32 iss = FSC_EXTERNAL | (access == TCG_WRITE ? ISS_WNR : 0);

	if (cpu_el(cpu) < 2 && cpu->has_el2 && cpu->hcr_el2 & (HCR_TEA | HCR_TGE))
		cpu->excp.target_el = 2;
	arm_raise(cpu, access == TCG_EXEC ? EC_IABORT : EC_DABORT, iss, cpu->tcg.io_va);
}

u64 arm_mmu_io_read(struct tcg_cpu *tcg, u64 phys, unsigned size)
{
	struct arm_cpu *cpu = arm_cpu_of(tcg);
	const struct arm_bus *bus = cpu->mmu->bus;
	u64 val = 0;

	if (!bus->read(bus->opaque, phys, size, &val))
		external_abort(cpu);
	return val;
}

void arm_mmu_io_write(struct tcg_cpu *tcg, u64 phys, u64 val, unsigned size)
{
	struct arm_cpu *cpu = arm_cpu_of(tcg);
	const struct arm_bus *bus = cpu->mmu->bus;

	if (!bus->write(bus->opaque, phys, size, val))
		external_abort(cpu);
}

void arm_mmu_first_store(struct tcg_cpu *tcg, const struct tcg_page *page)
{
	struct arm_mmu *mmu = arm_cpu_of(tcg)->mmu;
	unsigned slot = (page->phys >> TCG_PAGE_BITS) % BUS_CACHE;

	mmu->bus->dirty(mmu->bus->opaque, page->phys);
	if (mmu->cache[slot].phys == page->phys) /* it need not be tracked any more */
		mmu->cache[slot].phys = ~(u64)0;
}

void arm_mmu_create(struct arm_cpu *cpu, const struct arm_bus *bus)
{
	cpu->mmu = g_new0(struct arm_mmu, 1);
	cpu->mmu->bus = bus;
	for (unsigned i = 0; i < ARM_CONTEXTS; i++)
		cpu->mmu->keys[i] = ~(u64)0;
	arm_mmu_flush(cpu);
	arm_tlbi_init(cpu);
	cpu->state_changed = select_context;
	select_context(cpu);
}

void arm_mmu_destroy(struct arm_cpu *cpu)
{
	for (unsigned i = 0; i < ARM_CONTEXTS; i++)
		if (cpu->mmu->contexts[i].tlb)
			tcg_mmu_destroy(cpu->mmu->contexts[i].tlb);
	g_free(cpu->mmu);
	cpu->mmu = NULL;
	cpu->state_changed = NULL;
}
