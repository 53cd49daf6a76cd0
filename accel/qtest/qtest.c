/*
 * accel/qtest/qtest.c - the accelerator that runs nothing: a test drives devices from outside.
 *
 * A vCPU has registers and no thread; it counts as parked for ever.
 */
#include "accel/accel.h"
#include "accel/vcpu.h"

static struct accel *qtest_create(struct vm *vm, JsonObject *props, GError **err)
{
	struct accel *a = g_new0(struct accel, 1);

	a->ops = &qtest_accel_ops;
	a->vm = vm;
	return a;
}

static void qtest_destroy(struct accel *a)
{
	g_free(a);
}

static int qtest_vcpu_create(struct accel *a, struct vcpu *cpu, GError **err)
{
	cpu->stopped = true;
	return 0;
}

static void qtest_vcpu_destroy(struct accel *a, struct vcpu *cpu)
{
}

static void qtest_vcpu_kick(struct accel *a, struct vcpu *cpu)
{
}

const struct accel_ops qtest_accel_ops = {
	.name = "qtest",
	.desc = "no vCPU runs; for tests of devices",
	.props_help = "",
	.create = qtest_create,
	.destroy = qtest_destroy,
	.vcpu_create = qtest_vcpu_create,
	.vcpu_destroy = qtest_vcpu_destroy,
	.vcpu_kick = qtest_vcpu_kick,
};
