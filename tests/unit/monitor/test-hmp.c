/*
 * tests/unit/monitor/test-hmp.c - the human monitor: lines to QMP commands, texts, line editing.
 */
#include "monitor/json.h"
#include "tests/unit/monitor/pipe.h"
#include "util/error.h"

/* ---- An interface of commands that note their arguments and give prepared answers ---------- */

static GString *calls; /* "name {args}\n" each */

static bool answer(const char *name, JsonObject *args, const char *json, JsonNode **ret,
		   GError **err)
{
	g_autoptr(JsonNode) node = NULL;
	g_autofree char *text = NULL;

	if (args && json_object_get_size(args)) {
		node = json_node_init_object(json_node_alloc(), args);
		text = json_to_string(node, FALSE);
	}
	g_string_append_printf(calls, "%s %s\n", name, text ?: "-");
	if (!json) {
		error_set(err, "%s does not work", name);
		return false;
	}
	*ret = json_parse(json, strlen(json), NULL);
	g_assert_nonnull(*ret);
	return true;
}

static const char *migrate_status = "active";

static bool run_query_migrate(struct machine *m, JsonObject *args, JsonNode **ret, GError **err)
{
	g_autofree char *json = g_strdup_printf(
		"{'status':'%s','total-time':1500,'setup-time':3,'expected-downtime':250,"
		"'ram':{'transferred':2048,'remaining':4096,'total':1048576,'duplicate':5,"
		"'normal':6,'normal-bytes':24576,'dirty-pages-rate':9,'mbps':8.5,"
		"'dirty-sync-count':2,'postcopy-requests':0,'page-size':4096,'multifd-bytes':0,"
		"'pages-per-second':77,'precopy-bytes':1024,'downtime-bytes':0,"
		"'postcopy-bytes':0,'dirty-sync-missed-zero-copy':0},"
		"'socket-address':[{'type':'inet','host':'::','port':'5'}],"
		"'x-verdict':'converging','x-eta-ms':900,'x-downtime':{'predicted':12500000},"
		"'x-verify':{'pages':10,'mismatches':1,'ns':1000000,"
		"'first':[{'block':'pc.ram','offset':4096,'backend':'kvm-log'}]}%s}",
		migrate_status,
		strcmp(migrate_status, "failed") ? "" : ",'error-desc':'the link is cut'");

	return answer("query-migrate", args, json, ret, err);
}

#define FAKE(ident, name, json)                                                                    \
	static bool run_##ident(struct machine *m, JsonObject *args, JsonNode **ret, GError **err) \
	{                                                                                          \
		return answer(name, args, json, ret, err);                                         \
	}

FAKE(announce_self, "announce-self", "{}")
FAKE(balloon, "balloon", "{}")
FAKE(calc_dirty_rate, "calc-dirty-rate", "{}")
FAKE(cont, "cont", NULL)
FAKE(device_add, "device_add", "{}")
FAKE(memsave, "memsave", "{}")
FAKE(migrate, "migrate", "{}")
FAKE(set_capabilities, "migrate-set-capabilities", "{}")
FAKE(set_parameters, "migrate-set-parameters", "{}")
FAKE(netdev_add, "netdev_add", "{}")
FAKE(object_add, "object-add", "{}")
FAKE(qom_get, "qom-get", "[1,'a']")
FAKE(qom_set, "qom-set", "{}")
FAKE(query_cpus_fast, "query-cpus-fast",
     "[{'cpu-index':0,'qom-type':'t','qom-path':'p','thread-id':11,'target':'x86_64'},"
     "{'cpu-index':1,'qom-type':'t','qom-path':'p','thread-id':12,'target':'x86_64'}]")
FAKE(query_dirty_tracking, "query-dirty-tracking",
     "{'backend':'kvm-ring','mode':'ring','clients':['migration'],'ring-size':4096,"
     "'counters':{'starts':1,'start-ns':1000,'syncs':4,'sync-ns':4000000,"
     "'pages-reported':7,'get-calls':0,'get-ns':0,'clear-calls':2,'clear-ns':5000,"
     "'clear-pages':128,'clear-max-ns':3000,'reset-calls':0,'reset-ns':0,"
     "'reset-entries':0,'ring-full-exits':0,'ring-full-ns':0,'ring-overflows':0,"
     "'fallbacks':0},'blocks':[{'name':'pc.ram','pages':512,'batch-pages':64}]}")
FAKE(query_capabilities, "query-migrate-capabilities",
     "[{'capability':'events','state':true},{'capability':'multifd','state':false}]")
FAKE(query_parameters, "query-migrate-parameters",
     "{'announce-initial':50,'announce-max':550,'announce-rounds':5,'announce-step':100,"
     "'tls-creds':'','max-bandwidth':134217728,'direct-io':false,"
     "'multifd-compression':'none','cpr-exec-command':[]}")
FAKE(query_status, "query-status", "{'running':false,'status':'prelaunch'}")
FAKE(query_version, "query-version",
     "{'qemu':{'major':11,'minor':1,'micro':3},'package':'tidemark x'}")
FAKE(set_link, "set_link", "{}")
FAKE(stop, "stop", "{}")
FAKE(mtree, "x-query-mtree", "{'human-readable-text':'address-space: memory\\n'}")

static const struct qapi_command commands[] = {
	/* sorted */
	{ "announce-self", run_announce_self, 0 },
	{ "balloon", run_balloon, 0 },
	{ "calc-dirty-rate", run_calc_dirty_rate, 0 },
	{ "cont", run_cont, 0 },
	{ "device_add", run_device_add, 0 },
	{ "memsave", run_memsave, 0 },
	{ "migrate", run_migrate, 0 },
	{ "migrate-set-capabilities", run_set_capabilities, 0 },
	{ "migrate-set-parameters", run_set_parameters, 0 },
	{ "netdev_add", run_netdev_add, 0 },
	{ "object-add", run_object_add, 0 },
	{ "qom-get", run_qom_get, 0 },
	{ "qom-set", run_qom_set, 0 },
	{ "query-cpus-fast", run_query_cpus_fast, 0 },
	{ "query-dirty-tracking", run_query_dirty_tracking, 0 },
	{ "query-migrate", run_query_migrate, 0 },
	{ "query-migrate-capabilities", run_query_capabilities, 0 },
	{ "query-migrate-parameters", run_query_parameters, 0 },
	{ "query-status", run_query_status, 0 },
	{ "query-version", run_query_version, 0 },
	{ "set_link", run_set_link, 0 },
	{ "stop", run_stop, 0 },
	{ "x-query-mtree", run_mtree, 0 },
};

static const struct qapi_interface interface = {
	.commands = commands,
	.ncommands = ARRAY_SIZE(commands),
	.introspection = "[]",
};

/* ---- Lines --------------------------------------------------------------------------------- */

struct line {
	const char *in;
	const char *calls; /* QMP commands that it runs */
	const char *out;   /* what it prints; NULL: not compared */
};

static const struct line lines[] = {
	{ "", "", "" },
	{ "  # a remark", "", "" },
	{ "stop", "stop -\n", "" },
	{ "s", "stop -\n", "" },
	{ "sto", "", "unknown command: 'sto'\n" },
	{ "c", "cont -\n", "Error: cont does not work\n" },
	{ "stop now", "", "stop: 'now' is too much\nTry \"help stop\" for more information\n" },
	{ "frobnicate 1", "", "unknown command: 'frobnicate'\n" },
	{ "system_reset", "", "unknown command: 'system_reset'\n" }, /* has no QMP command here */
	{ "balloon 512", "balloon {\"value\":536870912}\n", "" },
	{ "balloon 1G", "balloon {\"value\":1073741824}\n", "" },
	{ "balloon x", "",
	  "balloon: value: 'x' is not a size\nTry \"help balloon\" for more information\n" },
	{ "balloon", "",
	  "balloon: argument 'value' is missing\n"
	  "Try \"help balloon\" for more information\n" },
	{ "set_link net0 off", "set_link {\"name\":\"net0\",\"up\":false}\n", "" },
	{ "set_link net0 maybe", "",
	  "set_link: up: 'on' or 'off' expected, not 'maybe'\n"
	  "Try \"help set_link\" for more information\n" },
	{ "device_add virtio-net-pci,id=n1,netdev=u,,x",
	  "device_add {\"driver\":\"virtio-net-pci\",\"id\":\"n1\",\"netdev\":\"u,x\"}\n", "" },
	{ "object_add memory-backend-ram,id=m,size=1M,share=on,prealloc-threads=2",
	  "object-add {\"qom-type\":\"memory-backend-ram\",\"id\":\"m\",\"prealloc-threads\":2,"
	  "\"share\":true,\"size\":1048576}\n",
	  "" },
	{ "object_add memory-backend-ram,id=m,size=big", "",
	  "Error: Invalid parameter type for 'size', expected: integer\n" },
	{ "netdev_add user,id=u,hostfwd=tcp::1-:2,restrict=on",
	  "netdev_add {\"id\":\"u\",\"type\":\"user\",\"restrict\":true,"
	  "\"hostfwd\":[{\"str\":\"tcp::1-:2\"}]}\n",
	  "" },
	{ "memsave 0xffffffff81234567 16 \"a \\\"b\\\"\"",
	  "memsave {\"val\":-2128394905,\"size\":16,\"filename\":\"a \\\"b\\\"\"}\n", "" },
	{ "memsave 1 2 \"a", "", NULL },
	{ "qom-get /machine x", "qom-get {\"path\":\"/machine\",\"property\":\"x\"}\n", NULL },
	{ "qom-set /m p 7", "qom-set {\"path\":\"/m\",\"property\":\"p\",\"value\":7}\n", "" },
	{ "qom-set /m p a b", "qom-set {\"path\":\"/m\",\"property\":\"p\",\"value\":\"a b\"}\n",
	  "" },

	{ "migrate -d tcp:h:1", "migrate {\"uri\":\"tcp:h:1\"}\n", "" },
	{ "migrate -d -r unix:/s", "migrate {\"uri\":\"unix:/s\",\"resume\":true}\n", "" },
	{ "migrate -x tcp:h:1", "", NULL },
	{ "migrate_set_capability events on",
	  "migrate-set-capabilities {\"capabilities\":[{\"capability\":\"events\","
	  "\"state\":true}]}\n",
	  "" },
	{ "migrate_set_parameter max-bandwidth 1G",
	  "migrate-set-parameters {\"max-bandwidth\":1073741824}\n", "" },
	{ "migrate_set_parameter max-bandwidth 100",
	  "migrate-set-parameters {\"max-bandwidth\":104857600}\n", "" },
	{ "migrate_set_parameter xbzrle-cache-size 100",
	  "migrate-set-parameters {\"xbzrle-cache-size\":100}\n", "" },
	{ "migrate_set_parameter downtime-limit 300",
	  "migrate-set-parameters {\"downtime-limit\":300}\n", "" },
	{ "migrate_set_parameter tls-creds \"\"", "migrate-set-parameters {\"tls-creds\":\"\"}\n",
	  "" },
	{ "migrate_set_parameter multifd-compression zlib",
	  "migrate-set-parameters {\"multifd-compression\":\"zlib\"}\n", "" },
	{ "migrate_set_parameter cpr-exec-command \"a b\"",
	  "migrate-set-parameters {\"cpr-exec-command\":[\"a\",\"b\"]}\n", "" },
	{ "migrate_set_parameter speed 1", "", "Error: Parameter 'speed' is unexpected\n" },
	{ "migrate_set_parameter multifd-channels 300", "",
	  "Error: Parameter 'multifd-channels' expects uint8_t\n" },
	{ "calc_dirty_rate -r 5", "calc-dirty-rate {\"calc-time\":5,\"mode\":\"dirty-ring\"}\n",
	  "Starting dirty rate measurement; result: \"info dirty_rate\"\n" },
	{ "calc_dirty_rate 1 64",
	  "calc-dirty-rate {\"calc-time\":1,\"sample-pages\":64,\"mode\":\"page-sampling\"}\n",
	  NULL },
	{ "calc_dirty_rate -r -b 1", "", "Error: -r and -b exclude each other\n" },
	{ "announce_self a,b",
	  "query-migrate-parameters -\nannounce-self {\"interfaces\":[\"a\",\"b\"],"
	  "\"initial\":50,\"max\":550,\"rounds\":5,\"step\":100}\n",
	  "" },

	{ "info status", "query-status -\n", "VM status: paused (prelaunch)\n" },
	{ "info version", "query-version -\n", "11.1.3 (tidemark x)\n" },
	{ "info nothing", "", "unknown command: 'info nothing'\n" },
	{ "info cpus", "query-cpus-fast -\n", "* CPU #0: thread_id=11\n  CPU #1: thread_id=12\n" },
	{ "info mtree -f", "x-query-mtree {\"flat\":true}\n", "address-space: memory\n" },
	{ "info migrate_capabilities", "query-migrate-capabilities -\n",
	  "events: on\nmultifd: off\n" },
	{ "info migrate_parameters", "query-migrate-parameters -\n",
	  "announce-initial: 50 ms\nannounce-max: 550 ms\nannounce-rounds: 5\n"
	  "announce-step: 100 ms\ntls-creds: ''\nmax-bandwidth: 134217728 bytes/second\n"
	  "direct-io: off\nmultifd-compression: none\ncpr-exec-command: []\n" },
	{ "info migrate", "query-migrate -\n",
	  "Migration status: active\ntotal time: 1500 ms\nexpected downtime: 250 ms\n"
	  "setup: 3 ms\nverdict: converging\neta: 900 ms\ntransferred ram: 2 kbytes\n"
	  "throughput: 8.50 mbps\nremaining ram: 4 kbytes\ntotal ram: 1024 kbytes\n"
	  "duplicate: 5 pages\nnormal: 6 pages\nnormal bytes: 24 kbytes\n"
	  "dirty sync count: 2\npage size: 4 kbytes\nmultifd bytes: 0 kbytes\n"
	  "pages-per-second: 77\ndirty pages rate: 9 pages\nprecopy ram: 1 kbytes\n"
	  "socket address: [\n\ttcp::::5\n]\ndowntime by cause:\n"
	  "  predicted       12.500 ms\n"
	  "verify: 10 pages compared in 1.000 ms, 1 differ\n"
	  "  pc.ram offset 0x1000: kvm-log did not report the write\n" },
	{ "info dirty-tracking", "query-dirty-tracking -\n",
	  "back end: kvm-ring (ring)\nring size: 4096 entries per vCPU\nclients: migration\n"
	  "start                     1 calls        0.001 ms      1.000 us each\n"
	  "sync                      4 calls        4.000 ms   1000.000 us each\n"
	  "clear                     2 calls        0.005 ms      2.500 us each\n"
	  "pages reported            7\npages cleared           128\n"
	  "longest clear         3.000 us\n"
	  "block pc.ram: 512 pages, taken 64 at a time\n" },
	{ "help stop", "", "stop|s -- stop the guest\n" },
	{ "help info status", "", "info status -- whether the guest runs\n" },
	{ "help frobnicate", "", "no help for 'frobnicate'\n" },
};

/* Each line ends with CR and LF; returns the text with LF alone. Takes @text. */
static char *plain(char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\r\n", -1);

	for (int i = 0; lines[i]; i++)
		g_assert_null(strpbrk(lines[i], "\r\n"));
	g_free(text);
	return g_strjoinv("\n", lines);
}

static void test_line(gconstpointer data)
{
	const struct line *line = data;
	struct monitor_server *server = monitor_server_create(NULL, &interface);
	g_autofree char *out = NULL;

	calls = g_string_new(NULL);
	out = plain(monitor_hmp(server, line->in, -1));
	g_assert_cmpstr(calls->str, ==, line->calls);
	if (line->out)
		g_assert_cmpstr(out, ==, line->out);
	else
		g_assert_cmpstr(out, !=, "");
	g_string_free(calls, TRUE);
	monitor_server_destroy(server);
}

static void test_help(void)
{
	struct monitor_server *server = monitor_server_create(NULL, &interface);
	g_autofree char *help = monitor_hmp(server, "help", -1);
	g_autofree char *info = monitor_hmp(server, "info", -1);

	g_assert_nonnull(strstr(help, "migrate [-d] [-r] uri -- "));
	g_assert_null(strstr(help, "system_reset"));
	g_assert_nonnull(strstr(info, "info migrate [-a] -- "));
	g_assert_null(strstr(info, "info balloon"));
	monitor_server_destroy(server);
}

/* ---- Sessions ------------------------------------------------------------------------------ */

struct fixture {
	struct monitor_server *server;
	struct pipe_end *p;
};

static void set_up(struct fixture *f, gconstpointer unused)
{
	calls = g_string_new(NULL);
	f->server = monitor_server_create(NULL, &interface);
	f->p = pipe_open(f->server, MONITOR_HMP);
}

static void tear_down(struct fixture *f, gconstpointer unused)
{
	pipe_close(f->p);
	monitor_server_destroy(f->server);
	g_string_free(calls, TRUE);
}

static void test_banner(struct fixture *f, gconstpointer unused)
{
	g_autofree char *text = pipe_take(f->p);

	g_assert_true(g_str_has_prefix(text, "QEMU 11.1.3 monitor - type 'help' for more "
					     "information"));
	g_assert_true(g_str_has_suffix(text, "\r\n(qemu) "));
}

static void test_dialogue(struct fixture *f, gconstpointer unused)
{
	g_autofree char *text = NULL;

	g_free(pipe_take(f->p));
	text = pipe_run(f->p, "info version\r\nstop\n");
	g_assert_cmpstr(text, ==, "info version\r\n11.1.3 (tidemark x)\r\n(qemu) stop\r\n(qemu) ");
}

/* What is typed, and the QMP commands that come of it. */
static const char *const typed[][2] = {
	{ "stoq\bp\r", "stop -\n" },
	{ "top\001s\r", "stop -\n" },
	{ "stp\033[Do\r", "stop -\n" },
	{ "sttop\002\002\004\002\002\004\r", "" }, /* erases two letters: no command */
	{ "xstop\033[H\033[3~\r", "stop -\n" },
	{ "nonsense\025stop\r", "stop -\n" },
	{ "stop nonsense\027\r", "stop -\n" },
	{ "stopxx\002\002\013\r", "stop -\n" },
	{ "stop\r\033[A\r", "stop -\nstop -\n" },
	{ "stop\rbal\033[A\033[B\025cont\r", "stop -\ncont -\n" },
	{ "stop\rbalx\020\016\b\t2\r", "stop -\nballoon {\"value\":2097152}\n" },
	{ "ballo\t7\r", "balloon {\"value\":7340032}\n" },
	{ "info sta\t\r", "query-status -\n" },
	{ "\303\251\177stop\r", "stop -\n" }, /* one erasure takes the whole character */
	{ "stop\033[99~\033OH\033[Z\r", "stop -\n" },
};

static void test_typing(struct fixture *f, gconstpointer data)
{
	const char *const *one = data;

	g_free(pipe_run(f->p, one[0]));
	g_assert_cmpstr(calls->str, ==, one[1]);
}

static void test_completion_list(struct fixture *f, gconstpointer unused)
{
	g_autofree char *text = NULL;

	g_free(pipe_take(f->p));
	text = pipe_run(f->p, "info mig\t\t");
	g_assert_nonnull(strstr(text, "migrate  migrate_capabilities  migrate_parameters\r\n"));
	g_assert_true(g_str_has_suffix(text, "(qemu) info migrate\033[K"));
}

static void test_waiting(struct fixture *f, gconstpointer unused)
{
	g_autofree char *text = NULL;

	migrate_status = "active";
	g_free(pipe_run(f->p, "migrate tcp:h:1\rstop\r"));
	g_assert_null(strstr(calls->str, "stop")); /* typed ahead */
	while (!strstr(calls->str, "query-migrate"))
		g_main_context_iteration(NULL, TRUE);
	g_assert_null(strstr(calls->str, "stop"));
	migrate_status = "failed";
	while (!strstr(calls->str, "stop"))
		g_main_context_iteration(NULL, TRUE);
	text = pipe_take(f->p);
	g_assert_cmpstr(text, ==, "Error: the link is cut\r\n(qemu) stop\r\n(qemu) ");
	migrate_status = "active";
}

static void test_cpu(struct fixture *f, gconstpointer unused)
{
	g_autofree char *text = pipe_run(f->p, "cpu 1\rinfo cpus\rcpu x\rmemsave 1 2 f\r");

	g_assert_nonnull(strstr(text, "* CPU #1"));
	g_assert_nonnull(strstr(text, "cpu: 'x' is not the number of a CPU"));
	g_assert_nonnull(strstr(calls->str, "\"cpu-index\":1"));
}

static void test_long_line(struct fixture *f, gconstpointer unused)
{
	g_autofree char *noise = g_strnfill(100000, 'x');
	g_autofree char *text = pipe_run(f->p, noise);

	g_assert_cmpuint(strlen(text), <, 5000);
	g_free(pipe_run(f->p, "\025stop\r"));
	g_assert_cmpstr(calls->str, ==, "stop -\n");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(lines); i++) {
		g_autofree char *path = g_strdup_printf("/hmp/line/%02u", i);

		g_test_add_data_func(path, &lines[i], test_line);
	}
	g_test_add_func("/hmp/help", test_help);
#define ADD(path, data, fn) g_test_add(path, struct fixture, data, set_up, fn, tear_down)
	for (unsigned i = 0; i < ARRAY_SIZE(typed); i++) {
		g_autofree char *path = g_strdup_printf("/hmp/typing/%02u", i);

		ADD(path, typed[i], test_typing);
	}
	ADD("/hmp/banner", NULL, test_banner);
	ADD("/hmp/dialogue", NULL, test_dialogue);
	ADD("/hmp/completion-list", NULL, test_completion_list);
	ADD("/hmp/waiting", NULL, test_waiting);
	ADD("/hmp/cpu", NULL, test_cpu);
	ADD("/hmp/long-line", NULL, test_long_line);
	return g_test_run();
}
