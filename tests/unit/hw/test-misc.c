/* tests/unit/hw/test-misc.c - test device, debug exit, pvpanic, ACPI event device. */
#include "tests/unit/hw/isa-machine.h"

#include "hw/acpi/ged.h"

#define PAGE 0xfe000000

static void test_testdev(void)
{
	struct machine *m = isa_machine(0);
	struct address_space *as = m->vm->memory;
	u64 before, after;

	isa_device(m, "tidemark-testdev,chardev=c");
	address_space_st(as, PAGE, 'h', 1);
	address_space_st(as, PAGE, 'i', 8);
	g_assert_cmpstr(fake_output->str, ==, "hi");
	g_assert_cmphex(address_space_ld(as, PAGE + 8, 4, NULL), ==, 0xffffffff);
	g_assert_cmpuint(fake_input("ab", 2), ==, 2);
	g_assert_cmphex(address_space_ld(as, PAGE + 8, 4, NULL), ==, 'a');
	g_assert_cmphex(address_space_ld(as, PAGE + 8, 8, NULL), ==, 'b');
	g_assert_cmphex(address_space_ld(as, PAGE + 8, 8, NULL), ==, UINT64_MAX);
	before = clock_ns(CLOCK_TYPE_REALTIME);
	after = address_space_ld(as, PAGE + 0x10, 8, NULL);
	g_assert_cmpuint(after, >=, before);
	g_assert_cmpuint(after, <=, (u64)clock_ns(CLOCK_TYPE_REALTIME));
	address_space_st(as, PAGE + 0x18, 7, 1);
	isa_run_requests();
	g_assert_cmpint(isa_requests.shutdown, ==, SHUTDOWN_GUEST_SHUTDOWN);
	g_assert_cmpint(isa_requests.exit_code, ==, 7);
	isa_machine_free(m);
}

static void test_testdev_elsewhere(void)
{
	struct machine *m = isa_machine(0);

	isa_device(m, "tidemark-testdev,addr=0x100000"); /* covers RAM */
	g_assert_cmphex(address_space_ld(m->vm->memory, 0x100008, 8, NULL), ==, UINT64_MAX);
	expect_text(fake_add(m, "tidemark-testdev,addr=0x1234", NULL),
		    "tidemark-testdev: addr 0x1234 is not a multiple of 0x1000");
	isa_machine_free(m);
}

static void test_testdev_state(void)
{
	struct machine *m = isa_machine(0);
	struct device *dev = isa_device(m, "tidemark-testdev,chardev=c");
	GError *err = NULL;

	expect_text(state_layout(dev->type->state), "tidemark-testdev v1\n"
						    "  input:buffer:256\n"
						    "  input_head:uint32:4\n"
						    "  input_num:uint32:4\n");
	g_assert_cmpint(dev->type->state->post_load(dev, 1, NULL), ==, 0);
	for (const struct state_field *f = dev->type->state->fields; f->type != STATE_END; f++)
		if (!strcmp(f->name, "input_head"))
			*(u32 *)((char *)dev + f->offset) = 256;
	g_assert_cmpint(dev->type->state->post_load(dev, 1, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "head 256"));
	g_clear_error(&err);
	isa_machine_free(m);
}

static void test_debug_exit(void)
{
	struct machine *m = isa_machine(0);

	isa_device(m, "isa-debug-exit,iobase=0xf4,iosize=0x4");
	address_space_st(m->vm->io, 0xf4, 0x10, 4);
	isa_run_requests();
	g_assert_cmpint(isa_requests.exit_code, ==, 33);
	expect_text(fake_add(m, "isa-debug-exit,iobase=0xffff", NULL),
		    "isa-debug-exit: ports iobase 0xffff, iosize 0x2 exceed 0xffff");
	isa_machine_free(m);
}

static void test_pvpanic(void)
{
	struct machine *m = isa_machine(0);

	isa_device(m, "pvpanic,events=5");
	g_assert_cmphex(in8(m, 0x505), ==, 5);
	out8(m, 0x505, 2); /* not offered */
	g_assert_cmphex(isa_requests.panic_events, ==, 0);
	out8(m, 0x505, 1);
	g_assert_cmphex(isa_requests.panic_events, ==, PVPANIC_PANICKED);
	out8(m, 0x505, 4);
	isa_run_requests();
	g_assert_cmpint(isa_requests.shutdown, ==, SHUTDOWN_GUEST_SHUTDOWN);
	isa_machine_free(m);
}

static void test_ged(void)
{
	struct machine *m = isa_machine(0);
	struct device *dev = device_create(m, GED_TYPE, NULL, NULL);
	struct address_space *as = m->vm->memory;

	g_assert_cmpint(device_set(dev, "base", "0xfea00000", NULL), ==, 0);
	g_assert_cmpint(device_set(dev, "irq", "9", NULL), ==, 0);
	g_assert_cmpint(device_realize(dev, NULL, NULL), ==, 0);
	ged_press_power_button(dev);
	g_assert_true(isa_lines[9]);
	g_assert_cmphex(address_space_ld(as, 0xfea00000, 4, NULL), ==, 2);
	g_assert_false(isa_lines[9]);
	g_assert_cmphex(address_space_ld(as, 0xfea00000, 4, NULL), ==, 0);

	address_space_st(as, 0xfea00200, 3 << 2 | 0x20, 1); /* S3 is not offered */
	isa_run_requests();
	g_assert_cmpint(isa_requests.shutdown, ==, SHUTDOWN_NONE);
	address_space_st(as, 0xfea00200, 5 << 2, 1); /* without enable */
	isa_run_requests();
	g_assert_cmpint(isa_requests.shutdown, ==, SHUTDOWN_NONE);
	address_space_st(as, 0xfea00200, 5 << 2 | 0x20, 1);
	isa_run_requests();
	g_assert_cmpint(isa_requests.shutdown, ==, SHUTDOWN_GUEST_SHUTDOWN);
	address_space_st(as, 0xfea00202, 0x41, 1);
	isa_run_requests();
	g_assert_cmpint(isa_requests.reset, ==, SHUTDOWN_NONE);
	address_space_st(as, 0xfea00202, 0x42, 1);
	isa_run_requests();
	g_assert_cmpint(isa_requests.reset, ==, SHUTDOWN_GUEST_RESET);
	isa_machine_free(m);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/testdev/registers", test_testdev);
	g_test_add_func("/testdev/elsewhere", test_testdev_elsewhere);
	g_test_add_func("/testdev/state", test_testdev_state);
	g_test_add_func("/isa-debug-exit", test_debug_exit);
	g_test_add_func("/pvpanic", test_pvpanic);
	g_test_add_func("/ged", test_ged);
	return g_test_run();
}
