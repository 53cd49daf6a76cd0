/* tests/unit/hw/gic-machine.c - a machine with RAM, a GICv3 and CPUs that execute nothing. */
#include "tests/unit/hw/gic-machine.h"

#include "hw/devices.h"

struct machine *gic_m;
struct device *gic;
struct arm_cpu *gic_cpu[GIC_CPUS];

struct gic_machine {
	struct machine m;
	struct mapping ram;
};

static int init(struct machine *m, GError **err)
{
	struct gic_machine *gm = (struct gic_machine *)m;

	bus_add(m, "System", "main-system-bus");
	gm->ram = (struct mapping){ .name = "ram",
				    .base = RAM_BASE,
				    .size = m->opt.ram_size,
				    .kind = MAP_RAM,
				    .block = machine_alloc_ram(m, err) };
	address_space_map(m->vm->memory, &gm->ram);
	return 0;
}

static void finish(struct machine *m)
{
	address_space_unmap(m->vm->memory, &((struct gic_machine *)m)->ram);
}

static const struct machine_type type = {
	.name = "gic",
	.default_ram_id = "ram",
	.default_ram_size = RAM_BYTES,
	.max_cpus = GIC_CPUS,
	.instance_size = sizeof(struct gic_machine),
	.init = init,
	.finish = finish,
};
static const struct machine_type *const machines[] = { &type, NULL };
static const struct device_type *const *const tables[] = { hw_intc_arm_devices, NULL };
static const struct hw_target target = { "gic", "gic-cpu", NULL, machines, tables };
static const struct machine_host host = { 0 };
static const struct vm_owner owner = { 0 };

void gic_machine(bool el2)
{
	const struct arm_gicv3_config config = {
		.dist_base = GICD, .redist = { { GICR, GIC_CPUS } }, .spis = 256, .lpis = true
	};

	gic_m = machine_create(&target, &type, fake_vm(&owner), NULL, &host);
	g_assert_cmpint(machine_init(gic_m, NULL), ==, 0);
	gic = arm_gicv3_create(gic_m, &config, NULL);
	g_assert_nonnull(gic);
	for (unsigned i = 0; i < GIC_CPUS; i++) {
		struct arm_cpu *cpu = g_aligned_alloc0(1, sizeof(*cpu), 64);

		cpu->mpidr = 1u << 31 | i;
		cpu->has_el2 = el2;
		arm_gicv3_attach(gic, i, cpu);
		arm_cpu_reset(cpu, 0);
		gic_cpu[i] = cpu;
	}
}

void gic_machine_free(void)
{
	struct vm *vm = gic_m->vm;

	machine_destroy(gic_m);
	vm_destroy(vm);
	for (unsigned i = 0; i < GIC_CPUS; i++) {
		g_hash_table_unref(gic_cpu[i]->sysregs);
		g_aligned_free(gic_cpu[i]);
	}
}

void gic_enable(void)
{
	wr32(GICD, 3);
	for (unsigned i = 0; i < GIC_CPUS; i++) {
		wr32(gicr_sgi(i) + 0x80, ~0u);  /* group 1 */
		wr32(gicr_sgi(i) + 0x100, ~0u); /* enabled */
		for (unsigned n = 0; n < 32; n += 4)
			wr32(gicr_sgi(i) + 0x400 + n, 0xa0a0a0a0);
		msr(gic_cpu[i], ICC_PMR, 0xf0);
		msr(gic_cpu[i], ICC_IGRPEN0, 1);
		msr(gic_cpu[i], ICC_IGRPEN1, 1);
	}
}

static void change_bit(u64 bitmap, unsigned intid, bool on)
{
	u64 at = bitmap + intid / 32 * 4;
	u32 bit = 1u << intid % 32;

	wr32(at, on ? rd32(at) | bit : rd32(at) & ~bit);
}

void gic_setup_spi(unsigned spi, u8 prio, bool edge, unsigned cpu)
{
	unsigned intid = 32 + spi;
	u64 config = GICD + 0xc00 + intid / 16 * 4;
	u32 bit = 2u << intid % 16 * 2;

	change_bit(GICD + 0x80, intid, true);
	wr(GICD + 0x400 + intid, 1, prio);
	wr32(config, edge ? rd32(config) | bit : rd32(config) & ~bit);
	wr(GICD + 0x6000 + 8 * intid, 8, gic_cpu[cpu]->mpidr & 0xffffff);
	wr32(GICD + 0x100 + intid / 32 * 4, 1u << intid % 32);
}

u64 rd(u64 gpa, unsigned size)
{
	enum mem_result result = MEM_OK;
	u64 val = address_space_ld(gic_m->vm->memory, gpa, size, &result);

	g_assert_cmpint(result, ==, MEM_OK);
	return val;
}

void wr(u64 gpa, unsigned size, u64 val)
{
	g_assert_cmpint(address_space_st(gic_m->vm->memory, gpa, val, size), ==, MEM_OK);
}
