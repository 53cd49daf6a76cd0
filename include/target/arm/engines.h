/*
 * target/arm/engines.h - dirty-state engines of a CPU: FEAT_HDBSS, which lists pages of a guest as
 * they become dirty, and FEAT_HACDBS, which makes listed pages clean again (Arm DDI 0487, D8.5).
 *
 * docs/hdbss-hacdbs.md is the guide; choices that the manual leaves open are listed there.
 */
#ifndef TARGET_ARM_ENGINES_H
#define TARGET_ARM_ENGINES_H

#include "util/timer.h"

struct arm_cpu;

/* Faults that can be injected; names and meanings are in target/arm/engine_props.c. */
enum arm_injection {
	ARM_INJECT_HDBSS_FULL_AT,
	ARM_INJECT_HDBSS_ABORT_AT,
	ARM_INJECT_HDBSS_ABORT_SYNC,
	ARM_INJECT_HDBSS_DUPLICATE_EVERY,
	ARM_INJECT_HDBSS_SPURIOUS_EVERY,
	ARM_INJECT_HACDBS_ERROR_AT,
	ARM_INJECT_HACDBS_ERROR,
	ARM_INJECT_HACDBS_AHEAD,
	ARM_INJECT_HACDBS_SLICE,
	ARM_INJECT_HACDBS_SLICE_NS,
	ARM_INJECT_HACDBS_IRQ_DELAY_NS,
	ARM_INJECT_HACDBS_IRQ_LOSE,
	ARM_INJECT_STALE_TLB,
	ARM_INJECTIONS
};

#define ARM_INJECT_NEVER UINT64_MAX /* value of ..._AT that is off */

/* What -cpu says about the engines. */
struct arm_engines_config {
	bool hdbss, hacdbs;  /* the CPU has them, if it has EL2 */
	u64 hdbss_append_ns; /* that the vCPU waits for each entry it appends */
	u64 hacdbs_entry_ns; /* that cleaning takes for each entry, by the guest's clock */
	u64 hacdbs_irq;      /* INTID of the interrupt, a PPI; 0: not connected */
	bool hacdbs_irq_dt;  /* the device tree tells of it */
	bool check;          /* report mistakes of the hypervisor (target/arm/dirty_check.h) */
	u64 inject[ARM_INJECTIONS];
};

/* What has happened since the CPU was created. */
struct arm_hdbss_stats {
	u64 entries;       /* appended, without those that are injected */
	u64 table_entries; /* of these: for a page that holds a table of stage 1 */
	u64 full_faults;   /* writes refused because there was no room */
	u64 error_faults;  /* writes refused because HDBSSPROD_EL2.FSC was not 0 */
	u64 aborts;        /* entries that could not be written */
	u64 resets;        /* writes to HDBSSPROD_EL2 */
	u64 injected;      /* duplicate and spurious entries */
};

struct arm_hacdbs_stats {
	u64 starts;     /* that it began to run, after EN, VM or an error allowed it to */
	u64 entries;    /* handled, all kinds */
	u64 cleaned;    /* descriptors made clean */
	u64 were_clean; /* found clean */
	u64 skipped;    /* entries that were not valid */
	u64 errors[4];  /* by ERR_REASON; 0 is unused */
	u64 slices;     /* pieces that the work was done in */
	u64 interrupts; /* times that the interrupt was raised */
	u64 lost_interrupts;
	u64 ignored_writes; /* to its registers while it ran */
};

struct arm_hacdbs {
	struct arm_hacdbs_stats stats;
	struct timer timer; /* wakes the vCPU for what is due */
	int timer_fired;    /* atomic */
	bool running;       /* as of the last look at the controls */
	bool condition;     /* that the interrupt tells of */
	bool level;         /* of the interrupt */
	bool lost;          /* this time it is not raised */
	s64 next_ns;        /* when the next piece is due, with a cost */
	s64 irq_ns;         /* when the interrupt is due, if it is delayed */
	u64 ahead;          /* entries before this one have been handled ahead of INDEX */
};

/* Engines of one CPU. Used by the vCPU's thread; counters are read, and config.inject is written,
 * by others (relaxed). */
struct arm_engines {
	struct arm_cpu *cpu;
	struct arm_engines_config config;
	struct arm_hdbss_stats hdbss;
	struct arm_hacdbs hacdbs;
	unsigned index;     /* of the vCPU */
	u64 stale_writes;   /* stores that ARM_INJECT_STALE_TLB let pass unseen */
	u64 logged_vttbr;   /* checker: guest of the last entry appended */
	u64 unread_entries; /* ... appended since HDBSSPROD_EL2 was written */
	u64 unseen_entries; /* ... since it was read */
	u64 started_vttbr;  /* ... guest that HACDBS was started for */
	bool watch_reads;   /* ... EL2's reads must be looked at from now on */
	bool undrained;     /* ... HACDBS was stopped, and no DSB came since */
	bool progress_seen; /* ... HACDBSCONS_EL2 was read while it ran, no synchronization since */
	void (*irq)(void *opaque, bool level); /* HACDBSIRQ; NULL: not connected */
	void *irq_opaque;
};

/*
 * arm_engines_create() - give the CPU the engines and registers that @config asks for.
 *
 * Sets cpu->engines; features and has_el2 have been set. A CPU without EL2, or for which @config
 * asks for neither, gets none. Context: before the CPU runs.
 */
void arm_engines_create(struct arm_cpu *cpu, const struct arm_engines_config *config);
void arm_engines_destroy(struct arm_cpu *cpu);

/* Registers as a monitor shows them; sizes and indices in entries. */
struct arm_hdbss_view {
	bool enabled;
	u64 base, size, index;
	unsigned fsc;
};

struct arm_hacdbs_view {
	bool enabled, running, interrupt;
	u64 base, size, index;
	unsigned error; /* ERR_REASON */
};

/* arm_hdbss_view(), arm_hacdbs_view() - of a CPU that has them. Any thread; while the CPU runs,
 * each value is right by itself. */
void arm_hdbss_view(const struct arm_cpu *cpu, struct arm_hdbss_view *v);
void arm_hacdbs_view(const struct arm_cpu *cpu, struct arm_hacdbs_view *v);

/*
 * arm_engine_inject() - change an injection (a property that begins with x-) while the CPU exists.
 *
 * Return: 0; -ENOENT or -EINVAL with @err that says what would work. Context: any thread.
 */
int arm_engine_inject(struct arm_engines_config *c, const char *name, const char *text,
		      GError **err);

/* arm_engines_connect() - where HACDBSIRQ goes; called on the vCPU's thread. */
void arm_engines_connect(struct arm_cpu *cpu, void (*irq)(void *opaque, bool level), void *opaque);

/* arm_engines_service() - do what is due. Context: the vCPU's thread in tcg_ops.service. */
void arm_engines_service(struct arm_cpu *cpu);

/* arm_engines_reset() - after the registers were; arm_engines_loaded() - after they were loaded.
 * The CPU does not run. */
void arm_engines_reset(struct arm_cpu *cpu);
void arm_engines_loaded(struct arm_cpu *cpu);

#endif
