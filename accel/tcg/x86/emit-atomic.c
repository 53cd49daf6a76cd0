/*
 * accel/tcg/x86/emit-atomic.c - atomic read-modify-write and exclusive accesses on x86-64.
 *
 * All are naturally aligned on the fast path; everything else is left to the function that
 * e_address.slow names.
 */
#include "accel/tcg/x86/host.h"

#define OP_CMPXCHG (0xb1 | OP_0F)
#define OP_XADD    (0xc1 | OP_0F)

/* Opcode for an operand of @size bytes; byte forms are one less. */
static unsigned sized(unsigned op, unsigned size)
{
	if (size == 1)
		return (op - 1) | OP_BYTE;
	return size == 2 ? op | OP_66 : op;
}

static void lock_prefix(struct trans *t)
{
	x_byte(t, 0xf0);
}

/* rcx = host address for writing @size bytes; the slow path is to be completed with done. */
static struct slow_path *host_address(struct trans *t, unsigned size, const struct e_address *at)
{
	struct slow_path *s = x_checked_address(t, SLOW_STORE, size, at);

	s->size = size;
	x_rmx(t, 1, OP_LEA, RCX, s->va, RCX, 0, 0);
	return s;
}

/* Bring the @size bytes in rax or rdx to 64 bits and to their destination. */
static void put_old(struct trans *t, unsigned size, unsigned d, unsigned reg)
{
	if (size == 1)
		x_rr(t, 0, OP_MOVZX8, reg, reg);
	else if (size == 2)
		x_rr(t, 0, OP_MOVZX16, reg, reg);
	else if (size == 4)
		x_rr(t, 0, OP_LOAD, reg, reg);
	x_put(t, d, reg);
}

/* rax = old value, replaced by what @op makes of it and @v. */
static void exchange_loop(struct trans *t, enum e_atomic op, unsigned size, unsigned v)
{
	unsigned w = size == 8;
	u8 *again;

	x_rm(t, w, size == 1 ? OP_MOVZX8 : size == 2 ? OP_MOVZX16 : OP_LOAD, RAX, RCX, 0);
	again = t->p;
	if (op == E_ATOMIC_CLR) {
		x_get(t, w, RDX, v);
		x_andn(t, w, RDX, RDX, RAX);
	} else {
		x_get(t, w, RDX, v);
		x_rr(t, w, op == E_ATOMIC_EOR ? OP_XOR : OP_OR, RDX, RAX);
	}
	lock_prefix(t);
	x_rm(t, w, sized(OP_CMPXCHG, size), RDX, RCX, 0);
	x_byte(t, 0x70 | CC_NE);
	x_byte(t, again - (t->p + 1));
}

void e_atomic(struct trans *t, enum e_atomic op, unsigned size, unsigned d, unsigned v,
	      const struct e_address *at)
{
	struct slow_path *s = host_address(t, size, at);
	unsigned w = size == 8;

	switch (op) {
	case E_ATOMIC_ADD:
		x_get(t, w, RDX, v);
		lock_prefix(t);
		x_rm(t, w, sized(OP_XADD, size), RDX, RCX, 0);
		put_old(t, size, d, RDX);
		break;
	case E_ATOMIC_SWAP:
		x_get(t, w, RDX, v);
		x_rm(t, w, sized(OP_XCHG, size), RDX, RCX, 0);
		put_old(t, size, d, RDX);
		break;
	default:
		exchange_loop(t, op, size, v);
		put_old(t, size, d, RAX);
		break;
	}
	s->done = t->p;
}

void e_compare_swap(struct trans *t, unsigned size, unsigned d, unsigned v,
		    const struct e_address *at)
{
	struct slow_path *s = host_address(t, size, at);
	unsigned w = size == 8;

	x_get(t, w, RAX, d);
	x_get(t, w, RDX, v);
	lock_prefix(t);
	x_rm(t, w, sized(OP_CMPXCHG, size), RDX, RCX, 0);
	put_old(t, size, d, RAX);
	s->done = t->p;
}

void e_load_exclusive(struct trans *t, unsigned size, unsigned d, const struct e_address *at)
{
	struct slow_path *s = x_checked_address(t, SLOW_LOAD, size, at);

	x_rmx(t, size == 8,
	      size == 1   ? OP_MOVZX8
	      : size == 2 ? OP_MOVZX16
			  : OP_LOAD,
	      RDX, s->va, RCX, 0, 0);
	x_rm(t, 1, OP_STORE, s->va, RBP, CPU_FIELD(excl_addr));
	x_rm(t, 1, OP_STORE, RDX, RBP, CPU_FIELD(excl_val));
	x_mov_mi(t, 0, RBP, CPU_FIELD(excl_size), size);
	x_put(t, d, RDX);
	s->done = t->p;
}

void e_store_exclusive(struct trans *t, unsigned size, unsigned d, unsigned v,
		       const struct e_address *at)
{
	unsigned w = size == 8;
	struct slow_path *s = host_address(t, size, at);

	/* A monitor that is open or set for something else is left to the slow path. */
	x_rm(t, 1, OP_CMP, s->va, RBP, CPU_FIELD(excl_addr));
	s->also[0] = x_jcc32(t, CC_NE);
	x_mi(t, 0, 7, RBP, CPU_FIELD(excl_size), size);
	s->also[1] = x_jcc32(t, CC_NE);
	x_rm(t, 1, OP_LOAD, RAX, RBP, CPU_FIELD(excl_val));
	x_get(t, w, RDX, v);
	lock_prefix(t);
	x_rm(t, w, sized(OP_CMPXCHG, size), RDX, RCX, 0);
	x_rr(t, 0, OP_SETCC(CC_NE), 0, RDX);
	x_rr(t, 0, OP_MOVZX8, RDX, RDX);
	x_mov_mi(t, 1, RBP, CPU_FIELD(excl_addr), -1);
	x_put(t, d, RDX);
	s->done = t->p;
}

/* rdx = the operand */
static void get_operand(struct trans *t, const struct e_update *u)
{
	unsigned w = u->size == 8;

	if (u->v == E_ZERO)
		x_movi(t, RDX, w ? u->imm : (u32)u->imm);
	else
		x_get(t, w, RDX, u->v);
	if (u->negate)
		x_rr(t, w, 0xf7, 3, RDX);
}

static void update_add(struct trans *t, const struct e_update *u)
{
	unsigned w = u->size == 8;

	get_operand(t, u);
	lock_prefix(t);
	x_rm(t, w, sized(OP_XADD, u->size), RDX, RCX, 0);
	if (u->old != u->new)
		x_put(t, u->old, RDX);
	if (u->v == E_ZERO)
		e_addi(t, w, u->new, E_T2, u->negate ? -(s64)u->imm : (s64)u->imm);
	else
		e_alu(t, u->negate ? E_SUB : E_ADD, w, u->new, E_T2, u->v);
}

static void update_logic(struct trans *t, const struct e_update *u)
{
	static const u8 opcode[] = {
		[E_ATOMIC_EOR] = OP_XOR, [E_ATOMIC_OR] = OP_OR, [E_ATOMIC_AND] = OP_AND
	};
	unsigned w = u->size == 8;
	u8 *again;

	x_rm(t, w, OP_LOAD, RAX, RCX, 0);
	again = t->p;
	get_operand(t, u);
	if (u->op == E_ATOMIC_CLR)
		x_andn(t, w, RDX, RDX, RAX);
	else
		x_rr(t, w, opcode[u->op], RDX, RAX);
	lock_prefix(t);
	x_rm(t, w, sized(OP_CMPXCHG, u->size), RDX, RCX, 0);
	x_byte(t, 0x70 | CC_NE);
	x_byte(t, again - (t->p + 1));
	if (u->old != u->new)
		x_put(t, u->old, RAX);
	x_put(t, u->new, RDX);
}

u8 *e_update(struct trans *t, const struct e_update *u)
{
	unsigned va;
	u8 *from = x_checked_update(t, u->size, u->base, &va);

	x_rmx(t, 1, OP_LEA, RCX, va, RCX, 0, 0);
	if (u->op == E_ATOMIC_ADD) {
		update_add(t, u);
	} else if (u->op == E_ATOMIC_SWAP) {
		get_operand(t, u);
		x_rm(t, u->size == 8, sized(OP_XCHG, u->size), RDX, RCX, 0);
		x_put(t, u->old, RDX);
	} else {
		update_logic(t, u);
	}
	x_mov_mi(t, 1, RBP, CPU_FIELD(excl_addr), -1);
	return from;
}
