/*
 * accel/tcg/trace.c - what translation and execution tell of themselves: -d, -dfilter, -perfmap.
 *
 * Disassembly is capstone's; without it there are words and bytes. The map for perf is one line
 * for each piece of code: address, size, name (Linux, tools/perf/Documentation/jit-interface.txt).
 */
#include "accel/tcg/trace.h"

#include <stdio.h>
#include <unistd.h>

#include "accel/tcg.h"
#include "util/error.h"
#include "util/log.h"

static FILE *perf_map;

/* ---- disassembly ---- */

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>

enum machine { GUEST, HOST };

static csh handle_of(enum machine m)
{
	static csh handles[2];
	static bool opened[2];

	if (!opened[m])
		opened[m] = cs_open(m == GUEST ? CS_ARCH_ARM64 : CS_ARCH_X86,
				    m == GUEST ? CS_MODE_LITTLE_ENDIAN : CS_MODE_64,
				    &handles[m]) == CS_ERR_OK;
	return opened[m] ? handles[m] : 0;
}

/* One instruction; its bytes are stepped over. Return: its text, NULL if it is none. */
static char *disassemble(enum machine m, const u8 **code, size_t *size, u64 *addr)
{
	csh handle = handle_of(m);
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	char *text = NULL;

	if (insn && cs_disasm_iter(handle, code, size, addr, insn))
		text = g_strdup_printf("%-8s %s", insn->mnemonic, insn->op_str);
	if (insn)
		cs_free(insn, 1);
	return text;
}
#else
enum machine { GUEST, HOST };

static char *disassemble(enum machine m, const u8 **code, size_t *size, u64 *addr)
{
	return NULL;
}
#endif

/* Instructions have 4 bytes in the guest; what the host's are is the disassembler's to say. */
static void append_code(GString *s, enum machine m, const u8 *code, size_t size, u64 addr)
{
	while (size) {
		const u8 *start = code;
		u64 at = addr;
		g_autofree char *text = disassemble(m, &code, &size, &addr);

		if (!text) {
			size_t skip = MIN(size, m == GUEST ? 4u : 1u);

			code += skip;
			size -= skip;
			addr += skip;
		}
		g_string_append_printf(s, "0x%08" PRIx64 ":  ", at);
		for (size_t i = code - start; i-- > 0 && m == GUEST;)
			g_string_append_printf(s, "%02x", start[i]);
		for (const u8 *p = start; p < code && m == HOST; p++)
			g_string_append_printf(s, "%02x ", *p);
		if (m == HOST)
			for (size_t pad = code - start; pad < 10; pad++)
				g_string_append(s, "   ");
		g_string_append_printf(s, "  %s\n", text ?: m == GUEST ? ".inst" : ".byte");
	}
}

/* ---- events ---- */

static void log_code(const struct trans *t, const u8 *code, size_t size)
{
	g_autoptr(GString) s = g_string_new("----------------\n");

	if (log_enabled(LOG_IN_ASM)) {
		g_string_append(s, "IN:\n");
		append_code(s, GUEST, (const u8 *)t->words, 4 * t->ninsns, t->start);
	}
	if (log_enabled(LOG_OUT_ASM)) {
		g_string_append_printf(s, "OUT: [size=%zu]\n", size);
		append_code(s, HOST, code, size, (uintptr_t)code);
	}
	log_write(LOG_IN_ASM | LOG_OUT_ASM, "%s\n", s->str);
}

void tcg_trace_region(const struct trans *t, const u8 *code, size_t size)
{
	if (perf_map)
		fprintf(perf_map, "%" PRIxPTR " %zx guest_0x%" PRIx64 "\n", (uintptr_t)code, size,
			t->start);
	if (log_enabled(LOG_IN_ASM | LOG_OUT_ASM) && log_wants_address(t->start))
		log_code(t, code, size);
}

void tcg_trace_exec(struct tcg_cpu *cpu, const void *code)
{
	u64 pc = tcg_pc(cpu);

	if (!log_wants_address(pc))
		return;
	log_write(LOG_EXEC, "Trace: %p [0x%" PRIx64 "/key %x]\n", code, pc, cpu->state_key);
	if (log_enabled(LOG_CPU) && cpu->ops->describe) {
		g_autofree char *text = cpu->ops->describe(cpu);

		log_write(LOG_CPU, "%s", text);
	}
}

int tcg_perf_map_open(GError **err)
{
	g_autofree char *path = g_strdup_printf("/tmp/perf-%d.map", (int)getpid());

	perf_map = fopen(path, "we");
	if (!perf_map) {
		int e = errno;

		error_set_errno(err, e, "-perfmap: cannot open %s", path);
		return -e;
	}
	setvbuf(perf_map, NULL, _IOLBF, 0); /* whoever reads it does so at any time */
	return 0;
}
