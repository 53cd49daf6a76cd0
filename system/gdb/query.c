/* system/gdb/query.c - general queries and settings, and packets with long names. */
#include "gdb/internal.h"
#include "monitor/monitor.h"

static const char *after(const char *p, const char *prefix)
{
	return g_str_has_prefix(p, prefix) ? p + strlen(prefix) : NULL;
}

static void supported(struct gdb_server *s, const char *features)
{
	g_autofree char *answer =
		g_strdup_printf("PacketSize=%x;qXfer:features:read+;vContSupported+;"
				"QStartNoAckMode+;hwbreak+",
				PACKET_SIZE);

	s->hwbreak = strstr(features, "hwbreak+");
	gdb_send(s, answer);
}

/* qXfer:features:read:target.xml:OFFSET,LENGTH */
static void send_description(struct gdb_server *s, const char *p)
{
	g_autofree char *part = NULL;
	u64 at, len, size = strlen(s->xml);

	if (!gdb_number(&p, &at) || *p++ != ',' || !gdb_number(&p, &len) || at > size) {
		gdb_send(s, "E16");
		return;
	}
	/* Escapes may double it. */
	len = MIN(MIN(len, PACKET_SIZE / 2), size - at);
	part = g_strdup_printf("%c%.*s", at + len == size ? 'l' : 'm', (int)len, s->xml + at);
	gdb_send(s, part);
}

static void send_threads(struct gdb_server *s)
{
	GString *out = g_string_new("m");

	for (int i = 0; i < s->e->vm->ncpus; i++)
		g_string_append_printf(out, "%s%02x", i ? "," : "", gdb_thread(i));
	gdb_send(s, out->str);
	g_string_free(out, TRUE);
}

static void describe_thread(struct gdb_server *s, const char *p)
{
	g_autofree char *text = NULL;
	u64 id;

	if (!gdb_number(&p, &id) || !id || id > (u64)s->e->vm->ncpus) {
		gdb_send(s, "E16");
		return;
	}
	text = g_strdup_printf("CPU#%d (%s)", (int)id - 1, s->e->vm->cpus[id - 1]->ops->name);
	gdb_send_hex(s, "", text);
}

/* "monitor LINE" of the debugger. */
static void monitor_line(struct gdb_server *s, const char *hex)
{
	char line[PACKET_SIZE / 2 + 1], part[PACKET_SIZE / 2 - 1];
	int len = gdb_unhex(hex, (u8 *)line, sizeof(line) - 1);
	g_autofree char *text = NULL;

	if (len < 0) {
		gdb_send(s, "E16");
		return;
	}
	line[len] = 0;
	s->in_command = true;
	text = monitor_hmp(s->e->monitors, line, s->reg_cpu);
	s->in_command = false;
	for (const char *at = text; *at; at += strlen(part)) {
		g_strlcpy(part, at, sizeof(part));
		gdb_send_hex(s, "O", part);
	}
	gdb_send(s, "OK");
}

static void set_physical(struct gdb_server *s, const char *value)
{
	s->physical = *value == '1';
	gdb_send(s, "OK");
}

static void no_ack(struct gdb_server *s)
{
	gdb_send(s, "OK");
	s->no_ack = true;
}

void gdb_query(struct gdb_server *s, const char *p)
{
	const char *rest;
	char text[16];

	if ((rest = after(p, "qSupported"))) {
		supported(s, rest);
	} else if ((rest = after(p, "qXfer:features:read:target.xml:"))) {
		send_description(s, rest);
	} else if ((rest = after(p, "qThreadExtraInfo,"))) {
		describe_thread(s, rest);
	} else if ((rest = after(p, "qRcmd,"))) {
		monitor_line(s, rest);
	} else if ((rest = after(p, "Qqemu.PhyMemMode:"))) {
		set_physical(s, rest);
	} else if (!strcmp(p, "qqemu.PhyMemMode")) {
		gdb_send(s, s->physical ? "1" : "0");
	} else if (!strcmp(p, "qfThreadInfo")) {
		send_threads(s);
	} else if (!strcmp(p, "qsThreadInfo")) {
		gdb_send(s, "l");
	} else if (!strcmp(p, "QStartNoAckMode")) {
		no_ack(s);
	} else if (after(p, "qAttached")) {
		gdb_send(s, "1");
	} else if (!strcmp(p, "qC")) {
		g_snprintf(text, sizeof(text), "QC%02x", gdb_thread(s->reg_cpu));
		gdb_send(s, text);
	} else {
		gdb_send(s, ""); /* not supported */
	}
}

/* vCont;ACTION[:THREAD]...: the first action that fits a thread counts; a step is of one vCPU. */
static void vcont(struct gdb_server *s, const char *p)
{
	int step = -1;
	bool others = false;

	while (*p == ';') {
		char how = *++p;
		u64 id = 0, val;

		p++;
		if (how == 'C' || how == 'S')
			gdb_number(&p, &val);
		if (*p == ':' && *++p == '-')
			p += 2;
		else
			gdb_number(&p, &id);
		if (!strchr("cCsS", how) || id > (u64)s->e->vm->ncpus) {
			gdb_send(s, "E16");
			return;
		}
		if (how == 'c' || how == 'C')
			others = true;
		else if (step < 0)
			step = id ? (int)id - 1 : s->run_cpu;
	}
	if (step >= 0)
		vm_debug_step(s->e->vm, step, !others);
	gdb_run(s);
}

void gdb_verbose(struct gdb_server *s, const char *p)
{
	if (!strcmp(p, "Cont?")) {
		gdb_send(s, "vCont;c;C;s;S");
	} else if (after(p, "Cont;")) {
		vcont(s, p + strlen("Cont"));
	} else if (after(p, "Attach;")) {
		gdb_send_stop(s);
	} else if (after(p, "Kill;")) {
		gdb_send(s, "OK");
		vm_request_shutdown(s->e->vm, SHUTDOWN_HOST_SIGNAL);
	} else {
		gdb_send(s, ""); /* not supported */
	}
}
