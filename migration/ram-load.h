/*
 * migration/ram-load.h - receiving RAM.
 */
#ifndef MIGRATION_RAM_LOAD_H
#define MIGRATION_RAM_LOAD_H

#include "migration/pages.h"
#include "migration/settings.h"
#include "migration/stream.h"

struct vm;

struct load_block {
	struct ramblock *ram;
	u64 *populated; /* a bit per page: may hold something else than zeroes */
	bool small;     /* huge pages are held back while sparse pages arrive */
};

struct ram_load {
	struct vm *vm;
	struct settings settings;
	GArray *blocks;          /* of struct load_block; NULL until the section begins */
	struct load_block *last; /* of the page before, for CONTINUE */
	struct page_probe probe;
};

void ram_load_init(struct ram_load *l, struct vm *vm, const struct settings *settings);
void ram_load_finish(struct ram_load *l);

/* ram_load_part() - the payload of one section element, up to its EOS word. */
int ram_load_part(struct ram_load *l, struct state_reader *r, GError **err);

#endif
