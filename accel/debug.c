/* accel/debug.c - what a debugger wants of the vCPUs, and what they came upon. */
#include "accel/debug.h"
#include "accel/internal.h"
#include "util/lock.h"

#include <assert.h>

bool vm_debug_supported(const struct vm *vm)
{
	return vm->accel && vm->accel->ops->debug_changed;
}

static struct vm_debug *debug_of(struct vm *vm)
{
	assert(machine_lock_held());
	if (!vm->debug) {
		vm->debug = g_new0(struct vm_debug, 1);
		vm->debug->points = g_array_new(FALSE, TRUE, sizeof(struct debug_point));
		vm->debug->step_cpu = -1;
	}
	return vm->debug;
}

static void changed(struct vm *vm)
{
	vm->accel->ops->debug_changed(vm->accel);
}

static int find(const struct vm_debug *d, const struct debug_point *p)
{
	for (unsigned i = 0; i < d->points->len; i++) {
		const struct debug_point *q = &g_array_index(d->points, struct debug_point, i);

		if (q->kind == p->kind && q->addr == p->addr && q->len == p->len)
			return i;
	}
	return -ENOENT;
}

int vm_debug_insert(struct vm *vm, const struct debug_point *p)
{
	struct vm_debug *d = debug_of(vm);

	if (find(d, p) < 0) {
		g_array_append_val(d->points, *p);
		changed(vm);
	}
	return 0;
}

int vm_debug_remove(struct vm *vm, const struct debug_point *p)
{
	struct vm_debug *d = debug_of(vm);
	int at = find(d, p);

	if (at < 0)
		return at;
	g_array_remove_index(d->points, at);
	changed(vm);
	return 0;
}

void vm_debug_clear(struct vm *vm)
{
	struct vm_debug *d = debug_of(vm);

	g_array_set_size(d->points, 0);
	d->step_cpu = -1;
	changed(vm);
}

bool vm_debug_active(const struct vm *vm)
{
	const struct vm_debug *d = vm->debug;

	return d && (d->points->len || d->step_cpu >= 0);
}

void vm_debug_step(struct vm *vm, int index, bool alone)
{
	struct vm_debug *d = debug_of(vm);

	d->step_cpu = index;
	d->only_step = alone;
	changed(vm);
}

struct debug_event vm_debug_take_event(struct vm *vm)
{
	struct vm_debug *d = debug_of(vm);
	struct debug_event event;

	g_mutex_lock(&vm->cpu_lock);
	event = d->event;
	d->event.kind = DEBUG_NONE;
	g_mutex_unlock(&vm->cpu_lock);
	return event;
}

void vm_debug_report(struct vcpu *cpu, enum debug_kind kind, u64 addr)
{
	struct vm *vm = cpu->vm;

	g_mutex_lock(&vm->cpu_lock);
	if (vm->debug->event.kind == DEBUG_NONE)
		vm->debug->event =
			(struct debug_event){ .kind = kind, .addr = addr, .cpu = cpu->index };
	g_mutex_unlock(&vm->cpu_lock);
	vm_request_stop(vm, RUN_STATE_DEBUG);
}

void vm_debug_free(struct vm *vm)
{
	if (vm->debug)
		g_array_free(vm->debug->points, TRUE);
	g_clear_pointer(&vm->debug, g_free);
}
