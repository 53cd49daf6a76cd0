/*
 * accel/tcg/cpu.h - the part of a virtual CPU that translated code and the translator know.
 *
 * A target embeds struct tcg_cpu as the first member of its own CPU. Nothing here names an
 * architecture: there are 32 general registers, 32 vectors of 16 bytes and four flags.
 */
#ifndef ACCEL_TCG_CPU_H
#define ACCEL_TCG_CPU_H

#include <setjmp.h>

#include "util/base.h"

struct tcg_cpu;
struct tcg_debug;
struct tcg_region;
struct tcg_single;
struct trans;

#define TCG_PAGE_BITS 12 /* granule of the soft TLB and of translated regions */
#define TCG_PAGE_SIZE (1u << TCG_PAGE_BITS)
#define TCG_PAGE_MASK (~(u64)(TCG_PAGE_SIZE - 1))

/* Bits of tcg_cpu.nzcv, in the order that the x86 instructions lahf and seto leave; bits 1 to 7 are
 * 0, all others undefined. */
#define TCG_FLAG_N (1u << 15)
#define TCG_FLAG_Z (1u << 14)
#define TCG_FLAG_C (1u << 8)
#define TCG_FLAG_V (1u << 0)

/* Bits of tcg_cpu.hw_points. */
#define TCG_HW_BREAK 1u
#define TCG_HW_WATCH 2u

/* Bit of tcg_cpu.state_key: nothing is translated, step executes each instruction. */
#define TCG_KEY_INTERPRET (1u << 31)

enum tcg_access { TCG_READ, TCG_WRITE, TCG_EXEC };

/* What the target knows of the page of an access; filled by tcg_ops.fill. */
struct tcg_page {
	u64 phys;      /* guest physical address of the page, 4 KiB aligned */
	u8 *host;      /* host address of the page, NULL: io_read and io_write take the access */
	bool readable; /* which further accesses at this privilege need no new fill */
	bool writable;
	bool track;   /* first_store must be called before the first plain store */
	bool strict;  /* unaligned accesses fault (device memory): never cached as fast */
	bool guarded; /* of executable pages, for the target alone: see tcg_exec_page() */
};

/* Behaviour that a target (and its machine) gives to the translator. */
struct tcg_ops {
	/*
	 * Translate @va for @access and fill @page, or record an exception and tcg_raise().
	 * @va is the first byte of the access, or of its second page; @size its bytes.
	 */
	void (*fill)(struct tcg_cpu *cpu, u64 va, enum tcg_access access, unsigned size,
		     struct tcg_page *page);
	/* Access of 1, 2, 4 or 8 bytes where page.host is NULL. May tcg_raise(). */
	u64 (*io_read)(struct tcg_cpu *cpu, u64 phys, unsigned size);
	void (*io_write)(struct tcg_cpu *cpu, u64 phys, u64 val, unsigned size);
	/* A page with page.track is about to be written; it is not called again for the page
	 * until the next flush of the soft TLB. */
	void (*first_store)(struct tcg_cpu *cpu, const struct tcg_page *page);
	/* Breakpoints and watchpoints of the guest's own; called while the bits of hw_points are
	 * set. break_in_page: whether step has to execute the code of a virtual page (it looks for
	 * breakpoints itself). watched: whether the page of @va may have no fast entries. watch:
	 * before a slow access; it may tcg_raise(). */
	bool (*break_in_page)(struct tcg_cpu *cpu, u64 pc_page);
	bool (*watched)(struct tcg_cpu *cpu, u64 va);
	void (*watch)(struct tcg_cpu *cpu, u64 va, u64 size, enum tcg_access access);
	/* Called from tcg_run() with exit_request set (and cleared by the callee) and after
	 * tcg_raise(): take interrupts and exceptions. Return: false to leave tcg_run(). */
	bool (*service)(struct tcg_cpu *cpu, bool raised);
	/* Execute one instruction at the current pc. */
	void (*step)(struct tcg_cpu *cpu);
	/* Translate the region that starts at t->start; see accel/tcg/emit.h. NULL: tcg_run()
	 * interprets with step. */
	void (*translate)(struct tcg_cpu *cpu, struct trans *t);
	/* Make first_store be called anew for every page with page.track; forget every
	 * translation of addresses. For the accelerator; NULL in tests without it. */
	void (*rearm)(struct tcg_cpu *cpu);
	/* Registers as text for -d cpu; free with g_free(). NULL: they cannot be shown. */
	char *(*describe)(struct tcg_cpu *cpu);
	void (*flush)(struct tcg_cpu *cpu);
};

struct tcg_vreg {
	_Alignas(16) u64 d[2];
};

/* Translated code reaches r[4] to mmu with one-byte displacements: keep the order. */
struct tcg_cpu {
	u64 r[32];           /* general registers, 31 = stack pointer */
	u64 pc_page;         /* virtual page of the current instruction */
	u32 exit_request;    /* non-zero: leave translated code soon; any thread may set it */
	u32 nzcv;            /* TCG_FLAG_x */
	struct tcg_mmu *mmu; /* soft TLB of the current regime and privilege */
	u32 pc_off;          /* offset in pc_page; exact only in helpers and outside regions */
	u32 v_loaded;        /* translated code holds part of v[] in host registers */
	u32 state_key;       /* target state that translations depend on (privilege, ...) */
	u32 fp_control;      /* of translated code, in the host's format: see tcg_fp_set() */
	u64 npc;             /* where exec functions of branches put the next pc */
	struct tcg_vreg v[32];
	/* Other soft TLBs for translated code to turn to by itself, see tcg_set_views(); NULL: the
	 * target has to be asked. */
	struct tcg_mmu *views[2], *data_view;
	struct tcg_vreg v_saturated; /* not 0: an element was saturated, see tcg_fp_take() */
	u64 transfer[4];             /* values of a slow access of translated code */
	u64 io_va;                   /* of the access that ops->io_read or io_write makes... */
	enum tcg_access io_access;   /* ... and what it is for */

	const struct tcg_ops *ops;
	jmp_buf unwind; /* set while tcg_run() is on the stack */
	bool use_jit;
	int in_code;             /* tcg_run() executes guest code or one of its helpers */
	int waiting;             /* ... but is in tcg_wait_begin() */
	int sleeping;            /* in tcg_cpu_sleep() */
	int work_pending;        /* work[] is not empty */
	GArray *work;            /* see accel/tcg/work.h */
	struct tcg_cpu *next;    /* in the list of tcg_cpu_register() */
	u64 excl_addr;           /* exclusive monitor: virtual address, ~0 = open */
	u64 excl_val[2];         /* value that the exclusive load saw */
	unsigned excl_size;      /* bytes */
	u32 hw_points;           /* TCG_HW_x; after a change: tcg_mmu_flush() everywhere */
	struct tcg_debug *debug; /* what a debugger wants; NULL: nothing */

	struct tcg_single *single; /* the thread that it shares with others; NULL: it has its own */
	bool idle;                 /* with single: it waits for tcg_cpu_kick() */
	bool turn_over;            /* with single: others are next; atomic */

	/*
	 * Counting of instructions. A region takes all of its instructions off the budget when it
	 * is entered; those from pc_off up to region_end have then not been executed yet.
	 */
	bool counted;
	u64 insns;      /* executed before the current turn */
	bool interpret; /* the next region is longer than the budget */
	bool retry;     /* tcg_raise() was to have the instruction interpreted */
	s32 budget;     /* instructions left */
	u32 region_end; /* page offset; 0: not in a region */
	u64 step_pc;    /* pc of the instruction that ops->step executes; ~0: none */
};

/* Virtual address of the current instruction; exact in helpers and outside of regions. */
static inline u64 tcg_pc(const struct tcg_cpu *cpu)
{
	return cpu->pc_page + cpu->pc_off;
}

static inline void tcg_set_pc(struct tcg_cpu *cpu, u64 pc)
{
	cpu->pc_page = pc & TCG_PAGE_MASK;
	cpu->pc_off = pc & ~TCG_PAGE_MASK;
}

/*
 * tcg_cpu_register() - make a CPU known to the translator; tcg_cpu_unregister() - forget it.
 * @jit: translate, if the host can; else interpret with ops->step.
 *
 * Return: true if the CPU will run translated code.
 */
bool tcg_cpu_register(struct tcg_cpu *cpu, bool jit);
void tcg_cpu_unregister(struct tcg_cpu *cpu);

/*
 * tcg_cpu_kick() - have ops->service called soon: sets exit_request, and ends tcg_cpu_sleep().
 *
 * Context: any thread, no locks needed.
 */
void tcg_cpu_kick(struct tcg_cpu *cpu);

/*
 * tcg_cpu_sleep() - wait for tcg_cpu_kick(); returns at once if exit_request is set.
 *
 * Return: false if the thread has other CPUs to run: ops->service must return false too, and is
 * called again after a kick. Who waits for something clears exit_request, looks for it, and sleeps
 * if it is not there: what comes in between is then not missed. Context: the vCPU's thread, in
 * ops->service, no locks.
 */
bool tcg_cpu_sleep(struct tcg_cpu *cpu);

/*
 * tcg_cpu_end_turn() - the CPU has nothing useful to do, or has had its share: let others run.
 *
 * Has ops->service called soon, which must return false if tcg_cpu_turn_is_over(). Any thread.
 */
void tcg_cpu_end_turn(struct tcg_cpu *cpu);

/*
 * tcg_cpu_yield() - the guest says that it has nothing useful to do at the moment.
 *
 * Ends the turn if it shares its thread with one that has; with a thread of its own it only has
 * ops->service called. Context: the vCPU's thread.
 */
void tcg_cpu_yield(struct tcg_cpu *cpu);

static inline bool tcg_cpu_turn_is_over(const struct tcg_cpu *cpu)
{
	return cpu->single && __atomic_load_n(&cpu->turn_over, __ATOMIC_SEQ_CST);
}

/*
 * tcg_cpu_refund() - instructions that have been taken off the budget and not been executed.
 *
 * Context: the CPU's thread, in a helper (the current instruction counts as not executed) or
 * after tcg_raise().
 */
static inline unsigned tcg_cpu_refund(const struct tcg_cpu *cpu)
{
	/* An instruction that was executed and then raised may have left for the next page. */
	return cpu->region_end ? ((cpu->region_end - cpu->pc_off) & ~TCG_PAGE_MASK) / 4 : 0;
}

/*
 * tcg_set_code_size() - room for translations, in bytes.
 *
 * Return: 0; -ERANGE if jumps could not reach across it; -EBUSY once there is a CPU.
 */
int tcg_set_code_size(u64 size);

/* tcg_set_one_insn() - translate instructions one by one. Main thread, before there is a CPU. */
void tcg_set_one_insn(bool on);

/*
 * tcg_select() - choose the address space and the state that translations depend on.
 * @mmu: soft TLB of the new regime, address space and privilege.
 * @key: any value; code translated under one key is never run under another.
 */
void tcg_select(struct tcg_cpu *cpu, struct tcg_mmu *mmu, u32 key);

/*
 * tcg_set_views() - give translated code soft TLBs beside the current one: see e_view().
 * @views: to be made the current one, under the same key.
 * @data:  for single accesses.
 *
 * Any may be NULL. They hold until the next call.
 */
void tcg_set_views(struct tcg_cpu *cpu, struct tcg_mmu *const views[2], struct tcg_mmu *data);

/* tcg_select_data() - another soft TLB for the accesses of a helper, which puts the old one back.
 */
void tcg_select_data(struct tcg_cpu *cpu, struct tcg_mmu *mmu);

/* What floating-point instructions of translated code have raised. */
#define TCG_FP_INVALID   (1u << 0)
#define TCG_FP_DIVZERO   (1u << 1)
#define TCG_FP_OVERFLOW  (1u << 2)
#define TCG_FP_UNDERFLOW (1u << 3)
#define TCG_FP_INEXACT   (1u << 4)
#define TCG_FP_SATURATED (1u << 5) /* an integer element of a vector was saturated */

enum tcg_rounding { TCG_ROUND_NEAREST, TCG_ROUND_UP, TCG_ROUND_DOWN, TCG_ROUND_ZERO };

/*
 * tcg_fp_set() - choose the rounding of floating-point instructions of translated code.
 *
 * Context: this and tcg_fp_take() on the vCPU's thread outside of translated code, or while the
 * vCPU does not run.
 */
void tcg_fp_set(struct tcg_cpu *cpu, enum tcg_rounding rounding);

/* tcg_fp_take() - TCG_FP_x raised since the last call. */
u32 tcg_fp_take(struct tcg_cpu *cpu);

struct tcg_stats {
	u64 regions;    /* translated so far */
	u64 discarded;  /* because the guest wrote to their code */
	u64 flushes;    /* how often all were thrown away */
	u64 code_bytes; /* in use now */
};

/* What the translator has done since the process started. Any thread. */
void tcg_stats_get(struct tcg_stats *stats);

/*
 * tcg_raise() - abandon the current instruction and let ops->service act.
 * @cpu: CPU whose registers hold the state before the instruction.
 *
 * Context: only below tcg_run() or tcg_step(), on the vCPU's thread.
 */
_Noreturn void tcg_raise(struct tcg_cpu *cpu);

/*
 * tcg_run() - execute guest code until ops->service returns false.
 * @cpu: a CPU with ops and mmu set; state at tcg_pc().
 *
 * Context: the vCPU's own thread; does not return on exceptions, ops->service sees them.
 */
void tcg_run(struct tcg_cpu *cpu);

#endif
