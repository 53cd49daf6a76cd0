/* system/qmp/machine.c - commands about the machine, its types and its accelerator. */
#include "qapi/gen/machine.h"

#include "accel/accel.h"
#include "hw/machine.h"
#include "hw/property.h"
#include "system/emulator.h"
#include "system/objects.h"
#include "system/options-query.h"
#include "util/error.h"
#include "util/iothread.h"

#include <unistd.h>

struct qapi_target_info *qmp_query_target(struct machine *m, GError **err)
{
	struct qapi_target_info *info = g_new0(struct qapi_target_info, 1);

	qapi_sys_emu_target_parse(target_desc.hw->name, &info->arch);
	return info;
}

GPtrArray *qmp_query_machines(struct machine *m, const struct qapi_query_machines_args *args,
			      GError **err)
{
	GPtrArray *list = qapi_machine_info_list_new();

	for (const struct machine_type *const *t = target_desc.hw->machines; *t; t++) {
		struct qapi_machine_info *info = g_new0(struct qapi_machine_info, 1);
		const char *def = target_desc.hw->default_machine;

		info->name = g_strdup((*t)->name);
		info->alias = g_strdup((*t)->alias);
		info->has_is_default = def && (!strcmp(def, (*t)->name) ||
					       ((*t)->alias && !strcmp(def, (*t)->alias)));
		info->is_default = info->has_is_default;
		info->cpu_max = (*t)->max_cpus;
		info->acpi = (*t)->has_acpi;
		info->default_ram_id = g_strdup((*t)->default_ram_id);
		if ((*t)->default_cpu)
			info->default_cpu_type = g_strdup_printf("%s-%s", (*t)->default_cpu,
								 target_desc.hw->cpu_type);
		g_ptr_array_add(list, info);
	}
	return list;
}

struct qapi_current_machine_params *qmp_query_current_machine(struct machine *m, GError **err)
{
	/* No machine here can be suspended. */
	return g_new0(struct qapi_current_machine_params, 1);
}

static bool accel_present(const char *name)
{
	for (const struct accel_ops *const *a = target_desc.accels; *a; a++)
		if (!strcmp((*a)->name, name))
			return strcmp(name, "kvm") || !access("/dev/kvm", R_OK | W_OK);
	return false;
}

struct qapi_kvm_info *qmp_query_kvm(struct machine *m, GError **err)
{
	struct qapi_kvm_info *info = g_new0(struct qapi_kvm_info, 1);

	info->present = accel_present("kvm");
	info->enabled = !strcmp(m->vm->accel->ops->name, "kvm");
	return info;
}

struct qapi_accelerator_info *qmp_query_accelerators(struct machine *m, GError **err)
{
	struct qapi_accelerator_info *info = g_new0(struct qapi_accelerator_info, 1);

	qapi_accelerator_parse(m->vm->accel->ops->name, &info->enabled);
	info->present = g_array_new(FALSE, FALSE, sizeof(enum qapi_accelerator));
	for (const struct accel_ops *const *a = target_desc.accels; *a; a++) {
		enum qapi_accelerator v;

		if (accel_present((*a)->name) && qapi_accelerator_parse((*a)->name, &v))
			g_array_append_val(info->present, v);
	}
	return info;
}

static void add_iothread(const char *id, const char *type, void *object, void *list)
{
	struct qapi_io_thread_info *info;

	if (strcmp(type, "iothread"))
		return;
	info = g_new0(struct qapi_io_thread_info, 1);
	info->id = g_strdup(id);
	info->thread_id = iothread_tid(object);
	g_ptr_array_add(list, info); /* the rest is 0: they do not wait busily */
}

GPtrArray *qmp_query_iothreads(struct machine *m, GError **err)
{
	GPtrArray *list = qapi_io_thread_info_list_new();

	objects_foreach(emulator_of(m)->objects, add_iothread, list);
	return list;
}

GPtrArray *qmp_query_command_line_options(struct machine *m,
					  const struct qapi_query_command_line_options_args *args,
					  GError **err)
{
	GPtrArray *list = options_query(args->option);

	if (!list->len) {
		error_set(err, "invalid option name: %s", args->option);
		g_clear_pointer(&list, g_ptr_array_unref);
	}
	return list;
}

GPtrArray *qmp_query_gic_capabilities(struct machine *m, GError **err)
{
	GPtrArray *list = qapi_gic_capability_list_new();

	for (const u8 *v = target_desc.hw->gic_versions; v && *v; v++) {
		struct qapi_gic_capability *c = g_new0(struct qapi_gic_capability, 1);

		c->version = *v;
		c->emulated = true;
		g_ptr_array_add(list, c);
	}
	return list;
}

void qmp_inject_nmi(struct machine *m, GError **err)
{
	if (target_desc.inject_nmi)
		target_desc.inject_nmi(m, err);
	else
		error_set(err, "this machine's CPUs have no NMI");
}
