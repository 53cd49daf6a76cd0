/* monitor/hmp-engines.c - `info hdbss` and `info hacdbs`. */
#include "monitor/hmp.h"
#include "qapi/gen/dirty-engines.h"

static GPtrArray *engines(struct hmp_call *call)
{
	g_autoptr(JsonNode) node = hmp_query(call, NULL, NULL);
	GPtrArray *list = NULL;
	GError *error = NULL;

	if (node && !qapi_value_read(&qapi_dirty_state_engines_list_type, node, &list, &error))
		hmp_fail(call, error);
	return list;
}

static void show_hdbss(struct hmp_call *call, int cpu, const struct qapi_hdbss_info *i)
{
	hmp_printf(call,
		   "CPU %d: HDBSS %s, buffer 0x%" PRIx64 ", index %" PRIu64 " of %" PRIu64
		   ", FSC 0x%x\n",
		   cpu, i->enabled ? "on" : "off", i->base, i->index, i->size, i->fsc);
	hmp_printf(call,
		   "  entries %" PRIu64 " (of tables %" PRIu64 ", injected %" PRIu64
		   "), full faults %" PRIu64 ", error faults %" PRIu64 ", aborts %" PRIu64
		   ", resets %" PRIu64 "\n",
		   i->entries, i->table_entries, i->injected, i->full_faults, i->error_faults,
		   i->aborts, i->resets);
}

static void show_hacdbs(struct hmp_call *call, int cpu, const struct qapi_hacdbs_info *i)
{
	hmp_printf(call,
		   "CPU %d: HACDBS %s%s, buffer 0x%" PRIx64 ", index %" PRIu64 " of %" PRIu64
		   ", error %s%s\n",
		   cpu, i->enabled ? "on" : "off", i->running ? " and running" : "", i->base,
		   i->index, i->size, qapi_hacdbs_error_str(i->error),
		   i->interrupt ? ", interrupt" : "");
	hmp_printf(call,
		   "  entries %" PRIu64 ", cleaned %" PRIu64 ", were clean %" PRIu64
		   ", skipped %" PRIu64 ", errors %" PRIu64 "/%" PRIu64 "/%" PRIu64 "\n",
		   i->entries, i->cleaned, i->were_clean, i->skipped, i->structf_errors,
		   i->ipaf_errors, i->ipahacf_errors);
	hmp_printf(call,
		   "  starts %" PRIu64 ", pieces %" PRIu64 ", interrupts %" PRIu64 " (lost %" PRIu64
		   "), ignored writes %" PRIu64 "\n",
		   i->starts, i->slices, i->interrupts, i->lost_interrupts, i->ignored_writes);
}

void hmp_info_hdbss(struct hmp_call *call)
{
	g_autoptr(GPtrArray) list = engines(call);
	bool any = false;

	for (unsigned i = 0; list && i < list->len; i++) {
		const struct qapi_dirty_state_engines *e = g_ptr_array_index(list, i);

		if (e->hdbss)
			show_hdbss(call, e->cpu_index, e->hdbss);
		any |= e->hdbss != NULL;
	}
	if (list && !any)
		hmp_printf(call, "No CPU has HDBSS\n");
}

void hmp_info_hacdbs(struct hmp_call *call)
{
	g_autoptr(GPtrArray) list = engines(call);
	bool any = false;

	for (unsigned i = 0; list && i < list->len; i++) {
		const struct qapi_dirty_state_engines *e = g_ptr_array_index(list, i);

		if (e->hacdbs)
			show_hacdbs(call, e->cpu_index, e->hacdbs);
		any |= e->hacdbs != NULL;
	}
	if (list && !any)
		hmp_printf(call, "No CPU has HACDBS\n");
}
