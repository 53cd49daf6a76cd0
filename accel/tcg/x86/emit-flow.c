/* accel/tcg/x86/emit-flow.c - labels, branches, region exits and calls on x86-64. */
#include "accel/tcg/region.h"
#include "accel/tcg/x86/vec.h"

static struct slow_path slow_paths[TCG_MAX_SLOW];

struct slow_path *host_slow_paths(void)
{
	return slow_paths;
}

struct slow_path *x_slow(struct trans *t, enum slow_kind kind, u8 *from)
{
	struct slow_path *s = &t->slow[t->nslow++];

	g_assert(t->nslow <= TCG_MAX_SLOW);
	*s = (struct slow_path){
		.kind = kind,
		.from = from,
		.flags = t->flags,
		.off = t->off,
		.hint = NO_REG,
	};
	return s;
}

void x_jump_out(struct trans *t, const u8 *target)
{
	x_set32(x_jmp32(t), target - t->rx);
}

void x_call_out(struct trans *t, const u8 *target)
{
	x_byte(t, 0xe8);
	x_u32(t, 0);
	x_set32(t->p, target - t->rx);
}

/* Leave if a thread or a device wants attention. Flags are stored. */
static void event_check(struct trans *t, u32 off)
{
	struct slow_path *s;

	x_mi(t, 0, 7, RBP, CPU_FIELD(exit_request), 0);
	s = x_slow(t, SLOW_EVENT, x_jcc32(t, CC_NE));
	s->off = off;
}

void e_exit_check(struct trans *t)
{
	g_assert(t->flags.where == FLAGS_STORED);
	event_check(t, t->off + 4);
	t->slow[t->nslow - 1].counted = t->cpu->counted;
}

/* Page offset behind the region's last instruction; known once the target is done. */
static u32 region_end(const struct trans *t)
{
	return (t->start & ~TCG_PAGE_MASK) + 4 * t->ninsns;
}

/* Take the region's instructions off the budget: sub [budget], n; js; mov [region_end], n. */
static void count_insns(struct trans *t)
{
	struct slow_path *s;

	x_rm(t, 0, 0x81, 5, RBP, CPU_FIELD(budget));
	t->count_at[0] = t->p;
	x_u32(t, 0);
	s = x_slow(t, SLOW_BUDGET, x_jcc32(t, CC_S));
	s->off = t->off;
	x_mov_mi(t, 0, RBP, CPU_FIELD(region_end), 0);
	t->count_at[1] = t->p - sizeof(u32);
}

static void count_insns_end(struct trans *t)
{
	u32 n = t->ninsns, end = region_end(t);

	memcpy(t->count_at[0], &n, sizeof(n));
	memcpy(t->count_at[1], &end, sizeof(end));
}

void e_begin(struct trans *t)
{
	static const u8 nop8[] = { 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 };

	/* One aligned 8-byte instruction, so that the entry can be replaced by one store. */
	while ((uintptr_t)t->p & 15)
		x_byte(t, 0x90);
	t->entry = t->p;
	memcpy(t->p, nop8, sizeof(nop8));
	t->p += sizeof(nop8);
	event_check(t, t->off);
	if (t->cpu->counted)
		count_insns(t);
}

void e_use_vectors(struct trans *t)
{
	struct slow_path *s;

	t->vectors = true;
	x_mi(t, 0, 7, RBP, CPU_FIELD(v_loaded), 0);
	s = x_slow(t, SLOW_VECTORS, x_jcc32(t, CC_E));
	s->done = t->p;
}

void e_label(struct trans *t, unsigned n, bool head)
{
	t->label[n] = t->p;
	t->v_zero64 = t->v_zero32 = 0;
	if (head)
		event_check(t, t->off);
}

/* Jump of condition @cc to be resolved later. */
static u8 *jump(struct trans *t, unsigned cc)
{
	return cc == E_ALWAYS ? x_jmp32(t) : x_jcc32(t, cc);
}

static void jump_to_insn(struct trans *t, unsigned cc, unsigned n)
{
	u8 *from = jump(t, cc);

	if (t->label[n]) {
		x_set32(from, t->label[n]);
	} else {
		g_assert(t->nfixups < ARRAY_SIZE(t->fixup));
		t->fixup[t->nfixups].from = from;
		t->fixup[t->nfixups++].insn = n;
	}
}

void e_goto_insn(struct trans *t, unsigned cc, unsigned n, bool live)
{
	bool store = live && t->flags.where != FLAGS_STORED;
	struct slow_path *s;

	if (store && cc == E_ALWAYS) {
		x_store_flags(t, &t->flags);
		store = false;
	}
	if (!store) {
		jump_to_insn(t, cc, n);
		return;
	}
	s = x_slow(t, SLOW_GOTO, jump(t, cc));
	s->insn = n;
}

void e_here(struct trans *t, u8 *from)
{
	x_set32(from, t->p);
}

void e_jump(struct trans *t, u8 *to)
{
	x_set32(x_jmp32(t), to);
}

static bool in_page(s64 to)
{
	return to >= 0 && to < TCG_PAGE_SIZE;
}

void e_goto(struct trans *t, unsigned cc, s64 to, bool live)
{
	bool store = live && t->flags.where != FLAGS_STORED;
	struct slow_path *s;

	if (store && cc == E_ALWAYS) {
		x_store_flags(t, &t->flags);
		t->flags.where = FLAGS_STORED;
		store = false;
	}
	if (cc == E_ALWAYS && !in_page(to)) {
		e_pc(t, E_T0, to);
		x_goto_rax(t);
		return;
	}
	if (!store && in_page(to)) /* this jump itself will be chained */
		x_align_jump(t, cc == E_ALWAYS ? 1 : 2);
	s = x_slow(t, SLOW_EXIT, jump(t, cc));
	s->to = to;
	s->live = store;
}

void x_goto_rax(struct trans *t)
{
	x_rr(t, 0, OP_LOAD, RCX, RAX);
	x_ri(t, 0, 4, RCX, (JC_SIZE - 1) << 2);
	x_rmx(t, 1, OP_CMP, RAX, R15, RCX, 2, MMU_FIELD(jc));
	x_slow(t, SLOW_INDIRECT, x_jcc32(t, CC_NE));
	x_ri(t, 1, 4, RAX, -(s32)TCG_PAGE_SIZE);
	x_rm(t, 1, OP_STORE, RAX, RBP, CPU_FIELD(pc_page));
	x_rmx(t, 0, 0xff, 4, R15, RCX, 2, MMU_FIELD(jc) + 8);
}

void e_goto_reg(struct trans *t, unsigned a)
{
	flags_sync(t);
	x_get(t, 1, RAX, a);
	x_goto_rax(t);
}

unsigned e_test_zero(struct trans *t, unsigned w, unsigned a)
{
	if (a < 32 && host_reg(a) < 0) {
		x_mi(t, w, 7, RBP, guest_disp(a), 0);
	} else {
		unsigned r = x_use(t, w, a, RAX);

		x_rr(t, w, OP_TEST, r, r);
	}
	return CC_E;
}

unsigned e_test_bit(struct trans *t, unsigned a, unsigned bit)
{
	int h = host_reg(a);

	if (a == E_ZERO) {
		x_rr(t, 0, OP_XOR, RAX, RAX);
		return CC_E;
	}
	if (h < 0) {
		x_rm(t, 0, 0xf6, 0, RBP, guest_disp(a) + (s32)(bit / 8));
		x_byte(t, 1u << (bit & 7));
	} else if (bit < 31) {
		x_rr(t, 0, 0xf7, 0, h);
		x_u32(t, 1u << bit);
	} else {
		x_rr(t, 1, 0xba | OP_0F, 4, h); /* bt */
		x_byte(t, bit);
		return CC_AE;
	}
	return CC_E;
}

void x_call_exec(struct trans *t, void (*fn)(void), const void *args, unsigned size)
{
	u8 *over = x_jmp8(t); /* the arguments lie in the code */
	u8 *copy;

	while ((uintptr_t)t->p & 7)
		x_byte(t, 0xcc);
	copy = t->p;
	if (size)
		memcpy(copy, args, size);
	t->p += size;
	x_here8(t, over);
	x_rip(t, 1, OP_LEA, RDX, copy);
	x_movi(t, RAX, (u64)(uintptr_t)fn);
	x_call_out(t, host_entry.call_exec[t->vectors]);
}

struct call {
	void (*fn)(void);
	const void *args;
	unsigned size;
	u32 off; /* page offset of the instruction */
};

/* Flags are stored. @end: go to cpu->npc afterwards, which is the next instruction unless fn says
 * otherwise. */
static void call(struct trans *t, const struct call *c, bool end)
{
	x_mov_mi(t, 0, RBP, CPU_FIELD(pc_off), c->off);
	if (end) {
		e_pc(t, E_T0, (s64)c->off + 4);
		x_rm(t, 1, OP_STORE, RAX, RBP, CPU_FIELD(npc));
	}
	x_call_exec(t, c->fn, c->args, c->size);
	if (end) {
		x_rm(t, 1, OP_LOAD, RAX, RBP, CPU_FIELD(npc));
		x_goto_rax(t);
	}
}

void e_call(struct trans *t, void (*fn)(void), const void *args, unsigned size, bool end)
{
	flags_sync(t);
	call(t, &(struct call){ fn, args, size, t->off }, end);
	t->v_zero64 = t->v_zero32 = 0;
}

/* Out of line, if @cc: fn(cpu, args). */
static struct slow_path *exec_if(struct trans *t, unsigned cc, void (*fn)(void), const void *args,
				 unsigned size)
{
	struct slow_path *s = x_slow(t, SLOW_EXEC, x_jcc32(t, cc));

	g_assert(size <= sizeof(s->args));
	s->fn = fn;
	s->args_size = size;
	memcpy(s->args, args, size);
	return s;
}

void e_call_if(struct trans *t, unsigned field, u32 mask, void (*fn)(void), const void *args,
	       unsigned size)
{
	x_rm(t, 0, 0xf7, 0, RBP, (s32)field - CPU_BIAS); /* test dword, imm */
	x_u32(t, mask);
	exec_if(t, CC_NE, fn, args, size)->done = t->p;
	t->v_zero64 = t->v_zero32 = 0;
}

unsigned e_view(struct trans *t, unsigned n, void (*fn)(void), const void *args, unsigned size)
{
	struct slow_path *s;

	x_rm(t, 1, OP_LOAD, RAX, RBP, CPU_FIELD(views[0]) + (s32)(n * sizeof(struct tcg_mmu *)));
	x_rr(t, 1, OP_TEST, RAX, RAX);
	s = exec_if(t, CC_E, fn, args, size);
	x_rr(t, 1, OP_LOAD, R15, RAX);
	x_rm(t, 1, OP_STORE, R15, RBP, CPU_FIELD(mmu));
	return s - t->slow;
}

void e_leave_unless(struct trans *t, unsigned field, unsigned a, void (*fn)(void), const void *args,
		    unsigned size)
{
	unsigned r = x_use(t, 1, a, RAX);

	g_assert(!t->cpu->counted);
	x_rm(t, 1, OP_CMP, r, RBP, (s32)field - CPU_BIAS);
	exec_if(t, CC_NE, fn, args, size);
}

u8 *e_unless(struct trans *t, unsigned field, u32 mask)
{
	x_rm(t, 0, 0xf7, 0, RBP, (s32)field - CPU_BIAS); /* test dword, imm */
	x_u32(t, mask);
	return x_jcc32(t, CC_E);
}

unsigned e_instead(struct trans *t, unsigned a, void (*fn)(void), const void *args, unsigned size)
{
	unsigned r = x_use(t, 1, a, RAX);

	x_rr(t, 1, OP_TEST, r, r);
	return exec_if(t, CC_NE, fn, args, size) - t->slow;
}

void e_instead_end(struct trans *t, unsigned n)
{
	t->slow[n].done = t->p;
}

/* ---- out of line ---- */

static void slow_exit(struct trans *t, struct slow_path *s)
{
	u8 *site = s->from;

	if (s->from)
		x_set32(s->from, t->p);
	if (s->live) {
		x_store_flags(t, &s->flags);
		site = NULL;
	}
	if (!in_page(s->to)) {
		e_pc(t, E_T0, s->to);
		x_goto_rax(t);
		return;
	}
	if (!site) { /* a jump of its own, to be chained */
		x_align_jump(t, 1);
		site = x_jmp32(t);
		x_set32(site, t->p);
	}
	x_mov_mi(t, 0, RBP, CPU_FIELD(pc_off), s->to);
	x_rip(t, 1, OP_LEA, RAX, site - 4);
	x_jump_out(t, host_entry.leave);
}

/* Nothing is to be chained. */
static void leave_at(struct trans *t, u32 off)
{
	x_mov_mi(t, 0, RBP, CPU_FIELD(pc_off), off);
	x_movi(t, RAX, 0);
	x_jump_out(t, host_entry.leave);
}

void x_slow_flow(struct trans *t, struct slow_path *s)
{
	switch (s->kind) {
	case SLOW_EXIT: slow_exit(t, s); break;
	case SLOW_GOTO:
		x_set32(s->from, t->p);
		x_store_flags(t, &s->flags);
		jump_to_insn(t, E_ALWAYS, s->insn);
		break;
	case SLOW_INDIRECT:
		x_set32(s->from, t->p);
		x_jump_out(t, host_entry.leave_rax);
		break;
	case SLOW_EXEC:
		x_set32(s->from, t->p);
		x_store_flags(t, &s->flags);
		call(t, &(struct call){ s->fn, s->args, s->args_size, s->off }, !s->done);
		if (s->done)
			x_set32(x_jmp32(t), s->done);
		break;
	case SLOW_VECTORS:
		x_set32(s->from, t->p);
		x_call_out(t, host_entry.load_vectors);
		x_set32(x_jmp32(t), s->done);
		break;
	case SLOW_BUDGET:
		x_set32(s->from, t->p);
		x_mi(t, 0, 0, RBP, CPU_FIELD(budget), t->ninsns);
		x_rm(t, 0, 0xc6, 0, RBP, CPU_FIELD(interpret));
		x_byte(t, 1);
		leave_at(t, s->off);
		break;
	default: /* SLOW_EVENT */
		x_set32(s->from, t->p);
		if (s->counted && s->off < region_end(t))
			x_mi(t, 0, 0, RBP, CPU_FIELD(budget), (region_end(t) - s->off) / 4);
		if (s->off < TCG_PAGE_SIZE) {
			leave_at(t, s->off);
		} else {
			e_pc(t, E_T0, s->off);
			x_jump_out(t, host_entry.leave_rax);
		}
		break;
	}
}

void e_end(struct trans *t)
{
	if (t->cpu->counted)
		count_insns_end(t);
	for (unsigned i = 0; i < t->nslow; i++) { /* the list grows while it is worked off */
		struct slow_path s = t->slow[i];

		if (s.kind <= SLOW_STORE_PAIR)
			x_slow_memory(t, &s);
		else
			x_slow_flow(t, &s);
	}
	for (unsigned i = 0; i < t->nfixups; i++)
		x_set32(t->fixup[i].from, t->label[t->fixup[i].insn]);
	/* where the entry leads once the region is discarded */
	t->dead = t->p;
	leave_at(t, t->start & ~TCG_PAGE_MASK);
}
