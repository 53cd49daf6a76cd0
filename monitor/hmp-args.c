/*
 * monitor/hmp-args.c - the arguments of a line of the human monitor.
 */
#include "monitor/hmp.h"
#include "util/error.h"
#include "util/keyval.h"

/* The next word of *@text; quotes keep blanks, a backslash in quotes keeps the next character.
 * NULL at the end of the line, or with @err if a quote is left open. */
static char *take_word(const char **text, GError **err)
{
	g_autoptr(GString) word = g_string_new(NULL);
	const char *at = *text;
	bool quoted = false;

	while (*at == ' ' || *at == '\t')
		at++;
	if (!*at)
		return NULL;
	for (; *at && (quoted || (*at != ' ' && *at != '\t')); at++) {
		if (*at == '"')
			quoted = !quoted;
		else if (quoted && *at == '\\' && at[1])
			g_string_append_c(word, *++at);
		else
			g_string_append_c(word, *at);
	}
	if (quoted) {
		error_set(err, "a quotation mark is not closed");
		return NULL;
	}
	*text = at;
	return g_strdup(word->str);
}

/* Takes leading "-x" words as long as the command knows the flag. */
static bool take_flags(const char *spec, const char **text, JsonObject *args)
{
	const char *before = *text;
	g_autofree char *word = take_word(text, NULL);
	g_auto(GStrv) known = g_strsplit(spec, " ", -1);

	if (!word || *word != '-' || !g_strv_contains((const char *const *)known, word)) {
		*text = before;
		return false;
	}
	json_object_set_boolean_member(args, word, TRUE);
	return true;
}

static bool set_int(JsonObject *args, const char *name, const char *word, GError **err)
{
	bool negative = *word == '-';
	char *end;
	u64 value;

	errno = 0;
	value = g_ascii_strtoull(word + negative, &end, 0);
	if (errno || *end || end == word + negative || !g_ascii_isdigit(word[negative])) {
		error_set(err, "%s: '%s' is not a number", name, word);
		return false;
	}
	json_object_set_int_member(args, name, negative ? -value : value);
	return true;
}

static bool set_mib(JsonObject *args, const char *name, const char *word, GError **err)
{
	u64 bytes;

	if (size_parse(word, 'M', &bytes)) {
		error_set(err, "%s: '%s' is not a size", name, word);
		return false;
	}
	json_object_set_int_member(args, name, bytes);
	return true;
}

static bool set_bool(JsonObject *args, const char *name, const char *word, GError **err)
{
	bool on = !strcmp(word, "on");

	if (!on && strcmp(word, "off")) {
		error_set(err, "%s: 'on' or 'off' expected, not '%s'", name, word);
		return false;
	}
	json_object_set_boolean_member(args, name, on);
	return true;
}

static bool merge_options(JsonObject *args, const char *implied, const char *word, GError **err)
{
	g_autoptr(JsonObject) options = keyval_parse(word, implied, err);

	if (options)
		keyval_merge(args, options);
	return options;
}

static bool set_argument(JsonObject *args, const char *name, const char *type, const char *word,
			 GError **err)
{
	switch (*type) {
	case 'i': return set_int(args, name, word, err);
	case 'M': return set_mib(args, name, word, err);
	case 'b': return set_bool(args, name, word, err);
	case 'k': return merge_options(args, type[1] == '=' ? type + 2 : NULL, word, err);
	default: json_object_set_string_member(args, name, word); return true;
	}
}

static bool take_argument(JsonObject *args, char *spec, const char **text, GError **err)
{
	bool optional = *spec == '?';
	char *name = spec + optional, *type = strchr(name, ':') + 1;
	GError *error = NULL;
	g_autofree char *word = NULL;

	type[-1] = 0;
	if (*type == 'S') {
		word = g_strstrip(g_strdup(*text));
		*text += strlen(*text);
		if (!*word)
			g_clear_pointer(&word, g_free);
	} else {
		word = take_word(text, &error);
	}
	if (error) {
		g_propagate_error(err, error);
		return false;
	}
	if (word)
		return set_argument(args, name, type, word, err);
	if (!optional)
		error_set(err, "argument '%s' is missing", name);
	return optional;
}

JsonObject *hmp_parse_args(const struct hmp_command *command, const char *text, GError **err)
{
	g_autoptr(JsonObject) args = json_object_new();
	g_auto(GStrv) specs = g_strsplit(command->args, " ", -1);

	while (take_flags(command->args, &text, args))
		;
	for (int i = 0; specs[i]; i++) {
		if (*specs[i] && *specs[i] != '-' && !take_argument(args, specs[i], &text, err))
			return NULL;
	}
	while (*text == ' ' || *text == '\t')
		text++;
	if (*text) {
		error_set(err, "'%s' is too much", text);
		return NULL;
	}
	return g_steal_pointer(&args);
}
