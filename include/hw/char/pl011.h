/*
 * hw/char/pl011.h - PrimeCell UART.
 */
#ifndef HW_CHAR_PL011_H
#define HW_CHAR_PL011_H

#define PL011_TYPE "pl011" /* properties "base", "irq" and "chardev" */

#endif
