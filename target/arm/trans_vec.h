/*
 * target/arm/trans_vec.h - what the translation rules of FP and AdvSIMD share.
 */
#ifndef TARGET_ARM_TRANS_VEC_H
#define TARGET_ARM_TRANS_VEC_H

#include "accel/tcg/emit-vec.h"
#include "target/arm/fp.h"
#include "target/arm/trans.h"

/* The reference function of an instruction, for what the host does not do alike. */
#define EXACT(name, i)                                                                             \
	{                                                                                          \
		.fn = (void (*)(void))exec_##name, .args = (i), .size = sizeof(*(i))               \
	}

/* The host may do FP arithmetic on singles and doubles: nothing is flushed to zero. */
static inline bool arm_can_compute(struct trans *t)
{
	return e_has_vectors() && !(region_of(t)->cpu->fpcr & FPCR_FZ);
}

/* Finish a result of 8 bytes if not @q. */
static inline void finish(struct trans *t, unsigned q, unsigned d)
{
	if (!q)
		e_vlow(t, d);
}

/* The operand itself, or with its upper half cleared in scratch vector @spare if not @q. */
static inline unsigned harmless(struct trans *t, unsigned q, unsigned v, unsigned spare)
{
	if (q)
		return v;
	e_vfirst(t, 3, spare, v);
	return spare;
}

/* Size and shifts that immh:immb of a shift by a constant encodes. */
static inline unsigned vec_imm_size(unsigned imm)
{
	return 28 - __builtin_clz(imm);
}

static inline unsigned vec_imm_right(unsigned imm)
{
	return (16u << vec_imm_size(imm)) - imm;
}

static inline unsigned vec_imm_left(unsigned imm)
{
	return imm - (8u << vec_imm_size(imm));
}

/* d = a >> n, with the last bit shifted out added if @round; destroys E_V0 then. */
void vec_shift_right(struct trans *t, bool sign, bool round, unsigned lg, unsigned d, unsigned a,
		     unsigned n);

/* The narrowed E_V0 becomes the lower half of d, or the upper one if @q. */
bool vec_put_narrow(struct trans *t, unsigned q, unsigned d);

/* All elements of E_V1 = the one that the fields h:l:m and rm name; size is 1 or 2. */
void vec_element(struct trans *t, unsigned size, unsigned hlm, unsigned rm);

#define VEC_ELEMENT(t, i) vec_element(t, (i)->size, (i)->h << 2 | (i)->l << 1 | (i)->m, (i)->rm)

#endif
