/*
 * qapi/command.h - the table of commands that qapi/gen.py writes.
 */
#ifndef QAPI_COMMAND_H
#define QAPI_COMMAND_H

#include "qapi/event.h"

struct machine;

enum {
	QAPI_COMMAND_OOB = 1 << 0,       /* may run out of band, in the monitor thread */
	QAPI_COMMAND_PRECONFIG = 1 << 1, /* may run before the machine is created */
};

struct qapi_command {
	const char *name;
	/*
	 * Converts @args (an empty object if there are none), calls the handler, converts its
	 * result into *@ret. Return: true, or false with @err set.
	 */
	bool (*run)(struct machine *m, JsonObject *args, JsonNode **ret, GError **err);
	unsigned flags;
};

/* Everything that one schema offers, with the commands sorted by name. */
struct qapi_interface {
	const struct qapi_command *commands;
	size_t ncommands;
	const struct qapi_event *const *events;
	size_t nevents;
	const char *introspection; /* JSON text of query-qmp-schema's answer */
};

/* The interface of this emulator. */
extern const struct qapi_interface qapi_interface;

/* qapi_command_find() - the command of that name, or NULL. */
const struct qapi_command *qapi_command_find(const struct qapi_interface *interface,
					     const char *name);

/*
 * qapi_command_finish() - for marshalling code: turn what a handler left into a reply.
 * @type:   type of the result, NULL for none.
 * @slot:   the result; freed here.
 * @failed: the handler's error, taken over; NULL if it succeeded.
 */
bool qapi_command_finish(const struct qapi_type *type, void *slot, GError *failed, JsonNode **ret,
			 GError **err);

#endif
