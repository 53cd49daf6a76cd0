/* system/qmp/dump.c - commands about core files of the guest. */
#include "qapi/gen/dump.h"

#include "system/dump.h"
#include "system/emulator.h"
#include "util/error.h"

void qmp_dump_guest_memory(struct machine *m, const struct qapi_dump_guest_memory_args *args,
			   GError **err)
{
	const struct dump_request q = {
		.protocol = args->protocol,
		.detach = args->detach,
		.filtered = args->has_begin,
		.begin = args->begin,
		.length = args->length,
	};

	if (args->paging)
		error_set(err, "dump: paging=true is not supported, the file has guest physical "
			       "addresses: use paging=false");
	else if (args->has_begin != args->has_length)
		error_set(err, "dump: 'begin' and 'length' must be given together");
	else if (args->has_begin && (args->begin < 0 || args->length <= 0))
		error_set(err, "dump: 'begin' and 'length' must be addresses of memory");
	else
		dump_start(emulator_of(m), &q, err);
}

struct qapi_dump_query_result *qmp_query_dump(struct machine *m, GError **err)
{
	static const enum qapi_dump_status status[] = {
		[DUMP_NONE] = QAPI_DUMP_STATUS_NONE,
		[DUMP_ACTIVE] = QAPI_DUMP_STATUS_ACTIVE,
		[DUMP_COMPLETED] = QAPI_DUMP_STATUS_COMPLETED,
		[DUMP_FAILED] = QAPI_DUMP_STATUS_FAILED,
	};
	struct qapi_dump_query_result *r = g_new0(struct qapi_dump_query_result, 1);
	u64 completed, total;

	r->status = status[dump_query(emulator_of(m), &completed, &total)];
	r->completed = completed;
	r->total = total;
	return r;
}

struct qapi_dump_guest_memory_capability *qmp_query_dump_guest_memory_capability(struct machine *m,
										 GError **err)
{
	struct qapi_dump_guest_memory_capability *c =
		g_new0(struct qapi_dump_guest_memory_capability, 1);
	enum qapi_dump_guest_memory_format elf = QAPI_DUMP_GUEST_MEMORY_FORMAT_ELF;

	c->formats = g_array_new(FALSE, FALSE, sizeof(elf));
	g_array_append_val(c->formats, elf);
	return c;
}
