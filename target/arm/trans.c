/*
 * target/arm/trans.c - one region: decode, find what flags are needed, apply the rules.
 */
#include "target/arm/sem.h"
#include "target/arm/trans_vec.h"

#define PEEK 6 /* instructions looked at behind a region's exit to see whether flags are dead */

static void exec_undefined(struct arm_cpu *cpu, const union a64_args *args)
{
	arm_undefined(cpu);
}

static void exec_illegal_state(struct arm_cpu *cpu, const union a64_args *args)
{
	arm_raise(cpu, EC_ILLEGAL_STATE, 0, 0);
}

static void exec_fp_trap(struct arm_cpu *cpu, const union a64_args *args)
{
	check_fp_access(cpu);
}

/* Page offset that a direct branch leads to; -1 for other instructions. Link or not is no matter.
 */
static s64 branch_target(const struct a64_insn *insn, s64 off)
{
	switch (insn->op) {
	case A64_B: return off + (s64)insn->args.B.imm * 4;
	case A64_CBZ: return off + (s64)insn->args.CBZ.imm * 4;
	case A64_TBZ: return off + (s64)insn->args.TBZ.imm * 4;
	case A64_BCOND: return off + (s64)insn->args.BCOND.imm * 4;
	default: return -1;
	}
}

/* What follows is reached only by branches, or with another context. */
static bool ends_region(const struct arm_region *r, const struct a64_insn *insn)
{
	if (insn->op == A64_MSR && arm_msr_is_plain(r->cpu, &insn->args.MSR))
		return false;
	if (insn->op == A64_MSR_I && arm_msr_i_is_plain(r->cpu, &insn->args.MSR_I))
		return false;
	if (insn->op == A64_SYSOP && arm_sysop_is_plain(r->cpu, &insn->args.SYSOP))
		return false;
	return insn->op == A64_UNALLOCATED || a64_rules[insn->op].ends_region;
}

static bool is_call(const struct a64_insn *insn)
{
	return insn->op == A64_B && insn->args.B.op;
}

static bool r_is_straight(const struct trans *t)
{
	return t->cpu->counted;
}

/* Index of a branch's target in the region of @n instructions, -1 if outside. */
static int local_target(struct trans *t, const struct a64_insn *insn, unsigned at, unsigned n)
{
	s64 first = t->start & ~TCG_PAGE_MASK;
	s64 to = branch_target(insn, first + 4 * at);

	/* Where instructions are counted, all of a region's are executed, one after the other. */
	if (r_is_straight(t) || is_call(insn) || to < first || to >= first + 4 * (s64)n)
		return -1;
	return (to - first) / 4;
}

static bool is_available(const struct arm_cpu *cpu, struct a64_insn *insn)
{
	return insn->op != A64_UNALLOCATED && arm_op_available(cpu, insn->op);
}

/* Decode up to the last instruction that can be reached without leaving. */
static void decode_region(struct trans *t, struct arm_region *r)
{
	int furthest = 0;

	for (unsigned i = 0; i < t->max_insns; i++) {
		struct a64_insn *insn = &r->insn[i];
		int to;

		a64_decode(t->words[i], insn);
		if (!is_available(r->cpu, insn))
			insn->op = A64_UNALLOCATED;
		r->n = i + 1;
		to = local_target(t, insn, i, t->max_insns);
		furthest = MAX(furthest, to);
		if (r_is_straight(t) && branch_target(insn, t->start & ~TCG_PAGE_MASK) != -1)
			return;
		if (ends_region(r, insn) && furthest <= (int)i)
			return;
	}
}

static void find_targets(struct trans *t, struct arm_region *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		int to = local_target(t, &r->insn[i], i, r->n);

		if (to < 0)
			continue;
		r->target[to] = true;
		if (to <= (int)i)
			r->head[to] = true;
	}
}

/* The same of an FP or SIMD instruction. */
static u32 written_by_fp(const struct a64_insn *insn)
{
	u32 rd = 1u << (insn->raw & 31), rn = 1u << (insn->raw >> 5 & 31);

	switch (insn->op) {
	case A64_FMOV_g: return insn->args.FMOV_g.in ? 0 : rd;
	case A64_FMOV_top: return insn->args.FMOV_top.in ? 0 : rd;
	case A64_FCVT_g:
	case A64_FCVTA_g:
	case A64_FCVTZ_gf:
	case A64_FJCVTZS:
	case A64_SMOV:
	case A64_UMOV: return rd;
	case A64_LDST_iv: return insn->args.LDST_iv.mode & 1 ? rn : 0;
	case A64_LDSTP_v: return insn->args.LDSTP_v.mode & 1 ? rn : 0;
	case A64_LDST_multi: return insn->args.LDST_multi.post ? rn : 0;
	case A64_LDST_lane: return insn->args.LDST_lane.post ? rn : 0;
	default: return 0;
	}
}

u32 arm_written(const struct a64_insn *insn)
{
	u32 raw = insn->raw;
	u32 rt = 1u << (raw & 31), rn = 1u << (raw >> 5 & 31), rt2 = 1u << (raw >> 10 & 31);

	if (a64_rules[insn->op].fp)
		return written_by_fp(insn);
	switch (insn->op) {
	case A64_CBZ:
	case A64_TBZ:
	case A64_BCOND:
	case A64_BR:
	case A64_RET:
	case A64_MSR:
	case A64_MSR_DAIFI:
	case A64_CCMP: return 0;
	case A64_B:
	case A64_BLR:
	case A64_PAC_LR: return 1u << 30;
	case A64_PAC_H: return 1u << 17;
	case A64_LDST_u: return insn->args.LDST_u.opc ? rt : 0;
	case A64_LDST_r: return insn->args.LDST_r.opc ? rt : 0;
	case A64_LDST_i:
		return (insn->args.LDST_i.opc ? rt : 0) | (insn->args.LDST_i.mode & 1 ? rn : 0);
	case A64_LDSTP:
		return (insn->args.LDSTP.l ? rt | rt2 : 0) | (insn->args.LDSTP.mode & 1 ? rn : 0);
	case A64_CAS:
	case A64_ATOMIC:
	case A64_LDSTX: return rt | 1u << (raw >> 16 & 31);
	default: return rt;
	}
}

/* Registers that an instruction loads from memory: pointers that lead anywhere. */
static u32 loaded(const struct a64_insn *insn)
{
	switch (insn->op) {
	case A64_LDST_u:
	case A64_LDST_r: return arm_written(insn);
	case A64_LDST_i: return insn->args.LDST_i.opc ? 1u << insn->args.LDST_i.rt : 0;
	case A64_LDSTP:
		return insn->args.LDSTP.l ? 1u << insn->args.LDSTP.rt | 1u << insn->args.LDSTP.rt2
					  : 0;
	default: return 0;
	}
}

bool arm_hint_for(const struct arm_region *r, unsigned rn)
{
	return rn == 31 || rn == 29 || !(r->loaded >> rn & 1);
}

bool arm_flags_live_at(struct trans *t, s64 to)
{
	const u32 *page = t->words - (t->start & ~TCG_PAGE_MASK) / 4;
	struct a64_insn insn;

	for (unsigned i = 0; i < PEEK && to >= 0 && to < TCG_PAGE_SIZE; i++, to += 4) {
		a64_decode(page[to / 4], &insn);
		if (insn.op == A64_UNALLOCATED || insn.reads_flags)
			return true;
		if (insn.writes_flags)
			return false;
		if (a64_rules[insn.op].ends_region || branch_target(&insn, to) != -1)
			return true;
	}
	return true;
}

/* NZCV live after instruction @i, given what is known of the others so far. */
static bool live_after(struct trans *t, struct arm_region *r, unsigned i)
{
	const struct a64_insn *insn = &r->insn[i];
	s64 off = (s64)(t->start & ~TCG_PAGE_MASK) + 4 * i;
	int local = local_target(t, insn, i, r->n);
	s64 to = branch_target(insn, off);
	bool live = false;

	if (insn->op == A64_UNALLOCATED)
		return true;
	if (local >= 0)
		live = r->live[local];
	else if (to != -1)
		live = arm_flags_live_at(t, to);
	if (ends_region(r, insn))
		return insn->op == A64_B ? live : true;
	return live || (i + 1 < r->n ? r->live[i + 1] : arm_flags_live_at(t, off + 4));
}

static void find_live_flags(struct trans *t, struct arm_region *r)
{
	bool changed;

	do { /* once more for every loop that carries flags around */
		changed = false;
		for (unsigned i = r->n; i-- > 0;) {
			const struct a64_insn *insn = &r->insn[i];
			bool live =
				insn->reads_flags || (!insn->writes_flags && live_after(t, r, i));

			changed |= live != r->live[i];
			r->live[i] = live;
		}
	} while (changed);
}

void arm_goto(struct trans *t, unsigned cc, s64 to)
{
	struct arm_region *r = region_of(t);
	int local = local_target(t, &r->insn[r->current], r->current, r->n);

	if (local >= 0)
		e_goto_insn(t, cc, local, r->live[local]);
	else
		e_goto(t, cc, to, arm_flags_live_at(t, to));
}

/* Rules of these operations use the host flags, or leave them alone. */
static bool keeps_host_flags(unsigned op)
{
	switch (op) {
	case A64_BCOND:
	case A64_CSEL:
	case A64_CCMP:
	case A64_ADC:
	case A64_B:
	case A64_HINT:
	case A64_MOVW:
	case A64_ADR:
	case A64_FMOV_r:
	case A64_FABS_s:
	case A64_FNEG_s:
	case A64_FCSEL:
	case A64_FCCMP: return true;
	default: return false;
	}
}

bool arm_flags_live_after(struct trans *t)
{
	const struct arm_region *r = region_of(t);

	return r->current + 1 >= r->n || r->live[r->current + 1];
}

const struct a64_insn *arm_previous_insn(struct trans *t)
{
	const struct arm_region *r = region_of(t);

	return r->current && !r->target[r->current] ? &r->insn[r->current - 1] : NULL;
}

const struct a64_insn *arm_next_insn(struct trans *t)
{
	const struct arm_region *r = region_of(t);
	unsigned next = r->current + 1;

	return next < r->n && !r->target[next] ? &r->insn[next] : NULL;
}

bool arm_next_reads_flags(struct trans *t)
{
	const struct a64_insn *next = arm_next_insn(t);

	return next && next->reads_flags;
}

static bool apply_rule(struct trans *t, const struct a64_insn *insn)
{
	const struct a64_rule *rule = &a64_rules[insn->op];

	if (!keeps_host_flags(insn->op))
		flags_clobber(t);
	flags_protect(t, arm_written(insn));
	if (rule->fp && insn->op != A64_FCSEL && insn->op != A64_FCCMP)
		flags_protect_vectors(t);
	return rule->trans && rule->trans(t, &insn->args);
}

/* Instructions that have an ordinary path for all of them, and where their out-of-line copy, one by
 * one, begins and ends. */
struct arm_copy {
	unsigned first, last;
	struct flags_state flags;
	unsigned known_reg;
	u64 known_value;
	u8 *from[2], *done;
};

/* SCTLR_ELx.A: only the reference functions of loads and stores look at their alignment. */
static bool must_check(const struct arm_region *r, const struct a64_insn *insn)
{
	bool memory = (insn->raw & 0x0a000000) == 0x08000000;

	return memory && r->cpu->tcg.state_key & ARM_KEY_ALIGN;
}

static void exec_sp_written(struct arm_cpu *cpu, const union a64_args *args)
{
	arm_state_changed(cpu); /* to ARM_KEY_SP_ODD */
	cpu->tcg.exit_request = 1;
}

/* The stack pointer has been written: leave the region if it is no multiple of 16. */
static void check_sp(struct trans *t)
{
	flags_sync(t);
	e_alui(t, E_AND, 0, E_T0, 31, 15);
	e_st_field(t, 0, offsetof(struct arm_cpu, sp_low), E_T0);
	e_call_if(t, offsetof(struct arm_cpu, sp_low), ~0u, (void (*)(void))exec_sp_written, NULL,
		  0);
	e_exit_check(t);
}

static void translate_insn(struct trans *t, struct arm_region *r, unsigned i)
{
	const struct a64_insn *insn = &r->insn[i];
	bool end = ends_region(r, insn);
	a64_exec_fn *exec = insn->op ? a64_rules[insn->op].exec : exec_undefined;

	r->current = i;
	t->off = (t->start & ~TCG_PAGE_MASK) + 4 * i;
	t->flags_live = r->live[i];
	if (insn->op != A64_MOVW)
		r->known_reg = 31;
	if (a64_rules[insn->op].fp && !arm_fp_enabled(r->cpu)) {
		e_call(t, (void (*)(void))exec_fp_trap, NULL, 0, end);
		return;
	}
	if (must_check(r, insn) || !apply_rule(t, insn))
		e_call(t, (void (*)(void))exec, &insn->args, sizeof(insn->args), end);
	if (r->cpu->tcg.state_key & ARM_KEY_SP_CHECK && arm_may_misalign_sp(insn))
		check_sp(t);
	if (end) /* what follows is reached by branches only */
		t->flags = (struct flags_state){ .where = FLAGS_STORED };
}

static void begin_label(struct trans *t, struct arm_region *r, unsigned i)
{
	if (!r->target[i])
		return;
	t->off = (t->start & ~TCG_PAGE_MASK) + 4 * i;
	t->flags_live = r->live[i];
	flags_sync(t);
	e_label(t, i, r->head[i]);
	r->known_reg = 31;
}

static struct arm_copy *begin_copy(struct trans *t, struct arm_region *r, unsigned first,
				   unsigned last)
{
	struct arm_copy *copy = &r->copies[r->ncopies++];

	t->flags_live = r->live[first];
	flags_clobber(t);
	*copy = (struct arm_copy){ .first = first,
				   .last = last,
				   .flags = t->flags,
				   .known_reg = r->known_reg,
				   .known_value = r->known_value };
	return copy;
}

static void translate_update(struct trans *t, struct arm_region *r, const struct arm_update *u)
{
	struct arm_copy *copy = begin_copy(t, r, u->first, u->last);

	for (unsigned i = u->first; i < u->last; i++)
		flags_protect(t, arm_written(&r->insn[i]));
	copy->flags = t->flags;
	copy->from[0] = arm_emit_update(t, u);
	copy->done = t->p;
	r->known_reg = 31;
}

static void translate_range(struct trans *t, struct arm_region *r, const struct arm_range *range)
{
	struct arm_copy *copy = begin_copy(t, r, range->first, range->last);

	e_range_begin(t, range->base, range->lo, range->reads, range->writes, copy->from);
	for (unsigned i = range->first; i <= range->last; i++)
		translate_insn(t, r, i);
	e_range_end(t);
	copy->done = t->p;
}

static void translate_copy(struct trans *t, struct arm_region *r, struct arm_copy *copy)
{
	for (unsigned i = 0; i < 2; i++)
		if (copy->from[i])
			e_here(t, copy->from[i]);
	t->flags = copy->flags;
	r->known_reg = copy->known_reg;
	r->known_value = copy->known_value;
	for (unsigned i = copy->first; i <= copy->last; i++)
		translate_insn(t, r, i);
	e_jump(t, copy->done);
}

static void exec_check_bti(struct arm_cpu *cpu, const u32 *word)
{
	arm_check_bti(cpu, *word);
}

/* An indirect branch may lead to any region. */
static void check_bti(struct trans *t, struct arm_region *r)
{
	t->off = t->start & ~TCG_PAGE_MASK;
	e_call_if(t, offsetof(struct arm_cpu, btype), ~0u, (void (*)(void))exec_check_bti,
		  &r->insn[0].raw, sizeof(u32));
}

static bool has_vector_rules(const struct arm_region *r)
{
	if (!e_has_vectors() || !arm_fp_enabled(r->cpu))
		return false;
	for (unsigned i = 0; i < r->n; i++)
		if (a64_rules[r->insn[i].op].fp && a64_rules[r->insn[i].op].trans)
			return true;
	return false;
}

static void translate_all(struct trans *t, struct arm_region *r)
{
	struct arm_update update;
	struct arm_range range;

	if (r->cpu->bti_on)
		check_bti(t, r);
	if (has_vector_rules(r))
		e_use_vectors(t);

	for (unsigned i = 0; i < r->n; i++) {
		begin_label(t, r, i);
		if (arm_find_range(r, i, &range)) {
			translate_range(t, r, &range);
			i = range.last;
		} else if (arm_find_update(r, i, &update)) {
			translate_update(t, r, &update);
			i = update.last;
		} else {
			translate_insn(t, r, i);
		}
	}
	if (!ends_region(r, &r->insn[r->n - 1])) {
		s64 next = (s64)(t->start & ~TCG_PAGE_MASK) + 4 * r->n;

		e_goto(t, E_ALWAYS, next, arm_flags_live_at(t, next));
	}
	for (unsigned i = 0; i < r->ncopies; i++)
		translate_copy(t, r, &r->copies[i]);
}

void arm_translate(struct tcg_cpu *tcg, struct trans *t)
{
	struct arm_region *r;

	if (arm_cpu_of(tcg)->pstate & PSTATE_IL) {
		e_call(t, (void (*)(void))exec_illegal_state, NULL, 0, true);
		t->ninsns = 1;
		return;
	}
	r = g_new0(struct arm_region, 1);
	r->copies = g_new(struct arm_copy, TCG_MAX_INSNS / 2);
	r->cpu = arm_cpu_of(tcg);
	r->known_reg = 31;
	t->target = r;
	decode_region(t, r);
	find_targets(t, r);
	find_live_flags(t, r);
	for (unsigned i = 0; i < r->n; i++)
		r->loaded |= loaded(&r->insn[i]);
	translate_all(t, r);
	t->ninsns = r->n;
	g_free(r->copies);
	g_free(r);
}
