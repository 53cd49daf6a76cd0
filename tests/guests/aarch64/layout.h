/*
 * layout.h - numbers that boot.S and the C file of this folder must agree on.
 */
#ifndef TESTS_GUESTS_AARCH64_LAYOUT_H
#define TESTS_GUESTS_AARCH64_LAYOUT_H

#define RAM_BASE    0x40000000 /* of the machine virt */
#define TEXT_OFFSET 0x80000

#define STACK_SHIFT 14

/* 39-bit addresses, 4 KiB granule, write-back inner shareable walks, 40-bit physical */
#define TCR 0x200803519
/* attribute 0 is Device-nGnRnE, 1 is Normal write-back */
#define MAIR         0xff00
#define BLOCK_DEVICE 0x0060000000000401 /* XN, AF, attribute 0, block */
#define BLOCK_NORMAL 0x0040000000000705 /* UXN, AF, inner shareable, attribute 1, block */
#define SCTLR        0x30d01805         /* RES1 bits, I, C, M */

#endif
