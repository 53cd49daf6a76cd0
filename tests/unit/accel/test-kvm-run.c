/* tests/unit/accel/test-kvm-run.c - vCPUs run, stop, start and reset under real KVM. */
#include "tests/unit/accel/guest.h"

#include "target/i386/cpu.h"
#include "util/lock.h"
#include "util/main-loop.h"

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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/kvm/run/counter", test_counter);
	return g_test_run();
}
