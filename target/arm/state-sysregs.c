/*
 * target/arm/state-sysregs.c - system registers in a stream.
 *
 * Which registers QEMU sends and takes, and the ID registers of its CPU models, were read from
 * streams of qemu-system-aarch64 7.2 and 11.1.
 */
#include "target/arm/state-sysregs.h"

#include "target/arm/state-foreign.h"
#include "target/arm/cpu-features.h"
#include "target/arm/el2.h"
#include "target/arm/pmu-priv.h"
#include "target/arm/self_debug.h"
#include "target/arm/sysreg.h"
#include "target/arm/timer.h"
#include "util/error.h"

#define OSLSR_OSLM (1u << 3) /* there is an OS lock */

/* ---- what the CPU is ---- */

/*
 * ID registers as the models' real CPUs have them, and QEMU tells them. Those here say less: there
 * is no AArch32, big-endian data or error record, and 16-KiB pages are told for the A76's kind.
 */
static const struct {
	u32 midr;
	u16 key;
	u64 value;
} told[] = {
	{ 0x410fd034, SYSREG(3, 0, 0, 7, 0), 0x1122 }, /* ID_AA64MMFR0_EL1 */
	{ 0x411fd070, SYSREG(3, 0, 0, 7, 0), 0x1124 },
	{ 0x410fd083, SYSREG(3, 0, 0, 7, 0), 0x1124 },
	{ 0x414fd0b1, SYSREG(3, 0, 0, 4, 1), 0x10 }, /* Cortex-A76: ID_AA64PFR1_EL1 */
	{ 0x414fd0b1, SYSREG(3, 0, 0, 5, 0), 0x10305408 },
	{ 0x414fd0b1, SYSREG(3, 0, 0, 7, 0), 0x101122 },
	{ 0x414fd0b1, SYSREG(3, 0, 0, 7, 1), 0x10212122 }, /* ID_AA64MMFR1_EL1 */
	{ 0x414fd0b1, SYSREG(3, 0, 0, 7, 2), 0x1011 },     /* ID_AA64MMFR2_EL1 */
	{ 0x414fd0c1, SYSREG(3, 0, 0, 5, 0), 0x10305408 }, /* Neoverse N1 */
	{ 0x414fd0c1, SYSREG(3, 0, 0, 7, 0), 0x101125 },
	{ 0x414fd0c1, SYSREG(3, 0, 0, 7, 1), 0x10212122 },
	{ 0x414fd0c1, SYSREG(3, 0, 0, 7, 2), 0x1011 },
};

static unsigned op0_of(u16 key)
{
	return key >> 14;
}

static unsigned op1_of(u16 key)
{
	return key >> 11 & 7;
}

static unsigned crn_of(u16 key)
{
	return key >> 7 & 15;
}

static unsigned crm_of(u16 key)
{
	return key >> 3 & 15;
}

/* ID registers but for MIDR_EL1 and its like. */
static bool is_id(u16 key)
{
	return op0_of(key) == 3 && !op1_of(key) && !crn_of(key) && crm_of(key);
}

static bool is_a32_id(u16 key)
{
	return is_id(key) && crm_of(key) < 4;
}

static u64 told_value(const struct arm_cpu *cpu, u16 key, u64 own)
{
	for (unsigned i = 0; i < ARRAY_SIZE(told); i++)
		if (told[i].midr == cpu->midr && told[i].key == key)
			return told[i].value;
	return own;
}

/* ---- numbers ---- */

/* Registers that QEMU sends by AArch32's view of them. */
static const struct {
	u16 key;
	u64 index;
} a32_views[] = {
	{ SYSREG(3, 0, 7, 4, 0), ARM_WIRE_A32_D | 0x200f0380 }, /* PAR_EL1 */
	{ SYSREG(3, 3, 9, 14, 0), ARM_WIRE_A32 | 0x200f4f00 },  /* PMUSERENR_EL0 */
	{ SYSREG(3, 3, 9, 14, 3), ARM_WIRE_A32 | 0x200f4e03 },  /* PMOVSSET_EL0 */
};

static u64 index_of(u16 key)
{
	for (unsigned i = 0; i < ARRAY_SIZE(a32_views); i++)
		if (a32_views[i].key == key)
			return a32_views[i].index;
	return ARM_WIRE_A64 | key;
}

/* Return: false if it is not one of an AArch64 CPU. */
static bool key_of(u64 index, u16 *key)
{
	for (unsigned i = 0; i < ARRAY_SIZE(a32_views); i++) {
		if (a32_views[i].index != index)
			continue;
		*key = a32_views[i].key;
		return true;
	}
	*key = index;
	return (index ^ ARM_WIRE_A64) <= UINT16_MAX;
}

/* ---- where registers are ---- */

/* Timers' control and comparison; they are reached by functions. */
static const struct {
	u16 key;
	enum arm_timer timer;
	bool cval;
} timer_regs[] = {
	{ SYSREG(3, 3, 14, 2, 1), ARM_TIMER_PHYS, false },
	{ SYSREG(3, 3, 14, 2, 2), ARM_TIMER_PHYS, true },
	{ SYSREG(3, 3, 14, 3, 1), ARM_TIMER_VIRT, false },
	{ SYSREG(3, 3, 14, 3, 2), ARM_TIMER_VIRT, true },
	{ SYSREG(3, 4, 14, 2, 1), ARM_TIMER_HYP, false },
	{ SYSREG(3, 4, 14, 2, 2), ARM_TIMER_HYP, true },
	{ SYSREG(3, 4, 14, 3, 1), ARM_TIMER_HYP_VIRT, false },
	{ SYSREG(3, 4, 14, 3, 2), ARM_TIMER_HYP_VIRT, true },
	{ SYSREG(3, 7, 14, 2, 1), ARM_TIMER_SEC, false },
	{ SYSREG(3, 7, 14, 2, 2), ARM_TIMER_SEC, true },
};

/* Registers that only CPUs with a feature have. */
static const struct {
	u16 first, last;
	u8 feature;
} optional[] = {
	{ SYSREG(3, 0, 2, 0, 3), SYSREG(3, 0, 2, 0, 3), ARM_FEAT_HAFT },     /* TCR2_EL1 */
	{ SYSREG(3, 0, 2, 1, 0), SYSREG(3, 0, 2, 3, 7), ARM_FEAT_PAUTH },    /* keys */
	{ SYSREG(3, 0, 13, 0, 7), SYSREG(3, 0, 13, 0, 7), ARM_FEAT_CSV2_2 }, /* SCXTNUM_EL1 */
	{ SYSREG(3, 3, 13, 0, 7), SYSREG(3, 3, 13, 0, 7), ARM_FEAT_CSV2_2 }, /* SCXTNUM_EL0 */
	{ SYSREG(3, 4, 13, 0, 7), SYSREG(3, 4, 13, 0, 7), ARM_FEAT_CSV2_2 }, /* SCXTNUM_EL2 */
	{ SYSREG(3, 4, 2, 0, 1), SYSREG(3, 4, 2, 0, 1), ARM_FEAT_VHE },      /* TTBR1_EL2 */
	{ SYSREG(3, 4, 2, 0, 3), SYSREG(3, 4, 2, 0, 3), ARM_FEAT_HAFT },     /* TCR2_EL2 */
	{ SYSREG(3, 4, 13, 0, 1), SYSREG(3, 4, 13, 0, 1), ARM_FEAT_VHE },    /* CONTEXTIDR_EL2 */
	{ SYSREG(3, 4, 14, 3, 0), SYSREG(3, 4, 14, 3, 7), ARM_FEAT_VHE },    /* CNTHV */
	{ SYSREG(3, 4, 1, 2, 2), SYSREG(3, 4, 1, 2, 2), ARM_FEAT_HCX },      /* HCRX_EL2 */
	{ SYSREG(3, 4, 14, 0, 6), SYSREG(3, 4, 14, 0, 6), ARM_FEAT_ECV },    /* CNTPOFF_EL2 */
};

/* PMCR_EL0 and its like, and PMEVCNTR<n>_EL0 to PMCCFILTR_EL0. */
static bool is_pmu(u16 key)
{
	return (crn_of(key) == 9 && crm_of(key) >= 12) || (crn_of(key) == 14 && crm_of(key) >= 8);
}

static bool exists(const struct arm_cpu *cpu, u16 key)
{
	if (is_pmu(key) && !cpu->pmu_version)
		return false;
	if ((op1_of(key) == 4 && !cpu->has_el2) || (op1_of(key) == 6 && !cpu->has_el3))
		return false;
	for (unsigned i = 0; i < ARRAY_SIZE(optional); i++)
		if (key >= optional[i].first && key <= optional[i].last &&
		    !cpu_has(cpu, optional[i].feature))
			return false;
	return true;
}

/* Part of the CPU model; among the debug registers (op0 2) OSLSR_EL1 is not written by its name. */
static bool is_constant(const struct arm_sysreg *reg)
{
	return reg->write_el == SYSREG_NONE && op0_of(reg->key) == 3;
}

/* Where the value is: not that of aliases (op1 5), of constants, and of what other fields carry. */
static u64 *find_value(struct arm_cpu *cpu, u16 key)
{
	const struct arm_sysreg *reg;

	if (!exists(cpu, key))
		return NULL;
	for (unsigned i = 0; i < ARRAY_SIZE(timer_regs); i++) {
		struct arm_timer_regs *t = &cpu->timer[timer_regs[i].timer];

		if (timer_regs[i].key == key)
			return timer_regs[i].cval ? &t->cval : &t->ctl;
	}
	reg = arm_sysreg_find(cpu, key);
	if (!reg || !reg->offset || op1_of(key) == 5 || is_constant(reg) ||
	    (reg->offset >= offsetof(struct arm_cpu, sp_el) &&
	     reg->offset < offsetof(struct arm_cpu, esr_el)))
		return NULL;
	return (u64 *)((char *)cpu + reg->offset);
}

/* Bits that the field does not have, and the register does. */
static u64 constant_bits(const struct arm_cpu *cpu, u16 key)
{
	switch (key) {
	case SYSREG(2, 0, 1, 1, 4): return OSLSR_OSLM; /* OSLSR_EL1 */
	case SYSREG(3, 3, 9, 12, 0):                   /* PMCR_EL0; arm_pmu_loaded() drops them */
		return ARM_PMU_COUNTERS << PMCR_N_SHIFT | (u64)cpu->pmu_id << PMCR_ID_SHIFT;
	default: return 0;
	}
}

/* ---- out ---- */

struct list {
	struct arm_cpu *cpu;
	struct {
		u64 index, value;
	} item[ARM_WIRE_SYSREGS];
	unsigned n, own; /* the first ones are this CPU's */
};

static void add(struct list *l, u16 key, u64 value)
{
	g_assert(l->n < ARM_WIRE_SYSREGS);
	l->item[l->n].index = index_of(key);
	l->item[l->n++].value = value;
}

/* Those of AArch64, but for two that QEMU does not send: one follows from the machine. */
static bool sends_id(u16 key)
{
	return crm_of(key) >= 4 && key != SYSREG(3, 0, 0, 4, 0) && key != SYSREG(3, 0, 0, 6, 0);
}

static void collect(const struct arm_sysreg *reg, void *opaque)
{
	struct list *l = opaque;
	const u64 *value = find_value(l->cpu, reg->key);

	if (value)
		add(l, reg->key, *value | constant_bits(l->cpu, reg->key));
	else if (is_id(reg->key) && sends_id(reg->key))
		add(l, reg->key,
		    told_value(l->cpu, reg->key, l->cpu->id[crm_of(reg->key)][reg->key & 7]));
}

static int by_index(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static void add_foreign(void *opaque, u64 index, u64 value)
{
	struct list *l = opaque;

	for (unsigned i = 0; i < l->own; i++)
		if (l->item[i].index == index)
			return;
	g_assert(l->n < ARM_WIRE_SYSREGS);
	l->item[l->n].index = index;
	l->item[l->n++].value = value;
}

unsigned arm_wire_save_sysregs(struct arm_cpu *cpu, unsigned cpus, bool old_list, u64 *indexes,
			       u64 *values)
{
	struct list l = { .cpu = cpu };

	arm_sysreg_foreach(cpu, collect, &l);
	l.own = l.n;
	arm_foreign_sysregs(cpu, cpus, old_list, add_foreign, &l);
	qsort(l.item, l.n, sizeof(l.item[0]), by_index);
	for (unsigned i = 0; i < l.n; i++) {
		indexes[i] = l.item[i].index;
		values[i] = l.item[i].value;
	}
	return l.n;
}

/* ---- in ---- */

/*
 * Whether a register that is not here tells nothing. AArch32's are not reached from AArch64, and a
 * CPU that is in AArch32 is refused by its PSTATE.
 */
static bool means_nothing(u16 key, u64 value)
{
	/* C11 and C15 are implementation defined. */
	if (!value || is_a32_id(key) || crn_of(key) == 11 || crn_of(key) == 15)
		return true;
	switch (key) {
	case SYSREG(3, 1, 0, 0, 1):  /* CLIDR_EL1: caches are coherent here */
	case SYSREG(3, 3, 0, 0, 1):  /* CTR_EL0 */
	case SYSREG(3, 0, 0, 0, 6):  /* REVIDR_EL1 */
	case SYSREG(3, 3, 9, 12, 6): /* PMCEID0_EL0 */
	case SYSREG(3, 3, 9, 12, 7): /* PMCEID1_EL0 */
	case SYSREG(3, 3, 9, 13, 0): /* PMCCNTR_EL0 */ return true;
	case SYSREG(3, 3, 9, 12, 0): return !(value & 1); /* PMCR_EL0: nothing counts */
	case SYSREG(3, 0, 12, 0, 2): return value == 1;   /* RMR_EL1: AArch64 */
	default: return false;
	}
}

static void refuse_constant(u16 key, u64 theirs, u64 ours, GError **err)
{
	error_set(err,
		  "cpreg S%u_%u_C%u_C%u_%u of the CPU model is 0x%" PRIx64
		  " at the source and 0x%" PRIx64 " here: -cpu must be the same, and max of "
		  "another emulator or version never is; use "
		  "cortex-a53, cortex-a57, cortex-a72, cortex-a76 or neoverse-n1",
		  op0_of(key), op1_of(key), crn_of(key), crm_of(key), key & 7, theirs, ours);
}

static int check(struct arm_cpu *cpu, u64 index, u64 value, GError **err)
{
	u16 key;
	u64 ours;

	if (!key_of(index, &key)) {
		if ((index & ARM_WIRE_KIND) == ARM_WIRE_A32 ||
		    (index & ARM_WIRE_KIND) == ARM_WIRE_A32_D)
			return 0;
		error_set(err, "cpreg 0x%" PRIx64 ": no CPU has such a register", index);
		return -EINVAL;
	}
	if (find_value(cpu, key))
		return 0;
	if (is_id(key) && !is_a32_id(key) && crm_of(key) < 8) {
		ours = told_value(cpu, key, cpu->id[crm_of(key)][key & 7]);
		if (value == ours)
			return 0;
		refuse_constant(key, value, ours, err);
		return -EINVAL;
	}
	if (means_nothing(key, value))
		return 0;
	error_set(err,
		  "cpreg S%u_%u_C%u_C%u_%u (0x%" PRIx64 ") is 0x%" PRIx64
		  " at the source: this CPU does not have it",
		  op0_of(key), op1_of(key), crn_of(key), crm_of(key), key & 7, index, value);
	return -EINVAL;
}

int arm_wire_check_sysregs(struct arm_cpu *cpu, const u64 *indexes, const u64 *values, unsigned n,
			   GError **err)
{
	for (unsigned i = 0; i < n; i++)
		if (check(cpu, indexes[i], values[i], err))
			return -EINVAL;
	return 0;
}

void arm_wire_load_sysregs(struct arm_cpu *cpu, const u64 *indexes, const u64 *values, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		u16 key;
		u64 *here = key_of(indexes[i], &key) ? find_value(cpu, key) : NULL;

		if (here)
			*here = values[i] & ~constant_bits(cpu, key);
	}
}
