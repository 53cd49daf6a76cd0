/* chardev/telnet.c - the telnet protocol as far as a serial line needs it (RFC 854). */
#include "chardev/telnet.h"

enum { SE = 240, BRK = 243, SB = 250, WILL = 251, DO = 253, DONT = 254, IAC = 255 };
enum { OPT_BINARY = 0, OPT_ECHO = 1, OPT_SUPPRESS_GO_AHEAD = 3 };

const u8 telnet_greeting[12] = {
	IAC, WILL, OPT_ECHO,   IAC, WILL, OPT_SUPPRESS_GO_AHEAD,
	IAC, WILL, OPT_BINARY, IAC, DO,   OPT_BINARY,
};

/* The byte after IAC. Return: the next state; TELNET_DATA with @literal set means a data byte. */
static enum telnet_state command(u8 b, bool *literal, bool *brk)
{
	if (b == IAC) {
		*literal = true;
		return TELNET_DATA;
	}
	if (b == BRK)
		*brk = true;
	return b == SB ? TELNET_SUB : b >= WILL && b <= DONT ? TELNET_OPTION : TELNET_DATA;
}

size_t telnet_filter(enum telnet_state *state, u8 *buf, size_t len, bool *brk)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		u8 b = buf[i];
		bool literal = false;

		switch (*state) {
		case TELNET_CR: /* a line end outside of binary mode is CR NUL */
		case TELNET_DATA:
			if (b == IAC) {
				*state = TELNET_IAC;
				break;
			}
			literal = !(*state == TELNET_CR && b == 0);
			*state = b == '\r' ? TELNET_CR : TELNET_DATA;
			break;
		case TELNET_IAC: *state = command(b, &literal, brk); break;
		case TELNET_OPTION: *state = TELNET_DATA; break;
		case TELNET_SUB: *state = b == IAC ? TELNET_SUB_IAC : TELNET_SUB; break;
		case TELNET_SUB_IAC: *state = b == SE ? TELNET_DATA : TELNET_SUB; break;
		}
		if (literal)
			buf[out++] = b;
	}
	return out;
}

GByteArray *telnet_escape(const u8 *buf, size_t len)
{
	GByteArray *a;

	if (!memchr(buf, IAC, len))
		return NULL;
	a = g_byte_array_sized_new(len + 16);
	for (size_t i = 0; i < len; i++) {
		g_byte_array_append(a, &buf[i], 1);
		if (buf[i] == IAC)
			g_byte_array_append(a, &buf[i], 1);
	}
	return a;
}
