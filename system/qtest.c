/* system/qtest.c - the qtest protocol. */
#include "qtest.h"

#include <stdio.h>

#include "accel/accel.h"
#include "chardev/char.h"
#include "qtest-clock.h"
#include "util/error.h"
#include "util/log.h"

#define MAX_TRANSFER                                                                               \
	(64 * MiB) /* one read or write; keeps a mistyped length from eating memory                \
		    */

struct qtest_server {
	struct machine *m;
	struct chardev_fe *fe;
	GString *line;
	FILE *log;
	bool driven_clock; /* -accel qtest: clock_step and clock_set work */
};

static void G_GNUC_PRINTF(2, 3) reply(struct qtest_server *s, const char *fmt, ...)
{
	GString *text = g_string_new(NULL);
	va_list ap;

	va_start(ap, fmt);
	g_string_append_vprintf(text, fmt, ap);
	va_end(ap);
	if (s->log)
		fprintf(s->log, "[S] %s\n", text->str);
	g_string_append_c(text, '\n');
	chardev_write(s->fe, text->str, text->len);
	g_string_free(text, TRUE);
}

static bool number(const char *text, u64 *out)
{
	char *end;

	errno = 0;
	*out = text ? g_ascii_strtoull(text, &end, 0) : 0;
	return text && !errno && end != text && !*end;
}

static unsigned size_of_suffix(char c)
{
	switch (c) {
	case 'b': return 1;
	case 'w': return 2;
	case 'l': return 4;
	case 'q': return 8;
	default: return 0;
	}
}

static void port_command(struct qtest_server *s, bool out, unsigned size, char **w)
{
	struct address_space *io = s->m->vm->io;
	u64 addr, value = 0;

	if (!io || !number(w[1], &addr) || (out && !number(w[2], &value))) {
		reply(s, "FAIL %s", io ? "bad number" : "this machine has no ports");
		return;
	}
	if (out) {
		address_space_st(io, addr, value, size);
		reply(s, "OK");
	} else {
		reply(s, "OK 0x%04" PRIx64, address_space_ld(io, addr, size, NULL));
	}
}

static void memory_command(struct qtest_server *s, bool write, unsigned size, char **w)
{
	struct address_space *as = s->m->vm->memory;
	u64 addr, value = 0;

	if (!number(w[1], &addr) || (write && !number(w[2], &value))) {
		reply(s, "FAIL bad number");
		return;
	}
	if (write) {
		address_space_st(as, addr, value, size);
		reply(s, "OK");
	} else {
		reply(s, "OK 0x%016" PRIx64, address_space_ld(as, addr, size, NULL));
	}
}

static void read_block(struct qtest_server *s, char **w, bool base64)
{
	u64 addr, len;

	if (!number(w[1], &addr) || !number(w[2], &len) || !len || len > MAX_TRANSFER) {
		reply(s, "FAIL bad address or length");
		return;
	}
	g_autofree u8 *buf = g_malloc(len);

	address_space_read(s->m->vm->memory, addr, buf, len);
	if (base64) {
		g_autofree char *text = g_base64_encode(buf, len);

		reply(s, "OK %s", text);
		return;
	}
	GString *hex = g_string_sized_new(2 * len);

	for (u64 i = 0; i < len; i++)
		g_string_append_printf(hex, "%02x", buf[i]);
	reply(s, "OK 0x%s", hex->str);
	g_string_free(hex, TRUE);
}

static void write_block(struct qtest_server *s, char **w, bool base64)
{
	u64 addr, len;

	if (!number(w[1], &addr) || !number(w[2], &len) || !w[3] || len > MAX_TRANSFER) {
		reply(s, "FAIL bad address, length or data");
		return;
	}
	g_autofree u8 *buf = g_malloc0(len + 1);

	if (base64) {
		gsize n;
		g_autofree u8 *data = g_base64_decode(w[3], &n);

		memcpy(buf, data, MIN(n, len));
	} else {
		const char *p = g_str_has_prefix(w[3], "0x") ? w[3] + 2 : w[3];

		for (u64 i = 0; i < len && g_ascii_isxdigit(p[0]) && g_ascii_isxdigit(p[1]);
		     i++, p += 2)
			buf[i] = g_ascii_xdigit_value(p[0]) << 4 | g_ascii_xdigit_value(p[1]);
	}
	address_space_write(s->m->vm->memory, addr, buf, len);
	reply(s, "OK");
}

static void fill(struct qtest_server *s, char **w)
{
	u64 addr, len, byte;

	if (!number(w[1], &addr) || !number(w[2], &len) || !number(w[3], &byte) ||
	    len > MAX_TRANSFER) {
		reply(s, "FAIL bad address, length or byte");
		return;
	}
	g_autofree u8 *buf = g_malloc(len + 1);

	memset(buf, (int)byte, len);
	address_space_write(s->m->vm->memory, addr, buf, len);
	reply(s, "OK");
}

static void clock_command(struct qtest_server *s, bool step, char **w)
{
	u64 ns = 0;
	s64 now;

	if (w[1] && !number(w[1], &ns)) {
		reply(s, "FAIL bad number");
		return;
	}
	now = step ? qtest_clock_step(w[1] ? (s64)ns : -1) : qtest_clock_set((s64)ns);
	if (now < 0)
		reply(s, "FAIL time cannot go there");
	else
		reply(s, "OK %" PRIi64, now);
}

/* Commands named by a verb and a size: outb, inl, writeq, readw, ... Return false: not one. */
static bool sized_command(struct qtest_server *s, char **w)
{
	size_t len = strlen(w[0]);
	unsigned size = len ? size_of_suffix(w[0][len - 1]) : 0;
	g_autofree char *verb = g_strndup(w[0], len ? len - 1 : 0);

	if (size && size < 8 && (!strcmp(verb, "out") || !strcmp(verb, "in")))
		port_command(s, verb[0] == 'o', size, w);
	else if (size && (!strcmp(verb, "write") || !strcmp(verb, "read")))
		memory_command(s, verb[0] == 'w', size, w);
	else
		return false;
	return true;
}

static void command(struct qtest_server *s, const char *line)
{
	g_auto(GStrv) w = g_strsplit(line, " ", -1);

	if (s->log)
		fprintf(s->log, "[R] %s\n", line);
	if (!w[0] || !w[0][0])
		return;
	if (!strcmp(w[0], "endianness"))
		reply(s, "OK little");
	else if (!strcmp(w[0], "read") || !strcmp(w[0], "b64read"))
		read_block(s, w, w[0][0] == 'b');
	else if (!strcmp(w[0], "write") || !strcmp(w[0], "b64write"))
		write_block(s, w, w[0][0] == 'b');
	else if (!strcmp(w[0], "memset"))
		fill(s, w);
	else if (s->driven_clock && (!strcmp(w[0], "clock_step") || !strcmp(w[0], "clock_set")))
		clock_command(s, !strcmp(w[0], "clock_step"), w);
	else if (!sized_command(s, w))
		reply(s, "FAIL Unknown command '%s'", w[0]);
}

static size_t can_receive(void *opaque)
{
	return 4096;
}

static void receive(void *opaque, const u8 *buf, size_t len)
{
	struct qtest_server *s = opaque;

	for (size_t i = 0; i < len; i++) {
		if (buf[i] != '\n') {
			g_string_append_c(s->line, buf[i]);
			continue;
		}
		if (s->line->len && s->line->str[s->line->len - 1] == '\r')
			g_string_truncate(s->line, s->line->len - 1);
		command(s, s->line->str);
		g_string_truncate(s->line, 0);
	}
}

static void event(void *opaque, enum chardev_event ev)
{
	struct qtest_server *s = opaque;

	if (ev == CHARDEV_OPENED || ev == CHARDEV_CLOSED)
		g_string_truncate(s->line, 0);
}

struct qtest_server *qtest_create(struct machine *m, const char *dev, const char *log_path,
				  GError **err)
{
	struct chardev_frontend fe = { can_receive, receive, event, NULL };
	struct qtest_server *s;
	struct chardev *c;
	FILE *log = NULL;

	if (log_path) {
		log = fopen(log_path, "we");
		if (!log) {
			error_set_errno(err, errno, "-qtest-log %s", log_path);
			return NULL;
		}
		setlinebuf(log);
	}
	c = chardev_create_shorthand("qtest", dev, NULL, err);
	if (!c) {
		if (log)
			fclose(log);
		return NULL;
	}
	s = g_new0(struct qtest_server, 1);
	s->m = m;
	s->line = g_string_new(NULL);
	s->log = log;
	s->driven_clock = !strcmp(m->vm->accel->ops->name, "qtest");
	if (s->driven_clock)
		qtest_clock_init();
	fe.opaque = s;
	s->fe = chardev_attach(c, &fe, err);
	if (!s->fe) {
		qtest_destroy(s);
		return NULL;
	}
	return s;
}

void qtest_destroy(struct qtest_server *s)
{
	if (s->fe)
		chardev_detach(s->fe);
	if (s->log)
		fclose(s->log);
	g_string_free(s->line, TRUE);
	g_free(s);
}
