/*
 * monitor/readline.h - line editing for a terminal at the other end of a byte pipe.
 *
 * Control characters as in Emacs mode of common shells; cursor keys as ECMA-48 sequences.
 */
#ifndef MONITOR_READLINE_H
#define MONITOR_READLINE_H

#include "util/base.h"

struct readline_ops {
	void (*print)(void *opaque, const char *text); /* raw, to the terminal */
	void (*line)(void *opaque, const char *line);  /* Enter was pressed */
	/* complete() - add to @found (strings, owned by it) what the last word of @line, which
	 * starts at byte @word, may become. */
	void (*complete)(void *opaque, const char *line, size_t word, GPtrArray *found);
};

struct readline {
	const struct readline_ops *ops;
	void *opaque;
	const char *prompt;
	GString *line;
	size_t cursor;      /* byte offset in line */
	GPtrArray *history; /* char *, oldest first */
	unsigned at;        /* line shown: index in history; history->len: the one being typed */
	char *typed;        /* what was being typed when history was called up */
	char escape[8];     /* bytes of an escape sequence so far */
	unsigned nescape;
	bool after_cr;
};

void readline_init(struct readline *r, const struct readline_ops *ops, void *opaque,
		   const char *prompt);
void readline_finish(struct readline *r);

/* readline_start() - show the prompt for a new, empty line. */
void readline_start(struct readline *r);

/* readline_redraw() - show prompt and line as they are. */
void readline_redraw(struct readline *r);

/* readline_feed() - one byte from the terminal. */
void readline_feed(struct readline *r, u8 c);

#endif
