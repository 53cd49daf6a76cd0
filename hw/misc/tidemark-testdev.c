/*
 * hw/misc/tidemark-testdev.c - a page of memory for test guests: console, host clock, exit.
 *
 * Registers, little-endian: 0x00 write: a byte to the character back end; 0x08 read: the next byte
 * from it, all ones if there is none; 0x10 read: the host's monotonic clock in ns; 0x18 write: end
 * the process with this exit code.
 */
#include "hw/misc/devices.h"

#include "accel/vm.h"
#include "chardev/char.h"
#include "hw/machine.h"
#include "migration/state.h"
#include "util/error.h"
#include "util/log.h"

enum { REG_OUT = 0x00, REG_IN = 0x08, REG_HOST_NS = 0x10, REG_EXIT = 0x18 };

#define PAGE_BYTES  0x1000
#define INPUT_BYTES 256
#define BACKLOG_MAX MiB /* bytes queued in the back end; what comes then is lost */

/* Members that travel in a migration are marked. */
struct testdev {
	struct device dev;
	u64 addr;
	struct chardev *chardev;
	struct chardev_fe *fe;
	u8 input[INPUT_BYTES]; /* migrated */
	u32 input_head;        /* migrated: index of the oldest byte */
	u32 input_num;         /* migrated */
	struct mapping page;
};

static struct testdev *testdev_of(struct device *dev)
{
	return (struct testdev *)dev;
}

static u64 next_input(struct testdev *t)
{
	u8 byte;

	if (!t->input_num)
		return UINT64_MAX;
	byte = t->input[t->input_head];
	t->input_head = (t->input_head + 1) % INPUT_BYTES;
	t->input_num--;
	if (t->fe)
		chardev_accept_input(t->fe);
	return byte;
}

static u64 testdev_read(void *opaque, u64 offset, unsigned size)
{
	struct testdev *t = opaque;

	if (offset == REG_IN)
		return next_input(t);
	if ((offset & ~7ull) == REG_HOST_NS)
		return (u64)clock_ns(CLOCK_TYPE_REALTIME) >> (8 * (offset & 7));
	log_guest("tidemark-testdev: read of 0x%" PRIx64 " (%u bytes)\n", offset, size);
	return 0;
}

static void output(struct testdev *t, u8 byte)
{
	if (!t->fe)
		return;
	if (chardev_queued(t->fe) >= BACKLOG_MAX)
		log_warn_once("tidemark-testdev: chardev '%s' does not keep up, output is lost",
			      chardev_id(t->chardev));
	else
		chardev_write(t->fe, &byte, 1);
}

static void testdev_write(void *opaque, u64 offset, u64 value, unsigned size)
{
	struct testdev *t = opaque;

	if (offset == REG_OUT)
		output(t, value);
	else if (offset == REG_EXIT)
		vm_request_shutdown_code(t->dev.machine->vm, SHUTDOWN_GUEST_SHUTDOWN, value & 0xff);
	else
		log_guest("tidemark-testdev: write of 0x%" PRIx64 " (%u bytes)\n", offset, size);
}

static const struct mmio_ops page_ops = { .read = testdev_read, .write = testdev_write };

static size_t can_receive(void *opaque)
{
	return INPUT_BYTES - ((struct testdev *)opaque)->input_num;
}

static void receive(void *opaque, const u8 *buf, size_t len)
{
	struct testdev *t = opaque;

	for (size_t i = 0; i < len && t->input_num < INPUT_BYTES; i++)
		t->input[(t->input_head + t->input_num++) % INPUT_BYTES] = buf[i];
}

static int testdev_realize(struct device *dev, GError **err)
{
	struct testdev *t = testdev_of(dev);
	const struct chardev_frontend fe = { .can_receive = can_receive,
					     .receive = receive,
					     .opaque = t };

	if (!IS_ALIGNED(t->addr, PAGE_BYTES)) {
		error_set(err, "tidemark-testdev: addr 0x%" PRIx64 " is not a multiple of 0x%x",
			  t->addr, PAGE_BYTES);
		return -EINVAL;
	}
	if (t->chardev) {
		t->fe = chardev_attach(t->chardev, &fe, err);
		if (!t->fe)
			return -EBUSY;
	}
	t->page = (struct mapping){ .name = "tidemark-testdev",
				    .base = t->addr,
				    .size = PAGE_BYTES,
				    .kind = MAP_MMIO,
				    .priority = 1,
				    .ops = &page_ops,
				    .opaque = t };
	address_space_map(dev->machine->vm->memory, &t->page);
	return 0;
}

static void testdev_unrealize(struct device *dev)
{
	struct testdev *t = testdev_of(dev);

	address_space_unmap(dev->machine->vm->memory, &t->page);
	if (t->fe)
		chardev_detach(t->fe);
}

static void testdev_reset(struct device *dev)
{
	testdev_of(dev)->input_head = 0;
	testdev_of(dev)->input_num = 0;
}

static int testdev_post_load(void *obj, int version, GError **err)
{
	struct testdev *t = obj;

	if (t->input_head >= INPUT_BYTES || t->input_num > INPUT_BYTES) {
		error_set(err, "tidemark-testdev: input head %u or length %u exceeds its %d bytes",
			  t->input_head, t->input_num, INPUT_BYTES);
		return -EINVAL;
	}
	return 0;
}

static const struct state_field testdev_fields[] = {
	FIELD_BUFFER(struct testdev, input),
	FIELD_U32(struct testdev, input_head),
	FIELD_U32(struct testdev, input_num),
	FIELD_END,
};

static const struct state_desc testdev_state = {
	.name = "tidemark-testdev",
	.version = 1,
	.min_version = 1,
	.fields = testdev_fields,
	.post_load = testdev_post_load,
};

static const struct property testdev_props[] = {
	PROP(struct testdev, addr, "addr", U64, "0xfe000000", "guest physical address of its page"),
	PROP(struct testdev, chardev, "chardev", CHARDEV, NULL,
	     "ID of a chardev to use as a backend"),
	PROP_END,
};

const struct device_type tidemark_testdev_type = {
	.name = "tidemark-testdev",
	.desc = "console, host clock and exit for test guests",
	.bus = "System",
	.instance_size = sizeof(struct testdev),
	.props = testdev_props,
	.user_creatable = true,
	.realize = testdev_realize,
	.unrealize = testdev_unrealize,
	.reset = testdev_reset,
	.state = &testdev_state,
};
