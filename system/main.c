/* system/main.c - the emulator's process. */
#include <stdio.h>

#include "daemon.h"
#include "emulator.h"
#include "util/error.h"
#include "util/log.h"
#include "util/main-loop.h"

static int report(struct config *c, const GError *err)
{
	if (c && c->timestamp) {
		g_autoptr(GDateTime) now = g_date_time_new_now_utc();
		g_autofree char *text = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S.%fZ");

		fprintf(stderr, "%s ", text);
	}
	fprintf(stderr, "%s: %s\n", g_get_prgname(), err->message);
	return 1;
}

static int run(struct emulator *e, GError **err)
{
	int ret = emulator_setup(e, err);

	if (ret)
		return ret;
	emulator_handle_signals(e);
	ret = emulator_start(e, err);
	if (ret)
		return ret;
	daemon_ready();
	main_loop_run();
	return 0;
}

int main(int argc, char **argv)
{
	struct emulator e = { 0 };
	g_autoptr(GError) err = NULL;
	int ret;

	g_set_prgname(argv[0]);
	e.cfg = config_new();
	ret = config_parse(e.cfg, argc, argv, &err);
	if (!ret && (e.cfg->log_mask || e.cfg->log_file))
		ret = log_set(e.cfg->log_mask, e.cfg->log_file, &err);
	if (!ret && e.cfg->log_filter)
		ret = log_set_filter(e.cfg->log_filter, &err);
	if (!ret && e.cfg->daemonize)
		ret = daemon_fork(&err);
	if (!ret) {
		main_loop_init();
		ret = run(&e, &err);
		if (ret < 0)
			report(e.cfg, err);
		emulator_teardown(&e);
	} else if (ret < 0) {
		report(e.cfg, err);
	}
	config_free(e.cfg);
	return ret < 0 ? 1 : e.exit_code;
}
