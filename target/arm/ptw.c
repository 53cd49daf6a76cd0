/*
 * target/arm/ptw.c - translation table walks, stage 1 and 2 (Arm DDI 0487, D8.2 to D8.5).
 *
 * VMSAv8-64 with 4, 16 and 64 KiB granules; addresses of 48 bits, or of 52 where the CPU has them
 * (FEAT_LVA and FEAT_LPA with 64 KiB, FEAT_LPA2 with the others); hardware management of the access
 * flag and of dirty state (FEAT_HAFDBS).
 */
#include "target/arm/cpu-features.h"
#include "target/arm/engines-priv.h"
#include "target/arm/excp.h"
#include "target/arm/mmu-internal.h"

#define SCTLR_M    (1ull << 0)
#define SCTLR_WXN  (1ull << 19)
#define SCTLR_EPAN (1ull << 57)
#define ADDRESS_48 0x0000ffffffffffffull

#define ADDRESS_52 0x000fffffffffffffull

#define TCR_DS_TWO (1ull << 59) /* in the layout for two ranges */
#define TCR_DS_ONE (1ull << 32)
#define VTCR_DS    (1ull << 32)
#define VTCR_SL2   (1ull << 33)

#define DESC_VALID    1u
#define DESC_TABLE    2u
#define DESC_AP_USER  (1ull << 6)
#define DESC_AP_RO    (1ull << 7)
#define DESC_S2AP_R   (1ull << 6)
#define DESC_S2AP_W   (1ull << 7)
#define DESC_AF       (1ull << 10)
#define DESC_NG       (1ull << 11)
#define DESC_GP       (1ull << 50)
#define DESC_PXN      (1ull << 53)
#define DESC_UXN      (1ull << 54)
#define TABLE_PXN     (1ull << 59)
#define TABLE_UXN     (1ull << 60)
#define TABLE_NO_USER (1ull << 61)
#define TABLE_RO      (1ull << 62)

enum {
	FSC_ADDRESS_SIZE = 0x00,
	FSC_TRANSLATION = 0x04,
	FSC_ACCESS_FLAG = 0x08,
	FSC_PERMISSION = 0x0c,
	FSC_EXTERNAL_WALK = 0x14,
	/* of a table at level -1 */
	FSC_EXTERNAL_WALK_M1 = 0x13,
	FSC_ADDRESS_SIZE_M1 = 0x29,
	FSC_TRANSLATION_M1 = 0x2b
};

/* Parameters of one stage and address range. */
struct walk {
	u64 base; /* of the first table */
	unsigned input_bits;
	unsigned granule; /* log2 of its size */
	int level;        /* to start at */
	/* Where descriptors have bits 51:48 of an address: with FEAT_LPA2 (ds) 49:48 and 9:8, with
	 * 64 KiB granules (lpa) 15:12. Neither: there are none. */
	bool ds, lpa;
	bool ha, hd; /* hardware updates access flag, dirty state */
	bool haft;   /* ... and the access flag of tables */
	bool hpd;    /* hierarchical permissions are ignored */
	bool stage2;
	u8 purpose;       /* enum arm_purpose */
	bool translate;   /* stage 2 translates the addresses of tables */
	unsigned pa_bits; /* of output addresses */
};

/* What the walk found. */
struct leaf {
	u64 desc;
	u64 where;  /* physical address of the descriptor */
	u64 ipa;    /* its address before stage 2 */
	u64 tables; /* OR of the attributes of the tables passed */
	u64 phys;
	u64 size;
	int level;
};

static u8 code_at_level_m1(u8 kind)
{
	switch (kind) {
	case FSC_ADDRESS_SIZE: return FSC_ADDRESS_SIZE_M1;
	case FSC_TRANSLATION: return FSC_TRANSLATION_M1;
	default: return FSC_EXTERNAL_WALK_M1; /* no leaf is there */
	}
}

static bool fail(struct arm_translation *out, u8 kind, int level)
{
	out->fault = true;
	out->fsc = level < 0 ? code_at_level_m1(kind) : kind | level;
	return false;
}

static u64 *descriptor_host(struct arm_cpu *cpu, u64 phys)
{
	struct arm_bus_page page;

	arm_bus_lookup(cpu, phys & TCG_PAGE_MASK, &page);
	return page.host ? (u64 *)(page.host + (phys & ~TCG_PAGE_MASK)) : NULL;
}

/* For whom stage 2 translates. */
enum s2_purpose { S2_EL1, S2_EL0, S2_WALK };

static bool stage2_address(struct arm_cpu *cpu, u64 ipa, enum tcg_access access,
			   enum s2_purpose purpose, enum arm_purpose why,
			   struct arm_translation *out);

/* FEAT_LVA and FEAT_LPA, which no CPU here has without the other. */
static bool has_52_bits(const struct arm_cpu *cpu)
{
	return cpu->pa_range >= PARANGE_52;
}

static unsigned pa_bits(const struct arm_cpu *cpu, unsigned size)
{
	static const u8 bits[] = { 32, 36, 40, 42, 44, 48, 52 };

	return bits[MIN(size & 7, cpu->pa_range)];
}

/* Choose the layout and size of output addresses: @ds is TCR_ELx.DS, @ps the size there. */
static void set_layout(const struct arm_cpu *cpu, struct walk *w, bool ds, unsigned ps)
{
	w->ds = ds && w->granule != 16 && cpu_has(cpu, ARM_FEAT_LPA2);
	w->lpa = w->granule == 16 && has_52_bits(cpu);
	w->pa_bits = pa_bits(cpu, ps);
	if (!w->ds && !w->lpa)
		w->pa_bits = MIN(w->pa_bits, 48u);
}

/* The table that @ttbr names. With wide addresses it is aligned to 64 bytes at least. */
static u64 table_base(const struct walk *w, u64 ttbr)
{
	unsigned below = w->granule + (w->granule - 3) * (3 - w->level);
	unsigned size = w->input_bits > below ? w->input_bits - below + 3 : 3;

	if (!w->ds && !(w->lpa && w->pa_bits == 52))
		return ttbr & ADDRESS_48 & -((u64)1 << size);
	return (ttbr & ADDRESS_48 & -((u64)1 << MAX(size, 6u))) | (ttbr >> 2 & 0xf) << 48;
}

/* The address in a descriptor, of which bits below its size still have to be cleared. */
static u64 descriptor_address(const struct walk *w, u64 desc)
{
	u64 low = (u64)1 << w->granule;

	if (w->ds)
		return (desc & 0x3ffffffffffffull & -low) | (desc >> 8 & 3) << 50;
	if (w->lpa)
		return (desc & ADDRESS_48 & -low) | (desc >> 12 & 0xf) << 48;
	return desc & ADDRESS_48 & -low;
}

/* Read the descriptor at @at. */
static bool read_descriptor(struct arm_cpu *cpu, const struct walk *w, u64 at, int level,
			    struct leaf *leaf, struct arm_translation *out)
{
	const u64 *host;

	leaf->where = leaf->ipa = at;
	if (w->translate) {
		struct arm_translation second = { 0 };

		if (!stage2_address(cpu, at, TCG_READ, S2_WALK, w->purpose, &second)) {
			*out = second;
			return false;
		}
		leaf->where = second.phys;
	}
	host = descriptor_host(cpu, leaf->where);
	if (!host)
		return fail(out, FSC_EXTERNAL_WALK, level);
	leaf->desc = __atomic_load_n(host, __ATOMIC_ACQUIRE);
	return true;
}

/* Replace the descriptor unless it changed meanwhile; stage 2 must let a table be written. Return:
 * false to walk again, or with out->fault set. */
static bool update(struct arm_cpu *cpu, const struct walk *w, struct leaf *leaf, u64 new,
		   struct arm_translation *out)
{
	u64 *host = descriptor_host(cpu, leaf->where);
	u64 old = leaf->desc;
	struct arm_bus_page page;
	bool done;

	if (w->translate) {
		struct arm_translation second = { 0 };

		if (!stage2_address(cpu, leaf->ipa, TCG_WRITE, S2_WALK, ARM_FOR_ACCESS, &second)) {
			*out = second;
			out->hw_update = true;
			return false;
		}
		if (second.phys != leaf->where)
			return false;
	}
	arm_bus_lookup(cpu, leaf->where & TCG_PAGE_MASK, &page);
	if (!host || !page.writable) /* a table in ROM cannot be updated */
		return fail(out, FSC_EXTERNAL_WALK, leaf->level);
	if (page.track)
		cpu->mmu->bus->dirty(cpu->mmu->bus->opaque, leaf->where & TCG_PAGE_MASK);
	leaf->desc = new;
	done = __atomic_compare_exchange_n(host, &old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
	tcg_invalidate_host(host, sizeof(new));
	return done;
}

/* Wide addresses bring blocks of one level more. */
static bool block_allowed(const struct walk *w, int level)
{
	return level == 2 || (level == 1 && (w->granule == 12 || w->ds || w->lpa)) ||
	       (level == 0 && w->granule == 12 && w->ds);
}

/* What a descriptor points to has more bits than there are. */
static bool too_far(const struct walk *w, u64 address)
{
	return (address & ADDRESS_52) >> w->pa_bits;
}

static bool walk_tables(struct arm_cpu *cpu, const struct walk *w, u64 va, struct leaf *leaf,
			struct arm_translation *out)
{
	unsigned stride = w->granule - 3;
	u64 base = w->base;

	leaf->tables = 0;
	if (too_far(w, base))
		return fail(out, FSC_ADDRESS_SIZE, 0);
	for (int level = w->level;; level++) {
		unsigned shift = w->granule + stride * (3 - level);
		unsigned top = level == w->level ? w->input_bits : shift + stride;
		u64 index = (va & (((u64)1 << top) - 1)) >> shift;
		u64 size = (u64)1 << shift;

		leaf->level = level;
		if (!read_descriptor(cpu, w, base + index * 8, level, leaf, out))
			return false;
		if (!(leaf->desc & DESC_VALID))
			return fail(out, FSC_TRANSLATION, level);
		if (level == 3 ? !!(leaf->desc & DESC_TABLE)
			       : !(leaf->desc & DESC_TABLE) && block_allowed(w, level)) {
			leaf->size = size;
			leaf->phys = (descriptor_address(w, leaf->desc) & ~(size - 1)) |
				     (va & (size - 1));
			return !too_far(w, leaf->phys) || fail(out, FSC_ADDRESS_SIZE, level);
		}
		if (level == 3 || !(leaf->desc & DESC_TABLE))
			return fail(out, FSC_TRANSLATION, level);
		if (w->haft && !(leaf->desc & DESC_AF) && w->purpose != ARM_FOR_LOOK &&
		    !update(cpu, w, leaf, leaf->desc | DESC_AF, out)) {
			if (out->fault)
				return false;
			level--; /* it changed meanwhile: read it again */
			continue;
		}
		leaf->tables |= leaf->desc;
		base = descriptor_address(w, leaf->desc);
		if (too_far(w, base))
			return fail(out, FSC_ADDRESS_SIZE, level);
	}
}

static unsigned granule_of(unsigned field, bool upper)
{
	static const u8 lower_bits[] = { 12, 16, 14, 12 }, upper_bits[] = { 12, 14, 12, 16 };

	return upper ? upper_bits[field] : lower_bits[field];
}

static int start_level(unsigned input_bits, unsigned granule)
{
	unsigned stride = granule - 3;

	return 4 - (int)((input_bits - granule + stride - 1) / stride);
}

static bool has_two_ranges(const struct arm_cpu *cpu, unsigned el)
{
	return el == 1 || (el == 2 && cpu->hcr_el2 & HCR_E2H);
}

/* The smallest address space has 25 bits, with FEAT_TTST 16 or, in pages of 64 KiB, 17. */
static unsigned largest_txsz(const struct arm_cpu *cpu, unsigned granule)
{
	return !cpu_has(cpu, ARM_FEAT_INHERENT) ? 39 : granule == 16 ? 47 : 48;
}

unsigned arm_smallest_txsz(const struct arm_cpu *cpu, unsigned el, bool high)
{
	u64 tcr = cpu->tcr_el[el];
	bool ds = tcr & (has_two_ranges(cpu, el) ? TCR_DS_TWO : TCR_DS_ONE);

	if (granule_of((high ? tcr >> 30 : tcr >> 14) & 3, high) == 16)
		return has_52_bits(cpu) ? 12 : 16;
	return ds && cpu_has(cpu, ARM_FEAT_LPA2) ? 12 : 16;
}

/* Choose the table for @va. Return: false if no table covers it. */
static bool stage1_walk(const struct arm_cpu *cpu, const struct arm_regime *regime, u64 va,
			struct walk *w)
{
	unsigned el = regime->el;
	u64 tcr = cpu->tcr_el[el];
	bool two = has_two_ranges(cpu, el), high = two && va >> 55 & 1;
	bool tbi = two ? tcr >> (37 + high) & 1 : tcr >> 20 & 1;
	unsigned tsz = (high ? tcr >> 16 : tcr) & 0x3f;
	u64 ttbr = high ? cpu->ttbr1_el[el] : cpu->ttbr0_el[el];
	unsigned smallest = arm_smallest_txsz(cpu, el, high);
	u64 rest;

	w->granule = granule_of((high ? tcr >> 30 : tcr >> 14) & 3, high);
	w->input_bits = 64 - CLAMP(tsz, smallest, largest_txsz(cpu, w->granule));
	w->level = start_level(w->input_bits, w->granule);
	set_layout(cpu, w, tcr & (two ? TCR_DS_TWO : TCR_DS_ONE), tcr >> (two ? 32 : 16));
	w->base = table_base(w, ttbr);
	w->translate = regime->stage2;
	w->ha = tcr >> (two ? 39 : 21) & 1;
	w->hd = w->ha && tcr >> (two ? 40 : 22) & 1;
	w->haft = w->ha && arm_haft_enabled(cpu, el);
	w->purpose = regime->purpose;
	w->hpd = two ? tcr >> (41 + high) & 1 : tcr >> 24 & 1;
	w->stage2 = false;
	if (tsz < smallest && has_52_bits(cpu)) /* CPUs of before make do with the smallest */
		return false;
	if (two && tcr >> (high ? 23 : 7) & 1) /* EPDn */
		return false;
	/* The bits above the input must all be as bit 55 says; TBI leaves out the top byte. */
	rest = high ? ~va : va;
	if (tbi)
		rest &= ~(0xffull << 56);
	return rest >> w->input_bits == 0;
}

/* Permissions of a stage-1 leaf, before stage 2 takes away from them. */
static void stage1_permissions(const struct arm_cpu *cpu, const struct arm_regime *regime,
			       const struct walk *w, const struct leaf *leaf,
			       struct arm_translation *out)
{
	bool two = has_two_ranges(cpu, regime->el);
	u64 tables = w->hpd ? 0 : leaf->tables;
	bool user_ok = two && leaf->desc & DESC_AP_USER && !(tables & TABLE_NO_USER);
	bool ro =
		(leaf->desc & DESC_AP_RO && !(w->hd && leaf->desc & DESC_DBM)) || tables & TABLE_RO;
	bool uxn = leaf->desc & DESC_UXN || tables & TABLE_UXN;
	bool pxn = leaf->desc & DESC_PXN || tables & TABLE_PXN;

	if (regime->user) {
		out->read = user_ok;
		out->write = user_ok && !ro;
		out->exec = !uxn;
	} else {
		bool user_exec = cpu->sctlr_el[regime->el] & SCTLR_EPAN && two && !uxn &&
				 cpu_has(cpu, ARM_FEAT_PAN3);
		bool refused = regime->pan && (user_ok || user_exec);

		out->read = !refused;
		out->write = !ro && !refused;
		out->exec = two ? !pxn && !(user_ok && !ro) : !uxn;
	}
	if (cpu->sctlr_el[regime->el] & SCTLR_WXN && !ro && (!regime->user || user_ok))
		out->exec = false;
}

/* TCR_ELx.E0PDn: EL0 finds nothing in that half of the address space. */
static bool closed_to_user(const struct arm_cpu *cpu, const struct arm_regime *regime, u64 va)
{
	return regime->user && has_two_ranges(cpu, regime->el) && cpu_has(cpu, ARM_FEAT_E0PD) &&
	       cpu->tcr_el[regime->el] >> (55 + (va >> 55 & 1)) & 1;
}

static bool allowed(const struct arm_translation *t, enum tcg_access access)
{
	return access == TCG_READ ? t->read : access == TCG_WRITE ? t->write : t->exec;
}

/* A page that is writable but clean must fault at the first store, to be marked dirty. */
static bool is_clean(const struct walk *w, const struct leaf *leaf)
{
	if (!(w->hd && leaf->desc & DESC_DBM))
		return false;
	return w->stage2 ? !(leaf->desc & DESC_S2AP_W) : !!(leaf->desc & DESC_AP_RO);
}

/* Check the access flag and permissions of a leaf: a flag that is missing comes first, unless the
 * hardware sets it. */
static bool leaf_allows(const struct walk *w, const struct leaf *leaf, bool ok,
			struct arm_translation *out)
{
	if (!(leaf->desc & DESC_AF) && !w->ha)
		return fail(out, FSC_ACCESS_FLAG, leaf->level);
	return ok || fail(out, FSC_PERMISSION, leaf->level);
}

/* What hardware makes of the descriptor. */
static u64 updated(const struct walk *w, const struct leaf *leaf, enum tcg_access access)
{
	u64 new = leaf->desc;

	if (w->purpose == ARM_FOR_LOOK)
		return new;
	if (w->ha)
		new |= DESC_AF;
	if (access == TCG_WRITE && w->purpose == ARM_FOR_ACCESS && is_clean(w, leaf))
		new = w->stage2 ? new | DESC_S2AP_W : new & ~DESC_AP_RO;
	return new;
}

/* The level that VTCR_EL2.SL0 and SL2 name; -2: there is none. */
static int stage2_start(const struct walk *w, u64 vtcr)
{
	int sl0 = vtcr >> 6 & 3;

	if (w->granule != 12)
		return sl0 == 3 && !w->ds ? -2 : 3 - sl0;
	if (w->ds && vtcr & VTCR_SL2)
		return sl0 ? -2 : -1;
	return sl0 == 3 ? -2 : 2 - sl0;
}

/* Choose the table of stage 2. Return: false if VTCR_EL2 makes no sense: the start level must be
 * one, and the concatenated tables there at most 16. */
static bool stage2_walk(const struct arm_cpu *cpu, struct walk *w)
{
	u64 vtcr = cpu->vtcr_el2;
	int stride, rest;

	w->granule = granule_of(vtcr >> 14 & 3, false);
	set_layout(cpu, w, vtcr & VTCR_DS, vtcr >> 16);
	w->input_bits = 64 - CLAMP(vtcr & 0x3f, w->ds || w->lpa ? 12 : 16, 39);
	w->level = stage2_start(w, vtcr);
	w->base = table_base(w, cpu->vttbr_el2);
	w->ha = vtcr & VTCR_HA;
	w->hd = w->ha && vtcr & VTCR_HD;
	w->haft = w->ha && vtcr & VTCR_HAFT && cpu_has(cpu, ARM_FEAT_HAFT);
	w->hpd = true;
	w->stage2 = true;
	w->translate = false;
	stride = w->granule - 3;
	rest = (int)w->input_bits - (int)w->granule - stride * (3 - w->level);
	return w->level >= -1 && rest >= 1 && rest <= stride + 4;
}

bool arm_stage2_is_wide(const struct arm_cpu *cpu)
{
	struct walk w;

	return stage2_walk(cpu, &w) && w.ds;
}

static bool stage2_fault(struct arm_translation *out, u64 ipa, enum s2_purpose purpose)
{
	out->stage2 = true;
	out->s1ptw = purpose == S2_WALK;
	out->ipa = ipa;
	return false;
}

/* Who may execute: XN[1:0] is 0 both levels, 1 EL0, 2 none, 3 EL1; without FEAT_XNX XN[1] decides.
 */
static bool stage2_executable(const struct arm_cpu *cpu, u64 desc, enum s2_purpose purpose)
{
	unsigned xn = desc >> 53 & 3;

	if (!cpu_has(cpu, ARM_FEAT_XNX))
		return !(xn & 2);
	return xn == 0 || xn == (purpose == S2_EL0 ? 1 : 3);
}

static void stage2_attributes(const struct arm_cpu *cpu, u64 desc, struct arm_translation *out)
{
	unsigned attr = desc >> 2 & 0xf;

	out->normal = false;
	if (arm_hcr(cpu) &
	    HCR_FWB) { /* bit 2: Normal or as stage 1 says; 6 is write-back for all */
		out->device = !(attr & 4);
		out->normal = attr == 6;
	} else {
		out->device = !(attr >> 2);
	}
}

static bool stage2_permissions(struct arm_cpu *cpu, const struct walk *w, const struct leaf *leaf,
			       enum s2_purpose purpose, struct arm_translation *out)
{
	out->read = leaf->desc & DESC_S2AP_R;
	out->write = leaf->desc & DESC_S2AP_W || (w->hd && leaf->desc & DESC_DBM);
	out->exec = stage2_executable(cpu, leaf->desc, purpose);
	stage2_attributes(cpu, leaf->desc, out);
	return !(purpose == S2_WALK && out->device && arm_hcr(cpu) & HCR_PTW);
}

/* Whether the change of the leaf from clean to dirty, if @new is one, can be logged. */
static bool can_log(struct arm_cpu *cpu, const struct leaf *leaf, u64 new,
		    struct arm_translation *out)
{
	if (!(new & ~leaf->desc &DESC_S2AP_W))
		return true;
	switch (arm_hdbss_prepare(cpu)) {
	case ARM_HDBSS_FULL: out->hdbssf = true; return fail(out, FSC_PERMISSION, leaf->level);
	case ARM_HDBSS_ABORT: out->hdbssf = true; return fail(out, FSC_EXTERNAL_WALK, leaf->level);
	default: return true;
	}
}

/* Find the leaf for @ipa. Return: false with out->fault set. */
static bool stage2_leaf(struct arm_cpu *cpu, struct walk *w, u64 ipa, struct leaf *leaf,
			struct arm_translation *out)
{
	if (!stage2_walk(cpu, w) || ipa >> w->input_bits)
		return fail(out, FSC_TRANSLATION, 0);
	return walk_tables(cpu, w, ipa, leaf, out);
}

static bool stage2_address(struct arm_cpu *cpu, u64 ipa, enum tcg_access access,
			   enum s2_purpose purpose, enum arm_purpose why,
			   struct arm_translation *out)
{
	struct walk w = { .purpose = why };
	struct leaf leaf;
	u64 old, new;

	do {
		bool ok;

		out->fault = false;
		if (!stage2_leaf(cpu, &w, ipa, &leaf, out))
			return stage2_fault(out, ipa, purpose);
		ok = stage2_permissions(cpu, &w, &leaf, purpose, out) && allowed(out, access);
		old = leaf.desc;
		new = updated(&w, &leaf, access);
		if (!leaf_allows(&w, &leaf, ok, out))
			return stage2_fault(out, ipa, purpose);
		if (new & ~old & DESC_S2AP_W &&engines_watched(cpu) && arm_dirty_stale(cpu, ipa))
			break;
		if (!can_log(cpu, &leaf, new, out))
			return stage2_fault(out, ipa, purpose);
	} while (new != old && !update(cpu, &w, &leaf, new, out) && !out->fault);
	if (out->fault)
		return stage2_fault(out, ipa, purpose);
	if (new & ~old & DESC_S2AP_W &&leaf.desc == new)
		arm_hdbss_append(cpu, ipa & ~(leaf.size - 1), leaf.level, purpose == S2_WALK);
	if (access == TCG_WRITE && why == ARM_FOR_ACCESS && engines_watched(cpu) &&
	    leaf.desc == new)
		arm_dirty_written(cpu, ipa, new, out->device);
	if (is_clean(&w, &leaf) && leaf.desc == new)
		out->write = false;
	out->phys = leaf.phys;
	out->size = leaf.size;
	return true;
}

bool arm_stage2_find(struct arm_cpu *cpu, u64 ipa, struct arm_stage2_leaf *found)
{
	struct walk w = { .purpose = ARM_FOR_LOOK };
	struct arm_translation out = { 0 };
	struct leaf leaf;

	if (!stage2_leaf(cpu, &w, ipa, &leaf, &out))
		return false;
	*found = (struct arm_stage2_leaf){
		.desc = leaf.desc,
		.where = leaf.where,
		.phys = leaf.phys & ~(leaf.size - 1),
		.size = leaf.size,
		.level = leaf.level,
	};
	return true;
}

/* The address itself, where stage 1 is off. */
static bool flat_address(const struct arm_cpu *cpu, u64 va, struct arm_translation *out)
{
	*out = (struct arm_translation){ .phys = va & ADDRESS_52,
					 .size = TCG_PAGE_SIZE,
					 .read = true,
					 .write = true,
					 .exec = true };
	return va >> pa_bits(cpu, 7) ? fail(out, FSC_ADDRESS_SIZE, 0) : true;
}

static bool stage1_is_on(const struct arm_cpu *cpu, unsigned el)
{
	if (el == 1 && arm_hcr(cpu) & (HCR_DC | HCR_TGE))
		return false;
	return cpu->sctlr_el[el] & SCTLR_M;
}

static bool stage1_address(struct arm_cpu *cpu, const struct arm_regime *regime, u64 va,
			   enum tcg_access access, struct arm_translation *out)
{
	struct walk w;
	struct leaf leaf;
	u64 old, new;

	if (!stage1_is_on(cpu, regime->el))
		return flat_address(cpu, va, out);
	do {
		*out = (struct arm_translation){ 0 };
		if (closed_to_user(cpu, regime, va) || !stage1_walk(cpu, regime, va, &w))
			return fail(out, FSC_TRANSLATION, 0);
		if (!walk_tables(cpu, &w, va, &leaf, out))
			return false;
		stage1_permissions(cpu, regime, &w, &leaf, out);
		if (!leaf_allows(&w, &leaf, allowed(out, access), out))
			return false;
		old = leaf.desc;
		new = updated(&w, &leaf, access);
	} while (new != old && !update(cpu, &w, &leaf, new, out) && !out->fault);
	if (out->fault)
		return false;
	if (is_clean(&w, &leaf))
		out->write = false;
	out->device = !(cpu->mair_el[regime->el] >> (8 * (leaf.desc >> 2 & 7)) & 0xf0);
	out->guarded = leaf.desc & DESC_GP && cpu_has(cpu, ARM_FEAT_BTI);
	out->not_global = leaf.desc & DESC_NG || !(va >> 55 & 1);
	out->phys = leaf.phys;
	out->size = leaf.size;
	return true;
}

bool arm_translate_address(struct arm_cpu *cpu, const struct arm_regime *regime, u64 va,
			   enum tcg_access access, struct arm_translation *out)
{
	struct arm_translation second = { 0 };

	if (!stage1_address(cpu, regime, va, access, out))
		return false;
	if (!regime->stage2 || regime->only_stage1)
		return true;
	if (!stage2_address(cpu, out->phys, access, regime->user ? S2_EL0 : S2_EL1, regime->purpose,
			    &second)) {
		*out = second;
		return false;
	}
	out->phys = second.phys;
	out->size = MAX(out->size, second.size); /* either may be invalidated by an address in it */
	out->read &= second.read;
	out->write &= second.write;
	out->exec &= second.exec;
	out->device = (out->device && !second.normal) || second.device;
	return true;
}

struct arm_regime arm_regime_current(const struct arm_cpu *cpu, bool user)
{
	struct arm_regime r = { .el = arm_control_el(cpu), .user = cpu_el(cpu) == 0 };

	/* Unprivileged accesses of EL2 are EL0's only if that is the host's. */
	r.user |= user && (r.el == 1 || (r.el == 2 && arm_el0_in_host(cpu)));
	r.pan = cpu->pstate & PSTATE_PAN && !r.user;
	r.stage2 = r.el == 1 && arm_hcr(cpu) & HCR_VM;
	return r;
}
