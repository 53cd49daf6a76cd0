/* accel/vm.c - the part of a machine that executes: its life from creation to destruction. */
#include "accel/vm.h"

#include "accel/accel.h"
#include "accel/internal.h"
#include "accel/vcpu.h"
#include "util/error.h"
#include "util/lock.h"

#include <assert.h>

struct vm *vm_create(bool with_io, const struct vm_owner *owner)
{
	struct vm *vm = g_new0(struct vm, 1);

	vm->ram = ram_list_create();
	vm->memory = address_space_create("memory");
	vm->io = with_io ? address_space_create("I/O") : NULL;
	vm->state = RUN_STATE_PRELAUNCH;
	vm->owner = *owner;
	g_mutex_init(&vm->cpu_lock);
	g_cond_init(&vm->cpu_cond);
	g_atomic_ref_count_init(&vm->refs);
	return vm;
}

void vm_unref(struct vm *vm)
{
	if (g_atomic_ref_count_dec(&vm->refs)) {
		g_mutex_clear(&vm->cpu_lock);
		g_cond_clear(&vm->cpu_cond);
		g_free(vm);
	}
}

void vm_destroy(struct vm *vm)
{
	if (!vm)
		return;
	assert(machine_lock_held());
	vcpu_stop_all(vm);
	vcpu_throttle_finish(vm);
	while (vm->ncpus)
		vcpu_destroy(vm->cpus[vm->ncpus - 1]);
	g_free(vm->cpus);
	vm->cpus = NULL;
	vm_debug_free(vm);
	if (vm->tracker)
		dirty_tracker_destroy(vm->tracker);
	if (vm->accel)
		vm->accel->ops->destroy(vm->accel);
	vm->accel = NULL;
	address_space_destroy(vm->memory);
	if (vm->io)
		address_space_destroy(vm->io);
	ram_list_destroy(vm->ram);
	vm->destroyed = true;
	vm_unref(vm);
}

int vm_attach_accel(struct vm *vm, const struct accel_ops *ops, JsonObject *props, GError **err)
{
	const struct dirty_log_ops *log = NULL;
	void *backend = NULL;

	assert(machine_lock_held() && !vm->accel);
	vm->accel = ops->create(vm, props, err);
	if (!vm->accel)
		return -ENODEV;
	if (ops->dirty_log)
		log = ops->dirty_log(vm->accel, &backend);
	vm->tracker = dirty_tracker_create(vm->ram, log, backend);
	return 0;
}
