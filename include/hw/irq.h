/*
 * hw/irq.h - interrupt lines.
 */
#ifndef HW_IRQ_H
#define HW_IRQ_H

#include "util/base.h"

/* A line that a device drives; embedded in the device, connected by the machine. */
struct irq {
	void (*set)(void *opaque, int n, int level); /* NULL: not connected */
	void *opaque;
	int n;
	int level; /* last level driven */
};

/* irq_set() - drive the line. Machine lock held. */
static inline void irq_set(struct irq *irq, int level)
{
	irq->level = level;
	if (irq->set)
		irq->set(irq->opaque, irq->n, level);
}

static inline void irq_pulse(struct irq *irq)
{
	irq_set(irq, 1);
	irq_set(irq, 0);
}

#endif
