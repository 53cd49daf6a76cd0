/* hw/core/elf.c - ELF files as programs in guest memory. */
#include "hw/elf.h"

#include "accel/vm.h"
#include "util/error.h"
#include "util/log.h"

#include <elf.h>

bool elf_matches(GBytes *bytes)
{
	gsize size;
	const u8 *d = g_bytes_get_data(bytes, &size);

	return size >= sizeof(Elf64_Ehdr) && !memcmp(d, ELFMAG, SELFMAG) &&
	       d[EI_DATA] == ELFDATA2LSB &&
	       (d[EI_CLASS] == ELFCLASS64 || d[EI_CLASS] == ELFCLASS32);
}

int elf_open(struct elf_file *e, GBytes *bytes, const char *label, GError **err)
{
	gsize size;
	u16 phentsize;

	*e = (struct elf_file){ .bytes = bytes, .label = label };
	e->data = g_bytes_get_data(bytes, &size);
	e->size = size;
	e->is64 = e->data[EI_CLASS] == ELFCLASS64;
	if (e->is64) {
		Elf64_Ehdr h;

		memcpy(&h, e->data, sizeof(h));
		e->machine = h.e_machine;
		e->entry = h.e_entry;
		e->phoff = h.e_phoff;
		e->nsegs = h.e_phnum;
		phentsize = h.e_phentsize;
	} else {
		Elf32_Ehdr h;

		memcpy(&h, e->data, sizeof(h));
		e->machine = h.e_machine;
		e->entry = h.e_entry;
		e->phoff = h.e_phoff;
		e->nsegs = h.e_phnum;
		phentsize = h.e_phentsize;
	}
	if (e->nsegs && (phentsize != (e->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) ||
			 e->phoff > e->size || e->nsegs > (e->size - e->phoff) / phentsize)) {
		error_set(err, "%s: its ELF program headers exceed the file", label);
		return -EINVAL;
	}
	return 0;
}

int elf_segment(const struct elf_file *e, unsigned i, struct elf_segment *s, GError **err)
{
	if (e->is64) {
		Elf64_Phdr p;

		memcpy(&p, e->data + e->phoff + i * sizeof(p), sizeof(p));
		*s = (struct elf_segment){ p.p_type,   p.p_offset, p.p_paddr,
					   p.p_filesz, p.p_memsz,  p.p_align };
	} else {
		Elf32_Phdr p;

		memcpy(&p, e->data + e->phoff + i * sizeof(p), sizeof(p));
		*s = (struct elf_segment){ p.p_type,   p.p_offset, p.p_paddr,
					   p.p_filesz, p.p_memsz,  p.p_align };
	}
	if (s->offset > e->size || s->filesz > e->size - s->offset ||
	    (s->type == PT_LOAD && s->memsz < s->filesz)) {
		error_set(err, "%s: ELF segment %u exceeds the file", e->label, i);
		return -EINVAL;
	}
	return 0;
}

static int add_segment(struct machine *m, const struct elf_file *e, const struct elf_segment *s,
		       const char *name, GError **err)
{
	g_autoptr(GBytes) data = NULL;

	if (s->memsz == s->filesz) {
		data = g_bytes_new_from_bytes(e->bytes, s->offset, s->filesz);
	} else {
		u8 *image;

		if (s->memsz > m->opt.ram_size) {
			error_set(err, "%s needs %" PRIu64 " bytes of memory, -m gives %" PRIu64,
				  e->label, s->memsz, m->opt.ram_size);
			return -EINVAL;
		}
		/* The tail reads as zero, at every reset. */
		image = g_malloc0(s->memsz);
		memcpy(image, e->data + s->offset, s->filesz);
		data = g_bytes_new_take(image, s->memsz);
	}
	if (machine_add_blob(m, name, s->paddr, data, err)) {
		g_prefix_error(err, "%s: ", e->label);
		return -EINVAL;
	}
	return 0;
}

/* Linkers put notes and headers at addresses that nobody chose: these need not be there. */
static bool begins_in_ram(struct machine *m, u64 gpa)
{
	u64 len = 1;

	return address_space_ram(m->vm->memory, gpa, &len, true, NULL, NULL);
}

int elf_add_segments(struct machine *m, const struct elf_file *e, const char *name, u64 *high,
		     GError **err)
{
	*high = 0;
	for (unsigned i = 0; i < e->nsegs; i++) {
		struct elf_segment s;

		if (elf_segment(e, i, &s, err))
			return -EINVAL;
		if (s.type != PT_LOAD || !s.memsz)
			continue;
		if (!begins_in_ram(m, s.paddr)) {
			log_warn("%s: segment %u of %" PRIu64
				 " bytes is left out: there is no RAM at 0x%" PRIx64,
				 e->label, i, s.memsz, s.paddr);
			continue;
		}
		if (add_segment(m, e, &s, name, err))
			return -EINVAL;
		*high = MAX(*high, s.paddr + s.memsz);
	}
	if (*high)
		return 0;
	error_set(err, "%s: it has nothing to load into RAM; link it to where the machine has RAM",
		  e->label);
	return -EINVAL;
}
