/*
 * hw/intc/arm-gicv2.h - Arm's Generic Interrupt Controller, version 2 (Arm IHI 0048), and the frame
 * that makes interrupts of messages (Arm, Server Base System Architecture, appendix E).
 */
#ifndef HW_INTC_ARM_GICV2_H
#define HW_INTC_ARM_GICV2_H

#include "hw/device.h"

struct arm_cpu;

#define ARM_GICV2_TYPE  "arm_gic"
#define ARM_GICV2M_TYPE "arm-gicv2m"

#define ARM_GICV2_CPUS 8   /* most that there can be: targets are bits of a byte */
#define ARM_GICV2_SPIS 988 /* likewise */

struct arm_gicv2_config {
	u64 dist_base, cpu_base; /* guest physical, 64 KiB each */
	unsigned cpus;           /* 1 to ARM_GICV2_CPUS */
	unsigned spis;           /* multiple of 32, at most ARM_GICV2_SPIS rounded down to that */
	u64 hyp_base, vcpu_base; /* as above, or both 0: no Virtualization Extensions */
};

/*
 * arm_gicv2_create() - a controller without Security Extensions: two groups, 8 bits of priority.
 * With Virtualization Extensions a CPU has four list registers; PPI 25 asks for maintenance.
 *
 * Return: the realized device; NULL with @err.
 * Context: machine lock held, bus "System" there.
 */
struct device *arm_gicv2_create(struct machine *m, const struct arm_gicv2_config *config,
				GError **err);

/*
 * arm_gicv2_attach() - connect the interrupt lines of a CPU.
 * @index: that of its vCPU, which is how its accesses are told from those of others.
 * @cpu:   lives longer than the device, or arm_gicv2_create()'s machine ends first.
 *
 * Context: machine lock held, before the CPU runs.
 */
void arm_gicv2_attach(struct device *gic, unsigned index, struct arm_cpu *cpu);

/*
 * arm_gicv2_set_spi() - level of the input of SPI @spi; arm_gicv2_set_ppi() - of PPI @intid
 * (16..31) of a CPU.
 *
 * Any thread, with or without the machine lock: the controller has a lock of its own, below which
 * nothing but arm_irq_set() is called.
 */
void arm_gicv2_set_spi(struct device *gic, unsigned spi, bool level);
void arm_gicv2_set_ppi(struct device *gic, unsigned cpu, unsigned intid, bool level);

struct arm_gicv2m_config {
	u64 base; /* guest physical, 4 KiB */
	unsigned first_spi, spis;
};

/*
 * arm_gicv2m_create() - a frame whose SPIs, edge-triggered, are raised by writing their INTID.
 *
 * Return: the realized device; NULL with @err.
 */
struct device *arm_gicv2m_create(struct machine *m, struct device *gic,
				 const struct arm_gicv2m_config *config, GError **err);

#endif
