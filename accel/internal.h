/* accel/internal.h - what the files of accel/ share and nobody else uses. */
#ifndef ACCEL_INTERNAL_H
#define ACCEL_INTERNAL_H

struct vm;

/* vm_unref() - drop a reference; the last one frees @vm. Any thread. */
void vm_unref(struct vm *vm);

/*
 * vm_change_begin(), vm_change_end() - one start, stop or reset at a time.
 *
 * Context: machine lock held; begin drops it while another change is under way, so what the caller
 * read before is stale. Not recursive.
 */
void vm_change_begin(struct vm *vm);
void vm_change_end(struct vm *vm);

/* vcpu_throttle_finish() - end the throttle thread. Machine lock held. */
void vcpu_throttle_finish(struct vm *vm);

/* vm_debug_free() - forget all that a debugger set. The vCPUs are gone. */
void vm_debug_free(struct vm *vm);

#endif
