/*
 * target/arm/semihosting.c - calls of a guest to its host by HLT #0xF000.
 *
 * Source: Arm, "Semihosting for AArch32 and AArch64", section 5 (operations). For AArch64 the
 * number is in W0, the parameter or the address of a block of 64-bit fields in X1, the result in
 * X0. Guest memory is read before and written after the host's work, of which it may be part to
 * wait; what could fault is probed first, so that the guest's handler sees a call not yet made.
 */
#include "target/arm/semihosting.h"

#include "accel/tcg/mem.h"
#include "accel/tcg/work.h"
#include "target/arm/semihost-files.h"
#include "target/arm/vcpu.h"
#include "util/log.h"
#include "util/timer.h"

#include <stdio.h>
#include <unistd.h>

#define NAME_MAX_BYTES 4096 /* of a file, or another piece of text */
#define CHUNK_MAX      MiB  /* moved by one call of the host */
#define TICK_HZ        NS_PER_S
#define EXIT_NORMAL    0x20026 /* ADP_Stopped_ApplicationExit */

enum operation {
	SYS_OPEN = 0x01,
	SYS_CLOSE,
	SYS_WRITEC,
	SYS_WRITE0,
	SYS_WRITE,
	SYS_READ,
	SYS_READC,
	SYS_ISERROR,
	SYS_ISTTY,
	SYS_SEEK,
	SYS_FLEN = 0x0c,
	SYS_TMPNAM,
	SYS_REMOVE,
	SYS_RENAME,
	SYS_CLOCK,
	SYS_TIME,
	SYS_SYSTEM,
	SYS_ERRNO,
	SYS_GET_CMDLINE = 0x15,
	SYS_HEAPINFO,
	SYS_EXIT = 0x18,
	SYS_EXIT_EXTENDED = 0x20,
	SYS_ELAPSED = 0x30,
	SYS_TICKFREQ,
};

static struct {
	struct vm *vm; /* NULL: not enabled */
	bool userspace;
	char *cmdline;
	u64 heap_base, heap_limit;
	s64 start_ns; /* of SYS_CLOCK and SYS_ELAPSED, on the virtual clock */
	int error;    /* atomic; of the last call that failed */
} host;

/* One call; p are the fields of its block. */
struct call {
	struct arm_cpu *cpu;
	struct tcg_cpu *tcg;
	u64 arg; /* x1 */
	u64 p[4];
};

/* ---- guest memory ---- */

static void read_block(struct call *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		c->p[i] = tcg_load(c->tcg, c->arg + 8 * i, 8);
}

static void read_bytes(struct call *c, u64 va, void *to, u64 len)
{
	for (u64 i = 0; i < len; i++)
		((u8 *)to)[i] = tcg_load(c->tcg, va + i, 1);
}

static void write_bytes(struct call *c, u64 va, const void *from, u64 len)
{
	for (u64 i = 0; i < len; i++)
		tcg_store(c->tcg, va + i, ((const u8 *)from)[i], 1);
}

/* A counted text; NULL: too long. Free with g_free(). */
static char *read_text(struct call *c, u64 va, u64 len)
{
	char *text;

	if (len >= NAME_MAX_BYTES)
		return NULL;
	tcg_probe(c->tcg, va, len, TCG_READ); /* nothing is to be freed if it raises */
	text = g_malloc0(len + 1);
	read_bytes(c, va, text, len);
	return text;
}

/* ---- results ---- */

static void result(struct call *c, s64 val)
{
	cpu_set_x(c->cpu, 0, val);
}

/* A result of the host, or @failed and the reason for SYS_ERRNO. */
static void host_result(struct call *c, s64 val, s64 failed)
{
	if (val < 0)
		__atomic_store_n(&host.error, (int)-val, __ATOMIC_RELAXED);
	result(c, val < 0 ? failed : val);
}

/* The call is made once more, after other things have had their turn. */
static void try_again(struct call *c)
{
	c->tcg->npc = tcg_pc(c->tcg);
	c->tcg->exit_request = 1;
}

/* ---- files ---- */

static void call_open(struct call *c)
{
	g_autofree char *name = NULL;
	s64 ret;

	read_block(c, 3);
	name = read_text(c, c->p[0], c->p[2]);
	tcg_wait_begin(c->tcg);
	ret = name ? semihost_open(name, MIN(c->p[1], UINT32_MAX)) : -ENAMETOOLONG;
	tcg_wait_end(c->tcg);
	host_result(c, ret, -1);
}

/* Result: bytes that were not written. */
static void call_write(struct call *c)
{
	g_autofree u8 *buf = NULL;
	u64 len;
	s64 ret;

	read_block(c, 3);
	len = MIN(c->p[2], CHUNK_MAX);
	tcg_probe(c->tcg, c->p[1], len, TCG_READ);
	buf = g_malloc(len);
	read_bytes(c, c->p[1], buf, len);
	tcg_wait_begin(c->tcg);
	ret = semihost_write(c->p[0], buf, len);
	tcg_wait_end(c->tcg);
	host_result(c, ret < 0 ? ret : (s64)(c->p[2] - ret), c->p[2]);
}

/* Result: bytes that were not read. */
static void call_read(struct call *c)
{
	g_autofree u8 *buf = NULL;
	u64 len;
	s64 ret;

	read_block(c, 3);
	len = MIN(c->p[2], CHUNK_MAX);
	tcg_probe(c->tcg, c->p[1], len, TCG_WRITE);
	buf = g_malloc(len);
	tcg_wait_begin(c->tcg);
	ret = semihost_read(c->p[0], buf, len);
	tcg_wait_end(c->tcg);
	if (ret == -EAGAIN) {
		try_again(c);
		return;
	}
	if (ret > 0)
		write_bytes(c, c->p[1], buf, ret);
	host_result(c, ret < 0 ? ret : (s64)(c->p[2] - ret), c->p[2]);
}

static void call_readc(struct call *c)
{
	u8 byte;
	s64 ret;

	tcg_wait_begin(c->tcg);
	ret = semihost_console_read(&byte, 1);
	tcg_wait_end(c->tcg);
	if (ret == -EAGAIN)
		try_again(c);
	else
		host_result(c, ret == 1 ? byte : ret ? ret : -EIO, -1);
}

static void call_writec(struct call *c)
{
	u8 byte = tcg_load(c->tcg, c->arg, 1);

	tcg_wait_begin(c->tcg);
	semihost_console_write(&byte, 1);
	tcg_wait_end(c->tcg);
}

/* A text that ends with a zero byte, in pieces so that any length will do. */
static void call_write0(struct call *c)
{
	u8 buf[256];
	u64 at = c->arg, n;

	do {
		for (n = 0; n < sizeof(buf); n++, at++) {
			buf[n] = tcg_load(c->tcg, at, 1);
			if (!buf[n])
				break;
		}
		tcg_wait_begin(c->tcg);
		semihost_console_write(buf, n);
		tcg_wait_end(c->tcg);
	} while (n == sizeof(buf));
}

/* A name that no other process uses; the guest opens it, or does not. */
static void call_tmpnam(struct call *c)
{
	char name[256];

	read_block(c, 3);
	g_snprintf(name, sizeof(name), "%s/semihost-%x-%02x", g_get_tmp_dir(), (unsigned)getpid(),
		   (unsigned)(c->p[1] & 0xff));
	if (c->p[2] <= strlen(name)) {
		host_result(c, -ERANGE, -1);
		return;
	}
	write_bytes(c, c->p[0], name, strlen(name) + 1);
	result(c, 0);
}

static void call_remove(struct call *c)
{
	g_autofree char *name = NULL;
	s64 ret;

	read_block(c, 2);
	name = read_text(c, c->p[0], c->p[1]);
	tcg_wait_begin(c->tcg);
	ret = !name ? -ENAMETOOLONG : remove(name) ? -errno : 0;
	tcg_wait_end(c->tcg);
	host_result(c, ret, -1);
}

static void call_rename(struct call *c)
{
	g_autofree char *from = NULL, *to = NULL;
	s64 ret;

	read_block(c, 4);
	if (c->p[1] < NAME_MAX_BYTES && c->p[3] < NAME_MAX_BYTES) {
		tcg_probe(c->tcg, c->p[2], c->p[3], TCG_READ);
		from = read_text(c, c->p[0], c->p[1]);
		to = read_text(c, c->p[2], c->p[3]);
	}
	tcg_wait_begin(c->tcg);
	ret = !from ? -ENAMETOOLONG : rename(from, to) ? -errno : 0;
	tcg_wait_end(c->tcg);
	host_result(c, ret, -1);
}

static void on_handle(struct call *c, s64 (*fn)(s64 handle))
{
	s64 ret;

	read_block(c, 1);
	tcg_wait_begin(c->tcg);
	ret = fn(c->p[0]);
	tcg_wait_end(c->tcg);
	host_result(c, ret, -1);
}

static void call_seek(struct call *c)
{
	s64 ret;

	read_block(c, 2);
	tcg_wait_begin(c->tcg);
	ret = semihost_seek(c->p[0], c->p[1]);
	tcg_wait_end(c->tcg);
	host_result(c, ret, -1);
}

/* ---- the program and its surroundings ---- */

static s64 elapsed_ns(void)
{
	return clock_ns(CLOCK_TYPE_VIRTUAL) - host.start_ns;
}

static void call_elapsed(struct call *c)
{
	u64 ticks = elapsed_ns();

	tcg_probe(c->tcg, c->arg, sizeof(ticks), TCG_WRITE);
	write_bytes(c, c->arg, &ticks, sizeof(ticks));
	result(c, 0);
}

static void call_cmdline(struct call *c)
{
	u64 len = strlen(host.cmdline);

	read_block(c, 2);
	if (c->p[1] <= len) {
		host_result(c, -E2BIG, -1);
		return;
	}
	tcg_probe(c->tcg, c->arg + 8, 8, TCG_WRITE);
	write_bytes(c, c->p[0], host.cmdline, len + 1);
	write_bytes(c, c->arg + 8, &len, sizeof(len));
	result(c, 0);
}

/* The heap grows up and the stack down in the same memory. */
static void call_heapinfo(struct call *c)
{
	u64 info[] = { host.heap_base, host.heap_limit, host.heap_limit, host.heap_base };
	u64 block = tcg_load(c->tcg, c->arg, 8);

	write_bytes(c, block, info, sizeof(info));
}

/* Reasons other than a normal end of the program are failures. */
static void call_exit(struct call *c)
{
	read_block(c, 2);
	vm_request_shutdown_code(host.vm, SHUTDOWN_GUEST_SHUTDOWN,
				 c->p[0] == EXIT_NORMAL ? (int)(c->p[1] & 0xff) : 1);
	try_again(c); /* nothing comes after it, whatever becomes of the request */
}

/* Nothing that a guest says is run by a shell of the host. */
static void call_system(struct call *c)
{
	log_unimp("semihosting: SYS_SYSTEM is refused\n");
	host_result(c, -ENOSYS, -1);
}

static void act(struct call *c, u32 op)
{
	switch (op) {
	case SYS_OPEN: call_open(c); break;
	case SYS_CLOSE: on_handle(c, semihost_close); break;
	case SYS_WRITEC: call_writec(c); break;
	case SYS_WRITE0: call_write0(c); break;
	case SYS_WRITE: call_write(c); break;
	case SYS_READ: call_read(c); break;
	case SYS_READC: call_readc(c); break;
	case SYS_ISERROR:
		read_block(c, 1);
		result(c, (s64)c->p[0] < 0);
		break;
	case SYS_ISTTY: on_handle(c, semihost_is_tty); break;
	case SYS_SEEK: call_seek(c); break;
	case SYS_FLEN: on_handle(c, semihost_length); break;
	case SYS_TMPNAM: call_tmpnam(c); break;
	case SYS_REMOVE: call_remove(c); break;
	case SYS_RENAME: call_rename(c); break;
	case SYS_CLOCK: result(c, elapsed_ns() / (NS_PER_S / 100)); break;
	case SYS_TIME: result(c, clock_ns(CLOCK_TYPE_HOST) / NS_PER_S); break;
	case SYS_SYSTEM: call_system(c); break;
	case SYS_ERRNO: result(c, __atomic_load_n(&host.error, __ATOMIC_RELAXED)); break;
	case SYS_GET_CMDLINE: call_cmdline(c); break;
	case SYS_HEAPINFO: call_heapinfo(c); break;
	case SYS_EXIT:
	case SYS_EXIT_EXTENDED: call_exit(c); break;
	case SYS_ELAPSED: call_elapsed(c); break;
	case SYS_TICKFREQ: result(c, TICK_HZ); break;
	default:
		log_unimp("semihosting: operation %#x does not exist\n", op);
		host_result(c, -ENOSYS, -1);
		break;
	}
}

bool arm_semihosting_call(struct arm_cpu *cpu)
{
	struct call c = { .cpu = cpu, .tcg = &cpu->tcg, .arg = cpu_x(cpu, 1) };

	if (!host.vm || (cpu_el(cpu) == 0 && !host.userspace))
		return false;
	act(&c, cpu_x(cpu, 0));
	return true;
}

/* ---- life ---- */

void arm_semihosting_enable(struct vm *vm, const struct semihosting_config *config)
{
	host.vm = vm;
	host.userspace = config->userspace;
	host.cmdline = g_strdup(config->cmdline ?: "");
	host.start_ns = clock_ns(CLOCK_TYPE_VIRTUAL);
	semihost_files_init(config->console);
}

bool arm_semihosting_enabled(void)
{
	return host.vm;
}

void arm_semihosting_disable(void)
{
	if (!host.vm)
		return;
	semihost_files_close();
	g_clear_pointer(&host.cmdline, g_free);
	host.vm = NULL;
}

void arm_semihosting_set_heap(u64 base, u64 limit)
{
	host.heap_base = base;
	host.heap_limit = limit;
}
