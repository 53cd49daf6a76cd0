/*
 * options.c - the kernel command line of a test guest: words of the form name=value.
 */
#include "clock.h"
#include "console.h"
#include "guest.h"
#include "testdev.h"

static const struct guest_option common_options[] = {
	{ "console", &console_kind, console_names },
	{ "testdev", &testdev_base, NULL },
	{ "beat", &beat_ms, NULL },
	{ "clock", &clock_ms, NULL },
	{ "tsc", &ticks_khz, NULL },
	{ NULL, NULL, NULL },
};

/* Length of the leading part of @s up to a space, @stop or the end. */
static size_t word_len(const char *s, char stop)
{
	size_t n = 0;

	while (s[n] && s[n] != ' ' && s[n] != stop)
		n++;
	return n;
}

static bool word_is(const char *word, size_t len, const char *text)
{
	size_t i = 0;

	while (i < len && text[i] == word[i])
		i++;
	return i == len && !text[i];
}

static const char *word_copy(const char *s)
{
	static char copy[64];
	size_t len = word_len(s, 0);

	if (len >= sizeof(copy))
		len = sizeof(copy) - 1;
	for (size_t i = 0; i < len; i++)
		copy[i] = s[i];
	copy[len] = 0;
	return copy;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 99;
}

static bool parse_number(const char *s, size_t len, u64 *value)
{
	unsigned radix = 10;
	size_t i = 0;

	if (len > 2 && s[0] == '0' && s[1] == 'x') {
		radix = 16;
		i = 2;
	}
	*value = 0;
	if (i == len)
		return false;
	for (; i < len && digit(s[i]) < radix; i++)
		*value = *value * radix + digit(s[i]);
	if (i + 1 == len && s[i] == 'K')
		*value <<= 10;
	else if (i + 1 == len && s[i] == 'M')
		*value <<= 20;
	else if (i + 1 == len && s[i] == 'G')
		*value <<= 30;
	else
		return i == len;
	return true;
}

static bool parse_choice(const char *s, size_t len, const char *const *choice, u64 *value)
{
	for (*value = 0; choice[*value]; ++*value)
		if (word_is(s, len, choice[*value]))
			return true;
	return false;
}

static bool option_set(const struct guest_option *opt, const char *s, size_t len)
{
	u64 value;
	bool ok;

	if (opt->choice)
		ok = parse_choice(s, len, opt->choice, &value);
	else
		ok = parse_number(s, len, &value);
	if (ok && opt->value)
		*opt->value = value;
	return ok;
}

static const struct guest_option *option_find(const struct guest_option *opts, const char *s,
					      size_t len)
{
	for (; opts->name; opts++)
		if (word_is(s, len, opts->name))
			return opts;
	return NULL;
}

void options_parse(const struct guest_option *opts)
{
	const char *bad = NULL;

	testdev_base = arch_testdev_base;
	for (const char *s = arch_cmdline(); *s; s += *s == ' ') {
		size_t name = word_len(s, '='), word = word_len(s, 0);
		const struct guest_option *opt = option_find(common_options, s, name);

		if (!opt)
			opt = option_find(arch_options, s, name);
		if (!opt)
			opt = option_find(opts, s, name);
		if (word &&
		    (!opt || name == word || !option_set(opt, s + name + 1, word - name - 1)))
			bad = s;
		s += word;
	}
	testdev_init();
	console_init();
	clock_init();
	if (bad)
		die("command line word '%s' is not understood", word_copy(bad));
}
