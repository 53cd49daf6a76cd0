/*
 * accel/kvm/pause.c - keep vCPU threads out of KVM_RUN for a moment.
 *
 * Unlike a stop this does not park them: guest time goes on and device emulation may proceed. It is
 * for changes that KVM cannot make atomically (memory slots, repair of a dirty ring).
 */
#include "accel/kvm/kvm.h"

static int vcpu_count(struct kvm_accel *kvm)
{
	return __atomic_load_n(&kvm->nvcpus, __ATOMIC_ACQUIRE);
}

void kvm_run_enter(struct kvm_vcpu *kv)
{
	struct kvm_accel *kvm = kv->kvm;

	for (;;) {
		/* Pairs with kvm_pause(): one of the two sees the other's store. */
		__atomic_store_n(&kv->in_run, 1, __ATOMIC_SEQ_CST);
		if (likely(!__atomic_load_n(&kvm->inhibit, __ATOMIC_SEQ_CST)))
			return;
		g_mutex_lock(&kvm->pause_lock);
		__atomic_store_n(&kv->in_run, 0, __ATOMIC_SEQ_CST);
		g_cond_broadcast(&kvm->pause_cond);
		while (kvm->inhibit)
			g_cond_wait(&kvm->pause_cond, &kvm->pause_lock);
		g_mutex_unlock(&kvm->pause_lock);
	}
}

void kvm_run_leave(struct kvm_vcpu *kv)
{
	struct kvm_accel *kvm = kv->kvm;

	__atomic_fetch_add(&kv->exits, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&kv->in_run, 0, __ATOMIC_SEQ_CST);
	if (unlikely(__atomic_load_n(&kvm->watchers, __ATOMIC_SEQ_CST))) {
		g_mutex_lock(&kvm->pause_lock);
		g_cond_broadcast(&kvm->pause_cond);
		g_mutex_unlock(&kvm->pause_lock);
	}
}

static bool in_run(struct kvm_vcpu *kv)
{
	return __atomic_load_n(&kv->in_run, __ATOMIC_SEQ_CST);
}

/* Waits until @kv is outside KVM_RUN or has left it since its exits were @since. */
static void wait_exit(struct kvm_vcpu *kv, u64 since)
{
	while (in_run(kv) && __atomic_load_n(&kv->exits, __ATOMIC_SEQ_CST) == since)
		g_cond_wait(&kv->kvm->pause_cond, &kv->kvm->pause_lock);
}

/* pause_lock held. Also waits for vCPUs that are just entering: they see inhibit and turn back. */
static void kick_and_wait(struct kvm_accel *kvm, bool stay_out)
{
	int n = vcpu_count(kvm);
	g_autofree u64 *since = g_new(u64, MAX(n, 1));

	__atomic_fetch_add(&kvm->watchers, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < n; i++) {
		since[i] = __atomic_load_n(&kvm->vcpus[i]->exits, __ATOMIC_SEQ_CST);
		if (in_run(kvm->vcpus[i]))
			kvm_vcpu_kick(&kvm->base, kvm->vcpus[i]->cpu);
	}
	for (int i = 0; i < n; i++) {
		wait_exit(kvm->vcpus[i], since[i]);
		while (stay_out && in_run(kvm->vcpus[i]))
			g_cond_wait(&kvm->pause_cond, &kvm->pause_lock);
	}
	__atomic_fetch_sub(&kvm->watchers, 1, __ATOMIC_SEQ_CST);
}

void kvm_pause(struct kvm_accel *kvm)
{
	g_mutex_lock(&kvm->pause_lock);
	__atomic_fetch_add(&kvm->inhibit, 1, __ATOMIC_SEQ_CST);
	kick_and_wait(kvm, true);
	g_mutex_unlock(&kvm->pause_lock);
}

void kvm_unpause(struct kvm_accel *kvm)
{
	g_mutex_lock(&kvm->pause_lock);
	__atomic_fetch_sub(&kvm->inhibit, 1, __ATOMIC_SEQ_CST);
	g_cond_broadcast(&kvm->pause_cond);
	g_mutex_unlock(&kvm->pause_lock);
}

void kvm_flush_vcpus(struct kvm_accel *kvm)
{
	g_mutex_lock(&kvm->pause_lock);
	kick_and_wait(kvm, false);
	g_mutex_unlock(&kvm->pause_lock);
}
