/*
 * accel/tcg/single.c - all vCPUs on one thread, in turns (thread=single).
 *
 * A turn ends when the vCPU waits (WFI, WFE, YIELD, power off), after TURN_MS of host time while
 * there are others, or, when instructions are counted, after a number of them. Nothing of a turn's
 * length or order then depends on the host.
 */
#include "accel/tcg/single.h"

#include "accel/tcg/accel.h"
#include "accel/tcg/icount-turn.h"
#include "util/timer.h"

#include <assert.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_MS 10

struct tcg_single {
	struct vm *vm;
	bool counted;
	GPtrArray *cpus;         /* of struct vcpu; vm->cpu_lock */
	GThread *thread;         /* NULL: no vCPUs */
	pid_t tid;               /* its id, 0 until it has told; vm->cpu_lock */
	struct tcg_cpu *current; /* atomic; NULL: between turns */
	u32 wake;                /* atomic; futex: grows with every wake-up */
	int sleeping;            /* atomic */
	struct timer turn;       /* ends a turn; not when counted */
};

/* What came of one look at every vCPU. */
struct round {
	bool ran;     /* one or more had a turn */
	bool parked;  /* one or more may not run at all now */
	s64 until_us; /* a throttled one may run again then; 0: none is */
};

u32 tcg_single_seen(const struct tcg_single *s)
{
	return __atomic_load_n(&s->wake, __ATOMIC_SEQ_CST);
}

/* As with tcg_cpu_kick(): either the sleeper sees that wake has grown, or it is seen sleeping. */
void tcg_single_wake(struct tcg_single *s)
{
	__atomic_fetch_add(&s->wake, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->sleeping, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &s->wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void tcg_single_wait(struct tcg_single *s, u32 seen, s64 ns)
{
	struct timespec limit = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	__atomic_store_n(&s->sleeping, 1, __ATOMIC_SEQ_CST);
	/* The futex itself compares with what was seen. */
	syscall(SYS_futex, &s->wake, FUTEX_WAIT_PRIVATE, seen, ns < 0 ? NULL : &limit, NULL, 0);
	__atomic_store_n(&s->sleeping, 0, __ATOMIC_SEQ_CST);
}

void tcg_single_end_turn(struct tcg_single *s)
{
	struct tcg_cpu *cpu = __atomic_load_n(&s->current, __ATOMIC_SEQ_CST);

	if (cpu)
		tcg_cpu_end_turn(cpu);
}

static void turn_expired(void *opaque)
{
	tcg_single_end_turn(opaque);
}

static struct tcg_vcpu *tcg_of(struct vcpu *cpu)
{
	return cpu->accel_data;
}

static struct vcpu *cpu_at(struct tcg_single *s, unsigned i)
{
	struct vcpu *cpu;

	g_mutex_lock(&s->vm->cpu_lock);
	cpu = i < s->cpus->len ? g_ptr_array_index(s->cpus, i) : NULL;
	g_mutex_unlock(&s->vm->cpu_lock);
	return cpu;
}

static unsigned count(struct tcg_single *s)
{
	unsigned n;

	g_mutex_lock(&s->vm->cpu_lock);
	n = s->cpus->len;
	g_mutex_unlock(&s->vm->cpu_lock);
	return n;
}

static void drop(struct tcg_single *s, struct vcpu *cpu)
{
	g_mutex_lock(&s->vm->cpu_lock);
	g_ptr_array_remove(s->cpus, cpu);
	g_cond_broadcast(&s->vm->cpu_cond);
	g_mutex_unlock(&s->vm->cpu_lock);
}

/* Whether it has anything to do: it does not wait, or something has come since it began to. */
static bool is_ready(struct vcpu *cpu)
{
	const struct tcg_vcpu *v = tcg_of(cpu);

	return !v->debug.hold &&
	       (!v->tcg->idle || __atomic_load_n(&v->tcg->exit_request, __ATOMIC_SEQ_CST));
}

bool tcg_single_others_ready(struct tcg_single *s, const struct tcg_cpu *self)
{
	bool any = false;

	g_mutex_lock(&s->vm->cpu_lock);
	for (unsigned i = 0; i < s->cpus->len && !any; i++) {
		struct vcpu *cpu = g_ptr_array_index(s->cpus, i);

		any = tcg_of(cpu)->tcg != self && is_ready(cpu);
	}
	g_mutex_unlock(&s->vm->cpu_lock);
	return any;
}

static void take_turn(struct tcg_single *s, struct vcpu *cpu)
{
	struct tcg_cpu *tcg = tcg_of(cpu)->tcg;
	unsigned n = count(s);

	vcpu_thread_is(cpu);
	__atomic_store_n(&s->current, tcg, __ATOMIC_SEQ_CST);
	tcg->idle = false;
	__atomic_store_n(&tcg->turn_over, false, __ATOMIC_SEQ_CST);
	if (s->counted)
		icount_turn_begin(tcg, n > 1);
	else if (n > 1 && !timer_pending(&s->turn))
		timer_mod(&s->turn, clock_ns(CLOCK_TYPE_REALTIME) + TURN_MS * NS_PER_MS);
	/* Whether it may run at all is the target's to say: ops->service comes first. */
	__atomic_store_n(&tcg->exit_request, 1, __ATOMIC_SEQ_CST);
	tcg_run(tcg);
	if (s->counted)
		icount_turn_end(tcg);
	__atomic_store_n(&s->current, NULL, __ATOMIC_SEQ_CST);
	vcpu_thread_is(NULL);
}

static struct round look_at_all(struct tcg_single *s)
{
	struct round r = { 0 };
	struct vcpu *cpu;

	for (unsigned i = 0; (cpu = cpu_at(s, i)); i++) {
		switch (vcpu_poll(cpu, &r.until_us)) {
		case VCPU_ENDED:
			drop(s, cpu);
			i--;
			break;
		case VCPU_PARKED: r.parked = true; break;
		case VCPU_RUNS:
			if (!is_ready(cpu))
				break;
			r.ran = true;
			take_turn(s, cpu);
			break;
		}
	}
	return r;
}

static void wait_for_something(struct tcg_single *s, u32 seen, const struct round *r)
{
	s64 us = r->until_us ? MAX(r->until_us - g_get_monotonic_time(), 0) : -1;

	/* The virtual clock stands while the VM does, and for one that is throttled. */
	if (s->counted && !r->parked)
		icount_idle(s, seen);
	else
		tcg_single_wait(s, seen, us < 0 ? -1 : us * 1000);
}

static gpointer single_thread(gpointer opaque)
{
	struct tcg_single *s = opaque;

	vcpu_thread_init(cpu_at(s, 0));
	vcpu_thread_is(NULL);
	g_mutex_lock(&s->vm->cpu_lock);
	s->tid = gettid();
	g_cond_broadcast(&s->vm->cpu_cond);
	g_mutex_unlock(&s->vm->cpu_lock);
	pthread_setname_np(pthread_self(), "ALL CPUs/TCG"); /* as QEMU calls it */
	if (s->counted)
		icount_thread_init();
	while (count(s)) {
		u32 seen = tcg_single_seen(s);
		struct round r = look_at_all(s);

		if (!r.ran && count(s))
			wait_for_something(s, seen, &r);
	}
	return NULL;
}

void tcg_single_add(struct tcg_single *s, struct vcpu *cpu)
{
	tcg_of(cpu)->tcg->single = s;
	tcg_of(cpu)->tcg->counted = s->counted;
	g_mutex_lock(&s->vm->cpu_lock);
	g_ptr_array_add(s->cpus, cpu);
	g_mutex_unlock(&s->vm->cpu_lock);
	if (!s->thread)
		s->thread = g_thread_new("vcpu", single_thread, s);
	cpu->thread = s->thread;
	g_mutex_lock(&s->vm->cpu_lock);
	while (!s->tid)
		g_cond_wait(&s->vm->cpu_cond, &s->vm->cpu_lock);
	cpu->tid = s->tid;
	g_mutex_unlock(&s->vm->cpu_lock);
	tcg_single_wake(s);
}

void tcg_single_join(struct tcg_single *s, struct vcpu *cpu)
{
	bool last;

	g_mutex_lock(&s->vm->cpu_lock);
	while (g_ptr_array_find(s->cpus, cpu, NULL))
		g_cond_wait(&s->vm->cpu_cond, &s->vm->cpu_lock);
	last = !s->cpus->len;
	g_mutex_unlock(&s->vm->cpu_lock);
	if (!last)
		return;
	g_thread_join(g_steal_pointer(&s->thread));
	s->tid = 0;
}

struct tcg_single *tcg_single_create(struct vm *vm, bool counted)
{
	struct tcg_single *s = g_new0(struct tcg_single, 1);

	s->vm = vm;
	s->counted = counted;
	s->cpus = g_ptr_array_new();
	timer_init(&s->turn, CLOCK_TYPE_REALTIME, turn_expired, s);
	if (counted)
		icount_attach(s);
	return s;
}

void tcg_single_destroy(struct tcg_single *s)
{
	assert(!s->thread);
	if (s->counted)
		icount_detach();
	timer_del(&s->turn);
	g_ptr_array_free(s->cpus, TRUE);
	g_free(s);
}
