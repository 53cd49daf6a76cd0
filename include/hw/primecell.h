/*
 * hw/primecell.h - identification registers that every Arm PrimeCell peripheral has.
 *
 * Source: Arm DDI 0183G (PL011), 3.3.16 to 3.3.23; the same in the other PrimeCells' manuals.
 */
#ifndef HW_PRIMECELL_H
#define HW_PRIMECELL_H

#include "util/base.h"

#define PRIMECELL_ID_FIRST 0xfe0 /* PeriphID0; one byte in each of eight words up to 0xffc */
#define PRIMECELL_SIZE     0x1000

/*
 * primecell_id() - value of an identification register.
 * @periph: the four bytes of PeriphID3 .. PeriphID0 as one number.
 * @off:    offset, PRIMECELL_ID_FIRST and above.
 */
static inline u32 primecell_id(u32 periph, u64 off)
{
	u64 all = (u64)0xb105f00d << 32 | periph;

	return all >> (8 * ((off - PRIMECELL_ID_FIRST) / 4)) & 0xff;
}

#endif
