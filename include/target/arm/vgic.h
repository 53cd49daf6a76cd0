/*
 * target/arm/vgic.h - a GICv3 in the kernel (KVM_DEV_TYPE_ARM_VGIC_V3); there is one only where the
 * accelerator has irqchip set.
 *
 * Source: Linux Documentation/virt/kvm/devices/arm-vgic-v3.rst.
 */
#ifndef TARGET_ARM_VGIC_H
#define TARGET_ARM_VGIC_H

#include "accel/vm.h"

struct arm_vgic;

struct arm_vgic_config {
	u64 dist_base; /* guest physical */
	struct {
		u64 base;
		unsigned cpus; /* 0: no such region */
	} redist[2];
	unsigned irqs; /* SGIs, PPIs and SPIs; a multiple of 32 */
};

/* What a register's number counts in. */
enum arm_vgic_space {
	ARM_VGIC_DIST,   /* byte offset in the distributor, 32 bits each */
	ARM_VGIC_REDIST, /* byte offset in a redistributor, 32 bits each */
	ARM_VGIC_CPU,    /* SYSREG() of an ICC register */
	ARM_VGIC_LEVEL,  /* first of 32 INTIDs: levels of their inputs */
};

/* Many registers on their way to the kernel, or out of it. */
struct arm_vgic_move {
	struct arm_vgic *vgic;
	bool to_kernel;
	int ret;      /* 0, or -errno of the first that failed; the others are then left alone */
	GError **err; /* set with it */
};

#ifdef ARM_KVM

/*
 * arm_vgic_create() - the controller for all vCPUs that there are.
 *
 * Return: NULL with @err: the kernel has no such device, or an address does not fit.
 * Context: main thread, machine lock held; all vCPUs created, none has run.
 */
struct arm_vgic *arm_vgic_create(struct vm *vm, const struct arm_vgic_config *config, GError **err);
void arm_vgic_destroy(struct arm_vgic *vgic);

/*
 * arm_vgic_move() - one register.
 * @mpidr: affinity of the CPU in MPIDR_EL1's layout; not looked at for the distributor.
 * @val:   what to write when @m goes to the kernel.
 *
 * Return: the register's value; @val when it was written or something has failed.
 * Context: vCPUs parked.
 */
u64 arm_vgic_move(struct arm_vgic_move *m, enum arm_vgic_space space, u64 mpidr, u32 reg, u64 val);

#else

static inline struct arm_vgic *arm_vgic_create(struct vm *vm, const struct arm_vgic_config *config,
					       GError **err)
{
	return NULL; /* no accelerator here has irqchip set */
}

static inline void arm_vgic_destroy(struct arm_vgic *vgic)
{
}

static inline u64 arm_vgic_move(struct arm_vgic_move *m, enum arm_vgic_space space, u64 mpidr,
				u32 reg, u64 val)
{
	return val;
}

#endif
#endif
