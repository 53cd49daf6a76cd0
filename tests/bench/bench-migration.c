/*
 * tests/bench/bench-migration.c - what moving RAM costs: two processes, no guest, CPU time of each.
 *
 * bench-migration [--size MIB] [--fill MIB] [--transport unix|tcp] [--capability NAME]
 *                 [--from URI | --to URI]
 *
 * With --from or --to this is one side only; the other may be any emulator whose machine is "none"
 * with one RAM block "ram" of the same size.
 */
#include "migration/migration.h"
#include "util/lock.h"
#include "util/main-loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int size_mib = 2048, fill_mib = 1024, rounds = 1;
static struct vm *bench_vm;
static char *transport = "unix", *capability, *from, *to, **globals;

static const GOptionEntry options[] = {
	{ "size", 0, 0, G_OPTION_ARG_INT, &size_mib, "RAM of the machine", "MIB" },
	{ "fill", 0, 0, G_OPTION_ARG_INT, &fill_mib, "of it not zero", "MIB" },
	{ "rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "repetitions", "N" },
	{ "transport", 0, 0, G_OPTION_ARG_STRING, &transport, "unix or tcp", "NAME" },
	{ "global", 0, 0, G_OPTION_ARG_STRING_ARRAY, &globals, "as -global migration.NAME=VALUE",
	  "NAME=VALUE" },
	{ "capability", 0, 0, G_OPTION_ARG_STRING, &capability, "switch one on", "NAME" },
	{ "from", 0, 0, G_OPTION_ARG_STRING, &from, "only receive", "URI" },
	{ "to", 0, 0, G_OPTION_ARG_STRING, &to, "only send", "URI" },
	{ NULL }
};

static double cpu_seconds(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_utime.tv_sec + r.ru_stime.tv_sec +
	       (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static struct migration *machine_create(void)
{
	static const struct vm_owner owner;
	static const struct migration_machine machine = { .name = "none" };
	struct ram_spec spec = {
		.id = "ram", .size = size_mib * MiB, .flags = RAM_MIGRATABLE, .fd = -1
	};
	struct vm *vm = vm_create(false, &owner);

	if (!ram_create(vm->ram, &spec, NULL))
		exit(1);
	vm->tracker = dirty_tracker_create(vm->ram, NULL, NULL);
	bench_vm = vm;
	return migration_create(vm, state_registry_create(), &machine, NULL);
}

static void must(int ret, GError *err)
{
	if (ret) {
		fprintf(stderr, "bench-migration: %s\n", err ? err->message : "failed");
		exit(1);
	}
}

static gboolean tick(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

/* Return: the last answer of query-migrate. */
static JsonObject *wait_end(struct migration *m)
{
	g_timeout_add(5, tick, NULL);
	for (;;) {
		JsonObject *o = migration_query(m);
		const char *s = json_object_get_string_member_with_default(o, "status", "none");

		if (g_str_equal(s, "completed"))
			return o;
		if (g_str_equal(s, "failed")) {
			fprintf(stderr, "bench-migration: %s\n",
				json_object_get_string_member_with_default(o, "error-desc", "?"));
			exit(1);
		}
		json_object_unref(o);
		main_loop_iterate(true);
	}
}

static long resident_mib(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages >> 8;
}

static void receiver(int to_sender)
{
	struct migration *m;
	GError *err = NULL;
	g_autofree char *uri = NULL;
	g_autoptr(JsonObject) o = NULL;
	double before;

	main_loop_init();
	m = machine_create();
	uri = from ? g_strdup(from)
	      : g_str_equal(transport, "tcp")
		      ? g_strdup("tcp:127.0.0.1:0")
		      : g_strdup_printf("unix:/tmp/bench-migration-%d", getpid());
	must(migration_incoming_prepare(m, uri, true, &err), err);
	if (!from && g_str_equal(transport, "tcp")) {
		o = migration_query(m);
		g_free(uri);
		uri = g_strdup_printf(
			"tcp:127.0.0.1:%s",
			json_object_get_string_member(
				json_array_get_object_element(
					json_object_get_array_member(o, "socket-address"), 0),
				"port"));
	}
	before = cpu_seconds();
	if (!from)
		must(write(to_sender, uri, strlen(uri) + 1) < 0, NULL);
	json_object_unref(wait_end(m));
	printf("receiver: CPU %.3f s, resident %ld MiB\n", cpu_seconds() - before, resident_mib());
	fflush(stdout);
	_exit(0);
}

static void sender(int from_receiver)
{
	struct migration *m;
	GError *err = NULL;
	char uri[128] = "";
	g_autoptr(JsonObject) o = NULL;
	struct ramblock *b;
	double before;

	main_loop_init();
	m = machine_create();
	b = g_ptr_array_index(bench_vm->ram->blocks, 0);
	for (u64 i = 0; i < fill_mib * MiB / 8; i++)
		((u64 *)b->host)[i] = i * 0x9e3779b97f4a7c15u + 1;
	json_object_unref(migration_query(m));
	if (to)
		g_strlcpy(uri, to, sizeof(uri));
	else
		must(read(from_receiver, uri, sizeof(uri)) <= 0, NULL);
	must(migration_set_global(m, "x-max-bandwidth", "0", &err), err);
	for (char **g = globals; g && *g; g++) {
		g_auto(GStrv) pair = g_strsplit(*g, "=", 2);

		must(migration_set_global(m, pair[0], pair[1] ? pair[1] : "on", &err), err);
	}
	if (capability) {
		g_autofree char *name = g_strdup_printf("x-%s", capability);

		must(migration_set_global(m, name, "on", &err), err);
	}
	before = cpu_seconds();
	must(migration_start(m, uri, NULL, false, &err), err);
	o = wait_end(m);
	printf("sender:   CPU %.3f s, total %d ms, downtime %d ms, transferred %.1f MB\n",
	       cpu_seconds() - before, (int)json_object_get_int_member(o, "total-time"),
	       (int)json_object_get_int_member(o, "downtime"),
	       json_object_get_int_member(json_object_get_object_member(o, "ram"), "transferred") /
		       1e6);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	g_autoptr(GOptionContext) ctx = g_option_context_new(NULL);
	GError *err = NULL;

	g_option_context_add_main_entries(ctx, options, NULL);
	if (!g_option_context_parse(ctx, &argc, &argv, &err))
		must(1, err);
	if (from)
		receiver(-1);
	if (to)
		sender(-1);
	for (int i = 0; i < rounds; i++) {
		int ends[2], status = 0;

		must(pipe(ends), NULL);
		if (!fork())
			receiver(ends[1]);
		if (!fork())
			sender(ends[0]);
		close(ends[0]);
		close(ends[1]);
		while (wait(&status) > 0)
			if (status)
				return 1;
	}
	return 0;
}
