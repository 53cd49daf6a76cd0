/*
 * tests/unit/accel/test-x86-state.c - the sections of vCPUs and in-kernel devices: sizes on the
 * wire, refusals, and a guest that goes on in another VM where it was stopped.
 */
#include "tests/unit/accel/guest.h"

#include "accel/kvm.h"
#include "migration/registry.h"
#include "target/i386/cpu.h"
#include "util/lock.h"
#include "util/main-loop.h"

#include <linux/kvm.h>
#include <sys/ioctl.h>

#define RAM_SIZE (16 * MiB)
#define FIRST    (8 * MiB)
#define LAST     (9 * MiB)

struct half {
	struct guest *g;
	struct state_registry *reg;
	struct x86_chips *chips;
};

static struct half half_create(int ncpus)
{
	struct half h = { .g = guest_create("", RAM_SIZE, ncpus, NULL, 0) };
	g_autoptr(GError) err = NULL;

	h.reg = state_registry_create();
	h.chips = x86_chips_create(h.g->vm, X86_CHIP_PIC | X86_CHIP_IOAPIC | X86_CHIP_PIT, &err);
	g_assert_no_error(err);
	g_assert_cmpint(x86_chips_reset(h.chips, &err), ==, 0);
	g_assert_no_error(err);
	x86_chips_register_state(h.chips, h.reg);
	for (int i = 0; i < ncpus; i++)
		x86_cpu_register_state(h.g->vm->cpus[i], h.reg);
	return h;
}

static void half_destroy(struct half *h)
{
	if (vm_running(h->g->vm))
		vm_stop(h->g->vm, RUN_STATE_PAUSED);
	for (int i = 0; i < h->g->vm->ncpus; i++)
		x86_cpu_unregister_state(h->g->vm->cpus[i], h->reg);
	x86_chips_unregister_state(h->chips, h->reg);
	x86_chips_destroy(h->chips);
	state_registry_destroy(h->reg);
	guest_destroy(h->g);
}

static struct state_entry *entry(struct half *h, const char *name, u32 instance)
{
	struct state_entry *e = state_registry_find(h->reg, name, instance);

	g_assert_nonnull(e);
	return e;
}

/* Fields alone, without subsections, have the sizes of QEMU's stream. */
static void test_sizes(void)
{
	static const struct {
		const char *name;
		u32 instance;
		size_t size;
	} want[] = {
		{ "apic", 0, 181 },   { "cpu_common", 0, 8 }, { "cpu", 0, 1817 },
		{ "kvmclock", 0, 8 }, { "i8259", 0, 16 },     { "i8259", 1, 16 },
		{ "ioapic", 0, 206 }, { "i8254", 0, 108 },
	};
	struct half h;

	if (guest_skip())
		return;
	h = half_create(1);
	for (unsigned i = 0; i < ARRAY_SIZE(want); i++) {
		struct state_entry *e = entry(&h, want[i].name, want[i].instance);
		struct state_desc bare = *e->desc;
		g_autoptr(GError) err = NULL;
		struct state_writer w;

		bare.subsections = NULL;
		state_writer_init(&w);
		g_assert_cmpint(state_save_object(&w, &bare, e->obj, NULL, &err), ==, 0);
		g_assert_no_error(err);
		g_test_message("%s: %u bytes", want[i].name, w.buf->len);
		g_assert_cmpuint(w.buf->len, ==, want[i].size);
		state_writer_finish(&w);
	}
	/* The controllers of the interrupt lines, too, exist once each. */
	g_assert_null(state_registry_find(h.reg, "i8259", 2));
	half_destroy(&h);
}

static void move_all(struct half *from, struct half *to)
{
	for (unsigned i = 0; i < from->reg->entries->len; i++) {
		struct state_entry *e = g_ptr_array_index(from->reg->entries, i);
		struct state_entry *there = entry(to, e->idstr, e->instance_id);
		g_autoptr(GError) err = NULL;
		struct state_writer w;
		struct state_reader r;

		state_writer_init(&w);
		state_save_object(&w, e->desc, e->obj, NULL, &err);
		g_assert_no_error(err);
		state_reader_init_memory(&r, w.buf->data, w.buf->len);
		state_load_object(&r, there->desc, there->obj, there->desc->version, &err);
		g_assert_no_error(err);
		g_assert_true(state_at_eof(&r));
		state_reader_finish(&r);
		state_writer_finish(&w);
	}
	memcpy(to->g->ram->host, from->g->ram->host, RAM_SIZE);
}

static struct kvm_clock_data guest_clock(struct guest *g)
{
	struct kvm_clock_data d = { 0 };

	g_assert_cmpint(ioctl(kvm_fd_of_vm(g->vm->accel), KVM_GET_CLOCK, &d), ==, 0);
	return d;
}

/* There and back: the number that each vCPU counts goes on without a gap, as does its clock. */
static void test_go_on(void)
{
	struct half a, b;
	u64 clock;

	if (guest_skip())
		return;
	a = half_create(2);
	b = half_create(2);
	for (int i = 0; i < 2; i++) {
		guest_long_mode(a.g, i, 3);
		guest_write_loop(a.g, i, FIRST + i * MiB, LAST + i * MiB);
	}
	vm_start(a.g->vm);
	guest_wait_words(a.g, 10);
	for (int hop = 0; hop < 4; hop++) {
		struct half *from = hop & 1 ? &b : &a, *to = hop & 1 ? &a : &b;
		u64 count[2];

		vm_stop(from->g->vm, RUN_STATE_FINISH_MIGRATE);
		clock = guest_clock(from->g).clock;
		move_all(from, to);
		for (int i = 0; i < 2; i++) {
			count[i] = x86_cpu_of(from->g->vm->cpus[i])->env.regs[R_EAX];
			g_assert_cmpuint(count[i], ==,
					 x86_cpu_of(to->g->vm->cpus[i])->env.regs[R_EAX]);
		}
		vm_start(to->g->vm);
		g_assert_cmpuint(guest_clock(to->g).clock + 50 * NS_PER_MS, >=, clock);
		guest_wait_words(to->g, 4);
		vm_stop(to->g->vm, RUN_STATE_PAUSED);
		for (int i = 0; i < 2; i++) {
			g_autoptr(GError) err = NULL;
			u64 now;

			vcpu_get_state(to->g->vm->cpus[i], &err);
			g_assert_no_error(err);
			now = x86_cpu_of(to->g->vm->cpus[i])->env.regs[R_EAX];
			g_assert_cmpuint(now, >=, count[i]);
			/* Each page holds this round's number or the last one's. */
			for (u64 p = FIRST + i * MiB; p < LAST + i * MiB; p += 4096) {
				u64 v;

				memcpy(&v, to->g->ram->host + p, sizeof(v));
				g_assert_true(v == now || v == now - 1);
			}
		}
		g_assert_cmpint(to->g->resets + to->g->shutdowns, ==, 0);
	}
	half_destroy(&a);
	half_destroy(&b);
}

/* Loaded values that no machine can have are refused, by section and value. */
static void test_refusals(void)
{
	struct half h;
	GError *err = NULL;
	struct state_entry *e;
	struct x86_cpu *cpu;

	if (guest_skip())
		return;
	h = half_create(1);
	e = entry(&h, "cpu", 0);
	cpu = e->obj;
	cpu->env.mcg_cap = 99;
	g_assert_cmpint(e->desc->post_load(e->obj, 12, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "99 machine check banks"));
	g_clear_error(&err);
	cpu->env.mcg_cap = 0;
	cpu->env.fpregs_format_vmstate = 7;
	g_assert_cmpint(e->desc->post_load(e->obj, 12, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "format 7"));
	g_clear_error(&err);
	cpu->env.fpregs_format_vmstate = 0;
	/* KVM refuses a control register; the message names call and vCPU. */
	cpu->env.cr[4] = ~0ull;
	g_assert_cmpint(e->desc->post_load(e->obj, 12, &err), !=, 0);
	g_assert_nonnull(strstr(err->message, "vCPU 0: KVM_SET_SREGS"));
	g_clear_error(&err);
	half_destroy(&h);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/x86/state/sizes", test_sizes);
	g_test_add_func("/x86/state/go-on", test_go_on);
	g_test_add_func("/x86/state/refusals", test_refusals);
	return g_test_run();
}
