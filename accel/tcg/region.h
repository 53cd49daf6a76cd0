/*
 * accel/tcg/region.h - translated regions, their memory, and what the back end provides for them.
 */
#ifndef ACCEL_TCG_REGION_H
#define ACCEL_TCG_REGION_H

#include "accel/tcg/emit.h"

/* Back end: accel/tcg/<host>. */
bool host_supported(void);
void host_make_entry(struct trans *t);
/* Run translated code at @code. Return: executable address of the displacement of a jump that may
 * be chained to the region at the current pc, or 0. */
u64 host_enter(struct tcg_cpu *cpu, const void *code);
/* Room for TCG_MAX_SLOW out-of-line paths; one translation at a time. */
struct slow_path *host_slow_paths(void);
void e_begin(struct trans *t);
void e_end(struct trans *t);

/* Make @site (writable address of a 32-bit displacement) lead to @target. */
void host_link(u8 *site, const u8 *target);
/* Replace the first instruction of a region by a jump. */
void host_redirect(u8 *entry, const u8 *target);
/* False once host_redirect() was called for the region that starts at @code (executable). */
bool host_is_live(const void *code);

struct tcg_region {
	u64 phys; /* of the first instruction */
	u32 key;  /* cpu->state_key it was made for */
	u16 ninsns;
	bool discarded;          /* atomic */
	u8 *entry, *dead;        /* writable addresses */
	struct tcg_region *next; /* in the same page */
	GArray *sites;           /* struct site: jumps of other regions chained to this one */
};

/*
 * region_find() - region at the current pc, translated now if needed.
 *
 * Return: executable address of its entry; NULL if the instruction has to be interpreted. Raises
 * what the instruction fetch raises.
 */
const void *region_find(struct tcg_cpu *cpu);

/* The vCPU (with in_code set already) begins to run translated code, or has ended to (in_code is
 * clear). */
void region_enter(struct tcg_cpu *cpu);
void region_leave(struct tcg_cpu *cpu);

/* accel/tcg/work.c: list of CPUs; do what is pending; tell those who wait for this CPU. */
void work_add_cpu(struct tcg_cpu *cpu);
void work_remove_cpu(struct tcg_cpu *cpu);
void work_run(struct tcg_cpu *cpu);
void work_left_code(struct tcg_cpu *cpu);

/* Chain the jump that host_enter() returned to the region at the current pc. */
void region_chain(struct tcg_cpu *cpu, u64 site);

#endif
