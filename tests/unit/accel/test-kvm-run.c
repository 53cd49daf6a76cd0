/* tests/unit/accel/test-kvm-run.c - vCPUs run, stop, start and reset under real KVM. */
#include "tests/unit/accel/guest.h"

#include "accel/kvm/kvm.h"
#include "target/i386/cpu.h"
#include "util/keyval.h"
#include "util/lock.h"
#include "util/main-loop.h"

#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* loop: inc ax; out 0xf1, ax; jmp loop */
static const u8 counter[] = { 0x40, 0xe7, 0xf1, 0xeb, 0xfb };

static void test_counter(void)
{
	g_autoptr(GError) err = NULL;
	struct guest *g;
	u32 at;

	if (guest_skip())
		return;
	g = guest_create("", 4 * MiB, 1, counter, sizeof(counter));
	guest_sleep(20000);
	g_assert_cmpuint(g->words, ==, 0);
	g_assert_cmpstr(run_state_name(vm_run_state(g->vm)), ==, "prelaunch");
	for (int round = 0; round < 20; round++) {
		vm_start(g->vm);
		guest_wait_words(g, 10);
		vm_stop(g->vm, RUN_STATE_PAUSED);
		at = g->words;
		guest_sleep(2000);
		/* Nothing ran, and the access of the last exit was completed: AX is what was said
		 * and the next instruction is not that OUT. */
		g_assert_cmpuint(g->words, ==, at);
		vcpu_get_state(g->vm->cpus[0], &err);
		g_assert_no_error(err);
		if (x86_cpu_of(g->vm->cpus[0])->env.eip == 0x1001)
			at++;
		g_assert_cmpuint(x86_cpu_of(g->vm->cpus[0])->env.regs[R_EAX] & 0xffff, ==,
				 at & 0xffff);
	}
	g_assert_cmpint(g->stops, ==, 20);
	guest_destroy(g);
}

static void pump_until(const int *what, int value)
{
	for (int i = 0; i < 5000 && *what != value; i++) {
		guest_sleep(1000);
		main_loop_iterate(false);
	}
	g_assert_cmpint(*what, ==, value);
}

/* ud2 - without an interrupt table that is a triple fault. */
static const u8 triple_fault[] = { 0x0f, 0x0b };

static void fault_in_long_mode(struct guest *g)
{
	for (int i = 0; i < 2; i++) {
		g_autoptr(GError) err = NULL;

		guest_long_mode(g, i, 3);
		x86_cpu_of(g->vm->cpus[i])->env.idt.limit = 0;
		g_assert_cmpint(vcpu_put_state(g->vm->cpus[i], &err), ==, 0);
	}
}

static void test_triple_fault(void)
{
	struct guest *g;

	if (guest_skip())
		return;
	g = guest_create("", 2 * MiB, 2, triple_fault, sizeof(triple_fault));
	for (int round = 1; round <= 3; round++) {
		vm_stop(g->vm, RUN_STATE_PAUSED);
		fault_in_long_mode(g);
		vm_start(g->vm);
		pump_until(&g->resets, round);
		g_assert_true(vm_running(g->vm));
	}
	guest_destroy(g);
}

/* A guest that runs into nowhere stops in state internal-error and can be inspected. */
static void test_internal_error(void)
{
	struct guest *g;
	g_autoptr(GError) err = NULL;

	if (guest_skip())
		return;
	g = guest_create("", 4 * MiB, 1, counter, sizeof(counter));
	guest_long_mode(g, 0, 3);
	x86_cpu_of(g->vm->cpus[0])->env.eip = 0x20000000;
	g_assert_cmpint(vcpu_put_state(g->vm->cpus[0], &err), ==, 0);
	vm_start(g->vm);
	for (int i = 0; i < 3000 && !g->stops && !g->resets; i++) {
		guest_sleep(1000);
		main_loop_iterate(false);
	}
	/* Some KVM deliver a fault instead, which here becomes a triple fault. */
	g_assert_cmpint(g->stops + g->resets, >, 0);
	if (g->stops)
		g_assert_cmpstr(run_state_name(vm_run_state(g->vm)), ==, "internal-error");
	guest_destroy(g);
}

/* loop: mov ax, [0x8000]; inc ax; mov [0x8000], ax; out 0xf1, ax; jmp loop, at 0x1000 */
static const u8 memory_counter[] = { 0xa1, 0x00, 0x80, 0x40, 0xa3, 0x00,
				     0x80, 0xe7, 0xf1, 0xeb, 0xf5 };

/* Writes to ROM change nothing; and what the map says changes under a running guest. */
static void test_remap(void)
{
	struct ram_spec spec = { .id = "rom", .size = 64 * KiB, .fd = -1, .flags = RAM_READONLY };
	struct mapping rom = {
		.name = "rom", .base = 0x8000, .size = 0x1000, .kind = MAP_ROM, .priority = 1
	};
	g_autoptr(GError) err = NULL;
	struct kvm_accel *kvm;
	struct guest *g;

	if (guest_skip())
		return;
	g = guest_create("", 4 * MiB, 1, memory_counter, sizeof(memory_counter));
	kvm = kvm_of(g->vm->accel);
	rom.block = ram_create(g->vm->ram, &spec, &err);
	g_assert_no_error(err);
	((u16 *)rom.block->host)[0] = 0x7000;
	g_assert_cmpuint(kvm->slots->len, ==, 1);
	vm_start(g->vm);
	for (int i = 0; i < 10; i++) {
		guest_wait_words(g, 10);
		address_space_map(g->vm->memory, &rom);
		g_assert_cmpuint(kvm->slots->len, ==, 3);
		guest_wait_words(g, 10);
		g_assert_cmphex(g->said & 0xffff, ==, 0x7001);
		address_space_unmap(g->vm->memory, &rom);
		g_assert_cmpuint(kvm->slots->len, ==, 1);
		guest_wait_words(g, 2);
		g_assert_cmphex(g->said & 0xffff, !=, 0x7001);
	}
	g_assert_true(vm_running(g->vm));
	g_assert_cmphex(((u16 *)rom.block->host)[0], ==, 0x7000);
	guest_destroy(g);
}

static bool readable(int fd)
{
	u64 n;

	return read(fd, &n, sizeof(n)) == sizeof(n);
}

/* A doorbell in the kernel: the write does not reach the port's handler. */
static void test_ioeventfd(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct ioeventfd e = { .addr = GUEST_PORT, .size = 2, .any = true, .port = true, .fd = fd };
	const struct accel_ops *ops = &kvm_accel_ops;
	struct guest *g;
	u32 at;

	if (guest_skip())
		return;
	g = guest_create("", 2 * MiB, 1, counter, sizeof(counter));
	vm_start(g->vm);
	guest_wait_words(g, 5);
	g_assert_false(readable(fd));
	g_assert_cmpint(ops->ioeventfd_add(g->vm->accel, &e), ==, 0);
	guest_sleep(20000);
	at = g->words;
	guest_sleep(20000);
	g_assert_cmpuint(g->words, ==, at);
	g_assert_true(readable(fd));
	g_assert_cmpint(ops->ioeventfd_add(g->vm->accel, &e), ==, -EEXIST);
	g_assert_cmpint(ops->ioeventfd_del(g->vm->accel, &e), ==, 0);
	guest_wait_words(g, 5);
	guest_destroy(g);
	close(fd);
}

/* Lines and messages: the interrupt controllers take what we send, routes come and go. */
static void test_interrupts(void)
{
	const struct accel_ops *ops = &kvm_accel_ops;
	struct kvm_irqchip chip = { .chip_id = KVM_IRQCHIP_PIC_MASTER };
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), first, second;
	struct accel *a;
	struct guest *g;

	if (guest_skip())
		return;
	g = guest_create("", 2 * MiB, 1, counter, sizeof(counter));
	a = g->vm->accel;
	ops->gsi_set(a, 4, true);
	g_assert_cmpint(ioctl(kvm_fd_of_vm(a), KVM_GET_IRQCHIP, &chip), ==, 0);
	g_assert_cmphex(chip.chip.pic.irr & 0x10, ==, 0x10);
	ops->gsi_set(a, 4, false);
	first = ops->msi_route_add(a, 0xfee00000, 0x41);
	second = ops->msi_route_add(a, 0xfee00000, 0x42);
	g_assert_cmpint(first, >=, 24);
	g_assert_cmpint(second, !=, first);
	g_assert_cmpint(ops->irqfd_add(a, first, fd), ==, 0);
	g_assert_cmpint(ops->irqfd_add(a, first, fd), ==, -EBUSY);
	g_assert_cmpint(ops->msi_route_change(a, first, 0xfee00000, 0x43), ==, 0);
	g_assert_cmpint(ops->irqfd_del(a, first, fd), ==, 0);
	ops->msi_route_del(a, first);
	g_assert_cmpint(ops->msi_route_change(a, first, 0xfee00000, 0x43), ==, -ENOENT);
	g_assert_cmpint(ops->msi_route_add(a, 0xfee00000, 0x44), ==, first);
	g_assert_cmpint(ops->msi_send(a, 0xfee00000, 0x45), ==, 0);
	guest_destroy(g);
	close(fd);
}

/* mov eax, 0xfee00300; mov [rax], INIT to all others; mov [rax], start-up at 0x8000, twice; jmp $
 */
static const u8 wake_others[] = { 0xb8, 0x00, 0x03, 0xe0, 0xfe, 0xc7, 0x00, 0x00, 0x45,
				  0x0c, 0x00, 0xc7, 0x00, 0x08, 0x46, 0x0c, 0x00, 0xc7,
				  0x00, 0x08, 0x46, 0x0c, 0x00, 0xeb, 0xfe };
/* mov al, 0x77; out 0xf1, al; hlt; jmp back */
static const u8 say_77[] = { 0xb0, 0x77, 0xe6, 0xf1, 0xf4, 0xeb, 0xf9 };

/* An application processor waits for the start-up interrupt, also across stops, and then runs. */
static void test_start_up(void)
{
	struct guest *g;

	if (guest_skip())
		return;
	g = guest_create("", 2 * MiB, 2, wake_others, sizeof(wake_others));
	memcpy(g->ram->host + 0x8000, say_77, sizeof(say_77));
	guest_long_mode(g, 0, 0);
	g_assert_cmpint(vcpu_reset(g->vm->cpus[1], NULL), ==, 0);
	g_assert_cmpint(x86_cpu_of(g->vm->cpus[1])->env.mp_state, ==, X86_MP_UNINITIALIZED);
	for (int i = 0; i < 3; i++) {
		vm_start(g->vm);
		vm_stop(g->vm, RUN_STATE_PAUSED);
	}
	vm_start(g->vm);
	/* It may have said it in one of the rounds before. */
	for (int i = 0; i < 20000 && !__atomic_load_n(&g->words, __ATOMIC_SEQ_CST); i++)
		guest_sleep(1000);
	g_assert_cmpuint(g->words, >, 0);
	g_assert_cmphex(g->said & 0xff, ==, 0x77);
	/* Halted in the kernel, it still parks. */
	for (int i = 0; i < 20; i++) {
		guest_sleep(1000);
		vm_stop(g->vm, RUN_STATE_PAUSED);
		vm_start(g->vm);
	}
	guest_destroy(g);
}

static void refused(const char *props, const char *says)
{
	static const struct vm_owner owner = { 0 };
	g_autoptr(GError) err = NULL;
	JsonObject *o = keyval_parse(props, NULL, &err);
	struct vm *vm = vm_create(true, &owner);

	g_assert_no_error(err);
	g_assert_cmpint(vm_attach_accel(vm, &kvm_accel_ops, o, &err), ==, -ENODEV);
	if (!strstr(err->message, says))
		g_error("%s: '%s'", props, err->message);
	json_object_unref(o);
	vm_destroy(vm);
}

static void test_options(void)
{
	refused("device=/nonexistent", "/nonexistent");
	refused("dirty-ring-size=1000", "dirty-ring-size=1000");
	refused("dirty-ring-size=131072", "dirty-ring-size=131072");
	refused("dirty-ring-size=4096,dirty-tracking=log", "dirty-tracking=log");
	refused("dirty-ring-size=4096,dirty-log-protect=manual", "dirty-log-protect=manual");
	refused("dirty-tracking=paper", "dirty-tracking=paper");
	refused("dirty-log-protect=ring", "dirty-log-protect=ring");
	refused("dirty-log-batch=100", "dirty-log-batch=100");
	refused("kernel-irqchip=split", "kernel-irqchip=split");
	refused("notify-vmexit=run", "notify-vmexit=run");
	refused("kvm-shadow-mem=1M", "kvm-shadow-mem=1M");
	refused("device=/dev/null", "/dev/null");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	if (!machine_lock_held())
		machine_lock();
	g_test_add_func("/kvm/run/options", test_options);
	g_test_add_func("/kvm/run/counter", test_counter);
	g_test_add_func("/kvm/run/triple-fault", test_triple_fault);
	g_test_add_func("/kvm/run/internal-error", test_internal_error);
	g_test_add_func("/kvm/run/remap", test_remap);
	g_test_add_func("/kvm/run/ioeventfd", test_ioeventfd);
	g_test_add_func("/kvm/run/interrupts", test_interrupts);
	g_test_add_func("/kvm/run/start-up", test_start_up);
	return g_test_run();
}
