/*
 * accel/tcg/code.h - which guest pages hold translated code.
 */
#ifndef ACCEL_TCG_CODE_H
#define ACCEL_TCG_CODE_H

#include "accel/tcg/cpu.h"

/* True if regions have been translated from the physical page @phys. Any thread, no lock. */
bool tcg_code_in_page(u64 phys);

/*
 * tcg_code_written() - a store of @size bytes hits a page that holds translations.
 * @phys: physical address of the first byte; the store stays inside the page.
 *
 * Regions that overlap the store are discarded before this returns.
 */
void tcg_code_written(u64 phys, unsigned size);

#endif
