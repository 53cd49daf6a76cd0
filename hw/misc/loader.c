/*
 * hw/misc/loader.c - the device "loader": a file or a number in guest memory, and where a vCPU
 * begins.
 *
 * Source: QEMU's manual, "Generic Loader" (what the properties mean).
 */
#include "hw/misc/devices.h"

#include "hw/elf.h"
#include "hw/machine.h"
#include "util/error.h"

#include <elf.h>

#define NO_CPU UINT32_MAX

struct loader {
	struct device dev;
	u64 addr, data;
	u8 data_len; /* bytes; 0: no number is given */
	bool data_be, force_raw;
	u32 cpu;
	char *file;
};

static int check(const struct loader *l, GError **err)
{
	const char *wrong = NULL;

	if (l->file && (l->data_len || l->data))
		wrong = "file= and data= exclude each other";
	else if (l->data_len > sizeof(l->data))
		wrong = "data-len= is a number of bytes from 1 to 8";
	else if (!l->data_len && (l->data || l->data_be))
		wrong = "data= and data-be= need data-len=";
	else if (!l->file && l->force_raw)
		wrong = "force-raw= is about file=";
	else if (!l->file && !l->data_len && l->cpu == NO_CPU)
		wrong = "give file=, or data= with data-len=, or cpu-num= with addr=";
	else if (l->data_len && l->cpu != NO_CPU)
		wrong = "cpu-num= goes with file= or with addr= alone";
	if (!wrong)
		return 0;
	error_set(err, "loader: %s", wrong);
	return -EINVAL;
}

static GBytes *number(const struct loader *l)
{
	u64 le = GUINT64_TO_LE(l->data), be = GUINT64_TO_BE(l->data);

	return l->data_be ? g_bytes_new((u8 *)&be + sizeof(be) - l->data_len, l->data_len)
			  : g_bytes_new(&le, l->data_len);
}

static GBytes *map_file(const struct loader *l, GError **err)
{
	g_autoptr(GError) why = NULL;
	g_autoptr(GMappedFile) file = g_mapped_file_new(l->file, FALSE, &why);

	if (!file) {
		error_set(err, "loader: file=%s: %s", l->file, why->message);
		return NULL;
	}
	if (!g_mapped_file_get_length(file)) {
		error_set(err, "loader: file=%s: empty", l->file);
		return NULL;
	}
	return g_mapped_file_get_bytes(file);
}

/* What the file is decides; @pc: out, where a vCPU would begin. */
static int load_file(struct loader *l, u64 *pc, GError **err)
{
	g_autofree char *label = g_strdup_printf("loader: file=%s", l->file);
	g_autoptr(GBytes) bytes = map_file(l, err);
	struct machine *m = l->dev.machine;
	struct elf_file e;
	u64 high;

	if (!bytes)
		return -EINVAL;
	if (l->force_raw || !elf_matches(bytes))
		return machine_add_blob(m, l->file, l->addr, bytes, err);
	if (elf_open(&e, bytes, label, err))
		return -EINVAL;
	if (e.machine != m->target->elf_machine) {
		error_set(err,
			  "%s: an ELF file for machine %u, not %u; force-raw=on loads it as it is",
			  label, e.machine, m->target->elf_machine);
		return -EINVAL;
	}
	*pc = e.entry;
	return elf_add_segments(m, &e, "segment of a program", &high, err);
}

static int loader_realize(struct device *dev, GError **err)
{
	struct loader *l = (struct loader *)dev;
	u64 pc = l->addr;

	if (check(l, err))
		return -EINVAL;
	if (dev->machine->complete) {
		error_set(err,
			  "loader: what every reset loads has to be known at the start; give it "
			  "on the command line");
		return -EINVAL;
	}
	if (l->file && load_file(l, &pc, err))
		return -EINVAL;
	if (l->data_len) {
		g_autoptr(GBytes) bytes = number(l);

		if (machine_add_blob(dev->machine, "loader's data", l->addr, bytes, err))
			return -EINVAL;
	}
	return l->cpu == NO_CPU ? 0 : machine_add_entry(dev->machine, l->cpu, pc, err);
}

static const struct property loader_props[] = {
	PROP(struct loader, addr, "addr", U64, "0", "guest physical address"),
	PROP(struct loader, data, "data", U64, "0", "number to store there"),
	PROP(struct loader, data_len, "data-len", U8, "0", "bytes of it"),
	PROP(struct loader, data_be, "data-be", BOOL, "off", "store it big-endian"),
	PROP(struct loader, file, "file", STR, NULL,
	     "file to load: an ELF program goes where it says, anything else to addr"),
	PROP(struct loader, force_raw, "force-raw", BOOL, "off", "load an ELF file as it is"),
	PROP(struct loader, cpu, "cpu-num", U32, "4294967295",
	     "vCPU that begins at the program's entry, or at addr"),
	PROP_END,
};

const struct device_type loader_type = {
	.name = "loader",
	.desc = "Generic Loader",
	.category = DEVICE_MISC,
	.instance_size = sizeof(struct loader),
	.props = loader_props,
	.user_creatable = true,
	.realize = loader_realize,
};
