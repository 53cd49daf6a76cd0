/* system/target-aarch64.c - what qemu-system-aarch64 is built of. */
#include "emulator.h"

#include "hw/machine.h"
#include "target/arm.h"
#include "target/arm/semihosting.h"

extern const struct dirty_engine_ops arm_dirty_engine_ops; /* dirty-engines-aarch64.c */

static char *cpu_help(void)
{
	GString *s = g_string_new("Available CPUs:\n");

	for (const char *const *m = arm_cpu_models(); *m; m++)
		g_string_append_printf(s, "  %s\n", *m);
	return g_string_free(s, FALSE);
}

/* That model is KVM's. */
static bool cpu_needs_kvm(const char *model)
{
	return !strcmp(model, "host");
}

static void visit_prop(void *opaque, const char *name, bool on)
{
	const struct cpu_visitor *v = opaque;

	v->feature(v->opaque, name, on, false);
}

static int cpu_expand(struct machine *m, const char *text, const struct cpu_visitor *v,
		      GError **err)
{
	bool qarma5 = machine_compat_value(m->type, "cpu", "pauth-qarma5");
	struct arm_cpu_model *model = arm_cpu_model_create(m->vm, text, qarma5, err);

	if (!model)
		return -EINVAL;
	arm_cpu_model_props(model, visit_prop, (void *)v);
	arm_cpu_model_destroy(model);
	return 0;
}

static void semihosting_enable(struct machine *m, const struct semihosting_config *config)
{
	u64 base, limit;

	arm_semihosting_enable(m->vm, config);
	machine_free_ram(m, &base, &limit);
	arm_semihosting_set_heap(base, limit);
}

static const struct accel_ops *const accels[] = {
	&tcg_accel_ops,
#ifdef ARM_KVM
	&kvm_accel_ops,
#endif
	&qtest_accel_ops,
	NULL,
};

const struct target_desc target_desc = {
	.hw = &hw_target_aarch64,
	.accels = accels,
	.cpu_help = cpu_help,
	.cpu_models = arm_cpu_models,
	.cpu_needs_kvm = cpu_needs_kvm,
	.cpu_expand = cpu_expand,
	.semihosting_enable = semihosting_enable,
	.semihosting_disable = arm_semihosting_disable,
	.dirty_engines = &arm_dirty_engine_ops,
};
