/*
 * accel/tcg/icount.c - a virtual clock that counts instructions (-icount).
 *
 * ns = base_ns + (instructions << shift). The vCPUs' thread alone changes any of it; others read
 * what it has published at the last turn's end, or whenever it read the clock itself.
 */
#include "accel/tcg/icount.h"

#include "accel/tcg/icount-turn.h"
#include "util/error.h"
#include "util/keyval.h"
#include "util/lock.h"
#include "util/timer.h"

#define TURN_INSNS   50000   /* of one vCPU while others want to run */
#define ALONE_INSNS  1000000 /* how often other threads see the clock move */
#define SHIFT_START  3       /* with shift=auto */
#define ADJUST_NS    (50 * NS_PER_MS)
#define DRIFT_MAX_NS (10 * NS_PER_MS)
#define AHEAD_MAX_NS (3 * NS_PER_MS) /* align=on: less is not worth a sleep */

static struct {
	bool configured, sleep, align, adaptive;
	struct tcg_single *single; /* NULL: not attached */
	unsigned shift;
	s64 base_ns;          /* atomic for clock_set() */
	u64 insns;            /* without the current turn's */
	struct tcg_cpu *cpu;  /* whose turn it is */
	s32 granted;          /* its budget at the last settlement */
	s64 published_ns;     /* atomic */
	u64 published_insns;  /* atomic */
	s64 host_ns, last_ns; /* shift=auto and align=on: where both clocks were when compared */
} ic;

static __thread bool on_thread; /* this is the vCPUs' thread */

/* ---- the clock ---- */

static u64 insns_now(void)
{
	s32 left = ic.cpu ? ic.cpu->budget + (s32)tcg_cpu_refund(ic.cpu) : ic.granted;

	return ic.insns + (u64)(ic.granted - left);
}

static s64 ns_now(void)
{
	return ic.base_ns + (s64)(insns_now() << ic.shift);
}

static void publish(void)
{
	__atomic_store_n(&ic.published_insns, insns_now(), __ATOMIC_RELAXED);
	__atomic_store_n(&ic.published_ns, ns_now(), __ATOMIC_RELEASE);
}

static s64 clock_read(void)
{
	if (on_thread)
		publish();
	return __atomic_load_n(&ic.published_ns, __ATOMIC_ACQUIRE);
}

/* The VM is stopped. */
static void clock_set(s64 ns)
{
	ic.base_ns = ns - (s64)(ic.insns << ic.shift);
	__atomic_store_n(&ic.published_ns, ns, __ATOMIC_RELEASE);
}

u64 tcg_icount_read(void)
{
	if (on_thread)
		publish();
	return __atomic_load_n(&ic.published_insns, __ATOMIC_RELAXED);
}

u64 tcg_icount_cpu_read(const struct tcg_cpu *cpu)
{
	return cpu->insns + (ic.cpu == cpu ? insns_now() - ic.insns : 0);
}

s64 tcg_icount_to_ns(u64 insns)
{
	return insns <= (u64)INT64_MAX >> ic.shift ? (s64)(insns << ic.shift) : INT64_MAX;
}

bool tcg_icount_enabled(void)
{
	return ic.single;
}

/* ---- budgets ---- */

/* Instructions until the next timer is due, at most @max and at least one. */
static s32 until_timer(s32 max)
{
	s64 next = timer_next_virtual(), left;

	if (next < 0)
		return max;
	left = next - ns_now();
	if (left <= 0)
		return 1;
	left = (left + ((s64)1 << ic.shift) - 1) >> ic.shift;
	return MIN(left, max);
}

/* Book what the current turn has executed. What is taken off for its region stays so. */
static void settle(void)
{
	u64 now = insns_now();

	if (ic.cpu)
		ic.cpu->insns += now - ic.insns;
	ic.insns = now;
	ic.granted = ic.cpu ? ic.cpu->budget + (s32)tcg_cpu_refund(ic.cpu) : 0;
}

static void grant(s32 n)
{
	ic.cpu->budget = n - (s32)tcg_cpu_refund(ic.cpu);
	ic.granted = n;
}

/* The first timer has changed, or the clock has jumped. */
static void timers_changed(void)
{
	if (!on_thread) {
		tcg_single_end_turn(ic.single);
		tcg_single_wake(ic.single);
	} else if (ic.cpu) {
		settle();
		grant(until_timer(ic.granted));
	}
}

bool tcg_icount_advance_ns(s64 ns)
{
	if (!tcg_icount_enabled())
		return false;
	ic.base_ns += ns;
	timers_changed();
	return true;
}

static void run_timers(void)
{
	s64 next = timer_next_virtual();

	if (next < 0 || next > ns_now())
		return;
	machine_lock();
	timer_run_virtual();
	machine_unlock();
}

/* ---- host time ---- */

static void compare_from_now(s64 host)
{
	ic.host_ns = host;
	ic.last_ns = ns_now();
}

/* shift=auto: an instruction takes longer in guest time if the guest falls behind, and the other
 * way round. */
static void adjust_shift(void)
{
	s64 host = clock_ns(CLOCK_TYPE_REALTIME), now = ns_now(), drift;

	if (host - ic.host_ns < ADJUST_NS)
		return;
	drift = (host - ic.host_ns) - (now - ic.last_ns);
	if (drift > DRIFT_MAX_NS && ic.shift < TCG_ICOUNT_SHIFT_MAX)
		ic.shift++;
	else if (drift < -DRIFT_MAX_NS && ic.shift > 0)
		ic.shift--;
	ic.base_ns = now - (s64)(ic.insns << ic.shift);
	compare_from_now(host);
}

/* align=on: a guest that is ahead of the host waits for it. */
static void wait_for_host(void)
{
	s64 host = clock_ns(CLOCK_TYPE_REALTIME);
	s64 ahead = (ns_now() - ic.last_ns) - (host - ic.host_ns);

	if (ahead > AHEAD_MAX_NS)
		tcg_single_wait(ic.single, tcg_single_seen(ic.single), ahead);
	else if (ahead < 0) /* what is lost is lost */
		compare_from_now(host);
}

static s64 jump_to(s64 ns)
{
	s64 by = ns - ns_now();

	if (by > 0)
		ic.base_ns += by;
	publish();
	return by;
}

void icount_idle(struct tcg_single *s, u32 seen)
{
	s64 next = timer_next_virtual(), begin = clock_ns(CLOCK_TYPE_REALTIME), passed;

	if (next >= 0 && (!ic.sleep || next <= ns_now())) {
		jump_to(next);
	} else {
		tcg_single_wait(s, seen, next < 0 ? -1 : next - ns_now());
		passed = clock_ns(CLOCK_TYPE_REALTIME) - begin;
		/* No further than the timer, whatever the host took: it fires when it is due. */
		if (ic.sleep)
			jump_to(next < 0 ? ns_now() + passed : MIN(next, ns_now() + passed));
	}
	run_timers();
}

/* ---- turns ---- */

void icount_turn_begin(struct tcg_cpu *cpu, bool shared)
{
	run_timers();
	if (ic.adaptive)
		adjust_shift();
	if (ic.align)
		wait_for_host();
	ic.cpu = cpu;
	cpu->interpret = false;
	grant(until_timer(shared ? TURN_INSNS : ALONE_INSNS));
}

void icount_turn_end(struct tcg_cpu *cpu)
{
	settle();
	ic.cpu = NULL;
	ic.granted = 0;
	publish();
}

void icount_thread_init(void)
{
	on_thread = true;
	compare_from_now(clock_ns(CLOCK_TYPE_REALTIME));
}

void icount_attach(struct tcg_single *s)
{
	ic.single = s;
	clock_virtual_set_source(clock_read, clock_set);
	clock_virtual_on_first_timer(timers_changed);
}

void icount_detach(void)
{
	clock_virtual_on_first_timer(NULL);
	clock_virtual_set_source(NULL, NULL);
	ic.single = NULL;
}

/* ---- options ---- */

static int parse_shift(JsonObject *opts, GError **err)
{
	g_autofree char *text = keyval_take_str(opts, "shift");
	char *end;
	guint64 n;

	if (!text) {
		error_set(err, "shift is missing: shift=0 to shift=%u, or shift=auto",
			  TCG_ICOUNT_SHIFT_MAX);
		return -EINVAL;
	}
	ic.adaptive = !strcmp(text, "auto");
	ic.shift = SHIFT_START;
	if (ic.adaptive)
		return 0;
	n = g_ascii_strtoull(text, &end, 0);
	if (!g_ascii_isdigit(*text) || *end || n > TCG_ICOUNT_SHIFT_MAX) {
		error_set(err, "shift=%s: must be 0 to %u, or auto", text, TCG_ICOUNT_SHIFT_MAX);
		return -EINVAL;
	}
	ic.shift = n;
	return 0;
}

int tcg_icount_configure(JsonObject *opts, GError **err)
{
	static const char *const replay[] = { "rr", "rrfile", "rrsnapshot" };

	for (unsigned i = 0; i < ARRAY_SIZE(replay); i++)
		if (json_object_has_member(opts, replay[i])) {
			error_set(
				err,
				"%s: record and replay do not exist; a fixed shift with sleep=off "
				"repeats a run that gets no input",
				replay[i]);
			return -EINVAL;
		}
	ic.sleep = true;
	if (keyval_take_bool(opts, "sleep", &ic.sleep, err) == -EINVAL ||
	    keyval_take_bool(opts, "align", &ic.align, err) == -EINVAL || parse_shift(opts, err))
		return -EINVAL;
	if (ic.adaptive && (!ic.sleep || ic.align)) {
		error_set(err, "shift=auto follows the host's time: it cannot go with %s",
			  ic.sleep ? "align=on" : "sleep=off");
		return -EINVAL;
	}
	if (ic.align && !ic.sleep) {
		error_set(err, "align=on waits for the host's time: it cannot go with sleep=off");
		return -EINVAL;
	}
	ic.configured = true;
	return 0;
}

bool icount_configured(void)
{
	return ic.configured;
}
