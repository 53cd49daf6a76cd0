/* system/gdb/commands.c - packets for registers, memory, points and running (GDB manual, E.2). */
#include "gdb/internal.h"

#define E_INVALID "E16"
#define E_MEMORY  "E0e"

static void append_register(struct gdb_server *s, GString *out, unsigned n)
{
	unsigned size = gdb_register_size(gdb_ops(s), n);
	u8 val[16];

	gdb_ops(s)->read_reg(gdb_vcpu(s), n, val);
	for (unsigned i = 0; i < size; i++)
		g_string_append_printf(out, "%02x", val[i]);
}

static void send_string(struct gdb_server *s, GString *text)
{
	gdb_send(s, text->str);
	g_string_free(text, TRUE);
}

static void read_registers(struct gdb_server *s)
{
	GString *out = g_string_new(NULL);

	for (unsigned n = 0; gdb_register_size(gdb_ops(s), n); n++)
		append_register(s, out, n);
	send_string(s, out);
}

/* Those that cannot be written keep their values: GDB writes all to change one. */
static void write_registers(struct gdb_server *s, const char *p)
{
	static u8 val[PACKET_SIZE / 2];
	int len = gdb_unhex(p, val, sizeof(val)), at = 0;
	unsigned size;

	for (unsigned n = 0; (size = gdb_register_size(gdb_ops(s), n)) && at + (int)size <= len;
	     n++, at += size)
		gdb_ops(s)->write_reg(gdb_vcpu(s), n, &val[at]);
	gdb_send(s, len < 0 ? E_INVALID : "OK");
}

static void read_register(struct gdb_server *s, const char *p)
{
	GString *out;
	u64 n;

	if (!gdb_number(&p, &n) || n > 1000 || !gdb_register_size(gdb_ops(s), n)) {
		gdb_send(s, E_INVALID);
		return;
	}
	out = g_string_new(NULL);
	append_register(s, out, n);
	send_string(s, out);
}

static void write_register(struct gdb_server *s, const char *p)
{
	u8 val[16];
	u64 n;
	bool good = gdb_number(&p, &n) && n <= 1000 && *p++ == '=' &&
		    gdb_unhex(p, val, sizeof(val)) == (int)gdb_register_size(gdb_ops(s), n);

	gdb_send(s, good && gdb_ops(s)->write_reg(gdb_vcpu(s), n, val) ? "OK" : E_INVALID);
}

static void read_memory(struct gdb_server *s, const char *p)
{
	static u8 buf[PACKET_SIZE / 2];
	GString *out;
	u64 addr, len;

	if (!gdb_number(&p, &addr) || *p++ != ',' || !gdb_number(&p, &len)) {
		gdb_send(s, E_INVALID);
		return;
	}
	len = MIN(len, sizeof(buf)); /* it asks for the rest */
	if (!gdb_memory(s, addr, buf, len, false)) {
		gdb_send(s, E_MEMORY);
		return;
	}
	out = g_string_new(NULL);
	for (u64 i = 0; i < len; i++)
		g_string_append_printf(out, "%02x", buf[i]);
	send_string(s, out);
}

/* M: digits; X: bytes. */
static void write_memory(struct gdb_server *s, const char *p, bool digits)
{
	static u8 buf[PACKET_SIZE];
	const char *end = (const char *)s->in->data + s->in->len - 1;
	u64 addr, len;
	bool good = gdb_number(&p, &addr) && *p++ == ',' && gdb_number(&p, &len) && *p++ == ':';

	if (good && digits)
		good = gdb_unhex(p, buf, sizeof(buf)) == (int)len;
	else if (good)
		good = (u64)(end - p) == len && len <= sizeof(buf) && memcpy(buf, p, len);
	if (!good)
		gdb_send(s, E_INVALID);
	else
		gdb_send(s, gdb_memory(s, addr, buf, len, true) ? "OK" : E_MEMORY);
}

static void change_point(struct gdb_server *s, const char *p, bool insert)
{
	static const enum debug_kind kinds[] = { DEBUG_BREAK, DEBUG_BREAK, DEBUG_WATCH_WRITE,
						 DEBUG_WATCH_READ, DEBUG_WATCH_ACCESS };
	struct debug_point point;
	u64 type;

	if (!gdb_number(&p, &type) || *p++ != ',' || !gdb_number(&p, &point.addr) || *p++ != ',' ||
	    !gdb_number(&p, &point.len) || !point.len) {
		gdb_send(s, E_INVALID);
		return;
	}
	if (type >= ARRAY_SIZE(kinds)) {
		gdb_send(s, ""); /* not supported */
		return;
	}
	point.kind = kinds[type];
	gdb_send(s, (insert ? vm_debug_insert(s->e->vm, &point) : vm_debug_remove(s->e->vm, &point))
			    ? E_INVALID
			    : "OK");
}

static void set_thread(struct gdb_server *s, const char *p)
{
	char what = *p++;
	u64 id = 0;

	if (*p == '-') /* all */
		id = 0;
	else if (!gdb_number(&p, &id) || id > (u64)s->e->vm->ncpus) {
		gdb_send(s, E_INVALID);
		return;
	}
	if (id && what == 'g')
		s->reg_cpu = id - 1;
	else if (id && what == 'c')
		s->run_cpu = id - 1;
	gdb_send(s, "OK");
}

/* c, s, and with a signal, which no vCPU has, C, S. */
static void resume(struct gdb_server *s, char how, const char *p)
{
	u64 val;

	if (how == 'C' || how == 'S') {
		gdb_number(&p, &val);
		if (*p == ';')
			p++;
	}
	if (gdb_number(&p, &val))
		gdb_ops(s)->set_pc(s->e->vm->cpus[s->run_cpu], val);
	if (how == 's' || how == 'S')
		vm_debug_step(s->e->vm, s->run_cpu, true);
	gdb_run(s);
}

static void detach(struct gdb_server *s)
{
	vm_debug_clear(s->e->vm);
	gdb_send(s, "OK");
	gdb_run(s);
	s->running = false; /* nobody waits for an answer */
}

void gdb_command(struct gdb_server *s)
{
	const char *p = (const char *)s->in->data;
	u64 id;

	/* While the guest runs nothing is said but an interrupt. */
	if (s->running)
		return;
	switch (*p++) {
	case '?': gdb_send_stop(s); break;
	case '!': gdb_send(s, "OK"); break;
	case 'g': read_registers(s); break;
	case 'G': write_registers(s, p); break;
	case 'p': read_register(s, p); break;
	case 'P': write_register(s, p); break;
	case 'm': read_memory(s, p); break;
	case 'M': write_memory(s, p, true); break;
	case 'X': write_memory(s, p, false); break;
	case 'Z': change_point(s, p, true); break;
	case 'z': change_point(s, p, false); break;
	case 'H': set_thread(s, p); break;
	case 'T':
		gdb_send(s, gdb_number(&p, &id) && id && id <= (u64)s->e->vm->ncpus ? "OK"
										    : E_INVALID);
		break;
	case 'c':
	case 'C':
	case 's':
	case 'S': resume(s, p[-1], p); break;
	case 'D': detach(s); break;
	case 'k': vm_request_shutdown(s->e->vm, SHUTDOWN_HOST_SIGNAL); break;
	case 'q':
	case 'Q': gdb_query(s, p - 1); break;
	case 'v': gdb_verbose(s, p); break;
	default: gdb_send(s, ""); break; /* not supported */
	}
}
