/*
 * monitor/hmp-migration.c - lines of the human monitor about migration and dirty tracking.
 */
#include "monitor/hmp.h"
#include "monitor/json.h"
#include "qapi/gen/dirty.h"
#include "qapi/gen/migration.h"
#include "util/error.h"
#include "util/keyval.h"

static struct qapi_migration_info *query_migrate(struct hmp_call *call)
{
	g_autoptr(JsonNode) node = hmp_query(call, "query-migrate", NULL);
	struct qapi_migration_info *info = NULL;
	GError *error = NULL;

	if (node)
		info = qapi_migration_info_from_json(node, &error);
	if (error)
		hmp_fail(call, error);
	return info;
}

static bool is_over(enum qapi_migration_status status)
{
	switch (status) {
	case QAPI_MIGRATION_STATUS_NONE:
	case QAPI_MIGRATION_STATUS_COMPLETED:
	case QAPI_MIGRATION_STATUS_FAILED:
	case QAPI_MIGRATION_STATUS_CANCELLED:
	case QAPI_MIGRATION_STATUS_POSTCOPY_PAUSED: return true;
	default: return false;
	}
}

static bool migrate_done(struct hmp_call *call)
{
	struct qapi_migration_info *info = query_migrate(call);
	bool done = !info || !info->has_status || is_over(info->status);

	if (info && info->error_desc && done)
		hmp_printf(call, "Error: %s\n", info->error_desc);
	qapi_migration_info_free(info);
	return done;
}

void hmp_migrate(struct hmp_call *call)
{
	bool detach = json_object_has_member(call->args, "-d");
	g_autoptr(JsonObject) args = json_object_new();
	g_autoptr(JsonNode) result = NULL;

	json_object_set_string_member(args, "uri",
				      json_object_get_string_member(call->args, "uri"));
	if (json_object_has_member(call->args, "-r"))
		json_object_set_boolean_member(args, "resume", TRUE);
	result = hmp_query(call, NULL, g_steal_pointer(&args));
	if (!result || detach)
		return;
	if (call->session)
		hmp_wait(call, migrate_done);
	else
		hmp_printf(call, "nobody is there to wait: the migration goes on detached\n");
}

void hmp_migrate_set_capability(struct hmp_call *call)
{
	g_autoptr(JsonObject) args = json_object_new();
	g_autoptr(JsonNode) result = NULL;
	JsonArray *list = json_array_new();

	json_array_add_object_element(list, json_object_ref(call->args));
	json_object_set_array_member(args, "capabilities", list);
	result = hmp_query(call, NULL, g_steal_pointer(&args));
}

/* Bandwidths are in MiB/s unless they have a suffix, as in QEMU's human monitor. */
static char *scale_bandwidth(const char *name, const char *value)
{
	u64 bytes;

	if (strcmp(name, "max-bandwidth") && strcmp(name, "avail-switchover-bandwidth"))
		return g_strdup(value);
	if (size_parse(value, 'M', &bytes))
		return g_strdup(value);
	return g_strdup_printf("%" PRIu64, bytes);
}

void hmp_migrate_set_parameter(struct hmp_call *call)
{
	const char *name = json_object_get_string_member(call->args, "parameter");
	g_autofree char *value =
		scale_bandwidth(name, json_object_get_string_member(call->args, "value"));
	g_autoptr(JsonObject) one = json_object_new();
	struct qapi_migration_parameters parameters = { 0 };
	g_autoptr(JsonNode) result = NULL;
	GError *error = NULL;

	if (!strcmp(name, "cpr-exec-command")) {
		g_auto(GStrv) words = g_strsplit(value, " ", -1);
		JsonArray *list = json_array_new();

		for (int i = 0; words[i]; i++)
			json_array_add_string_element(list, words[i]);
		json_object_set_array_member(one, name, list);
	} else {
		json_object_set_string_member(one, name, value);
	}
	if (!qapi_struct_read_text(&qapi_migration_parameters_type, one, &parameters, &error)) {
		hmp_fail(call, error);
		return;
	}
	result = hmp_query(call, NULL,
			   qapi_struct_write(&qapi_migration_parameters_type, &parameters));
	qapi_struct_clear(&qapi_migration_parameters_type, &parameters);
}

void hmp_calc_dirty_rate(struct hmp_call *call)
{
	bool ring = json_object_has_member(call->args, "-r");
	bool bitmap = json_object_has_member(call->args, "-b");
	g_autoptr(JsonObject) args = json_object_new();
	g_autoptr(JsonNode) result = NULL;

	if (ring && bitmap) {
		hmp_printf(call, "Error: -r and -b exclude each other\n");
		return;
	}
	json_object_set_int_member(args, "calc-time",
				   json_object_get_int_member(call->args, "second"));
	if (json_object_has_member(call->args, "sample_pages_per_GB"))
		json_object_set_int_member(
			args, "sample-pages",
			json_object_get_int_member(call->args, "sample_pages_per_GB"));
	json_object_set_string_member(args, "mode",
				      ring     ? "dirty-ring"
				      : bitmap ? "dirty-bitmap"
					       : "page-sampling");
	result = hmp_query(call, NULL, g_steal_pointer(&args));
	if (result)
		hmp_printf(call, "Starting dirty rate measurement; result: \"info dirty_rate\"\n");
}

void hmp_announce_self(struct hmp_call *call)
{
	static const char *const keys[] = { "initial", "max", "rounds", "step" };
	g_autoptr(JsonNode) node = hmp_query(call, "query-migrate-parameters", NULL);
	const char *names =
		json_object_get_string_member_with_default(call->args, "interfaces", NULL);
	g_autoptr(JsonNode) result = NULL;

	if (!node)
		return;
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
		g_autofree char *parameter = g_strconcat("announce-", keys[i], NULL);

		json_object_set_int_member(
			call->args, keys[i],
			json_object_get_int_member(json_node_get_object(node), parameter));
	}
	if (names) {
		g_auto(GStrv) words = g_strsplit(names, ",", -1);
		JsonArray *list = json_array_new();

		for (int i = 0; words[i]; i++)
			json_array_add_string_element(list, words[i]);
		json_object_set_array_member(call->args, "interfaces", list);
	}
	result = hmp_query(call, NULL, json_object_ref(call->args));
}

/* ---- info ---------------------------------------------------------------------------------- */

static void print_ram(struct hmp_call *call, const struct qapi_migration_ram_stats *ram)
{
	hmp_printf(call, "transferred ram: %" PRId64 " kbytes\n", ram->transferred >> 10);
	hmp_printf(call, "throughput: %.2f mbps\n", ram->mbps);
	hmp_printf(call, "remaining ram: %" PRId64 " kbytes\n", ram->remaining >> 10);
	hmp_printf(call, "total ram: %" PRId64 " kbytes\n", ram->total >> 10);
	hmp_printf(call, "duplicate: %" PRId64 " pages\n", ram->duplicate);
	hmp_printf(call, "normal: %" PRId64 " pages\n", ram->normal);
	hmp_printf(call, "normal bytes: %" PRId64 " kbytes\n", ram->normal_bytes >> 10);
	hmp_printf(call, "dirty sync count: %" PRId64 "\n", ram->dirty_sync_count);
	hmp_printf(call, "page size: %" PRId64 " kbytes\n", ram->page_size >> 10);
	hmp_printf(call, "multifd bytes: %" PRIu64 " kbytes\n", ram->multifd_bytes >> 10);
	hmp_printf(call, "pages-per-second: %" PRIu64 "\n", ram->pages_per_second);
	if (ram->dirty_pages_rate)
		hmp_printf(call, "dirty pages rate: %" PRId64 " pages\n", ram->dirty_pages_rate);
	if (ram->postcopy_requests)
		hmp_printf(call, "postcopy request count: %" PRId64 "\n", ram->postcopy_requests);
	if (ram->precopy_bytes)
		hmp_printf(call, "precopy ram: %" PRIu64 " kbytes\n", ram->precopy_bytes >> 10);
	if (ram->downtime_bytes)
		hmp_printf(call, "downtime ram: %" PRIu64 " kbytes\n", ram->downtime_bytes >> 10);
	if (ram->postcopy_bytes)
		hmp_printf(call, "postcopy ram: %" PRIu64 " kbytes\n", ram->postcopy_bytes >> 10);
	if (ram->dirty_sync_missed_zero_copy)
		hmp_printf(call, "Zero-copy-send fallbacks happened: %" PRIu64 " times\n",
			   ram->dirty_sync_missed_zero_copy);
}

static void print_xbzrle(struct hmp_call *call, const struct qapi_xbzrle_cache_stats *cache)
{
	hmp_printf(call, "cache size: %" PRIu64 " bytes\n", cache->cache_size);
	hmp_printf(call, "xbzrle transferred: %" PRId64 " kbytes\n", cache->bytes >> 10);
	hmp_printf(call, "xbzrle pages: %" PRId64 " pages\n", cache->pages);
	hmp_printf(call, "xbzrle cache miss: %" PRId64 " pages\n", cache->cache_miss);
	hmp_printf(call, "xbzrle cache miss rate: %.2f\n", cache->cache_miss_rate);
	hmp_printf(call, "xbzrle encoding rate: %.2f\n", cache->encoding_rate);
	hmp_printf(call, "xbzrle overflow: %" PRId64 "\n", cache->overflow);
}

static void print_cause(struct hmp_call *call, const char *name, bool has, u64 ns)
{
	if (has)
		hmp_printf(call, "  %-12s %9.3f ms\n", name, ns / 1e6);
}

static void print_downtime(struct hmp_call *call, const struct qapi_migration_downtime *d)
{
	hmp_printf(call, "downtime by cause:\n");
	print_cause(call, "predicted", d->has_predicted, d->predicted);
	print_cause(call, "stop", d->has_stop, d->stop);
	print_cause(call, "last sync", d->has_last_sync, d->last_sync);
	print_cause(call, "ram", d->has_ram, d->ram);
	print_cause(call, "device state", d->has_device_state, d->device_state);
	print_cause(call, "resume", d->has_resume, d->resume);
	print_cause(call, "total", d->has_total, d->total);
}

static void print_tracking(struct hmp_call *call, const struct qapi_migration_tracking *t)
{
	hmp_printf(call, "tracking: %s (%s)\n", t->backend, t->mode);
	hmp_printf(call, "  syncs: %" PRIu64 " in %.3f ms\n", t->syncs, t->sync_ns / 1e6);
	hmp_printf(call, "  clears: %" PRIu64 " in %.3f ms, longest %.3f ms\n", t->clear_calls,
		   t->clear_ns / 1e6, t->clear_max_ns / 1e6);
	hmp_printf(call, "  pages reported: %" PRIu64 "\n", t->pages_reported);
	hmp_printf(call, "  ring-full exits: %" PRIu64 "\n", t->ring_full_exits);
	hmp_printf(call, "  guest stall: %.3f ms\n", t->guest_stall_ns / 1e6);
}

static void print_verify(struct hmp_call *call, const struct qapi_migration_verify *v)
{
	hmp_printf(call, "verify: %" PRIu64 " pages compared in %.3f ms, %" PRIu64 " differ\n",
		   v->pages, v->ns / 1e6, v->mismatches);
	for (unsigned i = 0; i < v->first->len; i++) {
		const struct qapi_migration_verify_mismatch *m = g_ptr_array_index(v->first, i);

		hmp_printf(call, "  %s offset 0x%" PRIx64 ": %s did not report the write\n",
			   m->block, m->offset, m->backend);
	}
}

static void print_times(struct hmp_call *call, const struct qapi_migration_info *info)
{
	if (info->has_total_time)
		hmp_printf(call, "total time: %" PRId64 " ms\n", info->total_time);
	if (info->has_expected_downtime)
		hmp_printf(call, "expected downtime: %" PRId64 " ms\n", info->expected_downtime);
	if (info->has_downtime)
		hmp_printf(call, "downtime: %" PRId64 " ms\n", info->downtime);
	if (info->has_setup_time)
		hmp_printf(call, "setup: %" PRId64 " ms\n", info->setup_time);
	if (info->has_x_verdict)
		hmp_printf(call, "verdict: %s\n", qapi_migration_verdict_str(info->x_verdict));
	if (info->has_x_eta_ms)
		hmp_printf(call, "eta: %" PRIu64 " ms\n", info->x_eta_ms);
}

static void print_address(struct hmp_call *call, const struct qapi_socket_address *address)
{
	switch (address->type) {
	case QAPI_SOCKET_ADDRESS_TYPE_INET:
		hmp_printf(call, "\ttcp:%s:%s\n", address->u.inet.host, address->u.inet.port);
		break;
	case QAPI_SOCKET_ADDRESS_TYPE_UNIX:
		hmp_printf(call, "\tunix:%s\n", address->u.unix_.path);
		break;
	case QAPI_SOCKET_ADDRESS_TYPE_VSOCK:
		hmp_printf(call, "\tvsock:%s:%s\n", address->u.vsock.cid, address->u.vsock.port);
		break;
	default: hmp_printf(call, "\tfd:%s\n", address->u.fd.str);
	}
}

static void print_limits(struct hmp_call *call, const struct qapi_migration_info *info)
{
	if (info->has_cpu_throttle_percentage)
		hmp_printf(call, "cpu throttle percentage: %" PRId64 "\n",
			   info->cpu_throttle_percentage);
	if (info->has_dirty_limit_throttle_time_per_round)
		hmp_printf(call, "dirty-limit throttle time: %" PRIu64 " us\n",
			   info->dirty_limit_throttle_time_per_round);
	if (info->has_dirty_limit_ring_full_time)
		hmp_printf(call, "dirty-limit ring full time: %" PRIu64 " us\n",
			   info->dirty_limit_ring_full_time);
	if (info->has_postcopy_blocktime)
		hmp_printf(call, "postcopy blocktime: %u\n", info->postcopy_blocktime);
}

static void print_lists(struct hmp_call *call, const struct qapi_migration_info *info)
{
	if (info->socket_address && info->socket_address->len) {
		hmp_printf(call, "socket address: [\n");
		for (unsigned i = 0; i < info->socket_address->len; i++)
			print_address(call, g_ptr_array_index(info->socket_address, i));
		hmp_printf(call, "]\n");
	}
	for (unsigned i = 0; info->blocked_reasons && i < info->blocked_reasons->len; i++)
		hmp_printf(call, "blocked: %s\n",
			   (const char *)g_ptr_array_index(info->blocked_reasons, i));
}

void hmp_info_migrate(struct hmp_call *call)
{
	struct qapi_migration_info *info = query_migrate(call);

	if (!info)
		return;
	hmp_printf(call, "Migration status: %s",
		   info->has_status ? qapi_migration_status_str(info->status) : "none");
	if (info->error_desc)
		hmp_printf(call, " (%s)", info->error_desc);
	hmp_printf(call, "\n");
	print_times(call, info);
	if (info->ram)
		print_ram(call, info->ram);
	print_limits(call, info);
	print_lists(call, info);
	if (info->x_downtime)
		print_downtime(call, info->x_downtime);
	if (info->x_verify)
		print_verify(call, info->x_verify);
	if (info->xbzrle_cache)
		print_xbzrle(call, info->xbzrle_cache);
	if (info->x_tracking)
		print_tracking(call, info->x_tracking);
	qapi_migration_info_free(info);
	if (json_object_has_member(call->args, "-a")) {
		hmp_printf(call, "capabilities:\n");
		hmp_info_migrate_capabilities(call);
		hmp_printf(call, "parameters:\n");
		hmp_info_migrate_parameters(call);
	}
}

void hmp_info_migrate_capabilities(struct hmp_call *call)
{
	g_autoptr(JsonNode) node = hmp_query(call, "query-migrate-capabilities", NULL);
	JsonArray *list = node ? json_node_get_array(node) : NULL;

	for (unsigned i = 0; list && i < json_array_get_length(list); i++) {
		JsonObject *one = json_array_get_object_element(list, i);

		hmp_printf(call, "%s: %s\n", json_object_get_string_member(one, "capability"),
			   json_object_get_boolean_member(one, "state") ? "on" : "off");
	}
}

static const char *unit_of(const char *parameter)
{
	static const struct {
		const char *parameter, *unit;
	} units[] = {
		{ "announce-initial", " ms" },
		{ "announce-max", " ms" },
		{ "announce-step", " ms" },
		{ "avail-switchover-bandwidth", " bytes/second" },
		{ "downtime-limit", " ms" },
		{ "max-bandwidth", " bytes/second" },
		{ "max-postcopy-bandwidth", " bytes/second" },
		{ "vcpu-dirty-limit", " MB/s" },
		{ "x-vcpu-dirty-limit-period", " ms" },
		{ "xbzrle-cache-size", " bytes" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(units); i++) {
		if (!strcmp(units[i].parameter, parameter))
			return units[i].unit;
	}
	return "";
}

static void print_parameter(struct hmp_call *call, const char *name, JsonNode *value)
{
	GType type = json_node_get_value_type(value);

	hmp_printf(call, "%s: ", name);
	if (type == G_TYPE_STRING && g_str_has_prefix(name, "tls-"))
		hmp_printf(call, "'%s'", json_node_get_string(value));
	else if (type == G_TYPE_STRING)
		hmp_printf(call, "%s", json_node_get_string(value));
	else if (type == G_TYPE_BOOLEAN)
		hmp_printf(call, "%s", json_node_get_boolean(value) ? "on" : "off");
	else
		json_write(call->out, value, false);
	hmp_printf(call, "%s\n", unit_of(name));
}

void hmp_info_migrate_parameters(struct hmp_call *call)
{
	g_autoptr(JsonNode) node = hmp_query(call, "query-migrate-parameters", NULL);
	JsonObjectIter iter;
	const char *name;
	JsonNode *value;

	if (!node)
		return;
	json_object_iter_init_ordered(&iter, json_node_get_object(node));
	while (json_object_iter_next_ordered(&iter, &name, &value))
		print_parameter(call, name, value);
}

void hmp_info_dirty_rate(struct hmp_call *call)
{
	g_autoptr(JsonNode) node = hmp_query(call, NULL, NULL);
	struct qapi_dirty_rate_info *info =
		node ? qapi_dirty_rate_info_from_json(node, NULL) : NULL;

	if (!info)
		return;
	hmp_printf(call, "Status: %s\n", qapi_dirty_rate_status_str(info->status));
	hmp_printf(call, "Start Time: %" PRId64 " (ms)\n", info->start_time);
	if (info->mode == QAPI_DIRTY_RATE_MEASURE_MODE_PAGE_SAMPLING)
		hmp_printf(call, "Sample Pages: %" PRIu64 " (per GB)\n", info->sample_pages);
	hmp_printf(call, "Period: %" PRId64 " (%s)\n", info->calc_time,
		   info->calc_time_unit == QAPI_TIME_UNIT_SECOND ? "sec" : "ms");
	hmp_printf(call, "Mode: %s\n", qapi_dirty_rate_measure_mode_str(info->mode));
	if (info->has_dirty_rate)
		hmp_printf(call, "Dirty rate: %" PRId64 " (MB/s)\n", info->dirty_rate);
	else
		hmp_printf(call, "Dirty rate: (not ready)\n");
	for (unsigned i = 0; info->vcpu_dirty_rate && i < info->vcpu_dirty_rate->len; i++) {
		const struct qapi_dirty_rate_vcpu *vcpu =
			g_ptr_array_index(info->vcpu_dirty_rate, i);

		hmp_printf(call, "vcpu[%" PRId64 "], Dirty rate: %" PRId64 " (MB/s)\n", vcpu->id,
			   vcpu->dirty_rate);
	}
	qapi_dirty_rate_info_free(info);
}

void hmp_info_vcpu_dirty_limit(struct hmp_call *call)
{
	g_autoptr(JsonNode) node = hmp_query(call, NULL, NULL);
	GPtrArray *list = NULL;

	if (!node || !qapi_value_read(&qapi_dirty_limit_info_list_type, node, &list, NULL))
		return;
	if (!list->len)
		hmp_printf(call, "Dirty page limit not enabled!\n");
	for (unsigned i = 0; i < list->len; i++) {
		const struct qapi_dirty_limit_info *info = g_ptr_array_index(list, i);

		hmp_printf(call,
			   "vcpu[%" PRId64 "], limit rate %" PRIu64 " (MB/s), current rate %" PRIu64
			   " (MB/s)\n",
			   info->cpu_index, info->limit_rate, info->current_rate);
	}
	g_ptr_array_unref(list);
}

static void print_calls(struct hmp_call *call, const char *name, u64 calls, u64 ns)
{
	if (calls)
		hmp_printf(call, "%-16s %10" PRIu64 " calls %12.3f ms %10.3f us each\n", name,
			   calls, ns / 1e6, ns / 1e3 / calls);
}

static void print_count(struct hmp_call *call, const char *name, u64 count)
{
	if (count)
		hmp_printf(call, "%-16s %10" PRIu64 "\n", name, count);
}

void hmp_info_dirty_tracking(struct hmp_call *call)
{
	g_autoptr(JsonNode) node = hmp_query(call, NULL, NULL);
	struct qapi_dirty_tracking_info *info =
		node ? qapi_dirty_tracking_info_from_json(node, NULL) : NULL;
	const struct qapi_dirty_tracking_counters *n;

	if (!info)
		return;
	hmp_printf(call, "back end: %s (%s)\n", info->backend, info->mode);
	if (info->has_ring_size)
		hmp_printf(call, "ring size: %u entries per vCPU\n", info->ring_size);
	hmp_printf(call, "clients:");
	for (unsigned i = 0; i < info->clients->len; i++)
		hmp_printf(call, " %s", (const char *)g_ptr_array_index(info->clients, i));
	hmp_printf(call, "%s\n", info->clients->len ? "" : " none");

	n = info->counters;
	print_calls(call, "start", n->starts, n->start_ns);
	print_calls(call, "sync", n->syncs, n->sync_ns);
	print_calls(call, "get", n->get_calls, n->get_ns);
	print_calls(call, "clear", n->clear_calls, n->clear_ns);
	print_calls(call, "ring reset", n->reset_calls, n->reset_ns);
	print_calls(call, "ring full", n->ring_full_exits, n->ring_full_ns);
	print_count(call, "pages reported", n->pages_reported);
	print_count(call, "pages cleared", n->clear_pages);
	print_count(call, "entries reset", n->reset_entries);
	print_count(call, "ring overflows", n->ring_overflows);
	print_count(call, "fallbacks to log", n->fallbacks);
	if (n->clear_calls)
		hmp_printf(call, "longest clear    %10.3f us\n", n->clear_max_ns / 1e3);
	for (unsigned i = 0; i < info->blocks->len; i++) {
		const struct qapi_dirty_tracking_block *b = g_ptr_array_index(info->blocks, i);

		hmp_printf(call, "block %s: %" PRIu64 " pages, taken %" PRIu64 " at a time\n",
			   b->name, b->pages, b->batch_pages);
	}
	qapi_dirty_tracking_info_free(info);
}
