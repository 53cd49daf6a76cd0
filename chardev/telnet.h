/*
 * chardev/telnet.h - the telnet protocol as far as a serial line needs it (RFC 854, 856, 857, 858).
 */
#ifndef CHARDEV_TELNET_H
#define CHARDEV_TELNET_H

#include "util/base.h"

enum telnet_state { TELNET_DATA, TELNET_CR, TELNET_IAC, TELNET_OPTION, TELNET_SUB, TELNET_SUB_IAC };

/* What a server sends first: it echoes, needs no go-ahead, and both sides are 8 bits clean. */
extern const u8 telnet_greeting[12];

/*
 * telnet_filter() - take the commands out of received bytes, in place.
 * @state: zeroed at connection time; kept between calls.
 * @brk:   out: a break came.
 *
 * Return: the number of data bytes left.
 */
size_t telnet_filter(enum telnet_state *state, u8 *buf, size_t len, bool *brk);

/* telnet_escape() - a copy of @buf with each byte 255 doubled; NULL if there is none. */
GByteArray *telnet_escape(const u8 *buf, size_t len);

#endif
