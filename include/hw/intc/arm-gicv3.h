/*
 * hw/intc/arm-gicv3.h - Arm's Generic Interrupt Controller, version 3 (Arm IHI 0069).
 */
#ifndef HW_INTC_ARM_GICV3_H
#define HW_INTC_ARM_GICV3_H

#include "hw/device.h"

struct arm_cpu;

#define ARM_GICV3_TYPE        "arm-gicv3"
#define ARM_GICV3_KERNEL_TYPE "kvm-arm-gicv3"
#define ARM_GICV3_ITS_TYPE    "arm-gicv3-its"

#define ARM_GIC_INTERNAL 32      /* INTIDs of SGIs and PPIs; SPI n is INTID 32 + n */
#define ARM_GICV3_SPIS   988     /* most SPIs that there can be */
#define ARM_GICV3_REGION 0x20000 /* bytes of one redistributor: two frames of 64 KiB */

/* Where redistributors lie: those of @cpus CPUs one after the other. */
struct arm_gicv3_region {
	u64 base; /* guest physical */
	unsigned cpus;
};

struct arm_gicv3_config {
	u64 dist_base;                     /* guest physical, 64 KiB */
	struct arm_gicv3_region redist[2]; /* in the order of the CPUs; second one: cpus 0 = none */
	bool lpis;                         /* message-signalled interrupts by an ITS */
	unsigned spis; /* multiple of 32, at most ARM_GICV3_SPIS rounded down to that */
};

/*
 * arm_gicv3_create() - the controller of a machine with as many CPUs as the regions hold.
 *
 * Return: the realized device; NULL with @err.
 * Context: machine lock held, bus "System" there.
 */
struct device *arm_gicv3_create(struct machine *m, const struct arm_gicv3_config *config,
				GError **err);

/*
 * arm_gicv3_kernel_create() - likewise, for an accelerator that has the controller in the kernel.
 *
 * Inputs are driven by accel_ops.gsi_set(), line n being SPI n; CPUs are connected already.
 * Context: machine lock held, bus "System" there, all vCPUs created.
 */
struct device *arm_gicv3_kernel_create(struct machine *m, const struct arm_gicv3_config *config,
				       GError **err);

/*
 * arm_gicv3_attach() - connect a CPU: its interrupt lines, the ICC registers, its affinity.
 * @index: position among the redistributors.
 * @cpu:   lives longer than the device, or arm_gicv3_create()'s machine ends first.
 *
 * Context: machine lock held, before the CPU runs.
 */
void arm_gicv3_attach(struct device *gic, unsigned index, struct arm_cpu *cpu);

/*
 * arm_gicv3_set_spi() - level of the input of SPI @spi; arm_gicv3_set_ppi() - of PPI @intid
 * (16..31) of a CPU.
 *
 * Any thread, with or without the machine lock: the controller has a lock of its own, below which
 * nothing but arm_irq_set() is called.
 */
void arm_gicv3_set_spi(struct device *gic, unsigned spi, bool level);
void arm_gicv3_set_ppi(struct device *gic, unsigned cpu, unsigned intid, bool level);

/*
 * arm_gicv3_its_create() - a translation service for messages.
 * @gic:  created with lpis.
 * @base: guest physical, two frames of 64 KiB.
 *
 * Return: the realized device; NULL with @err.
 */
struct device *arm_gicv3_its_create(struct machine *m, struct device *gic, u64 base, GError **err);

/* arm_gicv3_its_address() - where devices write their messages. */
u64 arm_gicv3_its_address(struct device *its);

/*
 * arm_gicv3_its_send() - a message of a device.
 * @device: its number: PCI bus << 8 | devfn.
 * @event:  the data that it writes.
 *
 * Context: machine lock held.
 */
void arm_gicv3_its_send(struct device *its, u32 device, u32 event);

#endif
