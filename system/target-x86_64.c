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

static const struct accel_ops *const accels[] = { &kvm_accel_ops, &qtest_accel_ops, NULL };

const struct target_desc target_desc = {
	.hw = &hw_target_x86_64,
	.accels = accels,
	.cpu_help = cpu_help,
};
