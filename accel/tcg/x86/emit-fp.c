/*
 * accel/tcg/x86/emit-fp.c - floating point on the host's FPU (accel/tcg/emit-vec.h).
 *
 * Translated code runs with the guest's rounding in MXCSR and leaves its exception flags there.
 * What a NaN becomes differs between hosts and guests: a result that is one makes the target's
 * exact function do the instruction again, out of line. All results go to a scratch register first
 * if the destination is also a source.
 */
#include "accel/tcg/x86/vec.h"

#define I(op)   V_OP(1, 1, op)
#define II(op)  V_OP(2, 1, op)
#define III(op) V_OP(3, 1, op)

static bool is_scalar(enum e_fkind k)
{
	return k == E_F32 || k == E_F64;
}

static bool is_double(enum e_fkind k)
{
	return k == E_F64 || k == E_F64V;
}

/* An arithmetic opcode in the form for @k. */
static u32 op_of(enum e_fkind k, unsigned op)
{
	static const u8 prefix[] = { [E_F32] = 2, [E_F64] = 3, [E_F32V] = 0, [E_F64V] = 1 };

	return V_OP(1, prefix[k], op);
}

/* ---- operands ---- */

/* Is all above the lowest element known to be zero? */
static bool clean(const struct trans *t, enum e_fkind k, unsigned v)
{
	return v < 32 && (is_double(k) ? t->v_zero64 : t->v_zero32) >> v & 1;
}

/* An operand in a host register. *@zero, if asked for: above the lowest element it is zero. */
static unsigned use(struct trans *t, enum e_fkind k, unsigned v, unsigned spare, bool *zero)
{
	int h = host_vreg(v);

	if (zero)
		*zero = h < 0 || clean(t, k, v);
	if (h >= 0)
		return h;
	if (!is_scalar(k))
		return xv_use(t, v, spare);
	x_vm(t, k == E_F64 ? V_MOVSD_LOAD : V_MOVSS_LOAD, spare, 0, RBP, vreg_disp(v, 0));
	return spare;
}

/* Where to compute d: not over a source, which the exact function may still need. Scratch vectors
 * may have been made of any. */
static unsigned target(unsigned d, unsigned a, unsigned b)
{
	int h = host_vreg(d);

	return h < 0 || d == a || d == b || a >= E_V0 || b >= E_V0 ? X_T1 : (unsigned)h;
}

/* @zero: above the lowest element @reg is zero. */
static void put(struct trans *t, enum e_fkind k, unsigned d, unsigned reg, bool zero)
{
	if (!is_scalar(k)) {
		xv_put(t, d, reg);
		return;
	}
	if (!zero) {
		unsigned rd = xv_dest(d, X_T1);

		if (k == E_F64)
			x_v(t, V_MOVQ, rd, 0, reg);
		else
			x_vi(t, V_INSERTPS, rd, reg, reg, 0x0e);
		reg = rd;
	}
	xv_put(t, d, reg);
	xv_set_zero(t, d, true, k == E_F32);
}

/* ---- the exact way ---- */

static struct slow_path *cold(struct trans *t, u8 *from, const struct e_exact *exact)
{
	struct slow_path *s = x_slow(t, SLOW_EXEC, from);

	g_assert(exact->size <= sizeof(s->args));
	s->fn = exact->fn;
	s->args_size = exact->size;
	memcpy(s->args, exact->args, exact->size);
	return s;
}

/* Go the exact way if an element of @reg is a NaN. */
static struct slow_path *unless_nan(struct trans *t, enum e_fkind k, unsigned reg,
				    const struct e_exact *exact)
{
	if (is_scalar(k)) {
		x_v(t, V_OP(1, is_double(k), 0x2e), reg, 0, reg);
		return cold(t, x_jcc32(t, CC_P), exact);
	}
	x_vi(t, op_of(k, 0xc2), X_T0, reg, reg, 3);
	x_v(t, V_PTEST, X_T0, 0, X_T0);
	return cold(t, x_jcc32(t, CC_NE), exact);
}

/* The same for a pair of operands; both registers are read, neither is X_T1. */
static struct slow_path *unless_unordered(struct trans *t, enum e_fkind k, unsigned a, unsigned b,
					  const struct e_exact *exact)
{
	if (is_scalar(k)) {
		x_v(t, V_OP(1, is_double(k), 0x2e), a, 0, b);
		return cold(t, x_jcc32(t, CC_P), exact);
	}
	x_vi(t, op_of(k, 0xc2), X_T1, a, b, 3);
	x_v(t, V_PTEST, X_T1, 0, X_T1);
	return cold(t, x_jcc32(t, CC_NE), exact);
}

/* ---- arithmetic ---- */

static void extreme(struct trans *t, enum e_fop op, enum e_fkind k, unsigned d, unsigned a,
		    unsigned b, const struct e_exact *exact)
{
	unsigned ra = use(t, k, a, X_T0, NULL), rb = use(t, k, b, host_vreg(E_V1), NULL);
	struct slow_path *s = unless_unordered(t, k, ra, rb, exact);
	u32 host = op_of(k, op == E_FMAX ? 0x5f : 0x5d);

	/* zeros of different sign are equal to the host: it gives the second of them */
	x_v(t, host, X_T1, ra, rb);
	x_v(t, host, X_T0, rb, ra);
	x_v(t, op == E_FMAX ? V_PAND : V_POR, X_T1, X_T1, X_T0);
	put(t, k, d, X_T1, false);
	s->done = t->p;
}

static unsigned sign_mask(enum e_fkind k)
{
	static const u8 mask[] = { K_NEG_F32, K_NEG_F64, K_SIGN_32, K_SIGN_64 };

	return mask[k];
}

static unsigned abs_mask(enum e_fkind k)
{
	static const u8 mask[] = { K_ABS_F32, K_ABS_F64, K_ABS_V32, K_ABS_V64 };

	return mask[k];
}

void e_f(struct trans *t, enum e_fop op, enum e_fkind k, unsigned d, unsigned a, unsigned b,
	 const struct e_exact *exact)
{
	static const u8 code[] = { 0x58, 0x5c, 0x59, 0x5e, 0, 0, 0x5c, 0x59 };
	struct slow_path *s;
	unsigned ra, r;
	bool zero;

	if (op == E_FMAX || op == E_FMIN) {
		extreme(t, op, k, d, a, b, exact);
		return;
	}
	if ((op == E_FADD || op == E_FMUL || op == E_FNMUL) &&
	    (is_scalar(k) ? !clean(t, k, a) && (clean(t, k, b) || host_vreg(b) < 0)
			  : host_vreg(a) < 0)) {
		unsigned swap = a;

		a = b;
		b = swap;
	}
	r = target(d, a, b);
	ra = use(t, k, a, X_T1, &zero);
	xv_op(t, op_of(k, code[op]), r, ra, b);
	s = unless_nan(t, k, r, exact);
	if (op == E_FNMUL)
		xv_k(t, V_PXOR, r, r, sign_mask(k));
	if (op == E_FABD)
		xv_k(t, V_PAND, r, r, abs_mask(k));
	put(t, k, d, r, zero || op == E_FABD);
	s->done = t->p;
}

void e_fsqrt(struct trans *t, enum e_fkind k, unsigned d, unsigned a, const struct e_exact *exact)
{
	unsigned r = target(d, a, a);
	bool zero;
	unsigned ra = use(t, k, a, X_T1, &zero);
	struct slow_path *s;

	x_v(t, op_of(k, 0x51), r, is_scalar(k) ? ra : 0, ra);
	s = unless_nan(t, k, r, exact);
	put(t, k, d, r, zero);
	s->done = t->p;
}

void e_fma(struct trans *t, const struct e_fma *op, const struct e_exact *exact)
{
	enum e_fkind k = op->kind;
	u32 host = II(0xb8 + 4 * op->neg_product + 2 * op->neg_c + is_scalar(k)) |
		   (is_double(k) ? V_W : 0);
	unsigned ra = use(t, k, op->a, X_T0, NULL), rc;
	struct slow_path *s;
	bool zero;

	rc = use(t, k, op->c, X_T1, &zero);
	if (rc != X_T1)
		x_v(t, V_MOVAPS, X_T1, 0, rc);
	xv_op(t, host, X_T1, ra, op->b);
	s = unless_nan(t, k, X_T1, exact);
	put(t, k, op->d, X_T1, zero);
	s->done = t->p;
}

void e_fneg(struct trans *t, enum e_fkind k, unsigned d, unsigned a)
{
	unsigned rd = xv_dest(d, X_T1);
	bool zero;
	unsigned ra = use(t, k, a, X_T1, &zero);

	xv_k(t, V_PXOR, rd, ra, sign_mask(k));
	put(t, k, d, rd, zero);
}

void e_fabs(struct trans *t, enum e_fkind k, unsigned d, unsigned a)
{
	unsigned rd = xv_dest(d, X_T1);

	xv_k(t, V_PAND, rd, use(t, k, a, X_T1, NULL), abs_mask(k));
	put(t, k, d, rd, true);
}

void e_fmov(struct trans *t, enum e_fkind k, unsigned d, unsigned a)
{
	bool zero;
	unsigned ra = use(t, k, a, X_T1, &zero);

	put(t, k, d, ra, zero);
}

/* ---- rounding and conversion ---- */

#define ROUND_QUIET 8 /* not inexact */

static void round_reg(struct trans *t, enum e_fkind k, unsigned reg, unsigned a, unsigned mode)
{
	static const u8 code[] = { 0x0a, 0x0b, 0x08, 0x09 };

	x_vi(t, III(code[k]), reg, is_scalar(k) ? a : 0, a, mode);
}

/* Bits of 2^n as a number of kind @k. */
static u64 power(enum e_fkind k, int n)
{
	return is_double(k) ? (u64)(1023 + n) << 52 : (u64)(127 + n) << 23;
}

/* All elements of @reg, or the lowest, = 2^n; destroys rax. */
static void load_power(struct trans *t, enum e_fkind k, unsigned reg, int n)
{
	x_movi(t, RAX, power(k, n));
	x_v(t, V_MOVD_IN | (is_double(k) ? V_W : 0), reg, 0, RAX);
	if (!is_scalar(k))
		x_v(t, is_double(k) ? II(0x59) : II(0x58), reg, 0, reg);
}

/* Go the exact way unless the absolute values of all of @reg are less than 2^n; NaNs are not. */
static struct slow_path *unless_less(struct trans *t, enum e_fkind k, unsigned reg, int n,
				     const struct e_exact *exact)
{
	xv_k(t, V_PAND, X_T0, reg, abs_mask(k));
	load_power(t, k, X_T1, n);
	if (is_scalar(k)) {
		x_v(t, V_OP(1, is_double(k), 0x2e), X_T1, 0, X_T0);
		return cold(t, x_jcc32(t, CC_BE), exact);
	}
	x_vi(t, op_of(k, 0xc2), X_T0, X_T0, X_T1, 0x15); /* NLT_UQ */
	x_v(t, V_PTEST, X_T0, 0, X_T0);
	return cold(t, x_jcc32(t, CC_NE), exact);
}

/*
 * X_T1 = @reg rounded to the nearest integer, halves away from zero, which the host does not know:
 * one more than what truncation gives if that takes away a half or more. Everything is exact below
 * the numbers that have no fraction. Destroys E_V1.
 */
static struct slow_path *round_away(struct trans *t, enum e_fkind k, unsigned reg,
				    const struct e_exact *exact)
{
	const unsigned v1 = host_vreg(E_V1);
	struct slow_path *s = unless_less(t, k, reg, is_double(k) ? 52 : 23, exact);

	round_reg(t, k, X_T1, reg, E_ROUND_ZERO | ROUND_QUIET);
	x_v(t, op_of(k, 0x5c), X_T0, reg, X_T1);
	xv_k(t, V_PAND, X_T0, X_T0, abs_mask(k));
	load_power(t, k, v1, -1);
	x_vi(t, op_of(k, 0xc2), X_T0, X_T0, v1, 0x1d); /* GE_OQ */
	load_power(t, k, v1, 0);
	x_v(t, V_PAND, X_T0, X_T0, v1);
	xv_k(t, V_PAND, v1, reg, sign_mask(k)); /* and what is added to -0 must be -0 */
	x_v(t, V_POR, X_T0, X_T0, v1);
	x_v(t, op_of(k, 0x58), X_T1, X_T1, X_T0);
	return s;
}

void e_fround(struct trans *t, enum e_fround mode, bool inexact, enum e_fkind k, unsigned d,
	      unsigned a, const struct e_exact *exact)
{
	unsigned r = target(d, a, a), ra;
	struct slow_path *s;
	bool zero;

	if (mode == E_ROUND_AWAY) {
		s = round_away(t, k, use(t, k, a, host_vreg(E_V0), NULL), exact);
		put(t, k, d, X_T1, false);
		s->done = t->p;
		return;
	}
	ra = use(t, k, a, X_T1, &zero);
	round_reg(t, k, r, ra, mode | (inexact ? 0 : ROUND_QUIET));
	s = unless_nan(t, k, r, exact);
	put(t, k, d, r, zero);
	s->done = t->p;
}

void e_fcvt(struct trans *t, bool to_double, unsigned d, unsigned a, const struct e_exact *exact)
{
	enum e_fkind to = to_double ? E_F64 : E_F32;
	struct slow_path *s;

	x_v(t, V_PXOR, X_T0, X_T0, X_T0);
	xv_op(t, V_OP(1, to_double ? 2 : 3, 0x5a), X_T1, X_T0, a);
	s = unless_nan(t, to, X_T1, exact);
	put(t, to, d, X_T1, true);
	s->done = t->p;
}

void e_fwiden(struct trans *t, unsigned d, unsigned a, const struct e_exact *exact)
{
	struct slow_path *s;

	xv_op(t, V_OP(1, 0, 0x5a), X_T1, 0, a);
	s = unless_nan(t, E_F64V, X_T1, exact);
	xv_put(t, d, X_T1);
	s->done = t->p;
}

void e_fnarrow(struct trans *t, unsigned d, unsigned a, const struct e_exact *exact)
{
	struct slow_path *s;

	xv_op(t, V_OP(1, 1, 0x5a), X_T1, 0, a);
	s = unless_nan(t, E_F32V, X_T1, exact);
	xv_put(t, d, X_T1);
	s->done = t->p;
}

/* rax = truncated float or double in @reg */
static void to_integer(struct trans *t, enum e_fkind k, unsigned w, unsigned reg)
{
	x_v(t, op_of(k, 0x2c) | (w ? V_W : 0), RAX, 0, reg);
}

/* Negative numbers, large ones and NaNs all compare as too large. */
static struct slow_path *unless_unsigned(struct trans *t, enum e_fkind k, unsigned reg,
					 unsigned bits, const struct e_exact *exact)
{
	unsigned wide = k == E_F64;

	x_v(t, V_MOVD_OUT | (wide ? V_W : 0), reg, 0, RAX);
	x_movi(t, RCX, power(k, bits));
	x_rr(t, wide, OP_CMP, RAX, RCX);
	return cold(t, x_jcc32(t, CC_AE), exact);
}

void e_ftoi(struct trans *t, const struct e_ftoi *op, const struct e_exact *exact)
{
	unsigned ra = use(t, op->kind, op->a, host_vreg(E_V0), NULL), r = ra;
	struct slow_path *s, *first = NULL;

	if (op->mode == E_ROUND_AWAY) {
		first = round_away(t, op->kind, ra, exact);
		r = X_T1;
	} else if (op->mode != E_ROUND_ZERO) {
		round_reg(t, op->kind, X_T1, ra, op->mode | ROUND_QUIET);
		r = X_T1;
	}
	if (op->sign) {
		to_integer(t, op->kind, op->w, r);
		x_ri(t, op->w, 7, RAX, 1); /* overflows for what stands for out of range */
		s = cold(t, x_jcc32(t, CC_O), exact);
	} else {
		s = unless_unsigned(t, op->kind, r, op->w ? 63 : 32, exact);
		to_integer(t, op->kind, 1, r);
	}
	if (r != ra) /* now that it is in range, tell if it was inexact */
		round_reg(t, op->kind, X_T1, ra, first ? E_ROUND_ZERO : op->mode);
	x_put(t, op->d, RAX);
	s->done = t->p;
	if (first)
		first->done = t->p;
}

/* The product is exact where the result is in range: only then is it computed. */
void e_ftofixed(struct trans *t, const struct e_ftoi *op, unsigned fbits,
		const struct e_exact *exact)
{
	int bits = (op->w ? 63 : op->sign ? 31 : 32) - (int)fbits;
	unsigned ra = use(t, op->kind, op->a, host_vreg(E_V0), NULL);
	struct slow_path *s;

	if (op->sign)
		s = unless_less(t, op->kind, ra, bits, exact);
	else
		s = unless_unsigned(t, op->kind, ra, bits, exact);
	load_power(t, op->kind, X_T1, fbits);
	x_v(t, op_of(op->kind, 0x59), X_T1, X_T1, ra);
	to_integer(t, op->kind, op->w || !op->sign, X_T1);
	x_put(t, op->d, RAX);
	s->done = t->p;
}

void e_itof(struct trans *t, bool sign, unsigned w, unsigned fbits, enum e_fkind k, unsigned d,
	    unsigned a, const struct e_exact *exact)
{
	struct slow_path *s = NULL;
	unsigned r;

	if (!sign && !w) {
		x_get(t, 0, RAX, a);
		if (a != E_ZERO && host_reg(a) == RAX)
			x_rr(t, 0, OP_LOAD, RAX, RAX);
		r = RAX;
		w = 1;
	} else {
		r = x_use(t, w, a, RAX);
		if (!sign) {
			x_rr(t, 1, OP_TEST, r, r);
			s = cold(t, x_jcc32(t, CC_S), exact);
		}
	}
	x_v(t, V_PXOR, X_T1, X_T1, X_T1);
	x_v(t, op_of(k, 0x2a) | (w ? V_W : 0), X_T1, X_T1, r);
	if (fbits) {
		load_power(t, k, X_T0, -(int)fbits);
		x_v(t, op_of(k, 0x59), X_T1, X_T1, X_T0);
	}
	put(t, k, d, X_T1, true);
	if (s)
		s->done = t->p;
}

void e_itofv(struct trans *t, unsigned d, unsigned a)
{
	unsigned rd = xv_dest(d, X_T1);

	xv_op(t, V_OP(1, 0, 0x5b), rd, 0, a);
	xv_put(t, d, rd);
}

void e_ftoiv(struct trans *t, unsigned d, unsigned a, const struct e_exact *exact)
{
	struct slow_path *s;

	xv_op(t, V_OP(1, 2, 0x5b), X_T1, 0, a);
	xv_k(t, V_PCMPEQD, X_T0, X_T1, K_SIGN_32); /* stands for out of range */
	x_v(t, V_PTEST, X_T0, 0, X_T0);
	s = cold(t, x_jcc32(t, CC_NE), exact);
	xv_put(t, d, X_T1);
	s->done = t->p;
}

/* ---- comparison ---- */

void e_fcmpv(struct trans *t, enum e_fcmp op, bool magnitude, enum e_fkind k, unsigned d,
	     unsigned a, unsigned b)
{
	static const u8 predicate[] = { 0x00, 0x0d, 0x0e }; /* EQ_OQ, GE_OS, GT_OS */
	unsigned rd = xv_dest(d, X_T1);
	bool zero;
	unsigned ra = use(t, k, a, X_T1, &zero);

	if (magnitude) {
		unsigned rb = use(t, k, b, X_T0, NULL);

		xv_k(t, V_PAND, X_T1, ra, abs_mask(k));
		xv_k(t, V_PAND, X_T0, rb, abs_mask(k));
		x_vi(t, op_of(k, 0xc2), rd, X_T1, X_T0, predicate[op]);
		zero = true;
	} else {
		xv_op(t, op_of(k, 0xc2), rd, ra, b);
		x_byte(t, predicate[op]);
	}
	put(t, k, d, rd, zero);
}

static struct flags_state as_flags(const struct e_fcompare *c)
{
	return (struct flags_state){ .where = FLAGS_PENDING,
				     .redo = REDO_FCMP,
				     .w = c->kind == E_F64,
				     .a = c->a,
				     .b = c->b,
				     .imm = c->zero | c->signalling << 1 };
}

/* The comparison of @f in the host flags, or that of b with a if @swap. */
static void compare(struct trans *t, const struct flags_state *f, bool swap)
{
	enum e_fkind k = f->w ? E_F64 : E_F32;
	bool zero = f->imm & 1;
	u32 host = V_OP(1, f->w, f->imm & 2 ? 0x2f : 0x2e);

	if (zero)
		x_v(t, V_PXOR, X_T1, X_T1, X_T1);
	if (!swap) {
		unsigned ra = use(t, k, f->a, X_T0, NULL);

		if (zero)
			x_v(t, host, ra, 0, X_T1);
		else
			xv_op(t, host, ra, 0, f->b);
	} else {
		xv_op(t, host, zero ? X_T1 : use(t, k, f->b, X_T0, NULL), 0, f->a);
	}
}

/* NZCV by what lahf leaves of a comparison: 02 greater, 03 less, 42 equal, 47 unordered. The
 * factor puts the four flags where struct tcg_cpu has them, for these four values. */
void x_store_fcmp(struct trans *t, const struct flags_state *f)
{
	compare(t, f, false);
	x_byte(t, 0x9f); /* lahf */
	x_byte(t, 0x0f); /* movzx eax, ah */
	x_byte(t, 0xb6);
	x_byte(t, 0xc4);
	x_rr(t, 0, 0x69, RAX, RAX); /* imul eax, eax, imm */
	x_u32(t, 0x85821aa4);
	x_shift(t, 0, 5, RAX, 16);
	x_ri(t, 0, 4, RAX, TCG_FLAG_N | TCG_FLAG_Z | TCG_FLAG_C | TCG_FLAG_V);
	x_rm(t, 0, OP_STORE, RAX, RBP, CPU_FIELD(nzcv));
}

unsigned x_use_fcmp(struct trans *t, const struct flags_state *f, enum e_cond cond)
{
	static const struct {
		u8 swap, cc;
	} how[] = { [E_CS] = { 1, CC_BE }, [E_MI] = { 1, CC_A },  [E_VS] = { 0, CC_P },
		    [E_HI] = { 1, CC_B },  [E_GE] = { 0, CC_AE }, [E_GT] = { 0, CC_A } };
	unsigned negated = cond & 1;

	if (cond > E_NE) {
		compare(t, f, how[cond & ~1u].swap);
		return how[cond & ~1u].cc ^ negated;
	}
	/* equal and ordered: one condition only by a mask */
	if (f->imm & 1)
		x_v(t, V_PXOR, X_T1, X_T1, X_T1);
	if (f->imm & 1)
		x_v(t, op_of(f->w ? E_F64 : E_F32, 0xc2), X_T1,
		    use(t, f->w ? E_F64 : E_F32, f->a, X_T0, NULL), X_T1);
	else
		xv_op(t, op_of(f->w ? E_F64 : E_F32, 0xc2), X_T1,
		      use(t, f->w ? E_F64 : E_F32, f->a, X_T0, NULL), f->b);
	x_byte(t, f->imm & 2 ? 0x10 : 0x00); /* EQ_OS, EQ_OQ */
	x_v(t, V_MOVD_OUT, X_T1, 0, RAX);
	x_rr(t, 0, OP_TEST, RAX, RAX);
	return CC_NE ^ negated;
}

void e_fcompare(struct trans *t, const struct e_fcompare *c, bool soon)
{
	struct flags_state f = as_flags(c);

	if (soon) {
		t->flags = f;
		return;
	}
	x_store_fcmp(t, &f); /* even if the flags are dead: it may raise something */
	t->flags = (struct flags_state){ .where = FLAGS_STORED };
}

void e_fccmp(struct trans *t, enum e_cond cond, const struct e_fcompare *c, u32 nzcv)
{
	unsigned cc = flags_use(t, cond);
	struct flags_state f = as_flags(c);
	u8 *otherwise = x_jcc8(t, cc ^ 1), *end;

	x_store_fcmp(t, &f);
	end = x_jmp8(t);
	x_here8(t, otherwise);
	x_mov_mi(t, 0, RBP, CPU_FIELD(nzcv), nzcv);
	x_here8(t, end);
	t->flags = (struct flags_state){ .where = FLAGS_STORED };
}

void e_fcsel(struct trans *t, enum e_fkind k, unsigned d, enum e_cond cond, unsigned a, unsigned b,
	     bool live)
{
	unsigned cc, ra, rb;
	bool zero_a, zero_b;
	u8 *over;

	if (live && t->flags.where == FLAGS_PENDING && t->flags.redo == REDO_FCMP)
		flags_sync(t); /* the operands may change */
	cc = flags_use(t, cond);
	ra = use(t, k, a, X_T1, &zero_a);
	if (ra != X_T1)
		x_v(t, V_MOVAPS, X_T1, 0, ra);
	over = x_jcc8(t, cc);
	rb = use(t, k, b, X_T1, &zero_b);
	if (rb != X_T1)
		x_v(t, V_MOVAPS, X_T1, 0, rb);
	x_here8(t, over);
	put(t, k, d, X_T1, zero_a && zero_b);
	if (!live)
		t->flags = (struct flags_state){ .where = FLAGS_STORED };
}
