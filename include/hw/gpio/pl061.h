/*
 * hw/gpio/pl061.h - PrimeCell GPIO with eight pins, and the key that is wired to one of them.
 */
#ifndef HW_GPIO_PL061_H
#define HW_GPIO_PL061_H

#include "hw/device.h"
#include "hw/irq.h"

#define PL061_TYPE    "pl061" /* properties "base" and "irq" */
#define GPIO_KEY_TYPE "gpio-key"
#define PL061_PINS    8

/* pl061_connect() - let @irq drive an input, 0 to PL061_PINS - 1. Machine lock held. */
void pl061_connect(struct device *pl061, struct irq *irq, unsigned pin);

/* gpio_key_output() - the line of a key; high while it is held down. */
struct irq *gpio_key_output(struct device *key);

/* gpio_key_press() - press it for a tenth of a second of guest time. Machine lock held. */
void gpio_key_press(struct device *key);

#endif
