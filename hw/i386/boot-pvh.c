/*
 * hw/i386/boot-pvh.c - ELF kernels with a PVH entry.
 *
 * Sources: Xen's public "x86/HVM direct boot ABI" and hvm/start_info.h; System V ABI (ELF).
 */
#include "hw/i386/boot.h"

#include "hw/elf.h"
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

bool pvh_boot_matches(GBytes *kernel)
{
	return elf_matches(kernel);
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

static int note_entry(const struct elf_file *e, u32 *entry, GError **err)
{
	for (unsigned i = 0; i < e->nsegs && !*entry; i++) {
		struct elf_segment s;

		if (elf_segment(e, i, &s, err))
			return -EINVAL;
		if (s.type == PT_NOTE)
			*entry = find_entry(e->data + s.offset, s.filesz, s.align);
	}
	if (!*entry) {
		error_set(err,
			  "%s is an ELF file without a PVH entry (Xen note 18); a Linux "
			  "vmlinux has one if it was built with CONFIG_PVH",
			  e->label);
		return -EINVAL;
	}
	return 0;
}

static int load_program(struct x86_boot *b, u32 *entry, u64 *top, GError **err)
{
	g_autofree char *label = g_strdup_printf("-kernel '%s'", b->m->opt.kernel);
	struct elf_file e;

	if (elf_open(&e, b->kernel, label, err))
		return -EINVAL;
	if (e.machine != EM_X86_64 && e.machine != EM_386) {
		error_set(err, "%s is an ELF file for machine %u, not for x86", label, e.machine);
		return -EINVAL;
	}
	if (note_entry(&e, entry, err))
		return -EINVAL;
	return elf_add_segments(b->m, &e, "kernel segment", top, err);
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
	u64 top, initrd;
	u32 entry = 0;

	if (load_program(b, &entry, &top, err) ||
	    boot_add_initrd(b, MAX(top, (u64)HIGH_MEMORY), b->low_ram_end, &initrd, err) ||
	    boot_add_cmdline(b, CMDLINE_MAX, err) || add_start_page(b, initrd, err))
		return -EINVAL;
	b->state.mode = X86_BOOT_FLAT32;
	b->state.rip = entry;
	b->state.rbx = PVH_START_INFO;
	return 0;
}
