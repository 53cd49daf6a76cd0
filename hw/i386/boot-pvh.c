/*
 * hw/i386/boot-pvh.c - ELF kernels with a PVH entry.
 *
 * Sources: Xen's public "x86/HVM direct boot ABI" and hvm/start_info.h; System V ABI (ELF).
 */
#include "hw/i386/boot.h"

#include "hw/i386/layout.h"
#include "util/error.h"

#include <elf.h>

#define START_MAGIC  0x336ec578
#define PHYS32_ENTRY 18 /* type of the note that holds the entry point */
#define NOTE_NAME    "Xen"

struct start_info {
	u32 magic;
	u32 version;
	u32 flags;
	u32 nr_modules;
	u64 modlist_paddr;
	u64 cmdline_paddr;
	u64 rsdp_paddr;
	u64 memmap_paddr;
	u32 memmap_entries;
	u32 reserved;
};
_Static_assert(sizeof(struct start_info) == 56, "version 1");

struct module {
	u64 paddr;
	u64 size;
	u64 cmdline_paddr;
	u64 reserved;
};

struct memmap_entry {
	u64 addr;
	u64 size;
	u32 type;
	u32 reserved;
};
_Static_assert(sizeof(struct memmap_entry) == 24, "memory map entry");

/* What start_info's page holds. */
struct start_page {
	struct start_info info;
	struct module initrd;
	struct memmap_entry map[E820_MAX];
};
_Static_assert(sizeof(struct start_page) <= ZERO_PAGE - PVH_START_INFO,
	       "fits in front of the next");

/* A program header of either class. */
struct segment {
	u32 type;
	u64 offset, paddr, filesz, memsz, align;
};

struct elf {
	const u8 *data;
	size_t size;
	bool is64;
	unsigned nsegs;
	u64 phoff;
	const char *path;
};

bool pvh_boot_matches(GBytes *kernel)
{
	gsize size;
	const u8 *d = g_bytes_get_data(kernel, &size);

	return size > sizeof(Elf64_Ehdr) && !memcmp(d, ELFMAG, SELFMAG) &&
	       d[EI_DATA] == ELFDATA2LSB &&
	       (d[EI_CLASS] == ELFCLASS64 || d[EI_CLASS] == ELFCLASS32);
}

static int parse_header(struct x86_boot *b, struct elf *e, GError **err)
{
	gsize size;
	u16 machine, phentsize;

	e->data = g_bytes_get_data(b->kernel, &size);
	e->size = size;
	e->path = b->m->opt.kernel;
	e->is64 = e->data[EI_CLASS] == ELFCLASS64;
	if (e->is64) {
		const Elf64_Ehdr *h = (const void *)e->data;

		machine = h->e_machine;
		phentsize = h->e_phentsize;
		e->phoff = h->e_phoff;
		e->nsegs = h->e_phnum;
	} else {
		const Elf32_Ehdr *h = (const void *)e->data;

		machine = h->e_machine;
		phentsize = h->e_phentsize;
		e->phoff = h->e_phoff;
		e->nsegs = h->e_phnum;
	}
	if (machine != EM_X86_64 && machine != EM_386) {
		error_set(err, "-kernel '%s' is an ELF file for machine %u, not for x86", e->path,
			  machine);
		return -EINVAL;
	}
	if (phentsize != (e->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) ||
	    e->phoff > e->size || e->nsegs > (e->size - e->phoff) / phentsize) {
		error_set(err, "-kernel '%s': its ELF program headers exceed the file", e->path);
		return -EINVAL;
	}
	return 0;
}

static int get_segment(const struct elf *e, unsigned i, struct segment *s, GError **err)
{
	if (e->is64) {
		Elf64_Phdr p;

		memcpy(&p, e->data + e->phoff + i * sizeof(p), sizeof(p));
		*s = (struct segment){ p.p_type,   p.p_offset, p.p_paddr,
				       p.p_filesz, p.p_memsz,  p.p_align };
	} else {
		Elf32_Phdr p;

		memcpy(&p, e->data + e->phoff + i * sizeof(p), sizeof(p));
		*s = (struct segment){ p.p_type,   p.p_offset, p.p_paddr,
				       p.p_filesz, p.p_memsz,  p.p_align };
	}
	if (s->offset > e->size || s->filesz > e->size - s->offset ||
	    (s->type == PT_LOAD && s->memsz < s->filesz)) {
		error_set(err, "-kernel '%s': ELF segment %u exceeds the file", e->path, i);
		return -EINVAL;
	}
	return 0;
}

/* Entry point in a run of notes; 0 if there is none. */
static u32 find_entry(const u8 *notes, u64 size, u64 align)
{
	u64 at = 0;

	align = align == 8 ? 8 : 4;
	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		u64 name = at + sizeof(n), desc, end;

		memcpy(&n, notes + at, sizeof(n));
		desc = name + ROUND_UP((u64)n.n_namesz, align);
		end = desc + ROUND_UP((u64)n.n_descsz, align);
		if (desc + n.n_descsz > size)
			break;
		if (n.n_type == PHYS32_ENTRY && n.n_namesz == sizeof(NOTE_NAME) &&
		    !memcmp(notes + name, NOTE_NAME, sizeof(NOTE_NAME)) && n.n_descsz >= 4) {
			u32 entry;

			memcpy(&entry, notes + desc, sizeof(entry));
			return entry;
		}
		if (end > size)
			break;
		at = end;
	}
	return 0;
}

static int load_segment(struct x86_boot *b, const struct elf *e, const struct segment *s, u64 *top,
			GError **err)
{
	g_autoptr(GBytes) data = NULL;

	if (s->paddr + s->memsz > *top)
		*top = s->paddr + s->memsz;
	if (s->memsz == s->filesz) {
		data = g_bytes_new_from_bytes(b->kernel, s->offset, s->filesz);
	} else {
		u8 *image;

		if (s->memsz > b->m->opt.ram_size) {
			error_set(err,
				  "-kernel '%s' needs %" PRIu64
				  " bytes of memory, -m gives %" PRIu64,
				  e->path, s->memsz, b->m->opt.ram_size);
			return -EINVAL;
		}
		/* The tail reads as zero, at every reset. */
		image = g_malloc0(s->memsz);
		memcpy(image, e->data + s->offset, s->filesz);
		data = g_bytes_new_take(image, s->memsz);
	}
	return machine_add_blob(b->m, "kernel segment", s->paddr, data, err);
}

static int load_segments(struct x86_boot *b, const struct elf *e, u32 *entry, u64 *top,
			 GError **err)
{
	for (unsigned i = 0; i < e->nsegs; i++) {
		struct segment s;

		if (get_segment(e, i, &s, err))
			return -EINVAL;
		if (s.type == PT_LOAD && s.memsz && load_segment(b, e, &s, top, err))
			return -EINVAL;
		if (s.type == PT_NOTE && !*entry)
			*entry = find_entry(e->data + s.offset, s.filesz, s.align);
	}
	if (!*entry) {
		error_set(err,
			  "-kernel '%s' is an ELF file without a PVH entry (Xen note 18); a Linux "
			  "vmlinux has one if it was built with CONFIG_PVH",
			  e->path);
		return -EINVAL;
	}
	return 0;
}

static int add_start_page(struct x86_boot *b, u64 initrd, GError **err)
{
	struct start_page *p = g_new0(struct start_page, 1);
	g_autoptr(GBytes) page = g_bytes_new_take(p, sizeof(*p));

	p->info = (struct start_info){
		.magic = START_MAGIC,
		.version = 1,
		.nr_modules = initrd ? 1 : 0,
		.modlist_paddr = initrd ? PVH_START_INFO + offsetof(struct start_page, initrd) : 0,
		.cmdline_paddr = CMDLINE,
		.rsdp_paddr = b->rsdp,
		.memmap_paddr = PVH_START_INFO + offsetof(struct start_page, map),
		.memmap_entries = b->map.n,
	};
	if (initrd)
		p->initrd = (struct module){ .paddr = initrd, .size = g_bytes_get_size(b->initrd) };
	for (unsigned i = 0; i < b->map.n; i++)
		p->map[i] = (struct memmap_entry){ .addr = b->map.entries[i].addr,
						   .size = b->map.entries[i].size,
						   .type = b->map.entries[i].type };
	return machine_add_blob(b->m, "PVH start info", PVH_START_INFO, page, err);
}

int pvh_boot_load(struct x86_boot *b, GError **err)
{
	struct elf e;
	u64 top = HIGH_MEMORY, initrd;
	u32 entry = 0;

	if (parse_header(b, &e, err) || load_segments(b, &e, &entry, &top, err) ||
	    boot_add_initrd(b, top, b->low_ram_end, &initrd, err) ||
	    boot_add_cmdline(b, CMDLINE_MAX, err) || add_start_page(b, initrd, err))
		return -EINVAL;
	b->state.mode = X86_BOOT_FLAT32;
	b->state.rip = entry;
	b->state.rbx = PVH_START_INFO;
	return 0;
}
