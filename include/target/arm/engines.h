/*
 * target/arm/engines.h - dirty-state engines of a CPU: FEAT_HDBSS, which lists pages of a guest as
 * they become dirty, and FEAT_HACDBS, which makes listed pages clean again (Arm DDI 0487, D8.5).
 *
 * docs/hdbss-hacdbs.md is the guide; choices that the manual leaves open are listed there.
 */
#ifndef TARGET_ARM_ENGINES_H
#define TARGET_ARM_ENGINES_H

#include "util/base.h"

struct arm_cpu;

/* What -cpu says about the engines. */
struct arm_engines_config {
	bool hdbss, hacdbs;  /* the CPU has them, if it has EL2 */
	u64 hdbss_append_ns; /* that the vCPU waits for each entry it appends */
};

/* What has happened since the CPU was created. */
struct arm_hdbss_stats {
	u64 entries;       /* appended */
	u64 table_entries; /* of these: for a page that holds a table of stage 1 */
	u64 full_faults;   /* writes refused because there was no room */
	u64 error_faults;  /* writes refused because HDBSSPROD_EL2.FSC was not 0 */
	u64 aborts;        /* entries that could not be written */
	u64 resets;        /* writes to HDBSSPROD_EL2 */
};

/* Engines of one CPU. Used by the vCPU's thread; counters are read by others (relaxed). */
struct arm_engines {
	struct arm_cpu *cpu;
	struct arm_engines_config config;
	struct arm_hdbss_stats hdbss;
};

/*
 * arm_engines_create() - give the CPU the engines and registers that @config asks for.
 *
 * Sets cpu->engines; features and has_el2 have been set. A CPU without EL2, or for which @config
 * asks for neither, gets none. Context: before the CPU runs.
 */
void arm_engines_create(struct arm_cpu *cpu, const struct arm_engines_config *config);
void arm_engines_destroy(struct arm_cpu *cpu);

#endif
