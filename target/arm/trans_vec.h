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

#endif
