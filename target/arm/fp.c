/*
 * target/arm/fp.c - FP addition, multiplication, division, square root, FMA and comparison
 * (Arm DDI 0487, J1.1: FPAdd(), FPMul(), FPMulAdd(), FPRound() and their like).
 *
 * The host's FPU does what cannot differ (fp-host.h); everything else is done here with integers.
 */
#include "target/arm/fp-host.h"
#include "target/arm/fp-internal.h"

typedef unsigned __int128 u128;

const struct fp_format fp_formats[] = {
	[FP_ALT_HALF] = { 16, 10, 15, 32, 0 }, /* exponent 31 is an ordinary one */
	[FP_HALF] = { 16, 10, 15, 31, FPCR_FZ16 },     [FP_SINGLE] = { 32, 23, 127, 255, FPCR_FZ },
	[FP_DOUBLE] = { 64, 52, 1023, 2047, FPCR_FZ }, [FP_BFLOAT] = { 16, 7, 127, 255, FPCR_FZ },
};

/* ---- taking apart and putting together ---- */

struct fp_num fp_unpack(struct fp_env *env, unsigned fmt, u64 bits)
{
	const struct fp_format *f = &fp_formats[fmt];
	u64 frac = bits & (((u64)1 << f->frac_bits) - 1);
	int e = bits >> f->frac_bits & ((1u << (f->bits - 1 - f->frac_bits)) - 1);
	struct fp_num n = { .sign = bits >> (f->bits - 1) & 1 };

	if (e == f->max_exp) {
		if (!frac)
			n.class = FP_CLASS_INF;
		else
			n.class = frac >> (f->frac_bits - 1) ? FP_CLASS_QNAN : FP_CLASS_SNAN;
	} else if (e) {
		n.class = FP_CLASS_FINITE;
		n.exp = e - f->bias;
		n.frac = (u64)1 << 63 | frac << (63 - f->frac_bits);
	} else if (frac && env->fpcr & f->flush) {
		if (fmt != FP_HALF)
			env->fpsr |= FPSR_IDC;
	} else if (frac) {
		unsigned shift = __builtin_clzll(frac);

		n.class = FP_CLASS_FINITE;
		n.exp = 64 - (int)shift - f->bias - f->frac_bits;
		n.frac = frac << shift;
	}
	return n;
}

static u64 overflow(struct fp_env *env, unsigned fmt, bool sign, enum fp_rounding mode)
{
	bool to_inf = mode == FP_NEAREST || mode == FP_AWAY || mode == (sign ? FP_DOWN : FP_UP);

	if (fmt == FP_ALT_HALF) {
		env->fpsr |= FPSR_IOC;
		return fp_zero(fmt, sign) | 0x7fff;
	}
	env->fpsr |= FPSR_OFC | FPSR_IXC;
	return fp_infinity(fmt, sign) - !to_inf;
}

/* The remainder @rest, in units where the last place is @half * 2, makes it round away from 0. */
static bool rounds_up(enum fp_rounding mode, bool sign, bool odd, u64 rest, u64 half)
{
	switch (mode) {
	case FP_NEAREST: return rest > half || (rest == half && odd);
	case FP_AWAY: return rest >= half;
	case FP_UP: return rest && !sign;
	case FP_DOWN: return rest && sign;
	case FP_ODD: return rest && !odd;
	default: return false;
	}
}

u64 fp_pack(struct fp_env *env, unsigned fmt, const struct fp_num *n, enum fp_rounding mode)
{
	const struct fp_format *f = &fp_formats[fmt];
	unsigned drop = 63 - f->frac_bits;
	s32 biased = n->exp + f->bias;
	u64 frac = n->frac, rest, mant;

	if (biased < 1) {
		if (env->fpcr & f->flush) {
			env->fpsr |= FPSR_UFC;
			return fp_zero(fmt, n->sign);
		}
		frac = fp_jam(frac, 1 - biased);
		biased = 1; /* the missing leading bit takes it back to 0 */
	}
	rest = frac & (((u64)1 << drop) - 1);
	mant = frac >> drop;
	if (rest && !(mant >> f->frac_bits))
		env->fpsr |= FPSR_UFC;
	mant += rounds_up(mode, n->sign, mant & 1, rest, (u64)1 << (drop - 1));
	if (biased + (s32)(mant >> (f->frac_bits + 1)) >= f->max_exp)
		return overflow(env, fmt, n->sign, mode);
	if (rest)
		env->fpsr |= FPSR_IXC;
	return fp_zero(fmt, n->sign) | (((u64)(biased - 1) << f->frac_bits) + mant);
}

/* ---- NaNs ---- */

u64 fp_quiet(struct fp_env *env, unsigned fmt, enum fp_class class, u64 bits)
{
	if (class == FP_CLASS_SNAN)
		env->fpsr |= FPSR_IOC;
	if (env->fpcr & FPCR_DN)
		return fp_default_nan(fmt);
	return bits | (u64)1 << (fp_formats[fmt].frac_bits - 1);
}

/* FPProcessNaNs(): true if an operand is a NaN; signalling ones come first. */
static bool process_nans(struct fp_env *env, unsigned lg, const struct fp_num n[], const u64 bits[],
			 unsigned count, u64 *result)
{
	for (enum fp_class class = FP_CLASS_SNAN; class >= FP_CLASS_QNAN; class --) {
		for (unsigned i = 0; i < count; i++) {
			if (n[i].class == class) {
				*result = fp_quiet(env, lg, class, bits[i]);
				return true;
			}
		}
	}
	return false;
}

/* ---- addition ---- */

static u64 zero_sum(struct fp_env *env, unsigned lg)
{
	return fp_zero(lg, fp_rmode(env) == FP_DOWN);
}

/* Both finite. */
static u64 add_finite(struct fp_env *env, unsigned lg, struct fp_num a, struct fp_num b)
{
	struct fp_num r;
	u64 fa, fb;
	unsigned shift;

	if (a.exp < b.exp || (a.exp == b.exp && a.frac < b.frac)) {
		r = a;
		a = b;
		b = r;
	}
	fa = a.frac >> 1; /* no format has bits down there */
	fb = fp_jam(b.frac >> 1, a.exp - b.exp);
	r = (struct fp_num){ FP_CLASS_FINITE, a.sign, 0, a.sign == b.sign ? fa + fb : fa - fb };
	if (!r.frac)
		return zero_sum(env, lg);
	shift = __builtin_clzll(r.frac);
	r.frac <<= shift;
	r.exp = a.exp + 1 - (s32)shift;
	return fp_pack(env, lg, &r, fp_rmode(env));
}

static u64 add_sub(struct fp_env *env, unsigned lg, u64 a, u64 b, bool sub)
{
	u64 bits[2] = { a, b }, result;
	struct fp_num n[2] = { fp_unpack(env, lg, a), fp_unpack(env, lg, b) };

	if (process_nans(env, lg, n, bits, 2, &result))
		return result;
	n[1].sign ^= sub;
	if (n[0].class == FP_CLASS_INF && n[1].class == FP_CLASS_INF && n[0].sign != n[1].sign)
		return fp_invalid(env, lg);
	for (unsigned i = 0; i < 2; i++)
		if (n[i].class == FP_CLASS_INF)
			return fp_infinity(lg, n[i].sign);
	if (n[0].class == FP_CLASS_ZERO && n[1].class == FP_CLASS_ZERO)
		return n[0].sign == n[1].sign ? fp_zero(lg, n[0].sign) : zero_sum(env, lg);
	for (unsigned i = 0; i < 2; i++)
		if (n[i].class == FP_CLASS_ZERO)
			return fp_pack(env, lg, &n[!i], fp_rmode(env));
	return add_finite(env, lg, n[0], n[1]);
}

u64 fp_add(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	u64 r;

	if (fp_host_add(env->fpcr, env->fpsr, lg, a, b, &r))
		return r;
	return add_sub(env, lg, a, b, false);
}

u64 fp_sub(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	u64 r;

	if (fp_host_sub(env->fpcr, env->fpsr, lg, a, b, &r))
		return r;
	return add_sub(env, lg, a, b, true);
}

u64 fp_abd(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return fp_abs(lg, fp_sub(env, lg, a, b));
}

/* ---- multiplication and division ---- */

static struct fp_num product(const struct fp_num *a, const struct fp_num *b)
{
	u128 p = (u128)a->frac * b->frac;
	struct fp_num r = { FP_CLASS_FINITE, a->sign ^ b->sign, a->exp + b->exp + 1,
			    (u64)(p >> 64) | ((u64)p != 0) };

	if (!(r.frac >> 63)) {
		r.frac <<= 1;
		r.exp--;
	}
	return r;
}

/* FMULX differs for infinity times zero only. */
static u64 multiply(struct fp_env *env, unsigned lg, u64 a, u64 b, bool extended)
{
	u64 bits[2] = { a, b }, result;
	struct fp_num n[2] = { fp_unpack(env, lg, a), fp_unpack(env, lg, b) }, r;
	bool sign = n[0].sign ^ n[1].sign;
	bool inf = n[0].class == FP_CLASS_INF || n[1].class == FP_CLASS_INF;
	bool zero = n[0].class == FP_CLASS_ZERO || n[1].class == FP_CLASS_ZERO;

	if (process_nans(env, lg, n, bits, 2, &result))
		return result;
	if (inf && zero) {
		const struct fp_format *f = &fp_formats[lg];

		if (!extended)
			return fp_invalid(env, lg);
		return fp_zero(lg, sign) | (u64)(f->bias + 1) << f->frac_bits; /* 2.0 */
	}
	if (inf)
		return fp_infinity(lg, sign);
	if (zero)
		return fp_zero(lg, sign);
	r = product(&n[0], &n[1]);
	return fp_pack(env, lg, &r, fp_rmode(env));
}

u64 fp_mul(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	u64 r;

	if (fp_host_mul(env->fpcr, env->fpsr, lg, a, b, &r))
		return r;
	return multiply(env, lg, a, b, false);
}

u64 fp_nmul(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return fp_neg(lg, fp_mul(env, lg, a, b));
}

u64 fp_mulx(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return multiply(env, lg, a, b, true);
}

static u64 div_finite(struct fp_env *env, unsigned lg, const struct fp_num *a,
		      const struct fp_num *b)
{
	bool less = a->frac < b->frac;
	u128 top = (u128)a->frac << (less ? 64 : 63);
	u64 q = top / b->frac;
	struct fp_num r = { FP_CLASS_FINITE, a->sign ^ b->sign, a->exp - b->exp - less,
			    q | ((u128)q * b->frac != top) };

	return fp_pack(env, lg, &r, fp_rmode(env));
}

u64 fp_div(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	u64 bits[2] = { a, b }, result;
	struct fp_num n[2];
	bool sign;

	if (fp_host_div(env->fpcr, env->fpsr, lg, a, b, &result))
		return result;
	n[0] = fp_unpack(env, lg, a);
	n[1] = fp_unpack(env, lg, b);
	if (process_nans(env, lg, n, bits, 2, &result))
		return result;
	sign = n[0].sign ^ n[1].sign;
	if (n[0].class == n[1].class && n[0].class != FP_CLASS_FINITE)
		return fp_invalid(env, lg);
	if (n[0].class == FP_CLASS_INF)
		return fp_infinity(lg, sign);
	if (n[1].class == FP_CLASS_ZERO) {
		env->fpsr |= FPSR_DZC;
		return fp_infinity(lg, sign);
	}
	if (n[0].class == FP_CLASS_ZERO || n[1].class == FP_CLASS_INF)
		return fp_zero(lg, sign);
	return div_finite(env, lg, &n[0], &n[1]);
}

/* Root of a number below 2^128, with the lowest bit set if it is not exact. */
static u64 integer_sqrt(u128 v)
{
	u64 root = 0;

	for (int bit = 63; bit >= 0; bit--) {
		u64 trial = root | (u64)1 << bit;

		if ((u128)trial * trial <= v)
			root = trial;
	}
	return root | ((u128)root * root != v);
}

u64 fp_sqrt(struct fp_env *env, unsigned lg, u64 a)
{
	struct fp_num n;
	unsigned odd;
	u64 r;

	if (fp_host_sqrt(env->fpcr, env->fpsr, lg, a, &r))
		return r;
	n = fp_unpack(env, lg, a);
	if (fp_is_nan(&n))
		return fp_quiet(env, lg, n.class, a);
	if (n.class == FP_CLASS_ZERO)
		return fp_zero(lg, n.sign);
	if (n.sign)
		return fp_invalid(env, lg);
	if (n.class == FP_CLASS_INF)
		return a;
	odd = n.exp & 1;
	n.exp = (n.exp - (s32)odd) / 2;
	n.frac = integer_sqrt((u128)n.frac << (63 + odd));
	return fp_pack(env, lg, &n, fp_rmode(env));
}

/* ---- fused multiply and add ---- */

static u128 jam128(u128 v, unsigned n)
{
	if (n > 127)
		return v != 0;
	return n ? v >> n | (v << (128 - n) != 0) : v;
}

/* Sums have 128 bits, and summands their leading bit at 126. */
u64 fp_fused(struct fp_env *env, unsigned lg, const struct fp_product *p)
{
	u128 prod = (u128)p->a.frac * p->b.frac, add = (u128)p->addend.frac << 63, sum;
	struct fp_num r = { FP_CLASS_FINITE, p->a.sign ^ p->b.sign, p->a.exp + p->b.exp, 0 };
	unsigned shift;

	if (prod >> 127) {
		prod >>= 1;
		r.exp++;
	}
	if (p->addend.class == FP_CLASS_ZERO) {
		sum = prod;
	} else {
		if (r.exp >= p->addend.exp) {
			add = jam128(add, r.exp - p->addend.exp);
		} else {
			prod = jam128(prod, p->addend.exp - r.exp);
			r.exp = p->addend.exp;
		}
		if (r.sign == p->addend.sign) {
			sum = prod + add;
		} else if (prod >= add) {
			sum = prod - add;
		} else {
			sum = add - prod;
			r.sign = p->addend.sign;
		}
	}
	if (!sum)
		return zero_sum(env, lg);
	shift = sum >> 64 ? __builtin_clzll(sum >> 64) : 64 + __builtin_clzll(sum);
	sum <<= shift;
	r.frac = (u64)(sum >> 64) | ((u64)sum != 0);
	r.exp += 1 - (s32)shift - p->halve;
	return fp_pack(env, lg, &r, fp_rmode(env));
}

static u64 muladd(struct fp_env *env, unsigned lg, u64 addend, u64 a, u64 b)
{
	u64 bits[3] = { addend, a, b }, result;
	struct fp_num n[3] = { fp_unpack(env, lg, addend), fp_unpack(env, lg, a),
			       fp_unpack(env, lg, b) };
	bool sign = n[1].sign ^ n[2].sign;
	bool inf = n[1].class == FP_CLASS_INF || n[2].class == FP_CLASS_INF;
	bool zero = n[1].class == FP_CLASS_ZERO || n[2].class == FP_CLASS_ZERO;

	if (process_nans(env, lg, n, bits, 3, &result))
		return n[0].class == FP_CLASS_QNAN && inf && zero ? fp_invalid(env, lg) : result;
	if ((inf && zero) || (inf && n[0].class == FP_CLASS_INF && n[0].sign != sign))
		return fp_invalid(env, lg);
	if (n[0].class == FP_CLASS_INF)
		return fp_infinity(lg, n[0].sign);
	if (inf)
		return fp_infinity(lg, sign);
	if (zero && n[0].class == FP_CLASS_ZERO)
		return n[0].sign == sign ? fp_zero(lg, sign) : zero_sum(env, lg);
	if (zero)
		return fp_pack(env, lg, &n[0], fp_rmode(env));
	return fp_fused(env, lg, &(struct fp_product){ n[0], n[1], n[2], false });
}

u64 fp_muladd(struct fp_env *env, unsigned lg, u64 addend, u64 a, u64 b)
{
	u64 r;

	if (fp_host_muladd(env->fpcr, env->fpsr, lg, addend, a, b, &r))
		return r;
	return muladd(env, lg, addend, a, b);
}

u64 fp_mulsub(struct fp_env *env, unsigned lg, u64 addend, u64 a, u64 b)
{
	return fp_muladd(env, lg, addend, fp_neg(lg, a), b);
}

/* ---- comparison ---- */

enum order { ORDER_LESS, ORDER_EQUAL, ORDER_GREATER, ORDER_NONE };

/* Of two numbers that are not NaNs. */
static enum order order(const struct fp_num *a, const struct fp_num *b)
{
	bool a_zero = a->class == FP_CLASS_ZERO, b_zero = b->class == FP_CLASS_ZERO;
	bool less;

	if (a_zero && b_zero)
		return ORDER_EQUAL;
	if (a_zero)
		return b->sign ? ORDER_GREATER : ORDER_LESS;
	if (b_zero || a->sign != b->sign)
		return a->sign ? ORDER_LESS : ORDER_GREATER;
	if (a->class != b->class)
		less = b->class == FP_CLASS_INF;
	else if (a->class == FP_CLASS_INF || (a->exp == b->exp && a->frac == b->frac))
		return ORDER_EQUAL;
	else
		less = a->exp == b->exp ? a->frac < b->frac : a->exp < b->exp;
	return less != a->sign ? ORDER_LESS : ORDER_GREATER;
}

static enum order compare(struct fp_env *env, unsigned lg, u64 a, u64 b, bool signalling)
{
	struct fp_num na = fp_unpack(env, lg, a), nb = fp_unpack(env, lg, b);

	if (fp_is_nan(&na) || fp_is_nan(&nb)) {
		if (signalling || na.class == FP_CLASS_SNAN || nb.class == FP_CLASS_SNAN)
			env->fpsr |= FPSR_IOC;
		return ORDER_NONE;
	}
	return order(&na, &nb);
}

unsigned fp_compare(struct fp_env *env, unsigned lg, u64 a, u64 b, bool signalling)
{
	static const u8 nzcv[] = { 8, 6, 2, 3 };

	return nzcv[compare(env, lg, a, b, signalling)];
}

static u64 mask_if(unsigned lg, bool yes)
{
	return yes ? fp_sign_bit(lg) | (fp_sign_bit(lg) - 1) : 0;
}

u64 fp_cmeq(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return mask_if(lg, compare(env, lg, a, b, false) == ORDER_EQUAL);
}

u64 fp_cmgt(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return mask_if(lg, compare(env, lg, a, b, true) == ORDER_GREATER);
}

u64 fp_cmge(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	enum order o = compare(env, lg, a, b, true);

	return mask_if(lg, o == ORDER_GREATER || o == ORDER_EQUAL);
}

u64 fp_acge(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return fp_cmge(env, lg, fp_abs(lg, a), fp_abs(lg, b));
}

u64 fp_acgt(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return fp_cmgt(env, lg, fp_abs(lg, a), fp_abs(lg, b));
}

/* ---- minimum and maximum ---- */

static u64 extreme(struct fp_env *env, unsigned lg, u64 a, u64 b, bool max)
{
	u64 bits[2] = { a, b }, result;
	struct fp_num n[2] = { fp_unpack(env, lg, a), fp_unpack(env, lg, b) };
	enum order o;

	if (process_nans(env, lg, n, bits, 2, &result))
		return result;
	o = order(&n[0], &n[1]);
	if (o == ORDER_EQUAL && n[0].class == FP_CLASS_ZERO)
		return fp_zero(lg, max ? n[0].sign && n[1].sign : n[0].sign || n[1].sign);
	if (o == (max ? ORDER_LESS : ORDER_GREATER)) {
		n[0] = n[1];
		a = b;
	}
	return n[0].class == FP_CLASS_ZERO ? fp_zero(lg, n[0].sign) : a;
}

/* A quiet NaN loses against any number. */
static u64 extreme_number(struct fp_env *env, unsigned lg, u64 a, u64 b, bool max)
{
	struct fp_env quiet = *env;
	struct fp_num na = fp_unpack(&quiet, lg, a), nb = fp_unpack(&quiet, lg, b);

	if (na.class == FP_CLASS_QNAN && !fp_is_nan(&nb))
		a = fp_infinity(lg, max);
	else if (nb.class == FP_CLASS_QNAN && !fp_is_nan(&na))
		b = fp_infinity(lg, max);
	return extreme(env, lg, a, b, max);
}

u64 fp_max(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return extreme(env, lg, a, b, true);
}

u64 fp_min(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return extreme(env, lg, a, b, false);
}

u64 fp_maxnm(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return extreme_number(env, lg, a, b, true);
}

u64 fp_minnm(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return extreme_number(env, lg, a, b, false);
}
