/* hw/i386/boot.c - direct boot of a kernel: what every boot protocol shares. */
#include "hw/i386/boot.h"

#include "hw/i386/layout.h"
#include "util/error.h"

#define PAGE_BYTES 4096

void e820_add(struct e820_map *map, u64 addr, u64 end, enum e820_type type)
{
	if (end <= addr)
		return;
	g_assert(map->n < E820_MAX);
	map->entries[map->n++] = (struct e820_entry){ addr, end - addr, type };
}

static GBytes *load_file(const char *path, const char *option, GError **err)
{
	GError *why = NULL;
	GMappedFile *file = g_mapped_file_new(path, FALSE, &why);
	GBytes *bytes;

	if (!file) {
		error_set(err, "could not load %s '%s': %s", option, path, why->message);
		g_error_free(why);
		return NULL;
	}
	bytes = g_mapped_file_get_bytes(file);
	g_mapped_file_unref(file);
	return bytes;
}

int x86_boot_open(struct x86_boot *b, GError **err)
{
	const struct machine_options *o = &b->m->opt;

	b->kernel = load_file(o->kernel, "-kernel", err);
	if (!b->kernel)
		return -ENOENT;
	if (o->initrd) {
		b->initrd = load_file(o->initrd, "-initrd", err);
		if (!b->initrd)
			return -ENOENT;
	}
	return 0;
}

int x86_boot_load(struct x86_boot *b, GError **err)
{
	int ret = x86_boot_open(b, err);

	if (ret)
		return ret;
	if (linux_boot_matches(b->kernel))
		return linux_boot_load(b, err);
	if (pvh_boot_matches(b->kernel))
		return pvh_boot_load(b, err);
	error_set(err,
		  "-kernel '%s' is neither a Linux bzImage nor an ELF file with a PVH entry note; "
		  "other images can start as firmware with -bios",
		  b->m->opt.kernel);
	return -EINVAL;
}

void x86_boot_finish(struct x86_boot *b)
{
	g_clear_pointer(&b->kernel, g_bytes_unref);
	g_clear_pointer(&b->initrd, g_bytes_unref);
	g_clear_pointer(&b->cmdline, g_free);
}

int boot_add_cmdline(struct x86_boot *b, u64 max, GError **err)
{
	size_t size = strlen(b->cmdline) + 1;
	g_autoptr(GBytes) text = g_bytes_new(b->cmdline, size);

	max = MIN(max, CMDLINE_MAX);
	if (size > max) {
		error_set(err,
			  "the kernel command line has %zu bytes, the kernel takes %" PRIu64
			  ": shorten -append",
			  size - 1, max - 1);
		return -EINVAL;
	}
	return machine_add_blob(b->m, "kernel command line", CMDLINE, text, err);
}

int boot_place_initrd(struct x86_boot *b, u64 floor, u64 limit, u64 *addr, GError **err)
{
	u64 size = g_bytes_get_size(b->initrd);

	limit = MIN(limit, b->low_ram_end);
	if (size > limit || ROUND_DOWN(limit - size, (u64)PAGE_BYTES) < floor) {
		error_set(err,
			  "-initrd '%s' of %" PRIu64 " bytes does not fit between 0x%" PRIx64
			  " and 0x%" PRIx64 ", give more memory with -m",
			  b->m->opt.initrd, size, floor, limit);
		return -EINVAL;
	}
	*addr = ROUND_DOWN(limit - size, (u64)PAGE_BYTES);
	return 0;
}

int boot_add_initrd(struct x86_boot *b, u64 floor, u64 limit, u64 *addr, GError **err)
{
	int ret;

	*addr = 0;
	if (!b->initrd)
		return 0;
	ret = boot_place_initrd(b, floor, limit, addr, err);
	return ret ? ret : machine_add_blob(b->m, "initial ramdisk", *addr, b->initrd, err);
}
