/*
 * accel/accel.h - what runs vCPUs: KVM, TCG, or nothing (qtest).
 */
#ifndef ACCEL_ACCEL_H
#define ACCEL_ACCEL_H

#include "accel/vm.h"

#include <json-glib/json-glib.h>

struct accel;
struct vcpu;

struct ioeventfd {
	u64 addr;
	u64 match;
	u32 size;  /* bytes: 1, 2, 4, 8; 0 with any: any size */
	bool any;  /* any value */
	bool port; /* in the port address space */
	int fd;
};

/* One accelerator; a const table each, listed in the target's description. */
struct accel_ops {
	const char *name; /* "kvm", "tcg", "qtest" */
	const char *desc;
	const char *props_help; /* one property a line, for -accel NAME,help */

	/*
	 * create() - open the accelerator for a VM.
	 * @props: options of -accel, and those of -machine that concern it (kernel-irqchip, ...);
	 *         taken members are removed.
	 * Return: the accelerator; NULL with @err: absent, no permission, bad property.
	 */
	struct accel *(*create)(struct vm *vm, JsonObject *props, GError **err);
	void (*destroy)(struct accel *a);

	/* The tracking back end; NULL ops: vCPUs never write memory. */
	const struct dirty_log_ops *(*dirty_log)(struct accel *a, void **backend);

	/* vcpu_create(): prepare @cpu and start its thread, halted until vm_start(). */
	int (*vcpu_create)(struct accel *a, struct vcpu *cpu, GError **err);
	void (*vcpu_destroy)(struct accel *a, struct vcpu *cpu);
	/* vcpu_join(): wait until the unplugged vCPU is no longer run, for accelerators that may
	 * run several on one thread; machine lock not held. NULL: its thread ends. */
	void (*vcpu_join)(struct accel *a, struct vcpu *cpu);
	/* vcpu_kick(): make the vCPU leave guest code soon. Any thread, takes no locks. */
	void (*vcpu_kick)(struct accel *a, struct vcpu *cpu);
	/* Bring registers into / push them out of cpu->arch; VM stopped or on the vCPU's thread. */
	int (*vcpu_get_state)(struct accel *a, struct vcpu *cpu, GError **err);
	int (*vcpu_put_state)(struct accel *a, struct vcpu *cpu, GError **err);

	/* Interrupt lines and fast notification; NULL where the accelerator has none. */
	void (*gsi_set)(struct accel *a, unsigned gsi, bool level);
	/* Message-signalled interrupts: send one now; or a route (a gsi for irqfd_add()) to one.
	 * Return: 0, a gsi, or -errno. */
	int (*msi_send)(struct accel *a, u64 addr, u32 data);
	int (*msi_route_add)(struct accel *a, u64 addr, u32 data);
	int (*msi_route_change)(struct accel *a, unsigned gsi, u64 addr, u32 data);
	void (*msi_route_del)(struct accel *a, unsigned gsi);
	int (*irqfd_add)(struct accel *a, unsigned gsi, int fd);
	int (*irqfd_del)(struct accel *a, unsigned gsi, int fd);
	/* ioeventfd: a guest write of @size bytes (and of value @match unless @any) at @addr only
	 * signals @fd. */
	int (*ioeventfd_add)(struct accel *a, const struct ioeventfd *e);
	int (*ioeventfd_del)(struct accel *a, const struct ioeventfd *e);

	/* debug_changed() - vm->debug has; vCPUs parked, machine lock held. NULL: the accelerator
	 * cannot debug. */
	void (*debug_changed)(struct accel *a);

	/* VM-wide state that must be saved: guest clock. NULL: none. */
	void (*vm_state_changed)(struct accel *a, bool running);
};

struct accel {
	const struct accel_ops *ops;
	struct vm *vm;
	bool irqchip; /* interrupt controllers live in the kernel */
};

extern const struct accel_ops kvm_accel_ops;
extern const struct accel_ops qtest_accel_ops;
extern const struct accel_ops tcg_accel_ops;

#endif
