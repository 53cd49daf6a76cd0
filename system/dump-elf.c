/*
 * system/dump-elf.c - the head of an ELF core file.
 *
 * Source: System V ABI, chapters 4 and 5; the registers' note is what Linux's core(5) files have
 * (<linux/elfcore.h>, struct elf_prstatus).
 */
#include "dump.h"

#include "accel/vcpu.h"
#include "accel/vm.h"
#include "util/error.h"

#include <assert.h>
#include <elf.h>

#define NOTE_NAME       "CORE"
#define NOTE_NAME_BYTES 8 /* with its end and padding */
/* Offsets in struct elf_prstatus of 64-bit targets. */
#define PRSTATUS_PID  32
#define PRSTATUS_REGS 112
#define PRSTATUS_TAIL 8 /* whether there are FP registers, and padding */

static void put(GByteArray *out, const void *data, size_t n)
{
	g_byte_array_append(out, data, n);
}

static void pad(GByteArray *out, size_t n)
{
	static const u8 zeroes[PRSTATUS_REGS];

	g_byte_array_append(out, zeroes, n);
}

/* Numbers are the target's, little-endian, like those of the hosts that this runs on. */
static int add_registers(GByteArray *out, struct vcpu *cpu, GError **err)
{
	u64 regs[CORE_REGS_MAX];
	u32 pid = cpu->index + 1;
	int ret = vcpu_get_state(cpu, err);
	Elf64_Nhdr note = { .n_namesz = sizeof(NOTE_NAME), .n_type = NT_PRSTATUS };
	unsigned n;

	if (ret)
		return ret;
	n = cpu->ops->core_regs(cpu, regs);
	note.n_descsz = PRSTATUS_REGS + n * sizeof(u64) + PRSTATUS_TAIL;
	put(out, &note, sizeof(note));
	put(out, NOTE_NAME, sizeof(NOTE_NAME));
	pad(out, NOTE_NAME_BYTES - sizeof(NOTE_NAME));
	pad(out, PRSTATUS_PID);
	put(out, &pid, sizeof(pid));
	pad(out, PRSTATUS_REGS - PRSTATUS_PID - sizeof(pid));
	put(out, regs, n * sizeof(u64));
	pad(out, PRSTATUS_TAIL);
	return 0;
}

static void add_segments(GByteArray *out, const struct dump_content *c, u64 notes_bytes)
{
	u64 at = sizeof(Elf64_Ehdr) + (c->ranges->len + 1) * sizeof(Elf64_Phdr);
	Elf64_Phdr p = {
		.p_type = PT_NOTE, .p_offset = at, .p_filesz = notes_bytes, .p_memsz = notes_bytes
	};

	put(out, &p, sizeof(p));
	at += notes_bytes;
	for (guint i = 0; i < c->ranges->len; i++) {
		const struct dump_range *r = &g_array_index(c->ranges, struct dump_range, i);

		p = (Elf64_Phdr){ .p_type = PT_LOAD,
				  .p_offset = at,
				  .p_paddr = r->gpa,
				  .p_filesz = r->size,
				  .p_memsz = r->size };
		put(out, &p, sizeof(p));
		at += r->size;
	}
}

GByteArray *dump_elf_header(struct vm *vm, const struct dump_content *c, GError **err)
{
	g_autoptr(GByteArray) notes = g_byte_array_new();
	GByteArray *out;
	Elf64_Ehdr h = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_CORE,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(h),
		.e_ehsize = sizeof(h),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = c->ranges->len + 1,
	};

	assert(c->ranges->len < PN_XNUM - 1);
	for (int i = 0; i < vm->ncpus; i++)
		if (add_registers(notes, vm->cpus[i], err))
			return NULL;
	h.e_machine = vm->cpus[0]->ops->elf_machine;
	out = g_byte_array_new();
	put(out, &h, sizeof(h));
	add_segments(out, c, notes->len);
	put(out, notes->data, notes->len);
	return out;
}
