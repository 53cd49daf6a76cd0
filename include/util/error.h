/*
 * util/error.h - the error domain that every room reports through GError.
 *
 * The codes are the error classes of QMP (QEMU's QMP reference, "Errors"); a monitor turns the
 * code into the class name. Errors are set once, at the place of detection, as one sentence in
 * lower case without a full stop; upper levels may prefix with g_prefix_error().
 */
#ifndef UTIL_ERROR_H
#define UTIL_ERROR_H

#include <glib.h>

#define MACHINE_ERROR machine_error_quark()

enum machine_error {
	ERROR_GENERIC,
	ERROR_COMMAND_NOT_FOUND,
	ERROR_DEVICE_NOT_FOUND,
	ERROR_DEVICE_NOT_ACTIVE,
	ERROR_KVM_MISSING_CAP,
};

/*
 * machine_error_quark() - the GError domain of all our own errors.
 *
 * Context: any thread.
 */
GQuark machine_error_quark(void);

/*
 * error_set() - report a failure of the generic class.
 * @err: as g_set_error(): NULL, or pointing to NULL.
 */
#define error_set(err, ...) g_set_error(err, MACHINE_ERROR, ERROR_GENERIC, __VA_ARGS__)

/*
 * error_set_errno() - report a failed system call.
 * @err:   as g_set_error().
 * @errnum: positive errno value; its text is appended after ": ".
 */
void error_set_errno(GError **err, int errnum, const char *fmt, ...) G_GNUC_PRINTF(3, 4);

#endif
