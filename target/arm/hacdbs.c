/*
 * target/arm/hacdbs.c - hardware accelerator for cleaning dirty state, FEAT_HACDBS (Arm DDI 0487,
 * D8.5.7, D24.2: HACDBSBR_EL2, HACDBSCONS_EL2).
 *
 * The engine works on the vCPU's own thread, in pieces: when it is enabled, when its progress is
 * read, and when a timer that bounds the time between pieces has woken the vCPU. So its use of
 * VTTBR_EL2 and VTCR_EL2 needs no lock, and a long list does not keep the guest from running.
 */
#include "target/arm/engines.h"
#include "accel/tcg/mem.h"
#include "target/arm/engines-priv.h"
#include "target/arm/excp.h"
#include "target/arm/mmu-internal.h"
#include "target/arm/sem.h"
#include "target/arm/sysreg.h"
#include "util/log.h"

#define SLICE_ENTRIES 4096  /* a fraction of a millisecond of work */
#define SLICE_NS      50000 /* the guest has this long in between, if cleaning costs no time */

#define DESC_S2AP_W (1ull << 7)
#define DESC_CONT   (1ull << 52)

/* ---- state ---- */

static u64 limit(const struct arm_cpu *cpu)
{
	return buffer_entries(cpu->hacdbsbr_el2);
}

static u64 next_index(const struct arm_cpu *cpu)
{
	return cpu->hacdbscons_el2 & CONS_INDEX;
}

static bool shows_error(const struct arm_cpu *cpu)
{
	return cpu->hacdbscons_el2 >> CONS_ERR_SHIFT;
}

/* EN as it counts, which is not how it reads. */
static bool is_on(const struct arm_cpu *cpu)
{
	return cpu->hacdbsbr_el2 & HACDBSBR_EN && (!cpu->has_el3 || cpu->scr_el3 & SCR_HACDBSEN);
}

/* The bit HCR_EL2.VM itself counts, not its effect: a host that runs its own EL0 has it as well. */
static bool may_run(const struct arm_cpu *cpu)
{
	return is_on(cpu) && cpu->hcr_el2 & HCR_VM && !shows_error(cpu) &&
	       next_index(cpu) < limit(cpu);
}

/* ---- interrupt ---- */

static void drive(struct arm_engines *e, bool level)
{
	if (e->hacdbs.level == level)
		return;
	e->hacdbs.level = level;
	engine_count(&e->hacdbs.stats.interrupts, level);
	if (e->irq)
		e->irq(e->irq_opaque, level);
}

/* Level-sensitive: while it is on, and has finished or shows an error. */
static void update_irq(struct arm_cpu *cpu)
{
	struct arm_engines *e = cpu->engines;
	struct arm_hacdbs *h = &e->hacdbs;
	bool now = is_on(cpu) && (shows_error(cpu) || next_index(cpu) >= limit(cpu));
	u64 lose = engine_inject(e, ARM_INJECT_HACDBS_IRQ_LOSE);

	if (now && !h->condition) {
		h->lost = lose != 0;
		if (h->lost) {
			__atomic_store_n(&e->config.inject[ARM_INJECT_HACDBS_IRQ_LOSE], lose - 1,
					 __ATOMIC_RELAXED);
			engine_count(&h->stats.lost_interrupts, 1);
		}
		h->irq_ns = clock_ns(CLOCK_TYPE_VIRTUAL) +
			    (s64)engine_inject(e, ARM_INJECT_HACDBS_IRQ_DELAY_NS);
	}
	h->condition = now;
	if (now && !h->lost && clock_ns(CLOCK_TYPE_VIRTUAL) < h->irq_ns)
		timer_mod(&h->timer, h->irq_ns);
	else
		drive(e, now && !h->lost);
}

/* ---- cleaning ---- */

/* Host address of RAM; NULL: there is none. */
static u64 *ram_at(struct arm_cpu *cpu, u64 phys)
{
	struct arm_bus_page page;

	arm_bus_lookup(cpu, phys & TCG_PAGE_MASK, &page);
	return page.host && page.writable ? (u64 *)(page.host + (phys & ~TCG_PAGE_MASK)) : NULL;
}

/*
 * Make one descriptor clean. The page of the table is reported as written only afterwards, because
 * this may run where nobody waits for this CPU before he reads what is clean: a write that comes
 * before its report is never missed.
 *
 * Return: false if the descriptor changed meanwhile.
 */
static bool make_clean(struct arm_cpu *cpu, u64 ipa, const struct arm_stage2_leaf *leaf, u64 *host)
{
	u64 old = leaf->desc;

	if (!__atomic_compare_exchange_n(host, &old, old & ~DESC_S2AP_W, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return false;
	cpu->mmu->bus->dirty(cpu->mmu->bus->opaque, leaf->where & TCG_PAGE_MASK);
	tcg_invalidate_host(host, sizeof(old));
	engine_count(&cpu->engines->hacdbs.stats.cleaned, 1);
	if (log_enabled(LOG_TRACE))
		log_write(LOG_TRACE, "hacdbs_clean cpu=%u ipa=0x%" PRIx64 " level=%d index=%u\n",
			  cpu->engines->index, ipa, leaf->level, (unsigned)next_index(cpu));
	if (engines_checked(cpu))
		arm_dirty_cleaned(cpu, ipa & ~(leaf->size - 1), leaf->phys, leaf->size);
	return true;
}

static enum hacdbs_error clean(struct arm_cpu *cpu, u64 entry)
{
	struct arm_stage2_leaf leaf;
	u64 *host;

	/* A reserved level can match nothing; what a stop marker's address is does not matter. */
	if (entry_level(entry) < -1)
		return HACDBS_IPAHACF;
	for (;;) {
		if (!arm_stage2_find(cpu, entry & ENTRY_IPA, &leaf))
			return HACDBS_IPAF;
		if (leaf.level != entry_level(entry) || leaf.desc & DESC_CONT ||
		    !(leaf.desc & DESC_DBM))
			return HACDBS_IPAHACF;
		if (!(leaf.desc & DESC_S2AP_W)) {
			engine_count(&cpu->engines->hacdbs.stats.were_clean, 1);
			return HACDBS_NOF;
		}
		host = ram_at(cpu, leaf.where);
		if (!host)
			return HACDBS_IPAF;
		if (make_clean(cpu, entry & ENTRY_IPA, &leaf, host))
			return HACDBS_NOF;
	}
}

static enum hacdbs_error handle(struct arm_cpu *cpu, u64 index)
{
	struct arm_engines *e = cpu->engines;
	const u64 *host;
	u64 entry;

	if (index == engine_inject(e, ARM_INJECT_HACDBS_ERROR_AT))
		return (enum hacdbs_error)engine_inject(e, ARM_INJECT_HACDBS_ERROR);
	host = ram_at(cpu, buffer_base(cpu->hacdbsbr_el2) + index * 8);
	if (!host)
		return HACDBS_STRUCTF;
	entry = __atomic_load_n(host, __ATOMIC_ACQUIRE);
	engine_count(&e->hacdbs.stats.entries, 1);
	if (entry & ENTRY_VALID)
		return clean(cpu, entry);
	engine_count(&e->hacdbs.stats.skipped, 1);
	return HACDBS_NOF;
}

/* Hardware may be ahead of INDEX. What goes wrong there is met again when INDEX is there. */
static void run_ahead(struct arm_cpu *cpu, u64 index)
{
	u64 n = engine_inject(cpu->engines, ARM_INJECT_HACDBS_AHEAD);
	u64 end = MIN(index + 1 + n, limit(cpu));
	struct arm_hacdbs *h = &cpu->engines->hacdbs;

	for (h->ahead = MAX(h->ahead, index + 1); h->ahead < end; h->ahead++)
		handle(cpu, h->ahead);
}

/* Handle up to @n entries. Return: how many. */
static u64 run(struct arm_cpu *cpu, u64 n)
{
	struct arm_hacdbs *h = &cpu->engines->hacdbs;
	u64 done = 0;

	if (engines_checked(cpu))
		arm_dirty_engine_runs(cpu, false);
	for (; done < n && may_run(cpu); done++) {
		u64 index = next_index(cpu);
		enum hacdbs_error error;

		if (unlikely(engine_inject(cpu->engines, ARM_INJECT_HACDBS_AHEAD)))
			run_ahead(cpu, index);
		error = handle(cpu, index);
		if (error) {
			if (log_enabled(LOG_TRACE))
				log_write(LOG_TRACE, "hacdbs_error cpu=%u index=%u reason=%d\n",
					  cpu->engines->index, (unsigned)index, error);
			cpu->hacdbscons_el2 |= (u64)error << CONS_ERR_SHIFT;
			engine_count(&h->stats.errors[error], 1);
			break;
		}
		cpu->hacdbscons_el2++;
	}
	engine_count(&h->stats.slices, 1);
	if (engines_checked(cpu))
		arm_dirty_watch_reads(cpu);
	return done;
}

/* ---- time ---- */

/* Entries that are done together, and the time from one piece to the next. With a cost each entry
 * is one, or the cost of a short list would be that of the piece. */
static u64 piece(const struct arm_engines *e, s64 *ns)
{
	u64 n = engine_inject(e, ARM_INJECT_HACDBS_SLICE);
	u64 extra = engine_inject(e, ARM_INJECT_HACDBS_SLICE_NS);
	u64 cost = e->config.hacdbs_entry_ns;

	if (!n && cost)
		n = extra ? CLAMP(SLICE_NS / cost, 1, SLICE_ENTRIES) : 1;
	else if (!n)
		n = SLICE_ENTRIES;
	*ns = (s64)(n * cost + extra);
	return n;
}

/* Whether a piece takes time; else it is done at once, and the next when somebody asks. */
static bool takes_time(const struct arm_engines *e)
{
	return e->config.hacdbs_entry_ns || engine_inject(e, ARM_INJECT_HACDBS_SLICE_NS);
}

/* When the vCPU is to be woken, if it does not look by itself: not for each entry. */
static s64 wake_ns(struct arm_cpu *cpu, s64 now)
{
	const struct arm_engines *e = cpu->engines;
	u64 n = 1, left = limit(cpu) - next_index(cpu);
	s64 ns;

	if (takes_time(e) && piece(e, &ns) == 1)
		n = MIN(left, (u64)MAX(SLICE_NS / ns, 1));
	else
		ns = 0;
	return MAX(e->hacdbs.next_ns + (s64)(n - 1) * ns, now + 1);
}

/* All that is due by now, but not more than one large piece. */
static void run_due(struct arm_cpu *cpu)
{
	struct arm_engines *e = cpu->engines;
	struct arm_hacdbs *h = &e->hacdbs;
	u64 total = 0;
	s64 ns;

	while (may_run(cpu) && h->next_ns <= clock_ns(CLOCK_TYPE_VIRTUAL) &&
	       total < SLICE_ENTRIES) {
		u64 n = piece(e, &ns);

		total += MAX(run(cpu, n), 1);
		h->next_ns += ns;
	}
}

/* Look at the controls, work, and see to it that work goes on. */
static void proceed(struct arm_cpu *cpu)
{
	struct arm_engines *e = cpu->engines;
	struct arm_hacdbs *h = &e->hacdbs;
	s64 now = clock_ns(CLOCK_TYPE_VIRTUAL), ns;

	if (may_run(cpu) && !h->running) {
		engine_count(&h->stats.starts, 1);
		if (engines_checked(cpu))
			arm_dirty_engine_runs(cpu, true);
		h->ahead = 0;
		piece(e, &ns);
		h->next_ns = now + ns;
	}
	if (may_run(cpu)) {
		if (takes_time(e)) {
			run_due(cpu);
		} else {
			run(cpu, piece(e, &ns));
			h->next_ns = now + SLICE_NS;
		}
	}
	h->running = may_run(cpu);
	if (h->running)
		timer_mod(&h->timer, wake_ns(cpu, now));
	update_irq(cpu);
}

static void on_timer(void *opaque)
{
	struct arm_engines *e = opaque;

	__atomic_store_n(&e->hacdbs.timer_fired, 1, __ATOMIC_SEQ_CST);
	tcg_cpu_kick(&e->cpu->tcg);
}

void arm_engines_service(struct arm_cpu *cpu)
{
	int *fired = &cpu->engines->hacdbs.timer_fired;

	if (likely(!__atomic_load_n(fired, __ATOMIC_RELAXED)))
		return;
	__atomic_store_n(fired, 0, __ATOMIC_SEQ_CST);
	if (cpu->engines->config.hacdbs)
		proceed(cpu);
}

void arm_hacdbs_update(struct arm_cpu *cpu)
{
	proceed(cpu);
}

/* The line is driven anew: whoever is at its other end was reset or loaded as well. */
static void restart(struct arm_cpu *cpu)
{
	struct arm_hacdbs *h = &cpu->engines->hacdbs;
	bool now = is_on(cpu) && (shows_error(cpu) || next_index(cpu) >= limit(cpu));

	timer_del(&h->timer);
	h->running = h->lost = false;
	h->condition = h->level = now;
	h->irq_ns = 0;
	if (cpu->engines->irq)
		cpu->engines->irq(cpu->engines->irq_opaque, now);
	if (may_run(cpu))
		timer_mod(&h->timer, clock_ns(CLOCK_TYPE_VIRTUAL));
}

void arm_engines_reset(struct arm_cpu *cpu)
{
	if (cpu->engines->config.hacdbs)
		restart(cpu);
}

void arm_engines_loaded(struct arm_cpu *cpu)
{
	if (cpu->engines && cpu->engines->config.hacdbs)
		restart(cpu);
}

void arm_hacdbs_view(const struct arm_cpu *cpu, struct arm_hacdbs_view *v)
{
	u64 br = __atomic_load_n(&cpu->hacdbsbr_el2, __ATOMIC_RELAXED);
	u64 cons = __atomic_load_n(&cpu->hacdbscons_el2, __ATOMIC_RELAXED);

	*v = (struct arm_hacdbs_view){
		.enabled = br & HACDBSBR_EN,
		.running = may_run(cpu),
		.interrupt = cpu->engines->hacdbs.level,
		.base = buffer_base(br),
		.size = buffer_entries(br),
		.index = cons & CONS_INDEX,
		.error = cons >> CONS_ERR_SHIFT,
	};
}

/* ---- registers ---- */

static unsigned trap(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return cpu_el(cpu) == 2 && cpu->has_el3 && !(cpu->scr_el3 & SCR_HACDBSEN) ? 3 : 0;
}

static void ignore_write(struct arm_cpu *cpu, const char *name)
{
	engine_count(&cpu->engines->hacdbs.stats.ignored_writes, 1);
	log_guest("%s: written while EN is 1 and no error is shown, ignored, at 0x%" PRIx64 "\n",
		  name, cpu_pc(cpu));
}

static u64 read_br(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->hacdbsbr_el2;
}

static void write_br(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	u64 new = buffer_register(cpu, "HACDBSBR_EL2", val) | (val & HACDBSBR_EN);

	if (is_on(cpu) && val & HACDBSBR_EN && !shows_error(cpu)) {
		if (new != cpu->hacdbsbr_el2)
			ignore_write(cpu, "HACDBSBR_EL2");
		return;
	}
	if (engines_checked(cpu) && cpu->hacdbsbr_el2 & HACDBSBR_EN && !(new &HACDBSBR_EN))
		arm_dirty_engine_stopped(cpu);
	cpu->hacdbsbr_el2 = new;
	proceed(cpu);
}

/* Who polls gets on, whatever else keeps the vCPU busy. */
static u64 read_cons(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	if (may_run(cpu))
		proceed(cpu);
	if (engines_checked(cpu))
		arm_dirty_progress_read(cpu, may_run(cpu));
	return cpu->hacdbscons_el2;
}

static void write_cons(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	if (is_on(cpu) && !shows_error(cpu)) {
		ignore_write(cpu, "HACDBSCONS_EL2");
		return;
	}
	cpu->hacdbscons_el2 = val & (3ull << CONS_ERR_SHIFT | CONS_INDEX);
	proceed(cpu);
}

static const struct arm_sysreg registers[] = {
	{ SYSREG(3, 4, 2, 3, 4), 2, 2, 0, "HACDBSBR_EL2", read_br, write_br, NULL, trap },
	{ SYSREG(3, 4, 2, 3, 5), 2, 2, 0, "HACDBSCONS_EL2", read_cons, write_cons, NULL, trap },
};

void arm_hacdbs_init(struct arm_cpu *cpu)
{
	timer_init(&cpu->engines->hacdbs.timer, CLOCK_TYPE_VIRTUAL, on_timer, cpu->engines);
	arm_sysreg_add(cpu, registers, ARRAY_SIZE(registers));
}

void arm_hacdbs_finish(struct arm_cpu *cpu)
{
	timer_del(&cpu->engines->hacdbs.timer);
}
