/*
 * monitor/hmp-info.c - texts of `info` topics about the machine.
 */
#include "monitor/hmp.h"
#include "qapi/gen/block.h"
#include "qapi/gen/char.h"
#include "qapi/gen/control.h"
#include "qapi/gen/cpu.h"
#include "qapi/gen/guest-memory.h"
#include "qapi/gen/machine.h"
#include "qapi/gen/run-state.h"

/* The result of the topic's QMP command as a value of @type; false after an error was shown. */
static bool query(struct hmp_call *call, const struct qapi_type *type, void *slot)
{
	g_autoptr(JsonNode) node = hmp_query(call, NULL, NULL);
	GError *error = NULL;

	if (!node)
		return false;
	if (qapi_value_read(type, node, slot, &error))
		return true;
	hmp_fail(call, error);
	return false;
}

void hmp_info_text(struct hmp_call *call)
{
	g_autoptr(JsonObject) args = json_object_new();
	g_autoptr(JsonNode) node = NULL;
	int cpu = monitor_scope_cpu();

	if (json_object_has_member(call->args, "-f"))
		json_object_set_boolean_member(args, "flat", TRUE);
	if (cpu >= 0 && !strcmp(call->command->qmp, "x-query-registers"))
		json_object_set_int_member(args, "cpu-index", cpu);
	node = hmp_query(call, NULL, g_steal_pointer(&args));
	if (node)
		hmp_printf(call, "%s",
			   json_object_get_string_member(json_node_get_object(node),
							 "human-readable-text"));
}

void hmp_info_version(struct hmp_call *call)
{
	struct qapi_version_info *v = NULL;

	if (query(call, &qapi_version_info_type, &v))
		hmp_printf(call, "%d.%d.%d (%s)\n", (int)v->qemu->major, (int)v->qemu->minor,
			   (int)v->qemu->micro, v->package);
	qapi_version_info_free(v);
}

void hmp_info_status(struct hmp_call *call)
{
	struct qapi_status_info *status = NULL;

	if (!query(call, &qapi_status_info_type, &status))
		return;
	hmp_printf(call, "VM status: %s", status->running ? "running" : "paused");
	if (!status->running && status->status != QAPI_RUN_STATE_PAUSED)
		hmp_printf(call, " (%s)", qapi_run_state_str(status->status));
	hmp_printf(call, "\n");
	qapi_status_info_free(status);
}

void hmp_info_name(struct hmp_call *call)
{
	struct qapi_name_info *info = NULL;

	if (query(call, &qapi_name_info_type, &info) && info->name)
		hmp_printf(call, "%s\n", info->name);
	qapi_name_info_free(info);
}

void hmp_info_uuid(struct hmp_call *call)
{
	struct qapi_uuid_info *info = NULL;

	if (query(call, &qapi_uuid_info_type, &info))
		hmp_printf(call, "%s\n", info->UUID);
	qapi_uuid_info_free(info);
}

void hmp_info_kvm(struct hmp_call *call)
{
	struct qapi_kvm_info *info = NULL;

	if (query(call, &qapi_kvm_info_type, &info))
		hmp_printf(call, "kvm support: %s\n",
			   !info->present  ? "not compiled"
			   : info->enabled ? "enabled"
					   : "disabled");
	qapi_kvm_info_free(info);
}

void hmp_info_cpus(struct hmp_call *call)
{
	GPtrArray *list = NULL;
	int chosen = MAX(monitor_scope_cpu(), 0);

	if (!query(call, &qapi_cpu_info_fast_list_type, &list))
		return;
	for (unsigned i = 0; i < list->len; i++) {
		const struct qapi_cpu_info_fast *cpu = g_ptr_array_index(list, i);

		hmp_printf(call, "%c CPU #%d: thread_id=%d\n", cpu->cpu_index == chosen ? '*' : ' ',
			   (int)cpu->cpu_index, (int)cpu->thread_id);
	}
	g_ptr_array_unref(list);
}

static void print_id(struct hmp_call *call, const char *name, bool has, s64 id)
{
	if (has)
		hmp_printf(call, "    %s: \"%" PRId64 "\"\n", name, id);
}

void hmp_info_hotpluggable_cpus(struct hmp_call *call)
{
	GPtrArray *list = NULL;

	if (!query(call, &qapi_hotpluggable_cpu_list_type, &list))
		return;
	hmp_printf(call, "Hotpluggable CPUs:\n");
	for (unsigned i = 0; i < list->len; i++) {
		const struct qapi_hotpluggable_cpu *cpu = g_ptr_array_index(list, i);
		const struct qapi_cpu_instance_properties *props = cpu->props;

		hmp_printf(call, "  type: \"%s\"\n  vcpus_count: \"%d\"\n", cpu->type,
			   (int)cpu->vcpus_count);
		if (cpu->qom_path)
			hmp_printf(call, "  qom_path: \"%s\"\n", cpu->qom_path);
		hmp_printf(call, "  CPUInstance Properties:\n");
		print_id(call, "node-id", props->has_node_id, props->node_id);
		print_id(call, "socket-id", props->has_socket_id, props->socket_id);
		print_id(call, "die-id", props->has_die_id, props->die_id);
		print_id(call, "cluster-id", props->has_cluster_id, props->cluster_id);
		print_id(call, "module-id", props->has_module_id, props->module_id);
		print_id(call, "core-id", props->has_core_id, props->core_id);
		print_id(call, "thread-id", props->has_thread_id, props->thread_id);
	}
	g_ptr_array_unref(list);
}

void hmp_info_chardev(struct hmp_call *call)
{
	GPtrArray *list = NULL;

	if (!query(call, &qapi_chardev_info_list_type, &list))
		return;
	for (unsigned i = 0; i < list->len; i++) {
		const struct qapi_chardev_info *info = g_ptr_array_index(list, i);

		hmp_printf(call, "%s: filename=%s\n", info->label, info->filename);
	}
	g_ptr_array_unref(list);
}

static void print_image(struct hmp_call *call, const struct qapi_block_device_info *image)
{
	const char *name = image->node_name;

	if (*name)
		hmp_printf(call, " (%s)", name);
	hmp_printf(call, ": %s (%s%s)\n", image->file, image->drv, image->ro ? ", read-only" : "");
}

void hmp_info_block(struct hmp_call *call)
{
	GPtrArray *list = NULL;

	if (!query(call, &qapi_block_info_list_type, &list))
		return;
	for (unsigned i = 0; i < list->len; i++) {
		const struct qapi_block_info *info = g_ptr_array_index(list, i);
		const struct qapi_blockdev_cache_info *cache;

		hmp_printf(call, "%s%s", i ? "\n" : "", info->device);
		if (info->inserted)
			print_image(call, info->inserted);
		else
			hmp_printf(call, ": [not inserted]\n");
		if (info->qdev)
			hmp_printf(call, "    Attached to:      %s\n", info->qdev);
		if (info->has_io_status && info->io_status != QAPI_BLOCK_DEVICE_IO_STATUS_OK)
			hmp_printf(call, "    I/O status:       %s\n",
				   qapi_block_device_io_status_str(info->io_status));
		if (info->removable)
			hmp_printf(call, "    Removable device: %slocked, tray %s\n",
				   info->locked ? "" : "not ", info->tray_open ? "open" : "closed");
		if (info->inserted && info->inserted->backing_file)
			hmp_printf(call, "    Backing file:     %s (chain depth: %" PRId64 ")\n",
				   info->inserted->backing_file,
				   info->inserted->backing_file_depth);
		cache = info->inserted ? info->inserted->cache : NULL;
		if (cache)
			hmp_printf(call, "    Cache mode:       %s%s%s\n",
				   cache->writeback ? "writeback" : "writethrough",
				   cache->direct ? ", direct" : "",
				   cache->no_flush ? ", ignore flushes" : "");
	}
	g_ptr_array_unref(list);
}

void hmp_info_blockstats(struct hmp_call *call)
{
	GPtrArray *list = NULL;

	if (!query(call, &qapi_block_stats_list_type, &list))
		return;
	for (unsigned i = 0; i < list->len; i++) {
		const struct qapi_block_stats *info = g_ptr_array_index(list, i);
		const struct qapi_block_device_stats *s = info->stats;

		hmp_printf(call, "%s:",
			   info->device && *info->device ? info->device
			   : info->node_name             ? info->node_name
							 : "");
		hmp_printf(call,
			   " rd_bytes=%" PRId64 " wr_bytes=%" PRId64 " rd_operations=%" PRId64
			   " wr_operations=%" PRId64 " flush_operations=%" PRId64,
			   s->rd_bytes, s->wr_bytes, s->rd_operations, s->wr_operations,
			   s->flush_operations);
		hmp_printf(call,
			   " wr_total_time_ns=%" PRId64 " rd_total_time_ns=%" PRId64
			   " flush_total_time_ns=%" PRId64 " rd_merged=%" PRId64
			   " wr_merged=%" PRId64 "\n",
			   s->wr_total_time_ns, s->rd_total_time_ns, s->flush_total_time_ns,
			   s->rd_merged, s->wr_merged);
	}
	g_ptr_array_unref(list);
}

void hmp_info_balloon(struct hmp_call *call)
{
	struct qapi_balloon_info *info = NULL;

	if (query(call, &qapi_balloon_info_type, &info))
		hmp_printf(call, "balloon: actual=%" PRId64 "\n", info->actual >> 20);
	qapi_balloon_info_free(info);
}

static const char *true_false(bool value)
{
	return value ? "true" : "false";
}

void hmp_info_memdev(struct hmp_call *call)
{
	GPtrArray *list = NULL;

	if (!query(call, &qapi_memdev_list_type, &list))
		return;
	for (unsigned i = 0; i < list->len; i++) {
		const struct qapi_memdev *m = g_ptr_array_index(list, i);

		hmp_printf(call, "memory backend: %s\n", m->id ? m->id : "");
		hmp_printf(call, "  size:  %" PRIu64 "\n", m->size);
		hmp_printf(call, "  merge: %s\n  dump: %s\n  prealloc: %s\n  share: %s\n",
			   true_false(m->merge), true_false(m->dump), true_false(m->prealloc),
			   true_false(m->share));
		if (m->has_reserve)
			hmp_printf(call, "  reserve: %s\n", true_false(m->reserve));
		hmp_printf(call,
			   "  policy: %s\n  host nodes:", qapi_host_mem_policy_str(m->policy));
		for (unsigned n = 0; n < m->host_nodes->len; n++)
			hmp_printf(call, " %u", g_array_index(m->host_nodes, u16, n));
		hmp_printf(call, "\n\n");
	}
	g_ptr_array_unref(list);
}

void hmp_info_memory_size_summary(struct hmp_call *call)
{
	struct qapi_memory_info *info = NULL;

	if (!query(call, &qapi_memory_info_type, &info))
		return;
	hmp_printf(call, "base memory: %" PRIu64 "\n", info->base_memory);
	if (info->has_plugged_memory)
		hmp_printf(call, "plugged memory: %" PRIu64 "\n", info->plugged_memory);
	qapi_memory_info_free(info);
}

void hmp_info_iothreads(struct hmp_call *call)
{
	GPtrArray *list = NULL;

	if (!query(call, &qapi_io_thread_info_list_type, &list))
		return;
	for (unsigned i = 0; i < list->len; i++) {
		const struct qapi_io_thread_info *info = g_ptr_array_index(list, i);

		hmp_printf(call,
			   "%s:\n  thread_id=%" PRId64 "\n  poll-max-ns=%" PRId64
			   "\n  poll-grow=%" PRId64 "\n  poll-shrink=%" PRId64
			   "\n  aio-max-batch=%" PRId64 "\n",
			   info->id, info->thread_id, info->poll_max_ns, info->poll_grow,
			   info->poll_shrink, info->aio_max_batch);
	}
	g_ptr_array_unref(list);
}
