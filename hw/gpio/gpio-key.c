/* hw/gpio/gpio-key.c - a push button on a line: the machine's power key. */
#include "hw/gpio/devices.h"
#include "hw/gpio/pl061.h"

#include "migration/state.h"
#include "util/timer.h"

#define HELD_NS (100 * NS_PER_MS)

struct gpio_key {
	struct device dev;
	struct irq out;
	struct timer timer; /* virtual clock; armed while the key is down; migrates */
};

struct irq *gpio_key_output(struct device *key)
{
	return &((struct gpio_key *)key)->out;
}

void gpio_key_press(struct device *key)
{
	struct gpio_key *k = (struct gpio_key *)key;

	irq_set(&k->out, 1);
	timer_mod(&k->timer, clock_ns(CLOCK_TYPE_VIRTUAL) + HELD_NS);
}

static void release(void *opaque)
{
	irq_set(&((struct gpio_key *)opaque)->out, 0);
}

static int gpio_key_realize(struct device *dev, GError **err)
{
	struct gpio_key *k = (struct gpio_key *)dev;

	timer_init(&k->timer, CLOCK_TYPE_VIRTUAL, release, k);
	return 0;
}

static void gpio_key_unrealize(struct device *dev)
{
	timer_del(&((struct gpio_key *)dev)->timer);
}

static void gpio_key_reset(struct device *dev)
{
	struct gpio_key *k = (struct gpio_key *)dev;

	timer_del(&k->timer);
	irq_set(&k->out, 0);
}

static const struct state_field key_fields[] = { FIELD_TIMER(struct gpio_key, timer), FIELD_END };
static const struct state_desc key_state = {
	.name = "gpio-key",
	.version = 1,
	.min_version = 1,
	.fields = key_fields,
};

const struct device_type gpio_key_type = {
	.name = GPIO_KEY_TYPE,
	.desc = "push button",
	.category = DEVICE_INPUT,
	.bus = "System",
	.instance_size = sizeof(struct gpio_key),
	.realize = gpio_key_realize,
	.unrealize = gpio_key_unrealize,
	.reset = gpio_key_reset,
	.state = &key_state,
};
