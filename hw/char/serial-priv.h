/*
 * hw/char/serial-priv.h - what serial.c shares with serial-state.c.
 */
#ifndef HW_CHAR_SERIAL_PRIV_H
#define HW_CHAR_SERIAL_PRIV_H

#include "hw/char/serial.h"

/* serial_update_irq() - set iir and the output from what is pending. */
void serial_update_irq(struct serial *s);

/* serial_arm_rx_timeout() - start the "character timeout" anew. */
void serial_arm_rx_timeout(struct serial *s);

/* serial_transmit() - send what waits; tries again later when the back end is full. */
void serial_transmit(struct serial *s);

#endif
