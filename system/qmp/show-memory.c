/* system/qmp/show-memory.c - guest memory as text, for the human monitor's x and xp. */
#include "qapi/gen/show-memory.h"

#include "accel/debug.h"
#include "accel/vcpu.h"
#include "hw/machine.h"
#include "memory/address-space.h"
#include "util/error.h"

#define PAGE 4096 /* no translation is finer */
#define LINE 16   /* bytes */
#define MOST 65536

/* The vCPU whose translation counts; stopped. NULL with @err. */
static struct vcpu *viewer(struct machine *m, s64 index, GError **err)
{
	struct vcpu *cpu;

	if (index < 0 || index >= m->vm->ncpus) {
		error_set(err, "there is no CPU %" PRId64 ": the machine has %d", index,
			  m->vm->ncpus);
		return NULL;
	}
	cpu = m->vm->cpus[index];
	if (!cpu->ops->debug) {
		error_set(err,
			  "virtual addresses of %s CPUs cannot be looked up with this "
			  "accelerator: xp takes physical ones",
			  cpu->ops->name);
		return NULL;
	}
	return cpu;
}

static void print_unit(GString *out, u64 value, unsigned size, char format)
{
	s64 wide = (s64)(value << (64 - 8 * size)) >> (64 - 8 * size);

	switch (format) {
	case 'x': g_string_append_printf(out, " 0x%0*" PRIx64, size * 2, value); break;
	case 'd': g_string_append_printf(out, " %" PRId64, wide); break;
	case 'u': g_string_append_printf(out, " %" PRIu64, value); break;
	case 'o': g_string_append_printf(out, " 0%" PRIo64, value); break;
	default:
		if (g_ascii_isprint(value & 0xff) && value < 256)
			g_string_append_printf(out, " '%c'", (char)value);
		else
			g_string_append_printf(out, " '\\x%02" PRIx64 "'", value);
	}
}

/* In one access, as registers of devices want it, but for units that lie in two pages. */
static bool read_unit(struct machine *m, struct vcpu *cpu, u64 at, u8 *out, unsigned size)
{
	while (size) {
		unsigned n = MIN(size, PAGE - at % PAGE);
		u64 phys = at;

		if (cpu && !cpu->ops->debug->translate(cpu, at, &phys))
			return false;
		if (address_space_read(m->vm->memory, phys, out, n) != MEM_OK)
			return false;
		at += n;
		out += n;
		size -= n;
	}
	return true;
}

struct qapi_human_readable_text *
qmp_x_show_memory(struct machine *m, const struct qapi_x_show_memory_args *args, GError **err)
{
	struct vcpu *cpu = NULL;
	struct qapi_human_readable_text *r;
	g_autoptr(GString) out = g_string_new(NULL);
	unsigned size = args->size, per_line;

	if (!size || size > 8 || (size & (size - 1)) || args->count > MOST ||
	    !strchr("xduoc", args->format[0]) || args->format[0] == 0 || args->format[1]) {
		error_set(err, "size is 1, 2, 4 or 8, count at most %d, format one of x d u o c",
			  MOST);
		return NULL;
	}
	if (!args->physical) {
		cpu = viewer(m, args->has_cpu_index ? args->cpu_index : 0, err);
		if (!cpu)
			return NULL;
		vcpu_stop_all(m->vm);
	}
	per_line = LINE / size;
	for (u64 i = 0; i < args->count; i++) {
		u64 at = args->address + i * size, value = 0;
		u8 raw[8];

		if (i % per_line == 0)
			g_string_append_printf(out, "%s%016" PRIx64 ":", i ? "\n" : "", at);
		if (!read_unit(m, cpu, at, raw, size)) {
			g_string_append_printf(out, " cannot access memory\n");
			break;
		}
		for (unsigned k = size; k--;)
			value = value << 8 | raw[k];
		print_unit(out, value, size, args->format[0]);
		if (i == args->count - 1)
			g_string_append_c(out, '\n');
	}
	if (cpu && vm_running(m->vm))
		vcpu_resume_all(m->vm);
	r = g_new0(struct qapi_human_readable_text, 1);
	r->human_readable_text = g_string_free(g_steal_pointer(&out), FALSE);
	return r;
}
