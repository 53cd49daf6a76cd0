/*
 * hw/elf.h - programs in ELF files: what goes where in guest memory.
 *
 * Source: System V ABI, chapters 4 and 5 (object files, program loading).
 */
#ifndef HW_ELF_H
#define HW_ELF_H

#include "hw/machine.h"

/* An opened file. Little-endian, of either class. */
struct elf_file {
	GBytes *bytes;     /* not owned */
	const char *label; /* for messages: "-kernel 'path'"; not owned */
	const u8 *data;
	size_t size; /* bytes */
	bool is64;
	u16 machine; /* EM_... */
	u64 entry;   /* as the header has it */
	unsigned nsegs;
	u64 phoff;
};

/* A program header of either class. */
struct elf_segment {
	u32 type; /* PT_... */
	u64 offset, paddr, filesz, memsz, align;
};

/* elf_matches() - whether a file begins as a little-endian ELF file does. */
bool elf_matches(GBytes *bytes);

/*
 * elf_open() - check the headers of a file for which elf_matches() holds.
 * @bytes, @label: must stay as long as @e is used.
 *
 * Return: 0, or -EINVAL with @err beginning with @label.
 */
int elf_open(struct elf_file *e, GBytes *bytes, const char *label, GError **err);

/* elf_segment() - program header @i of e->nsegs; 0, or -EINVAL with @err if it exceeds the file. */
int elf_segment(const struct elf_file *e, unsigned i, struct elf_segment *s, GError **err);

/*
 * elf_add_segments() - let every reset write what is to be loaded to its physical addresses; what a
 * segment has beyond the file reads as zero then. A segment that begins where there is no RAM is
 * left out, with a warning.
 * @name: of the blobs, for messages.
 * @high: out, the first byte behind all of it.
 *
 * Return: 0, or -EINVAL with @err if nothing is left to load, or as machine_add_blob().
 */
int elf_add_segments(struct machine *m, const struct elf_file *e, const char *name, u64 *high,
		     GError **err);

#endif
