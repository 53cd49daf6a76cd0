/*
 * accel/tcg/accel.h - the TCG accelerator: what its files share.
 */
#ifndef ACCEL_TCG_ACCEL_H
#define ACCEL_TCG_ACCEL_H

#include "accel/accel.h"
#include "accel/tcg/cpu.h"
#include "accel/tcg/debug.h"
#include "accel/tcg/single.h"
#include "accel/vcpu.h"

struct tcg_accel {
	struct accel base;
	bool jit;                     /* translate; else interpret */
	struct as_listener listener;  /* of vm->memory */
	struct tcg_single *single;    /* the thread of all vCPUs; NULL: each has its own */
	bool map_changed;             /* since the last commit */
	struct dirty_log_stats stats; /* atomics */
};

static inline struct tcg_accel *tcg_accel_of(struct accel *a)
{
	return container_of(a, struct tcg_accel, base);
}

/* vcpu.accel_data. */
struct tcg_vcpu {
	struct tcg_cpu *tcg; /* owned by the target */
	bool started;        /* the thread has told its id; vm->cpu_lock */
	struct tcg_debug debug;
};

/* dirty.c: the back end is a struct tcg_accel. */
extern const struct dirty_log_ops tcg_dirty_ops;

#endif
