/*
 * tests/unit/hw/gicv2-fixture.h - for the tests of the GICv2: a machine with one, and accesses of
 * its CPUs.
 */
#ifndef TESTS_UNIT_HW_GICV2_FIXTURE_H
#define TESTS_UNIT_HW_GICV2_FIXTURE_H

#include "tests/unit/hw/fake-machine.h"

#include "accel/accel.h"
#include "accel/vcpu.h"
#include "hw/devices.h"
#include "hw/intc/gicv2-priv.h"
#include "migration/stream.h"
#include "target/arm/irq.h"

#define CPUS 4
#define GICD 0x08000000ull
#define GICC 0x08010000ull
#define V2M  0x08020000ull

/* Of GICC, and of GICV. */
enum {
	CTLR = 0x00,
	PMR = 0x04,
	BPR = 0x08,
	IAR = 0x0c,
	EOIR = 0x10,
	RPR = 0x14,
	HPPIR = 0x18,
	ABPR = 0x1c,
	AIAR = 0x20,
	AEOIR = 0x24,
	AHPPIR = 0x28,
	DEACTIVATE = 0x1000,
};

static struct machine *m;
static struct device *gic;
static struct arm_cpu *cpus[CPUS];

static int init(struct machine *machine, GError **err)
{
	bus_add(machine, "System", "main-system-bus");
	return 0;
}

static const struct machine_type type = {
	.name = "gic",
	.max_cpus = CPUS,
	.instance_size = sizeof(struct machine),
	.init = init,
};
static const struct machine_type *const machines[] = { &type, NULL };
static const struct device_type *const *const tables[] = { hw_intc_arm_devices, NULL };
static const struct hw_target target = { "gic", "gic-cpu", NULL, machines, tables };
static const struct machine_host host = { 0 };
static const struct vm_owner owner = { 0 };

static inline void create_gic(const struct arm_gicv2_config *config)
{
	const struct arm_gicv2m_config frame = { V2M, 48, 64 };

	m = machine_create(&target, &type, fake_vm(&owner), NULL, &host);
	g_assert_cmpint(machine_init(m, NULL), ==, 0);
	gic = arm_gicv2_create(m, config, NULL);
	g_assert_nonnull(gic);
	g_assert_nonnull(arm_gicv2m_create(m, gic, &frame, NULL));
	for (unsigned i = 0; i < config->cpus; i++) {
		cpus[i] = g_aligned_alloc0(1, sizeof(*cpus[i]), 64);
		arm_gicv2_attach(gic, i, cpus[i]);
	}
}

static inline void destroy(void)
{
	struct vm *vm = m->vm;

	machine_destroy(m);
	vm_destroy(vm);
	for (unsigned i = 0; i < CPUS; i++)
		g_clear_pointer(&cpus[i], g_aligned_free);
}

/* ---- accesses of a CPU: on a thread that is its own ---- */

struct access {
	const struct mmio_ops *ops;
	unsigned cpu, size;
	u64 offset, val;
	bool write;
};

static gpointer access_thread(gpointer opaque)
{
	struct access *a = opaque;
	const struct accel_ops accel_ops = { .name = "test" };
	struct accel accel = { .ops = &accel_ops };
	struct vm vm = { .accel = &accel };
	struct vcpu cpu = { .index = a->cpu, .vm = &vm };

	vcpu_thread_init(&cpu);
	if (a->write)
		a->ops->write(gic, a->offset, a->val, a->size);
	else
		a->val = a->ops->read(gic, a->offset, a->size);
	return NULL;
}

static inline u64 run(struct access a)
{
	g_thread_join(g_thread_new("access", access_thread, &a));
	return a.val;
}

static inline u32 cc(unsigned cpu, u64 offset)
{
	return run((struct access){ &gicv2_cpu_ops, cpu, 4, offset, 0, false });
}
static inline void set_cc(unsigned cpu, u64 offset, u32 val)
{
	run((struct access){ &gicv2_cpu_ops, cpu, 4, offset, val, true });
}
static inline u32 dist(unsigned cpu, u64 offset, unsigned size)
{
	return run((struct access){ &gicv2_dist_ops, cpu, size, offset, 0, false });
}
static inline void set_dist(unsigned cpu, u64 offset, unsigned size, u32 val)
{
	run((struct access){ &gicv2_dist_ops, cpu, size, offset, val, true });
}

static inline bool irq_line(unsigned cpu)
{
	return cpus[cpu]->irq_lines & 1u << ARM_LINE_IRQ;
}

/* What a kernel does first. */
static inline void enable(u32 cpu_ctlr)
{
	set_dist(0, 0, 4, 3);
	for (unsigned i = 0; i < CPUS && cpus[i]; i++) {
		for (unsigned n = 0; n < 32; n += 4)
			set_dist(i, 0x400 + n, 4, 0xa0a0a0a0);
		set_dist(i, 0x100, 4, 0xffff0000);
		set_cc(i, 4, 0xf0);
		set_cc(i, 0, cpu_ctlr);
	}
}

static inline void setup_spi(unsigned spi, u8 prio, bool edge, u8 targets)
{
	unsigned intid = 32 + spi;
	u32 config = dist(0, 0xc00 + intid / 16 * 4, 4), bit = 2u << intid % 16 * 2;

	set_dist(0, 0x400 + intid, 1, prio);
	set_dist(0, 0x800 + intid, 1, targets);
	set_dist(0, 0xc00 + intid / 16 * 4, 4, edge ? config | bit : config & ~bit);
	set_dist(0, 0x100 + intid / 32 * 4, 4, 1u << intid % 32);
}

/* ---- state ---- */

static inline GByteArray *save(void)
{
	struct state_writer w;
	GByteArray *bytes;

	state_writer_init(&w);
	g_assert_cmpint(state_save_nested(&w, gic->type->state, gic, NULL), ==, 0);
	bytes = g_byte_array_append(g_byte_array_new(), w.buf->data, w.buf->len);
	state_writer_finish(&w);
	return bytes;
}

static inline void load(const GByteArray *bytes)
{
	const struct state_desc *desc = gic->type->state;
	struct state_reader r;

	state_reader_init_memory(&r, bytes->data, bytes->len);
	g_assert_cmpint(state_load_nested(&r, desc, gic, desc->version, NULL), ==, 0);
	g_assert_cmpint(desc->post_load(gic, desc->version, NULL), ==, 0);
	g_assert_cmpuint(state_position(&r), ==, bytes->len);
	state_reader_finish(&r);
}

#endif
