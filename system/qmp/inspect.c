/* system/qmp/inspect.c - texts about the inside of the machine. */
#include "qapi/gen/inspect.h"

#include "accel/tcg.h"
#include "accel/tcg/cpu.h"
#include "accel/tcg/icount.h"
#include "accel/vcpu.h"
#include "hw/device.h"
#include "hw/machine.h"
#include "hw/pci/host.h"
#include "memory/address-space.h"
#include "system/emulator.h"
#include "system/gdb/gdb.h"
#include "util/error.h"

static struct qapi_human_readable_text *text_result(char *text)
{
	struct qapi_human_readable_text *r = g_new0(struct qapi_human_readable_text, 1);

	r->human_readable_text = text;
	return r;
}

struct qapi_human_readable_text *
qmp_x_gdbserver(struct machine *m, const struct qapi_x_gdbserver_args *args, GError **err)
{
	const char *device = args->device ?: "tcp::1234";
	struct emulator *e = emulator_of(m);

	if (e->gdb && gdb_server_in_command(e->gdb)) {
		error_set(err,
			  "gdbserver: a debugger cannot change its own connection; use another "
			  "monitor");
		return NULL;
	}
	gdb_server_destroy(e->gdb, false);
	e->gdb = NULL;
	if (!strcmp(device, "none"))
		return text_result(g_strdup("Disabled gdbserver\n"));
	e->gdb = gdb_server_create(e, device, err);
	if (!e->gdb)
		return NULL;
	return text_result(g_strdup_printf("Waiting for gdb connection on device '%s'\n", device));
}

struct qapi_human_readable_text *qmp_x_query_jit(struct machine *m, GError **err)
{
	GString *s = g_string_new(NULL);
	struct tcg_stats stats;

	if (!accel_is_tcg(m->vm->accel)) {
		error_set(err, "accelerator %s translates nothing: only tcg does",
			  m->vm->accel->ops->name);
		g_string_free(s, TRUE);
		return NULL;
	}
	tcg_stats_get(&stats);
	g_string_append_printf(s,
			       "regions translated    %" PRIu64 "\n"
			       "regions discarded     %" PRIu64 "\n"
			       "all thrown away       %" PRIu64 "\n"
			       "code bytes            %" PRIu64 "\n",
			       stats.regions, stats.discarded, stats.flushes, stats.code_bytes);
	if (tcg_icount_enabled())
		g_string_append_printf(s, "instructions executed %" PRIu64 "\n", tcg_icount_read());
	return text_result(g_string_free(s, FALSE));
}

struct qapi_human_readable_text *
qmp_x_query_mtree(struct machine *m, const struct qapi_x_query_mtree_args *args, GError **err)
{
	g_autofree char *memory = address_space_describe(m->vm->memory);
	g_autofree char *io = m->vm->io ? address_space_describe(m->vm->io) : g_strdup("");

	return text_result(g_strconcat(memory, io, NULL));
}

struct qapi_human_readable_text *qmp_x_query_pci(struct machine *m, GError **err)
{
	if (pci_host_find(m))
		return text_result(pci_describe(m));
	error_set(err, "machine %s has no PCI bus", m->type->name);
	return NULL;
}

struct qapi_human_readable_text *qmp_x_query_qtree(struct machine *m, GError **err)
{
	return text_result(device_tree_text(m));
}

struct qapi_human_readable_text *qmp_x_query_ramblock(struct machine *m, GError **err)
{
	GString *s =
		g_string_new("              Block Name    PSize              Used             Total"
			     "  RO  Shared  Migratable\n");
	struct ram_list *ram = m->vm->ram;

	for (guint i = 0; i < ram->blocks->len; i++) {
		const struct ramblock *b = g_ptr_array_index(ram->blocks, i);

		g_string_append_printf(s,
				       "%24s %5" PRIu64 " KiB  0x%014" PRIx64 "  0x%014" PRIx64
				       "  %s  %s     %s\n",
				       b->id, b->page_size / KiB, b->used_size, b->max_size,
				       b->flags & RAM_READONLY ? "ro" : "rw",
				       b->flags & RAM_SHARED ? "yes" : "no ",
				       b->flags & RAM_MIGRATABLE ? "yes" : "no");
	}
	return text_result(g_string_free(s, FALSE));
}

struct qapi_human_readable_text *
qmp_x_query_registers(struct machine *m, const struct qapi_x_query_registers_args *args,
		      GError **err)
{
	s64 index = args->has_cpu_index ? args->cpu_index : 0;
	struct vcpu *cpu;
	int ret;

	if (index < 0 || index >= m->vm->ncpus) {
		error_set(err, "there is no CPU %" PRId64 ": the machine has %d", index,
			  m->vm->ncpus);
		return NULL;
	}
	cpu = m->vm->cpus[index];
	if (!cpu->ops->describe) {
		error_set(err, "registers of %s CPUs cannot be shown", cpu->ops->name);
		return NULL;
	}
	vcpu_stop_all(m->vm);
	ret = vcpu_get_state(cpu, err);
	if (vm_running(m->vm))
		vcpu_resume_all(m->vm);
	return ret ? NULL : text_result(cpu->ops->describe(cpu));
}
