/*
 * tests/unit/hw/fake-machine.h - a machine of made-up types for tests of the device framework.
 */
#ifndef TESTS_UNIT_HW_FAKE_MACHINE_H
#define TESTS_UNIT_HW_FAKE_MACHINE_H

#include "accel/vm.h"
#include "hw/machine.h"
#include "util/error.h"
#include "util/keyval.h"
#include "util/lock.h"

/* The last irq_set() of the machine, and how many there were. */
struct fake_irq {
	unsigned line, calls;
	bool level;
};

/* A VM without accelerator; takes the machine lock if need be. */
static inline struct vm *fake_vm(const struct vm_owner *owner)
{
	if (!machine_lock_held())
		machine_lock();
	return vm_create(true, owner);
}

/* Add a device from option text; the error text (or NULL) is returned, to be freed. */
static inline char *fake_add(struct machine *m, const char *text, struct device **dev)
{
	GError *err = NULL;
	JsonObject *opts = keyval_parse(text, "driver", &err);
	struct device *d = opts ? device_add(m, opts, &err) : NULL;
	char *msg = err ? g_strdup(err->message) : NULL;

	g_assert_true(!!d == !err);
	if (dev)
		*dev = d;
	if (opts)
		json_object_unref(opts);
	g_clear_error(&err);
	return msg;
}

static inline void expect_text(char *got, const char *want)
{
	g_assert_nonnull(got);
	g_assert_cmpstr(got, ==, want);
	g_free(got);
}

#endif
