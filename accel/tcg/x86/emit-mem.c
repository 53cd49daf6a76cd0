/*
 * accel/tcg/x86/emit-mem.c - guest loads and stores: inline soft TLB, slow paths out of line.
 *
 * Fast path: the tag of the last byte's page must equal that of the TLB entry of the first byte,
 * so that an access that crosses a page takes the slow path; or the first byte must lie in the page
 * of the base register's hint, but not so near to its end that any access could leave it. rcx then
 * holds host address - virtual address.
 */
#include "accel/tcg/x86/vec.h"

#define HINT_FIELD(f) ((s32)offsetof(struct page_hint, f))
#define HINT_LIMIT    (TCG_PAGE_SIZE - 31) /* the widest access has 32 bytes */

/* Address in a host register: the base's own, or rax. */
static unsigned address(struct trans *t, const struct e_address *at)
{
	int base = host_reg(at->base);

	if (!at->indexed) {
		if (at->imm == 0 && base >= 0)
			return base;
		if (base >= 0) {
			x_rm(t, 1, OP_LEA, RAX, base, at->imm);
		} else {
			x_get(t, 1, RAX, at->base);
			if (at->imm)
				x_ri(t, 1, 0, RAX, at->imm);
		}
		return RAX;
	}
	if (at->index == E_ZERO) {
		x_get(t, 1, RAX, at->base);
		return RAX;
	}
	if (at->ext == E_U64 && host_reg(at->index) >= 0) {
		unsigned b = x_use(t, 1, at->base, RCX);

		if (at->shift <= 3) {
			x_rmx(t, 1, OP_LEA, RAX, b, host_reg(at->index), at->shift, 0);
			return RAX;
		}
	}
	e_extend(t, at->ext, 1, E_T0, at->index);
	if (at->shift <= 3) {
		unsigned b = x_use(t, 1, at->base, RCX);

		x_rmx(t, 1, OP_LEA, RAX, b, RAX, at->shift, 0);
	} else {
		x_shift(t, 1, 4, RAX, at->shift);
		x_rg(t, 1, OP_ADD, RAX, at->base);
	}
	return RAX;
}

/* @d = page of the last of @bytes bytes at @va, or no page at all if it must be aligned. */
static void last_page(struct trans *t, unsigned d, unsigned va, unsigned bytes, bool aligned)
{
	if (aligned) {
		x_rr(t, 1, OP_LOAD, d, va);
		x_ri(t, 1, 4, d, -(s32)TCG_PAGE_SIZE | (s32)(bytes - 1));
		return;
	}
	if (bytes > 1)
		x_rm(t, 1, OP_LEA, d, va, bytes - 1);
	else
		x_rr(t, 1, OP_LOAD, d, va);
	x_ri(t, 1, 4, d, -(s32)TCG_PAGE_SIZE);
}

/* @d = offset of the TLB entry of @va. */
static void entry_offset(struct trans *t, unsigned d, unsigned va)
{
	x_rorx(t, 0, d, va, TCG_PAGE_BITS - 4);
	x_ri(t, 0, 4, d, (TLB_SIZE - 1) * sizeof(struct tlb_entry));
}

static s32 hint_disp(bool write, unsigned hint)
{
	return (write ? MMU_FIELD(hint_w) : MMU_FIELD(hint_r)) +
	       (s32)(hint * sizeof(struct page_hint));
}

void e_range_begin(struct trans *t, unsigned base, s32 lo, bool reads, bool writes, u8 *from[2])
{
	const bool wanted[] = { reads, writes };
	unsigned va = x_use(t, 1, base, RAX);

	for (unsigned write = 0; write < 2; write++) {
		s32 disp = hint_disp(write, base);

		from[write] = NULL;
		if (!wanted[write])
			continue;
		x_rm(t, 1, OP_LEA, RDX, va, lo);
		x_rm(t, 1, OP_SUB, RDX, R15, disp + HINT_FIELD(page));
		x_rm(t, 1, OP_CMP, RDX, R15, disp + HINT_FIELD(range));
		from[write] = x_jcc32(t, CC_AE);
	}
	t->range_base = base;
}

void e_range_end(struct trans *t)
{
	t->range_base = E_ZERO;
}

/* An access whose check e_range_begin() has made: only the addend is needed. Return: host register
 * to which at->imm and rcx are to be added. */
static unsigned range_address(struct trans *t, const struct e_address *at, bool write)
{
	unsigned va = x_use(t, 1, at->base, RAX);

	g_assert(!at->indexed && at->base == t->range_base);
	x_rm(t, 1, OP_LOAD, RCX, R15, hint_disp(write, at->base) + HINT_FIELD(addend));
	return va;
}

static bool in_range(const struct trans *t)
{
	return t->range_base != E_ZERO;
}

static s32 table_disp(bool write)
{
	return write ? MMU_FIELD(w) : MMU_FIELD(r);
}

/*
 * Most addends are alike where physical memory is mapped as a whole. Then the load need not wait
 * for the one in the TLB: that this is the expected one is found out meanwhile.
 */
static bool expects_addend(const struct trans *t, enum slow_kind kind)
{
	return (kind == SLOW_LOAD || kind == SLOW_LOAD_PAIR) &&
	       t->cpu->mmu->votes >= TLB_VOTES_ENOUGH;
}

static struct slow_path *check_expected(struct trans *t, enum slow_kind kind, unsigned va,
					unsigned bytes)
{
	struct slow_path *s;

	last_page(t, RCX, va, bytes, false);
	entry_offset(t, RDX, va);
	x_rmx(t, 1, OP_CMP, RCX, R15, RDX, 0, table_disp(false));
	s = x_slow(t, kind, x_jcc32(t, CC_NE));
	x_rm(t, 1, OP_LOAD, RCX, R15, MMU_FIELD(expected));
	x_rmx(t, 1, OP_CMP, RCX, R15, RDX, 0, table_disp(false) + 8);
	s->unexpected_from = x_jcc32(t, CC_NE);
	s->check_done = t->p;
	return s;
}

/* As below, by cpu->data_view, if there is one. */
static struct slow_path *check_view(struct trans *t, enum slow_kind kind, unsigned va,
				    unsigned bytes)
{
	s32 table = table_disp(kind == SLOW_STORE);
	struct slow_path *s;

	x_rm(t, 1, OP_LOAD, R15, RBP, CPU_FIELD(data_view));
	x_rr(t, 1, OP_TEST, R15, R15);
	s = x_slow(t, kind, x_jcc32(t, CC_E));
	last_page(t, RDX, va, bytes, false);
	entry_offset(t, RCX, va);
	x_rmx(t, 1, OP_CMP, RDX, R15, RCX, 0, table);
	s->also[0] = x_jcc32(t, CC_NE);
	x_rmx(t, 1, OP_LOAD, RCX, R15, RCX, 0, table + 8);
	x_rm(t, 1, OP_LOAD, R15, RBP, CPU_FIELD(mmu)); /* as calls of C do on the slow path */
	return s;
}

/* The check before an access of @bytes bytes at host register @va; leaves the addend in rcx. */
static struct slow_path *check(struct trans *t, enum slow_kind kind, unsigned va, unsigned bytes,
			       const struct e_address *at)
{
	bool write = kind == SLOW_STORE || kind == SLOW_STORE_PAIR;
	struct slow_path *s;
	u8 *from;

	if (at->hint && at->base < 32) {
		s32 disp = hint_disp(write, at->base);

		x_rr(t, 1, OP_LOAD, RDX, va);
		x_rm(t, 1, OP_SUB, RDX, R15, disp + HINT_FIELD(page));
		x_rm(t, 1, OP_CMP, RDX, R15, disp + HINT_FIELD(limit));
		from = x_jcc32(t, CC_AE);
		s = x_slow(t, kind, NULL);
		s->hint = at->base;
		s->hint_from = from;
		x_rm(t, 1, OP_LOAD, RCX, R15, disp + HINT_FIELD(addend));
		s->check_done = t->p;
	} else if (at->data_view) {
		g_assert(at->slow);
		s = check_view(t, kind, va, bytes);
	} else if (expects_addend(t, kind) && !at->aligned) {
		s = check_expected(t, kind, va, bytes);
	} else {
		last_page(t, RDX, va, bytes, at->aligned);
		entry_offset(t, RCX, va);
		x_rmx(t, 1, OP_CMP, RDX, R15, RCX, 0, table_disp(write));
		from = x_jcc32(t, CC_NE);
		s = x_slow(t, kind, from);
		x_rmx(t, 1, OP_LOAD, RCX, R15, RCX, 0, table_disp(write) + 8);
	}
	s->va = va;
	s->fn = at->slow;
	s->args_size = at->args_size;
	if (at->args_size) {
		g_assert(at->args_size <= sizeof(s->args));
		memcpy(s->args, at->args, at->args_size);
	}
	return s;
}

static const u16 load_opcode[] = { OP_MOVZX8, OP_MOVZX16, OP_LOAD,  OP_LOAD,
				   OP_MOVSX8, OP_MOVSX16, OP_MOVSXD };
static const u8 ext_size[] = { 1, 2, 4, 8, 1, 2, 4 };

/* Load from [va + rcx + disp] into an operand. */
static void load_value(struct trans *t, enum e_ext ext, unsigned w, unsigned d, unsigned va,
		       s32 disp)
{
	unsigned r = x_dest(d, RDX);
	unsigned wide = ext == E_U64 ? 1 : ext < E_S8 ? 0 : w;

	x_rmx(t, wide, load_opcode[ext], r, va, RCX, 0, disp);
	x_put(t, d, r);
}

static const u16 store_opcode[] = {
	[1] = OP_STORE8, [2] = OP_STORE16, [4] = OP_STORE, [8] = OP_STORE
};

static void store_value(struct trans *t, unsigned size, unsigned a, unsigned va, s32 disp)
{
	unsigned r = x_use(t, size == 8, a, RDX);

	x_rmx(t, size == 8, store_opcode[size], r, va, RCX, 0, disp);
}

/* An access about to be emitted: it goes to [va + rcx + disp]. */
struct access {
	unsigned va;
	s32 disp;
	struct slow_path *slow;   /* to be completed */
	struct slow_path ignored; /* what slow points to inside a range */
};

/* @own: the address must not be in a guest register, because that is written before the end. */
static void begin_access(struct trans *t, struct access *a, enum slow_kind kind, unsigned bytes,
			 const struct e_address *at, bool own)
{
	bool write = kind == SLOW_STORE || kind == SLOW_STORE_PAIR;

	if (in_range(t)) {
		a->va = range_address(t, at, write);
		a->disp = at->imm;
		a->slow = &a->ignored;
	} else {
		a->va = address(t, at);
		a->disp = 0;
	}
	if (own && a->va != RAX) {
		x_rr(t, 1, OP_LOAD, RAX, a->va);
		a->va = RAX;
	}
	if (!in_range(t))
		a->slow = check(t, kind, a->va, bytes, at);
}

void e_load(struct trans *t, enum e_ext ext, unsigned w, unsigned d, const struct e_address *at)
{
	struct access a;

	begin_access(t, &a, SLOW_LOAD, ext_size[ext], at, false);
	a.slow->size = ext_size[ext];
	a.slow->ext = ext;
	a.slow->w = w;
	a.slow->d0 = d;
	load_value(t, ext, w, d, a.va, a.disp);
	a.slow->done = t->p;
}

void e_store(struct trans *t, unsigned size, unsigned v, const struct e_address *at)
{
	struct access a;

	begin_access(t, &a, SLOW_STORE, size, at, false);
	a.slow->size = size;
	a.slow->d0 = v;
	store_value(t, size, v, a.va, a.disp);
	a.slow->done = t->p;
}

void e_load_pair(struct trans *t, enum e_ext ext, unsigned d0, unsigned d1,
		 const struct e_address *at)
{
	unsigned size = ext_size[ext];
	struct access a;

	begin_access(t, &a, SLOW_LOAD_PAIR, 2 * size, at, d0 == at->base);
	a.slow->size = size;
	a.slow->ext = ext;
	a.slow->w = 1;
	a.slow->d0 = d0;
	a.slow->d1 = d1;
	load_value(t, ext, 1, d0, a.va, a.disp);
	load_value(t, ext, 1, d1, a.va, a.disp + (s32)size);
	a.slow->done = t->p;
}

void e_store_pair(struct trans *t, unsigned size, unsigned v0, unsigned v1,
		  const struct e_address *at)
{
	struct access a;

	begin_access(t, &a, SLOW_STORE_PAIR, 2 * size, at, false);
	a.slow->size = size;
	a.slow->d0 = v0;
	a.slow->d1 = v1;
	store_value(t, size, v0, a.va, a.disp);
	store_value(t, size, v1, a.va, a.disp + (s32)size);
	a.slow->done = t->p;
}

/* Move a vector register from or to [base + index + disp], or [base + disp] without an index. */
struct place {
	unsigned base;
	int index; /* -1 = none */
	s32 disp;
};

static void move(struct trans *t, u32 op, unsigned reg, const struct place *at)
{
	if (at->index < 0)
		x_vm(t, op, reg, 0, at->base, at->disp);
	else
		x_vmx(t, op, reg, at->base, at->index, at->disp);
}

/* General register, for sizes that vector loads do not have and without vectors. */
static void move_general(struct trans *t, unsigned w, unsigned op, unsigned reg,
			 const struct place *at)
{
	if (at->index < 0)
		x_rm(t, w, op, reg, at->base, at->disp);
	else
		x_rmx(t, w, op, reg, at->base, at->index, 0, at->disp);
}

/* v = @size bytes, the rest 0 */
static void load_vector(struct trans *t, unsigned size, unsigned v, const struct place *at)
{
	static const u16 load[] = {
		[1] = OP_MOVZX8, [2] = OP_MOVZX16, [4] = OP_LOAD, [8] = OP_LOAD
	};
	static const u32 op[] = { [4] = V_MOVSS_LOAD, [8] = V_MOVSD_LOAD, [16] = V_MOVUPS_LOAD };
	unsigned r = xv_dest(v, X_T1);

	if (!host_vectors) {
		struct place second = *at;

		second.disp += 8;
		move_general(t, size >= 8, size == 16 ? OP_LOAD : load[size], RDX, at);
		x_rm(t, 1, OP_STORE, RDX, RBP, vreg_disp(v, 0));
		if (size == 16)
			move_general(t, 1, OP_LOAD, RDX, &second);
		else
			x_movi(t, RDX, 0);
		x_rm(t, 1, OP_STORE, RDX, RBP, vreg_disp(v, 1));
		return;
	}
	if (size < 4) {
		move_general(t, 0, load[size], RDX, at);
		x_v(t, V_MOVD_IN, r, 0, RDX);
	} else {
		move(t, op[size], r, at);
	}
	xv_put(t, v, r);
	xv_set_zero(t, v, size <= 8, size <= 4);
}

static void store_vector(struct trans *t, unsigned size, unsigned v, const struct place *at)
{
	static const u32 op[] = { [4] = V_MOVSS_STORE, [8] = V_MOVSD_STORE, [16] = V_MOVUPS_STORE };
	unsigned r;

	if (!host_vectors || (size < 4 && host_vreg(v) < 0)) {
		struct place second = *at;

		second.disp += 8;
		x_rm(t, 1, OP_LOAD, RDX, RBP, vreg_disp(v, 0));
		move_general(t, size >= 8, store_opcode[MIN(size, 8)], RDX, at);
		if (size == 16) {
			x_rm(t, 1, OP_LOAD, RDX, RBP, vreg_disp(v, 1));
			move_general(t, 1, OP_STORE, RDX, &second);
		}
		return;
	}
	if (size < 4) {
		x_v(t, V_MOVD_OUT, host_vreg(v), 0, RDX);
		move_general(t, 0, store_opcode[size], RDX, at);
		return;
	}
	r = host_vreg(v) >= 0 ? (unsigned)host_vreg(v) : X_T1;
	if (r == X_T1) /* only what is needed, so that it can come from the store before */
		x_vm(t,
		     size == 16  ? V_MOVUPS_LOAD
		     : size == 8 ? V_MOVSD_LOAD
				 : V_MOVSS_LOAD,
		     r, 0, RBP, vreg_disp(v, 0));
	move(t, op[size], r, at);
}

static void begin_vector(struct trans *t, struct access *a, bool write, unsigned size, const u8 *v,
			 unsigned n, const struct e_address *at)
{
	enum slow_kind kind = write ? (n == 2 ? SLOW_STORE_PAIR : SLOW_STORE)
				    : (n == 2 ? SLOW_LOAD_PAIR : SLOW_LOAD);

	begin_access(t, a, kind, n * size, at, false);
	a->slow->size = size;
	a->slow->vector = n;
	a->slow->d0 = v[0];
	a->slow->d1 = n == 2 ? v[1] : 0;
}

void e_load_vector(struct trans *t, unsigned size, const u8 *v, unsigned n,
		   const struct e_address *at)
{
	struct access a;

	begin_vector(t, &a, false, size, v, n, at);
	for (unsigned i = 0; i < n; i++)
		load_vector(t, size, v[i], &(struct place){ a.va, RCX, a.disp + (s32)(i * size) });
	a.slow->done = t->p;
}

void e_store_vector(struct trans *t, unsigned size, const u8 *v, unsigned n,
		    const struct e_address *at)
{
	struct access a;

	begin_vector(t, &a, true, size, v, n, at);
	for (unsigned i = 0; i < n; i++)
		store_vector(t, size, v[i], &(struct place){ a.va, RCX, a.disp + (s32)(i * size) });
	a.slow->done = t->p;
}

void e_zero_line(struct trans *t, unsigned a, void (*slow)(void), const void *args, unsigned size)
{
	const struct e_address at = {
		.base = E_T0, .aligned = true, .slow = slow, .args = args, .args_size = size
	};
	struct slow_path *s;

	x_get(t, 1, RAX, a);
	x_ri(t, 1, 4, RAX, -64);
	s = check(t, SLOW_STORE, RAX, 64, &at);
	x_rr(t, 1, OP_ADD, RAX, RCX);
	for (unsigned i = 0; i < 64; i += 8)
		x_mov_mi(t, 1, RAX, i, 0);
	s->done = t->p;
}

struct slow_path *x_checked_address(struct trans *t, enum slow_kind kind, unsigned size,
				    const struct e_address *at)
{
	return check(t, kind, address(t, at), size, at);
}

u8 *x_checked_update(struct trans *t, unsigned size, unsigned base, unsigned *va)
{
	u8 *from;

	*va = address(t, &(struct e_address){ .base = base });
	last_page(t, RDX, *va, size, true);
	entry_offset(t, RCX, *va);
	x_rmx(t, 1, OP_CMP, RDX, R15, RCX, 0, table_disp(true));
	from = x_jcc32(t, CC_NE);
	x_rmx(t, 1, OP_LOAD, RCX, R15, RCX, 0, table_disp(true) + 8);
	return from;
}

/* ---- out of line ---- */

/* A failed hint: look into the TLB, and on success remember the page in the hint. */
static void refill_hint(struct trans *t, struct slow_path *s, bool write)
{
	bool pair = s->kind == SLOW_LOAD_PAIR || s->kind == SLOW_STORE_PAIR;
	s32 disp = hint_disp(write, s->hint);
	u8 *miss;

	x_set32(s->hint_from, t->p);
	last_page(t, RDX, s->va, s->size << pair, false);
	entry_offset(t, RCX, s->va);
	x_rmx(t, 1, OP_CMP, RDX, R15, RCX, 0, table_disp(write));
	miss = x_jcc32(t, CC_NE);
	x_rmx(t, 1, OP_LOAD, RCX, R15, RCX, 0, table_disp(write) + 8);
	x_rm(t, 1, OP_STORE, RDX, R15, disp + HINT_FIELD(page));
	x_rm(t, 1, OP_STORE, RCX, R15, disp + HINT_FIELD(addend));
	x_mi(t, 0, 1, R15, MMU_FIELD(hints_used), (s32)(1u << s->hint));
	x_mov_mi(t, 1, R15, disp + HINT_FIELD(limit), HINT_LIMIT);
	x_mov_mi(t, 1, R15, disp + HINT_FIELD(range), TCG_PAGE_SIZE - E_RANGE_BYTES + 1);
	x_set32(x_jmp32(t), s->check_done);
	x_set32(miss, t->p);
}

/* rdx = argument for the call: the value to store, or cpu->transfer filled with it. */
static void slow_values(struct trans *t, const struct slow_path *s)
{
	unsigned n = s->kind == SLOW_STORE_PAIR ? 2 : 1;
	const u8 operand[] = { s->d0, s->d1 };

	if (s->kind == SLOW_STORE && !s->vector) {
		x_get(t, s->size == 8, RDX, s->d0);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		s32 to = CPU_FIELD(transfer) + (s32)(i * 16);

		if (s->vector) {
			store_vector(t, 16, operand[i], &(struct place){ RBP, -1, to });
		} else {
			x_get(t, 1, RDX, operand[i]);
			x_rm(t, 1, OP_STORE, RDX, RBP, to);
		}
	}
}

static void slow_results(struct trans *t, const struct slow_path *s)
{
	unsigned n = s->kind == SLOW_LOAD_PAIR ? 2 : 1;
	const u8 operand[] = { s->d0, s->d1 };

	for (unsigned i = 0; i < n; i++) {
		s32 from = CPU_FIELD(transfer) + (s32)(i * 16);

		if (s->vector) {
			load_vector(t, 16, operand[i], &(struct place){ RBP, -1, from });
		} else {
			unsigned r = x_dest(operand[i], RDX);
			unsigned wide = s->ext == E_U64 ? 1 : s->ext < E_S8 ? 0 : s->w;

			x_rm(t, wide, load_opcode[s->ext], r, RBP, from);
			x_put(t, operand[i], r);
		}
	}
}

static const void *slow_function(const struct slow_path *s)
{
	if (s->kind == SLOW_LOAD || s->kind == SLOW_LOAD_PAIR)
		return tcg_slow_load;
	if (s->kind == SLOW_STORE_PAIR || s->vector)
		return tcg_slow_store;
	switch (s->size) {
	case 1: return tcg_slow_store8;
	case 2: return tcg_slow_store16;
	case 4: return tcg_slow_store32;
	default: return tcg_slow_store64;
	}
}

void x_slow_memory(struct trans *t, struct slow_path *s)
{
	bool write = s->kind == SLOW_STORE || s->kind == SLOW_STORE_PAIR;
	unsigned count = s->kind == SLOW_STORE_PAIR || s->kind == SLOW_LOAD_PAIR ? 2 : 1;

	if (s->hint != NO_REG)
		refill_hint(t, s, write);
	if (s->unexpected_from) {
		x_set32(s->unexpected_from, t->p);
		x_rmx(t, 1, OP_LOAD, RCX, R15, RDX, 0, table_disp(false) + 8);
		x_set32(x_jmp32(t), s->check_done);
	}
	if (s->from)
		x_set32(s->from, t->p);
	for (unsigned i = 0; i < ARRAY_SIZE(s->also); i++)
		if (s->also[i])
			x_set32(s->also[i], t->p);
	if (s->fn) {
		x_store_flags(t, &s->flags);
		x_mov_mi(t, 0, RBP, CPU_FIELD(pc_off), s->off);
		x_call_exec(t, s->fn, s->args, s->args_size);
		x_set32(x_jmp32(t), s->done);
		return;
	}
	x_rr(t, 1, OP_LOAD, RCX, s->va);
	x_store_flags(t, &s->flags); /* also if dead: for the handler of a fault */
	if (write)
		slow_values(t, s);
	x_mov_mi(t, 0, RBP, CPU_FIELD(pc_off), s->off);
	if (!write || count == 2 || s->vector)
		x_movi(t, RDX, s->size | count << 8);
	x_movi(t, RAX, (u64)(uintptr_t)slow_function(s));
	x_call_out(t, host_entry.call_memory[t->vectors]);
	if (!write)
		slow_results(t, s);
	x_set32(x_jmp32(t), s->done);
}
