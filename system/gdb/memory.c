/* system/gdb/memory.c - numbers in packets, and guest memory by virtual address. */
#include "gdb/internal.h"

#define PAGE 4096 /* no translation is finer */

bool gdb_number(const char **p, u64 *val)
{
	char *end;

	if (!g_ascii_isxdigit(**p))
		return false;
	*val = g_ascii_strtoull(*p, &end, 16);
	*p = end;
	return true;
}

int gdb_unhex(const char *hex, u8 *out, size_t max)
{
	size_t n = strlen(hex) / 2;

	if (strlen(hex) % 2 || n > max)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int high = g_ascii_xdigit_value(hex[2 * i]);
		int low = g_ascii_xdigit_value(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return -1;
		out[i] = high << 4 | low;
	}
	return n;
}

bool gdb_memory(struct gdb_server *s, u64 addr, void *buf, u64 len, bool write)
{
	struct address_space *as = s->e->vm->memory;
	u8 *at = buf;

	while (len) {
		u64 chunk = MIN(len, PAGE - addr % PAGE), phys = addr;

		if (!s->physical && !gdb_ops(s)->translate(gdb_vcpu(s), addr, &phys))
			return false;
		if ((write ? address_space_write(as, phys, at, chunk)
			   : address_space_read(as, phys, at, chunk)) != MEM_OK)
			return false;
		addr += chunk;
		at += chunk;
		len -= chunk;
	}
	return true;
}
