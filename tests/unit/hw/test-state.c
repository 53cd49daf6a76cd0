/* tests/unit/hw/test-state.c - devices go on where they were after their state travelled. */
#include "tests/unit/hw/isa-machine.h"

#include "hw/acpi/ged.h"
#include "hw/nvram/fw_cfg.h"
#include "hw/rtc/mc146818.h"
#include "migration/stream.h"

static GByteArray *save(struct device *dev)
{
	struct state_writer w;
	GByteArray *bytes;

	state_writer_init(&w);
	g_assert_cmpint(state_save_nested(&w, dev->type->state, dev, NULL), ==, 0);
	bytes = g_byte_array_append(g_byte_array_new(), w.buf->data, w.buf->len);
	state_writer_finish(&w);
	return bytes;
}

static int load(struct device *dev, const GByteArray *bytes, GError **err)
{
	struct state_reader r;
	int ret;

	state_reader_init_memory(&r, bytes->data, bytes->len);
	ret = state_load_nested(&r, dev->type->state, dev, dev->type->state->version, err);
	if (!ret && dev->type->state->post_load)
		ret = dev->type->state->post_load(dev, dev->type->state->version, err);
	g_assert_true(ret || state_position(&r) == bytes->len);
	state_reader_finish(&r);
	return ret;
}

/* The same device after its state went to a second machine; the first one is gone. */
static struct device *move(struct machine **m, struct device *dev, const char *options)
{
	g_autoptr(GByteArray) bytes = save(dev);
	s64 now = isa_time_ns;
	struct device *moved;

	isa_machine_free(*m);
	*m = isa_machine(0);
	isa_time_ns = now;
	moved = isa_device(*m, options);
	g_assert_cmpint(load(moved, bytes, NULL), ==, 0);
	return moved;
}

static void test_serial(void)
{
	struct machine *m = isa_machine(0);
	struct device *dev = isa_device(m, "isa-serial,chardev=c");

	out8(m, 0x3fa, 0x87);
	out8(m, 0x3f9, 0x03);
	out8(m, 0x3ff, 0x42);
	in8(m, 0x3fa); /* the transmitter's interrupt was seen */
	fake_input("abc", 3);
	fake_backlog = MiB;
	out8(m, 0x3f8, 'x'); /* waits in the shift register, y and z in the fifo */
	out8(m, 0x3f8, 'y');
	out8(m, 0x3f8, 'z');
	dev = move(&m, dev, "isa-serial,chardev=c");
	g_assert_cmpstr(fake_output->str, ==, "xyz");
	g_assert_cmphex(in8(m, 0x3ff), ==, 0x42);
	g_assert_cmphex(in8(m, 0x3f9), ==, 0x03);
	isa_run_to(isa_time_ns + NS_PER_S); /* the timeout travelled */
	g_assert_true(isa_lines[4]);
	g_assert_cmphex(in8(m, 0x3fa), ==, 0xcc);
	g_assert_cmpint(in8(m, 0x3f8), ==, 'a');
	g_assert_cmpint(in8(m, 0x3f8), ==, 'b');
	g_assert_cmpint(in8(m, 0x3f8), ==, 'c');
	isa_machine_free(m);
}

/* The bytes of an idle port, as QEMU's section has them: divider 12, OUT2, empty transmitter. */
static void test_serial_wire(void)
{
	static const u8 want[] = { 0, 12, 0, 0, 1, 0, 8, 0x60, 0xb0, 0, 0 };
	struct machine *m = isa_machine(0);
	g_autoptr(GByteArray) bytes = save(isa_device(m, "isa-serial"));

	g_assert_cmpmem(bytes->data, bytes->len, want, sizeof(want));
	isa_machine_free(m);
}

static u8 rtc_get(struct machine *m, u8 reg)
{
	out8(m, 0x70, reg);
	return in8(m, 0x71);
}

static void rtc_put(struct machine *m, u8 reg, u8 val)
{
	out8(m, 0x70, reg);
	out8(m, 0x71, val);
}

static void test_rtc(void)
{
	struct machine *m = isa_machine(0);
	struct device *dev = isa_device(m, MC146818_TYPE);
	int ticks = 0;

	rtc_put(m, 0x0b, 0x82);
	rtc_put(m, 4, 0x12);
	rtc_put(m, 2, 0x34);
	rtc_put(m, 0, 0x56);
	rtc_put(m, 0x40, 0x99);
	rtc_put(m, 5, 0xff);
	rtc_put(m, 3, 0xff);
	rtc_put(m, 1, 0x59);    /* alarm at second 59 */
	rtc_put(m, 0x0a, 0x2f); /* 2 Hz */
	rtc_put(m, 0x0b, 0x62);
	dev = move(&m, dev, MC146818_TYPE);
	g_assert_cmphex(rtc_get(m, 2), ==, 0x34);
	g_assert_cmphex(rtc_get(m, 0x40), ==, 0x99);
	for (int i = 0; i < 40; i++) {
		isa_run_to(isa_time_ns + 100 * NS_PER_MS);
		if (isa_lines[8]) {
			u8 c = rtc_get(m, 0x0c);

			ticks += !!(c & 0x40);
			if (c & 0x20)
				break;
		}
	}
	g_assert_cmphex(rtc_get(m, 0), ==, 0x59);
	g_assert_cmpint(ticks, >=, 4);
	g_assert_cmpint(ticks, <=, 6);
	isa_machine_free(m);
	(void)dev;
}

static void test_fw_cfg(void)
{
	struct machine *m = isa_machine(0);
	struct device *dev = isa_device(m, FW_CFG_IO_TYPE);

	address_space_st(m->vm->io, 0x510, FW_CFG_SIGNATURE, 2);
	in8(m, 0x511);
	move(&m, dev, FW_CFG_IO_TYPE);
	g_assert_cmpint(in8(m, 0x511), ==, 'E');
	g_assert_cmpint(in8(m, 0x511), ==, 'M');
	isa_machine_free(m);
}

static void test_testdev(void)
{
	struct machine *m = isa_machine(0);
	struct device *dev = isa_device(m, "tidemark-testdev,chardev=c");

	fake_input("01234", 5);
	address_space_ld(m->vm->memory, 0xfe000008, 8, NULL);
	move(&m, dev, "tidemark-testdev,chardev=c");
	for (const char *p = "1234"; *p; p++)
		g_assert_cmpint(address_space_ld(m->vm->memory, 0xfe000008, 8, NULL), ==, *p);
	g_assert_cmphex(address_space_ld(m->vm->memory, 0xfe000008, 8, NULL), ==, UINT64_MAX);
	isa_machine_free(m);
}

static struct device *add_ged(struct machine *m)
{
	struct device *dev = device_create(m, GED_TYPE, NULL, NULL);

	g_assert_cmpint(device_set_u64(dev, "base", 0xfea00000, NULL), ==, 0);
	g_assert_cmpint(device_set_u64(dev, "irq", 9, NULL), ==, 0);
	g_assert_cmpint(device_realize(dev, NULL, NULL), ==, 0);
	return dev;
}

static void test_ged(void)
{
	struct machine *m = isa_machine(0);
	struct device *dev = add_ged(m);
	g_autoptr(GByteArray) bytes = NULL;

	ged_press_power_button(dev);
	bytes = save(dev);
	isa_machine_free(m);
	m = isa_machine(0);
	g_assert_false(isa_lines[9]);
	g_assert_cmpint(load(add_ged(m), bytes, NULL), ==, 0);
	g_assert_true(isa_lines[9]);
	g_assert_cmphex(address_space_ld(m->vm->memory, 0xfea00000, 4, NULL), ==, 2);
	isa_machine_free(m);
}

/* Streams that no device wrote are refused, and name what is wrong. */
static void test_nonsense(void)
{
	struct machine *m = isa_machine(0);
	struct device *rtc = isa_device(m, MC146818_TYPE);
	struct device *testdev = isa_device(m, "tidemark-testdev");
	g_autoptr(GByteArray) a = save(rtc), b = save(testdev);
	GError *err = NULL;

	a->data[128] = 0x80; /* cmos_index */
	g_assert_cmpint(load(rtc, a, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "index 128"));
	g_clear_error(&err);
	b->data[b->len - 1] = 0xff;
	b->data[b->len - 2] = 0xff; /* input_num */
	g_assert_cmpint(load(testdev, b, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "length 65535"));
	g_clear_error(&err);
	isa_machine_free(m);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/state/serial", test_serial);
	g_test_add_func("/state/serial-wire", test_serial_wire);
	g_test_add_func("/state/rtc", test_rtc);
	g_test_add_func("/state/fw-cfg", test_fw_cfg);
	g_test_add_func("/state/testdev", test_testdev);
	g_test_add_func("/state/ged", test_ged);
	g_test_add_func("/state/nonsense", test_nonsense);
	return g_test_run();
}
