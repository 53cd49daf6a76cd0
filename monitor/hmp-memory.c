/* monitor/hmp-memory.c - x and xp: "/FMT ADDR", FMT being a count, a format and a size. */
#include "monitor/hmp.h"
#include "util/error.h"

struct format {
	u64 count;
	unsigned size;
	char letter;
};

/* Kept from one command to the next, as people are used to. Main thread. */
static struct format last = { 1, 4, 'x' };

/* Return: false if a letter is not understood. */
static bool parse_format(const char *text, struct format *f)
{
	char *end;

	*f = last;
	f->count = 1;
	if (g_ascii_isdigit(*text)) {
		f->count = g_ascii_strtoull(text, &end, 10);
		text = end;
	}
	for (; *text; text++) {
		switch (*text) {
		case 'b': f->size = 1; break;
		case 'h': f->size = 2; break;
		case 'w': f->size = 4; break;
		case 'g': f->size = 8; break;
		case 'x':
		case 'd':
		case 'u':
		case 'o': f->letter = *text; break;
		case 'c':
			f->letter = 'c';
			f->size = 1;
			break;
		default: return false;
		}
	}
	return f->count && f->count <= 65536;
}

static bool parse(struct hmp_call *call, struct format *f, u64 *address)
{
	const char *text = json_object_get_string_member(call->args, "text");
	g_auto(GStrv) words = g_strsplit_set(text, " \t", 2);
	const char *at = words[0];
	char *end;

	*f = last;
	f->count = 1;
	if (at && *at == '/') {
		if (!parse_format(at + 1, f)) {
			hmp_printf(call,
				   "'%s' is not a format: a count up to 65536, one of x d u o c, "
				   "and b, h, w or g for the size\n",
				   at);
			return false;
		}
		at = words[1] ? g_strstrip(words[1]) : NULL;
	}
	if (!at || !*at) {
		hmp_printf(call, "an address is missing\n");
		return false;
	}
	errno = 0;
	*address = g_ascii_strtoull(at, &end, 0);
	if (errno || *end || !g_ascii_isdigit(*at)) {
		hmp_printf(call, "'%s' is not a number\n", at);
		return false;
	}
	return true;
}

void hmp_show_memory(struct hmp_call *call)
{
	bool physical = g_str_equal(call->command->name, "xp");
	JsonObject *args;
	g_autoptr(JsonNode) node = NULL;
	char letter[2] = { 0 };
	struct format f;
	u64 address;

	if (!parse(call, &f, &address))
		return;
	last = f;
	letter[0] = f.letter;
	args = json_object_new();
	json_object_set_int_member(args, "address", (s64)address);
	json_object_set_int_member(args, "count", f.count);
	json_object_set_int_member(args, "size", f.size);
	json_object_set_string_member(args, "format", letter);
	json_object_set_boolean_member(args, "physical", physical);
	if (!physical && monitor_scope_cpu() >= 0)
		json_object_set_int_member(args, "cpu-index", monitor_scope_cpu());
	node = hmp_query(call, NULL, args);
	if (node)
		hmp_printf(call, "%s",
			   json_object_get_string_member(json_node_get_object(node),
							 "human-readable-text"));
}
