/*
 * monitor/readline.c - line editing, history and completion for the human monitor (ECMA-48).
 */
#include "monitor/readline.h"

#define READLINE_MAX_BYTES 4096
#define HISTORY_MAX        64

#define CTRL(c) ((c)&0x1f)

void readline_init(struct readline *r, const struct readline_ops *ops, void *opaque,
		   const char *prompt)
{
	*r = (struct readline){ .ops = ops, .opaque = opaque, .prompt = prompt };
	r->line = g_string_new(NULL);
	r->history = g_ptr_array_new_with_free_func(g_free);
}

void readline_finish(struct readline *r)
{
	g_string_free(r->line, TRUE);
	g_ptr_array_unref(r->history);
	g_free(r->typed);
	memset(r, 0, sizeof(*r));
}

static void print(struct readline *r, const char *text)
{
	r->ops->print(r->opaque, text);
}

static bool is_continuation(u8 c)
{
	return (c & 0xc0) == 0x80;
}

static size_t previous(const struct readline *r, size_t at)
{
	while (at && is_continuation(r->line->str[--at]))
		;
	return at;
}

static size_t next(const struct readline *r, size_t at)
{
	while (at < r->line->len && is_continuation(r->line->str[++at]))
		;
	return at;
}

void readline_redraw(struct readline *r)
{
	g_autofree char *back = NULL;
	size_t columns = 0;

	print(r, "\r");
	print(r, r->prompt);
	print(r, r->line->str);
	print(r, "\033[K");
	for (size_t at = r->cursor; at < r->line->len; at++)
		columns += !is_continuation(r->line->str[at]);
	if (columns) {
		back = g_strdup_printf("\033[%zuD", columns);
		print(r, back);
	}
}

void readline_start(struct readline *r)
{
	g_string_truncate(r->line, 0);
	r->cursor = 0;
	r->at = r->history->len;
	g_clear_pointer(&r->typed, g_free);
	print(r, r->prompt);
}

static void insert(struct readline *r, u8 c)
{
	const char text[] = { (char)c, 0 };

	if (r->line->len >= READLINE_MAX_BYTES)
		return;
	g_string_insert_c(r->line, r->cursor++, c);
	if (r->cursor == r->line->len)
		print(r, text);
	else
		readline_redraw(r);
}

static void erase(struct readline *r, size_t from, size_t to)
{
	if (from == to)
		return;
	g_string_erase(r->line, from, to - from);
	r->cursor = from;
	readline_redraw(r);
}

static size_t word_start(const struct readline *r)
{
	size_t at = r->cursor;

	while (at && r->line->str[at - 1] == ' ')
		at--;
	while (at && r->line->str[at - 1] != ' ')
		at--;
	return at;
}

static void move(struct readline *r, size_t to)
{
	if (to == r->cursor)
		return;
	r->cursor = to;
	readline_redraw(r);
}

static void show_history(struct readline *r, int step)
{
	const char *text;

	if ((step < 0 && !r->at) || (step > 0 && r->at == r->history->len))
		return;
	if (r->at == r->history->len) {
		g_free(r->typed);
		r->typed = g_strdup(r->line->str);
	}
	r->at += step;
	text = r->at == r->history->len ? r->typed : g_ptr_array_index(r->history, r->at);
	g_string_assign(r->line, text);
	r->cursor = r->line->len;
	readline_redraw(r);
}

static void remember(struct readline *r)
{
	const char *last =
		r->history->len ? g_ptr_array_index(r->history, r->history->len - 1) : "";

	if (!r->line->len || !strcmp(last, r->line->str))
		return;
	g_ptr_array_add(r->history, g_strdup(r->line->str));
	if (r->history->len > HISTORY_MAX)
		g_ptr_array_remove_index(r->history, 0);
}

static void enter(struct readline *r)
{
	g_autofree char *line = NULL;

	print(r, "\r\n");
	remember(r);
	line = g_strdup(r->line->str);
	g_string_truncate(r->line, 0);
	r->cursor = 0;
	r->ops->line(r->opaque, line);
}

static size_t common_prefix(const GPtrArray *words)
{
	const char *first = g_ptr_array_index(words, 0);
	size_t len = strlen(first);

	for (unsigned i = 1; i < words->len; i++) {
		const char *word = g_ptr_array_index(words, i);
		size_t n = 0;

		while (n < len && word[n] == first[n])
			n++;
		len = n;
	}
	return len;
}

static void list(struct readline *r, const GPtrArray *words)
{
	print(r, "\r\n");
	for (unsigned i = 0; i < words->len; i++) {
		print(r, g_ptr_array_index(words, i));
		print(r, i + 1 < words->len ? "  " : "\r\n");
	}
	readline_redraw(r);
}

static void complete(struct readline *r)
{
	g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
	size_t word = r->cursor, len;

	if (r->cursor != r->line->len)
		return;
	while (word && r->line->str[word - 1] != ' ')
		word--;
	r->ops->complete(r->opaque, r->line->str, word, found);
	if (!found->len)
		return;

	len = common_prefix(found);
	if (found->len > 1 && len == r->line->len - word) {
		list(r, found);
		return;
	}
	g_string_truncate(r->line, word);
	g_string_append_len(r->line, g_ptr_array_index(found, 0), len);
	if (found->len == 1)
		g_string_append_c(r->line, ' ');
	r->cursor = r->line->len;
	readline_redraw(r);
}

static void key(struct readline *r, u8 final)
{
	switch (final) {
	case 'A': show_history(r, -1); break;
	case 'B': show_history(r, 1); break;
	case 'C': move(r, next(r, r->cursor)); break;
	case 'D': move(r, previous(r, r->cursor)); break;
	case 'H': move(r, 0); break;
	case 'F': move(r, r->line->len); break;
	case '~':
		if (r->escape[2] == '3')
			erase(r, r->cursor, next(r, r->cursor));
		else if (r->escape[2] == '1' || r->escape[2] == '7')
			move(r, 0);
		else if (r->escape[2] == '4' || r->escape[2] == '8')
			move(r, r->line->len);
		break;
	}
}

static void escape(struct readline *r, u8 c)
{
	r->escape[r->nescape++] = c;
	if (r->nescape == 2 && (c == '[' || c == 'O'))
		return;
	if (r->nescape > 2 && c >= 0x20 && c < 0x40 && r->nescape < sizeof(r->escape))
		return;
	if (r->nescape > 2)
		key(r, c);
	r->nescape = 0;
}

static void control(struct readline *r, u8 c)
{
	switch (c) {
	case '\r':
	case '\n': enter(r); break;
	case '\t': complete(r); break;
	case '\b':
	case 0x7f: erase(r, previous(r, r->cursor), r->cursor); break;
	case CTRL('a'): move(r, 0); break;
	case CTRL('b'): move(r, previous(r, r->cursor)); break;
	case CTRL('d'): erase(r, r->cursor, next(r, r->cursor)); break;
	case CTRL('e'): move(r, r->line->len); break;
	case CTRL('f'): move(r, next(r, r->cursor)); break;
	case CTRL('k'): erase(r, r->cursor, r->line->len); break;
	case CTRL('l'):
		print(r, "\033[H\033[2J");
		readline_redraw(r);
		break;
	case CTRL('n'): show_history(r, 1); break;
	case CTRL('p'): show_history(r, -1); break;
	case CTRL('u'): erase(r, 0, r->cursor); break;
	case CTRL('w'): erase(r, word_start(r), r->cursor); break;
	case 0x1b: r->escape[r->nescape++] = c; break;
	}
}

void readline_feed(struct readline *r, u8 c)
{
	bool lf_after_cr = c == '\n' && r->after_cr;

	r->after_cr = c == '\r';
	if (lf_after_cr) /* telnet ends a line with both */
		return;
	if (r->nescape)
		escape(r, c);
	else if (c < 0x20 || c == 0x7f)
		control(r, c);
	else
		insert(r, c);
}
