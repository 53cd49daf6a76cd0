/*
 * accel/vcpu-control.c - park, resume and throttle vCPU threads.
 *
 * The stop protocol: whoever wants vCPUs parked sets stop_requested, kicks, and waits on cpu_cond
 * until each has set stopped. A vCPU thread calls vcpu_wait_runnable() whenever it has left guest
 * code; it decides under cpu_lock, so no request is missed between its check and its wait. That it
 * leaves guest code after a kick that comes between its last check and its entry is the
 * accelerator's duty (KVM: immediate_exit).
 */
#include "accel/vcpu.h"

#include "accel/internal.h"
#include "util/error.h"
#include "util/lock.h"
#include "util/log.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* A throttled vCPU runs this long between two sleeps. */
#define THROTTLE_RUN_US 10000

static __thread struct vcpu *this_vcpu;

/* Parked vCPUs are to look again. A thread that runs several does not wait on cpu_cond. */
static void wake_locked(struct vm *vm)
{
	g_cond_broadcast(&vm->cpu_cond);
	for (int i = 0; vm->accel && vm->accel->ops->vcpu_join && i < vm->ncpus; i++)
		vm->accel->ops->vcpu_kick(vm->accel, vm->cpus[i]);
}

/* Ends the thread and frees the vCPU, which is not in vm->cpus. */
static void end_vcpu(struct vcpu *cpu)
{
	struct vm *vm = cpu->vm;

	g_mutex_lock(&vm->cpu_lock);
	__atomic_store_n(&cpu->unplugged, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&cpu->stop_requested, true, __ATOMIC_SEQ_CST);
	g_cond_broadcast(&vm->cpu_cond);
	g_mutex_unlock(&vm->cpu_lock);
	if (cpu->thread) {
		vm->accel->ops->vcpu_kick(vm->accel, cpu);
		machine_unlock();
		if (vm->accel->ops->vcpu_join)
			vm->accel->ops->vcpu_join(vm->accel, cpu);
		else
			g_thread_join(cpu->thread);
		machine_lock();
	}
	vm->accel->ops->vcpu_destroy(vm->accel, cpu);
	g_free(cpu);
}

struct vcpu *vcpu_create(struct vm *vm, const struct cpu_ops *ops, void *arch, GError **err)
{
	struct vcpu *cpu = g_new0(struct vcpu, 1);
	int ret;

	assert(machine_lock_held() && vm->accel);
	cpu->index = vm->ncpus;
	cpu->vm = vm;
	cpu->ops = ops;
	cpu->arch = arch;
	cpu->stop_requested = true;
	ret = vm->accel->ops->vcpu_create(vm->accel, cpu, err);
	if (ret) {
		g_free(cpu);
		return NULL;
	}
	if (vcpu_reset(cpu, err)) {
		end_vcpu(cpu);
		return NULL;
	}
	g_mutex_lock(&vm->cpu_lock);
	vm->cpus = g_renew(struct vcpu *, vm->cpus, vm->ncpus + 1);
	vm->cpus[vm->ncpus++] = cpu;
	__atomic_store_n(&cpu->stop_requested, !vm_running(vm), __ATOMIC_SEQ_CST);
	wake_locked(vm);
	g_mutex_unlock(&vm->cpu_lock);
	return cpu;
}

void vcpu_destroy(struct vcpu *cpu)
{
	struct vm *vm = cpu->vm;

	assert(machine_lock_held() && vm->cpus[vm->ncpus - 1] == cpu);
	g_mutex_lock(&vm->cpu_lock);
	vm->ncpus--;
	g_mutex_unlock(&vm->cpu_lock);
	end_vcpu(cpu);
}

int vcpu_get_state(struct vcpu *cpu, GError **err)
{
	const struct accel_ops *ops = cpu->vm->accel->ops;

	return ops->vcpu_get_state ? ops->vcpu_get_state(cpu->vm->accel, cpu, err) : 0;
}

int vcpu_put_state(struct vcpu *cpu, GError **err)
{
	const struct accel_ops *ops = cpu->vm->accel->ops;

	return ops->vcpu_put_state ? ops->vcpu_put_state(cpu->vm->accel, cpu, err) : 0;
}

int vcpu_reset(struct vcpu *cpu, GError **err)
{
	assert(machine_lock_held());
	cpu->halted = false;
	cpu->ops->reset(cpu);
	if (log_enabled(LOG_CPU_RESET) && cpu->ops->describe) {
		g_autofree char *text = cpu->ops->describe(cpu);

		log_write(LOG_CPU_RESET, "CPU %d is reset\n%s", cpu->index, text);
	}
	return vcpu_put_state(cpu, err);
}

void vcpu_thread_init(struct vcpu *cpu)
{
	char *accel = g_ascii_strup(cpu->vm->accel->ops->name, -1);
	char name[16];
	sigset_t set;

	this_vcpu = cpu;
	cpu->tid = gettid();
	/* The name that QEMU gives with debug-threads=on; tools look for it. */
	g_snprintf(name, sizeof(name), "CPU %d/%s", cpu->index, accel);
	g_free(accel);
	pthread_setname_np(pthread_self(), name);
	/* Signals of the process belong to the main thread; SIGUSR1 is the kick. What a thread
	 * brings on itself must reach its handler: blocked, it ends the process without a word. */
	sigfillset(&set);
	sigdelset(&set, SIGUSR1);
	sigdelset(&set, SIGBUS);
	sigdelset(&set, SIGSEGV);
	sigdelset(&set, SIGILL);
	sigdelset(&set, SIGFPE);
	sigdelset(&set, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
}

struct vcpu *vcpu_self(void)
{
	return this_vcpu;
}

void vcpu_thread_is(struct vcpu *cpu)
{
	this_vcpu = cpu;
}

void vcpu_park_self(void)
{
	struct vcpu *cpu = this_vcpu;

	if (!cpu)
		return;
	g_mutex_lock(&cpu->vm->cpu_lock);
	__atomic_store_n(&cpu->stop_requested, true, __ATOMIC_SEQ_CST);
	g_mutex_unlock(&cpu->vm->cpu_lock);
	cpu->vm->accel->ops->vcpu_kick(cpu->vm->accel, cpu);
}

static bool all_parked(struct vm *vm)
{
	for (int i = 0; i < vm->ncpus; i++)
		if (vm->cpus[i]->thread && !vm->cpus[i]->stopped)
			return false;
	return true;
}

void vcpu_stop_all(struct vm *vm)
{
	assert(machine_lock_held() && !this_vcpu);
	g_mutex_lock(&vm->cpu_lock);
	for (int i = 0; i < vm->ncpus; i++)
		__atomic_store_n(&vm->cpus[i]->stop_requested, true, __ATOMIC_SEQ_CST);
	/* Ends throttle sleeps. */
	g_cond_broadcast(&vm->cpu_cond);
	for (int i = 0; i < vm->ncpus; i++)
		if (vm->cpus[i]->thread)
			vm->accel->ops->vcpu_kick(vm->accel, vm->cpus[i]);
	if (!all_parked(vm)) {
		/* A vCPU may be waiting for the machine lock. It is not taken under cpu_lock. */
		machine_unlock();
		while (!all_parked(vm))
			g_cond_wait(&vm->cpu_cond, &vm->cpu_lock);
		g_mutex_unlock(&vm->cpu_lock);
		machine_lock();
		return;
	}
	g_mutex_unlock(&vm->cpu_lock);
}

void vcpu_resume_all(struct vm *vm)
{
	assert(machine_lock_held());
	g_mutex_lock(&vm->cpu_lock);
	for (int i = 0; i < vm->ncpus; i++)
		__atomic_store_n(&vm->cpus[i]->stop_requested, false, __ATOMIC_SEQ_CST);
	wake_locked(vm);
	g_mutex_unlock(&vm->cpu_lock);
}

/* Whether a vCPU that is neither stopped nor unplugged sleeps, and then until when. */
static bool is_throttled_locked(struct vcpu *cpu, s64 *until_us)
{
	s64 until = cpu->throttle_until_us;

	if (!until)
		return false;
	if (until <= g_get_monotonic_time()) {
		__atomic_store_n(&cpu->throttle_until_us, 0, __ATOMIC_RELAXED);
		return false;
	}
	*until_us = *until_us ? MIN(*until_us, until) : until;
	return true;
}

bool vcpu_wait_runnable(struct vcpu *cpu)
{
	struct vm *vm = cpu->vm;

	if (likely(!vcpu_must_park(cpu)))
		return true;
	g_mutex_lock(&vm->cpu_lock);
	while (!cpu->unplugged) {
		s64 until = 0;

		if (cpu->stop_requested) {
			if (!cpu->stopped)
				g_cond_broadcast(&vm->cpu_cond);
			cpu->stopped = true;
			g_cond_wait(&vm->cpu_cond, &vm->cpu_lock);
			continue;
		}
		cpu->stopped = false;
		if (!is_throttled_locked(cpu, &until))
			break;
		g_cond_wait_until(&vm->cpu_cond, &vm->cpu_lock, until);
	}
	if (cpu->unplugged) {
		cpu->stopped = true;
		g_cond_broadcast(&vm->cpu_cond);
	}
	g_mutex_unlock(&vm->cpu_lock);
	return !cpu->unplugged;
}

enum vcpu_state vcpu_poll(struct vcpu *cpu, s64 *until_us)
{
	enum vcpu_state state;
	bool stopped;

	if (likely(!vcpu_must_park(cpu) && !cpu->stopped))
		return VCPU_RUNS;
	g_mutex_lock(&cpu->vm->cpu_lock);
	stopped = cpu->unplugged || cpu->stop_requested;
	if (stopped && !cpu->stopped)
		g_cond_broadcast(&cpu->vm->cpu_cond);
	cpu->stopped = stopped;
	if (cpu->unplugged)
		state = VCPU_ENDED;
	else
		state = stopped || is_throttled_locked(cpu, until_us) ? VCPU_PARKED : VCPU_RUNS;
	g_mutex_unlock(&cpu->vm->cpu_lock);
	return state;
}

/* Sends every throttled vCPU that is due to sleep; returns when the next one is due, 0: never. */
static s64 throttle_round(struct vm *vm)
{
	s64 now = g_get_monotonic_time(), next = 0;

	for (int i = 0; i < vm->ncpus; i++) {
		struct vcpu *cpu = vm->cpus[i];
		s64 pct = cpu->throttle_pct;

		if (!pct)
			continue;
		if (cpu->throttle_next_us <= now) {
			s64 until = now + THROTTLE_RUN_US * pct / (100 - pct);

			cpu->throttle_next_us = until + THROTTLE_RUN_US;
			if (cpu->thread && !cpu->stopped) {
				__atomic_store_n(&cpu->throttle_until_us, until, __ATOMIC_RELAXED);
				vm->accel->ops->vcpu_kick(vm->accel, cpu);
			}
		}
		next = next ? MIN(next, cpu->throttle_next_us) : cpu->throttle_next_us;
	}
	return next;
}

static gpointer throttle_thread(gpointer opaque)
{
	struct vm *vm = opaque;

	g_mutex_lock(&vm->cpu_lock);
	while (!vm->throttle_quit) {
		s64 next = throttle_round(vm);

		if (next)
			g_cond_wait_until(&vm->cpu_cond, &vm->cpu_lock, next);
		else
			g_cond_wait(&vm->cpu_cond, &vm->cpu_lock);
	}
	g_mutex_unlock(&vm->cpu_lock);
	return NULL;
}

static void throttle_set_locked(struct vcpu *cpu, unsigned pct)
{
	assert(pct < 100);
	__atomic_store_n(&cpu->throttle_pct, pct, __ATOMIC_RELAXED);
	if (!pct)
		__atomic_store_n(&cpu->throttle_until_us, 0, __ATOMIC_RELAXED);
	if (pct && !cpu->vm->throttle_thread)
		cpu->vm->throttle_thread = g_thread_new("throttle", throttle_thread, cpu->vm);
	wake_locked(cpu->vm);
}

void vcpu_throttle_set_one(struct vcpu *cpu, unsigned pct)
{
	g_mutex_lock(&cpu->vm->cpu_lock);
	throttle_set_locked(cpu, pct);
	g_mutex_unlock(&cpu->vm->cpu_lock);
}

void vcpu_throttle_set(struct vm *vm, unsigned pct)
{
	g_mutex_lock(&vm->cpu_lock);
	for (int i = 0; i < vm->ncpus; i++)
		throttle_set_locked(vm->cpus[i], pct);
	g_mutex_unlock(&vm->cpu_lock);
}

void vcpu_throttle_finish(struct vm *vm)
{
	g_mutex_lock(&vm->cpu_lock);
	vm->throttle_quit = true;
	g_cond_broadcast(&vm->cpu_cond);
	g_mutex_unlock(&vm->cpu_lock);
	if (vm->throttle_thread)
		g_thread_join(vm->throttle_thread);
	vm->throttle_thread = NULL;
}

void vm_change_begin(struct vm *vm)
{
	assert(machine_lock_held() && !this_vcpu);
	g_mutex_lock(&vm->cpu_lock);
	if (vm->changing) {
		machine_unlock();
		while (vm->changing)
			g_cond_wait(&vm->cpu_cond, &vm->cpu_lock);
		vm->changing = true;
		g_mutex_unlock(&vm->cpu_lock);
		machine_lock();
		return;
	}
	vm->changing = true;
	g_mutex_unlock(&vm->cpu_lock);
}

void vm_change_end(struct vm *vm)
{
	g_mutex_lock(&vm->cpu_lock);
	vm->changing = false;
	g_cond_broadcast(&vm->cpu_cond);
	g_mutex_unlock(&vm->cpu_lock);
}
