/* hw/arm/boot.c - direct boot of a kernel on arm64. */
#include "hw/arm/boot.h"

#include "hw/arm/unpack.h"
#include "hw/elf.h"
#include "util/error.h"

#include <elf.h>

#define IMAGE_MAGIC  0x644d5241u /* "ARM\x64" */
#define FLAT_OFFSET  0x80000     /* of a program without header from the start of RAM */
#define STEP         (2 * MiB)   /* the device tree must not share a block with anything */
#define INITRD_BELOW (128 * MiB) /* of RAM: behind the kernel, but in the first part */
#define HEADER_PART  0x1000      /* an Image at less than that from RAM's start goes a step up */

/* Header of a Linux Image; little-endian. */
struct image_header {
	u32 code[2];
	u64 text_offset; /* from a 2 MiB boundary */
	u64 image_size;  /* bytes with .bss; 0: a kernel older than 3.17 */
	u64 flags;
	u64 reserved[3];
	u32 magic;
	u32 pe_offset;
};
_Static_assert(sizeof(struct image_header) == 64, "Image header");

static GBytes *map_file(const char *option, const char *path, GError **err)
{
	g_autoptr(GError) why = NULL;
	g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, &why);

	if (!file) {
		error_set(err, "%s %s: %s", option, path, why->message);
		return NULL;
	}
	return g_mapped_file_get_bytes(file);
}

/* Where a kernel goes, and the first byte behind it that it does not use. */
static u64 place_kernel(const struct arm_boot *b, GBytes *kernel, u64 *end)
{
	gsize size;
	const struct image_header *h = g_bytes_get_data(kernel, &size);
	u64 offset = FLAT_OFFSET, used = size;

	if (size >= sizeof(*h) && GUINT32_FROM_LE(h->magic) == IMAGE_MAGIC && h->image_size) {
		offset = GUINT64_FROM_LE(h->text_offset) % STEP;
		used = MAX(used, GUINT64_FROM_LE(h->image_size));
		if (offset < HEADER_PART)
			offset += STEP;
	}
	*end = b->ram_base + offset + used;
	return b->ram_base + offset;
}

/* A bare-metal program: it says itself where it goes. */
static int load_program(struct arm_boot *b, GBytes *file, GError **err)
{
	g_autofree char *label = g_strdup_printf("-kernel %s", b->m->opt.kernel);
	struct elf_file e;

	if (elf_open(&e, file, label, err))
		return -EINVAL;
	if (e.machine != EM_AARCH64) {
		error_set(err,
			  "%s: an ELF file for machine %u%s; give one for AArch64 (machine %u)",
			  label, e.machine,
			  e.machine == EM_ARM ? " (AArch32, which is not there)" : "", EM_AARCH64);
		return -EINVAL;
	}
	if (b->m->opt.initrd) {
		error_set(err,
			  "-initrd %s: %s is an ELF program, which no boot protocol tells where it "
			  "is; load it with -device loader,file=...,addr=...,force-raw=on",
			  b->m->opt.initrd, label);
		return -EINVAL;
	}
	b->is_program = true;
	b->entry = e.entry;
	return elf_add_segments(b->m, &e, "kernel segment", &b->end, err);
}

static int load_kernel(struct arm_boot *b, GError **err)
{
	const char *path = b->m->opt.kernel;
	g_autoptr(GBytes) file = map_file("-kernel", path, err);
	g_autoptr(GBytes) kernel = NULL;

	if (!file)
		return -EINVAL;
	kernel = kernel_unpack(file, err);
	if (!kernel) {
		g_prefix_error(err, "-kernel %s: ", path);
		return -EINVAL;
	}
	if (!g_bytes_get_size(kernel)) {
		error_set(err,
			  "-kernel %s: empty; give a Linux Image (also compressed by gzip), an ELF "
			  "program or a flat one",
			  path);
		return -EINVAL;
	}
	if (elf_matches(kernel))
		return load_program(b, kernel, err);
	b->entry = place_kernel(b, kernel, &b->end);
	if (machine_add_blob(b->m, "kernel", b->entry, kernel, err))
		return -EINVAL;
	machine_blob_uses(b->m, b->entry, b->end - b->entry);
	return 0;
}

static int load_initrd(struct arm_boot *b, GError **err)
{
	g_autoptr(GBytes) initrd = NULL;
	u64 below = MIN(b->ram_size / 2, INITRD_BELOW);

	b->initrd = b->initrd_end = MAX(ROUND_UP(b->end, STEP), b->ram_base + below);
	if (!b->m->opt.initrd)
		return 0;
	initrd = map_file("-initrd", b->m->opt.initrd, err);
	if (!initrd)
		return -EINVAL;
	if (!g_bytes_get_size(initrd)) {
		error_set(err, "-initrd %s: empty", b->m->opt.initrd);
		return -EINVAL;
	}
	b->initrd_end = b->initrd + g_bytes_get_size(initrd);
	return machine_add_blob(b->m, "initrd", b->initrd, initrd, err);
}

int arm_boot_load(struct arm_boot *b, GError **err)
{
	int ret = load_kernel(b, err);

	if (ret)
		return ret;
	if (b->is_program) {
		b->dtb = b->ram_base;
		return 0;
	}
	ret = load_initrd(b, err);
	b->dtb = ROUND_UP(b->initrd_end, STEP);
	return ret;
}
