/*
 * monitor/control.c - handlers of the commands that concern the monitor itself
 * (qapi/control.json).
 */
#include <unistd.h>

#include "monitor/internal.h"
#include "monitor/json.h"
#include "qapi/gen/control.h"
#include "util/error.h"
#include "util/fdset.h"

void qmp_qmp_capabilities(struct machine *m, const struct qapi_qmp_capabilities_args *args,
			  GError **err)
{
	struct monitor *mon = monitor_current();

	if (!mon || !mon->qmp) {
		error_set(err, "capabilities are negotiated on QMP monitors only");
		return;
	}
	/* There is but one capability, so any element is "oob". */
	qmp_session_negotiate(mon->qmp, args->enable && args->enable->len, err);
}

struct qapi_version_info *qmp_query_version(struct machine *m, GError **err)
{
	g_autoptr(JsonNode) version = qmp_version();

	return qapi_version_info_from_json(version, err);
}

GPtrArray *qmp_query_commands(struct machine *m, GError **err)
{
	const struct qapi_interface *interface = monitor_current_server()->interface;
	GPtrArray *list = qapi_command_info_list_new();

	for (size_t i = 0; i < interface->ncommands; i++) {
		struct qapi_command_info *info = g_new0(struct qapi_command_info, 1);

		info->name = g_strdup(interface->commands[i].name);
		g_ptr_array_add(list, info);
	}
	return list;
}

JsonNode *qmp_query_qmp_schema(struct machine *m, JsonObject *args, GError **err)
{
	const char *text = monitor_current_server()->interface->introspection;

	if (args && json_object_get_size(args)) {
		g_autoptr(GList) names = json_object_get_members(args);

		error_set(err, "Parameter '%s' is unexpected", (const char *)names->data);
		return NULL;
	}
	return json_parse(text, strlen(text), err);
}

char *qmp_human_monitor_command(struct machine *m,
				const struct qapi_human_monitor_command_args *args, GError **err)
{
	return monitor_hmp(monitor_current_server(), args->command_line,
			   args->has_cpu_index ? args->cpu_index : -1);
}

/* The first descriptor that came with the command; it is the caller's. */
static int take_command_fd(GError **err)
{
	struct monitor *mon = monitor_current();
	int fd;

	if (!mon || !mon->command_fds || !mon->command_fds->len) {
		error_set(err, "No file descriptor supplied via SCM_RIGHTS");
		return -1;
	}
	fd = g_array_index(mon->command_fds, int, 0);
	g_array_remove_index(mon->command_fds, 0);
	return fd;
}

void qmp_getfd(struct machine *m, const struct qapi_getfd_args *args, GError **err)
{
	int fd;

	if (g_ascii_isdigit(*args->fdname)) {
		error_set(err, "Parameter 'fdname' expects a name not starting with a digit");
		return;
	}
	fd = take_command_fd(err);
	if (fd >= 0 && fd_named_add(args->fdname, fd, err))
		close(fd);
}

void qmp_closefd(struct machine *m, const struct qapi_closefd_args *args, GError **err)
{
	/* Clients compare this text. */
	if (fd_named_remove(args->fdname, NULL))
		error_set(err, "File descriptor named '%s' not found", args->fdname);
}

struct qapi_addfd_info *qmp_add_fd(struct machine *m, const struct qapi_add_fd_args *args,
				   GError **err)
{
	struct qapi_addfd_info *info;
	int fd;
	s64 id;

	if (args->has_fdset_id && args->fdset_id < 0) {
		error_set(err, "Parameter 'fdset-id' expects a non-negative value");
		return NULL;
	}
	fd = take_command_fd(err);
	if (fd < 0)
		return NULL;
	id = fdset_add(args->has_fdset_id ? args->fdset_id : -1, fd, args->opaque, err);
	if (id < 0) {
		close(fd);
		return NULL;
	}
	info = g_new0(struct qapi_addfd_info, 1);
	info->fdset_id = id;
	info->fd = fd;
	return info;
}

void qmp_remove_fd(struct machine *m, const struct qapi_remove_fd_args *args, GError **err)
{
	if (args->has_fd && (args->fd < 0 || args->fd > INT_MAX)) {
		error_set(err, "Parameter 'fd' expects a descriptor number");
		return;
	}
	fdset_remove(args->fdset_id, args->has_fd ? args->fd : -1, err);
}

static void list_fd(s64 id, int fd, const char *opaque, void *data)
{
	GPtrArray *sets = data;
	struct qapi_fdset_info *set = sets->len ? g_ptr_array_index(sets, sets->len - 1) : NULL;
	struct qapi_fdset_fd_info *info = g_new0(struct qapi_fdset_fd_info, 1);

	if (!set || set->fdset_id != id) {
		set = g_new0(struct qapi_fdset_info, 1);
		set->fdset_id = id;
		set->fds = qapi_fdset_fd_info_list_new();
		g_ptr_array_add(sets, set);
	}
	info->fd = fd;
	info->opaque = g_strdup(opaque);
	g_ptr_array_add(set->fds, info);
}

GPtrArray *qmp_query_fdsets(struct machine *m, GError **err)
{
	GPtrArray *sets = qapi_fdset_info_list_new();

	fdset_foreach(list_fd, sets);
	return sets;
}
