/* target/arm/engines.c - the dirty-state engines of a CPU: creation, what both have in common. */
#include "target/arm/engines.h"
#include "target/arm/engines-priv.h"
#include "target/arm/sem.h"
#include "util/log.h"

/* Bits of addresses that exist, by ID_AA64MMFR0_EL1.PARange. */
static unsigned address_bits(const struct arm_cpu *cpu)
{
	static const u8 bits[] = { 32, 36, 40, 42, 44, 48, 52, 56 };

	return bits[cpu->pa_range & 7];
}

u64 buffer_register(struct arm_cpu *cpu, const char *name, u64 val)
{
	u64 base = buffer_base(val) & (((u64)1 << address_bits(cpu)) - 1);

	if ((val & BUFFER_SZ) > BUFFER_SZ_MAX)
		log_guest("%s: size %u is reserved, taken as %u, at 0x%" PRIx64 "\n", name,
			  (unsigned)(val & BUFFER_SZ), BUFFER_SZ_MAX, cpu_pc(cpu));
	return base | (val & BUFFER_SZ);
}

void arm_engines_create(struct arm_cpu *cpu, const struct arm_engines_config *config)
{
	struct arm_engines *e;

	if (!cpu->has_el2 || !(config->hdbss || config->hacdbs))
		return;
	e = g_new0(struct arm_engines, 1);
	e->cpu = cpu;
	e->config = *config;
	cpu->engines = e;
	if (config->hdbss)
		arm_hdbss_init(cpu);
	if (config->hacdbs)
		arm_hacdbs_init(cpu);
}

void arm_engines_destroy(struct arm_cpu *cpu)
{
	if (cpu->engines && cpu->engines->config.hacdbs)
		arm_hacdbs_finish(cpu);
	g_clear_pointer(&cpu->engines, g_free);
}

void arm_engines_connect(struct arm_cpu *cpu, void (*irq)(void *opaque, bool level), void *opaque)
{
	if (!cpu->engines)
		return;
	cpu->engines->irq = irq;
	cpu->engines->irq_opaque = opaque;
}
