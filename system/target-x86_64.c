/* system/target-x86_64.c - what qemu-system-x86_64 is built of. */
#include "emulator.h"

#include "target/i386.h"

static char *cpu_help(void)
{
	GString *s = g_string_new("Available CPUs:\n");

	for (const char *const *m = x86_cpu_models(); *m; m++)
		g_string_append_printf(s, "x86 %s\n", *m);
	return g_string_free(s, FALSE);
}

static bool cpu_needs_kvm(const char *model)
{
	return !strcmp(model, "host");
}

static int cpu_expand(struct machine *m, const char *text, const struct cpu_visitor *v,
		      GError **err)
{
	const struct machine_options *o = &m->opt;
	const struct x86_topology topo = { o->sockets, o->dies, o->cores, o->threads };
	/* The answer says what is missing; nobody asked for a warning. */
	g_autofree char *quiet = g_strconcat(text, ",check=off,enforce=off", NULL);
	struct x86_cpu_model *model = x86_cpu_model_create(m->vm, quiet, &topo, err);

	if (!model)
		return -EINVAL;
	x86_cpu_model_features(model, v->feature, v->opaque);
	x86_cpu_model_values(model, v->value, v->opaque);
	x86_cpu_model_destroy(model);
	return 0;
}

static int inject_nmi(struct machine *m, GError **err)
{
	return x86_inject_nmi(m->vm, err);
}

static const struct accel_ops *const accels[] = { &kvm_accel_ops, &qtest_accel_ops, NULL };

const struct target_desc target_desc = {
	.hw = &hw_target_x86_64,
	.accels = accels,
	.cpu_help = cpu_help,
	.cpu_models = x86_cpu_models,
	.cpu_needs_kvm = cpu_needs_kvm,
	.cpu_expand = cpu_expand,
	.cpu_lists_unavailable = true,
	.inject_nmi = inject_nmi,
};
