/* util/keyval.c - option arguments as one tree. */
#include "util/keyval.h"

#include "util/error.h"

#include <math.h>
#include <stdlib.h>

/* A JSON null is a member that must not appear in options; reported as a parse error by callers. */
static JsonObject *parse_json(const char *text, GError **err)
{
	g_autoptr(JsonParser) p = json_parser_new();
	g_autoptr(GError) why = NULL;
	JsonNode *root;

	if (!json_parser_load_from_data(p, text, -1, &why)) {
		error_set(err, "bad JSON in option '%s': %s", text, why->message);
		return NULL;
	}
	root = json_parser_get_root(p);
	if (!root || !JSON_NODE_HOLDS_OBJECT(root)) {
		error_set(err, "JSON in option '%s' is not an object", text);
		return NULL;
	}
	return json_object_ref(json_node_get_object(root));
}

/* Adds a leaf; a repeated key becomes an array of all its values. Of "file=a,file.b=c" the value
 * is the member "" of the object. */
static void add_leaf(JsonObject *o, const char *key, const char *value)
{
	JsonNode *old = json_object_get_member(o, key);

	if (old && JSON_NODE_HOLDS_OBJECT(old)) {
		add_leaf(json_node_get_object(old), "", value);
	} else if (!old) {
		json_object_set_string_member(o, key, value);
	} else if (JSON_NODE_HOLDS_ARRAY(old)) {
		json_array_add_string_element(json_node_get_array(old), value);
	} else {
		JsonArray *a = json_array_new();

		json_array_add_element(a, json_node_copy(old));
		json_array_add_string_element(a, value);
		json_object_set_array_member(o, key, a);
	}
}

static void add_dotted(JsonObject *o, const char *key, const char *value)
{
	const char *dot = strchr(key, '.');
	JsonObject *sub;

	if (!dot) {
		add_leaf(o, key, value);
		return;
	}
	g_autofree char *head = g_strndup(key, dot - key);
	JsonNode *n = json_object_get_member(o, head);

	if (n && JSON_NODE_HOLDS_OBJECT(n)) {
		sub = json_node_get_object(n);
	} else {
		sub = json_object_new();
		if (n)
			json_object_set_member(sub, "", json_node_copy(n));
		json_object_set_object_member(o, head, sub);
	}
	add_dotted(sub, dot + 1, value);
}

/* Copies up to the next lone comma into @out, ",," becoming ","; returns what follows it. */
static const char *take_item(const char *p, GString *out)
{
	g_string_truncate(out, 0);
	for (; *p; p++) {
		if (*p == ',') {
			if (p[1] != ',')
				return p + 1;
			p++;
		}
		g_string_append_c(out, *p);
	}
	return p;
}

JsonObject *keyval_parse(const char *text, const char *implied, GError **err)
{
	JsonObject *o;
	g_autoptr(GString) item = NULL;
	bool first = true;

	if (text[0] == '{')
		return parse_json(text, err);

	o = json_object_new();
	item = g_string_new(NULL);
	while (*text) {
		char *eq;

		text = take_item(text, item);
		eq = strchr(item->str, '=');
		if (eq == item->str) {
			error_set(err, "option '%s' has no name before '='", item->str);
			json_object_unref(o);
			return NULL;
		}
		if (eq) {
			*eq = '\0';
			add_dotted(o, item->str, eq + 1);
		} else if (first && implied && item->len) {
			add_dotted(o, implied, item->str);
		} else if (item->len > 2 && g_str_has_prefix(item->str, "no") &&
			   (!strcmp(item->str, "nowait") || !strcmp(item->str, "nodelay") ||
			    !strcmp(item->str, "noserver"))) {
			/* The old negated spellings that people still paste. nodelay is itself a
			 * positive option of sockets. */
			if (!strcmp(item->str, "nodelay"))
				add_leaf(o, "nodelay", "on");
			else
				add_leaf(o, item->str + 2, "off");
		} else if (item->len) {
			add_dotted(o, item->str, "on");
		}
		first = false;
	}
	return o;
}

void keyval_merge(JsonObject *into, JsonObject *from)
{
	JsonObjectIter it;
	const char *key;
	JsonNode *node;

	json_object_iter_init(&it, from);
	while (json_object_iter_next(&it, &key, &node)) {
		JsonNode *old = json_object_get_member(into, key);

		if (old && JSON_NODE_HOLDS_OBJECT(old) && JSON_NODE_HOLDS_OBJECT(node))
			keyval_merge(json_node_get_object(old), json_node_get_object(node));
		else
			json_object_set_member(into, key, json_node_copy(node));
	}
}

/* The leaf under @key; of a repeated key the last one. NULL: absent, or not a scalar. */
static JsonNode *leaf(JsonObject *o, const char *key)
{
	JsonNode *n = json_object_get_member(o, key);

	if (n && JSON_NODE_HOLDS_OBJECT(n))
		n = json_object_get_member(json_node_get_object(n), "");
	if (n && JSON_NODE_HOLDS_ARRAY(n)) {
		JsonArray *a = json_node_get_array(n);
		guint len = json_array_get_length(a);

		n = len ? json_array_get_element(a, len - 1) : NULL;
	}
	return n && JSON_NODE_HOLDS_VALUE(n) ? n : NULL;
}

const char *keyval_str(JsonObject *o, const char *key)
{
	JsonNode *n = leaf(o, key);
	GType t;

	if (!n)
		return NULL;
	t = json_node_get_value_type(n);
	if (t == G_TYPE_STRING)
		return json_node_get_string(n);
	if (t == G_TYPE_BOOLEAN)
		return json_node_get_boolean(n) ? "on" : "off";
	/* A number: its text takes its place, so that the object owns it. */
	g_autofree char *text = t == G_TYPE_INT64
					? g_strdup_printf("%" PRId64, json_node_get_int(n))
					: g_strdup_printf("%.17g", json_node_get_double(n));

	json_node_set_string(n, text);
	return json_node_get_string(n);
}

/* Removes what leaf() found: of an object with further members only its own value. */
static void drop_leaf(JsonObject *o, const char *key)
{
	JsonNode *n = json_object_get_member(o, key);

	if (JSON_NODE_HOLDS_OBJECT(n)) {
		json_object_remove_member(json_node_get_object(n), "");
		if (json_object_get_size(json_node_get_object(n)))
			return;
	}
	json_object_remove_member(o, key);
}

static int bad_value(GError **err, const char *key, const char *value, const char *want)
{
	error_set(err, "'%s=%s': expected %s", key, value, want);
	return -EINVAL;
}

static int parse_bool(const char *text, bool *out)
{
	static const char *const yes[] = { "on", "yes", "true", "y" };
	static const char *const no[] = { "off", "no", "false", "n" };

	for (unsigned i = 0; i < ARRAY_SIZE(yes); i++) {
		if (!strcmp(text, yes[i]) || !strcmp(text, no[i])) {
			*out = !strcmp(text, yes[i]);
			return 0;
		}
	}
	return -EINVAL;
}

int keyval_bool(JsonObject *o, const char *key, bool *out, GError **err)
{
	const char *text = keyval_str(o, key);

	if (!text)
		return -ENOENT;
	return parse_bool(text, out) ? bad_value(err, key, text, "on or off") : 0;
}

int keyval_u64(JsonObject *o, const char *key, u64 *out, GError **err)
{
	const char *text = keyval_str(o, key);
	char *end;
	u64 v;

	if (!text)
		return -ENOENT;
	errno = 0;
	v = g_ascii_strtoull(text, &end, 0);
	if (errno || end == text || *end || strchr(text, '-'))
		return bad_value(err, key, text, "a non-negative number");
	*out = v;
	return 0;
}

static int suffix_shift(char c)
{
	static const char names[] = "BKMGTPE";
	const char *at = c ? strchr(names, g_ascii_toupper(c)) : NULL;

	return at ? 10 * (at - names) : -1;
}

int size_parse(const char *text, char default_suffix, u64 *out)
{
	char *end;
	int shift;

	if (!g_ascii_isdigit(text[0]))
		return -EINVAL;
	errno = 0;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		u64 v = g_ascii_strtoull(text, &end, 16);

		if (errno || *end)
			return -EINVAL;
		*out = v;
		return 0;
	}
	u64 whole = g_ascii_strtoull(text, &end, 10);
	double fraction = 0;

	if (errno)
		return -ERANGE;
	if (*end == '.') {
		char *digits = end;

		for (end++; g_ascii_isdigit(*end); end++)
			;
		fraction = g_ascii_strtod(digits, NULL);
	}
	shift = suffix_shift(*end ? *end : default_suffix);
	if (shift < 0 || (*end && end[1]))
		return -EINVAL;
	if (whole > UINT64_MAX >> shift)
		return -ERANGE;
	*out = (whole << shift) + (u64)(fraction * (double)(1ull << shift));
	return 0;
}

int keyval_size(JsonObject *o, const char *key, char default_suffix, u64 *out, GError **err)
{
	const char *text = keyval_str(o, key);

	if (!text)
		return -ENOENT;
	if (size_parse(text, default_suffix, out))
		return bad_value(err, key, text, "a size such as 512M or 1.5G");
	return 0;
}

char *keyval_take_str(JsonObject *o, const char *key)
{
	char *text = g_strdup(keyval_str(o, key));

	if (text)
		drop_leaf(o, key);
	return text;
}

int keyval_take_bool(JsonObject *o, const char *key, bool *out, GError **err)
{
	int ret = keyval_bool(o, key, out, err);

	if (!ret)
		drop_leaf(o, key);
	return ret;
}

int keyval_take_u64(JsonObject *o, const char *key, u64 *out, GError **err)
{
	int ret = keyval_u64(o, key, out, err);

	if (!ret)
		drop_leaf(o, key);
	return ret;
}

int keyval_take_size(JsonObject *o, const char *key, char default_suffix, u64 *out, GError **err)
{
	int ret = keyval_size(o, key, default_suffix, out, err);

	if (!ret)
		drop_leaf(o, key);
	return ret;
}

int keyval_reject_rest(JsonObject *o, const char *what, GError **err)
{
	g_autoptr(GList) keys = json_object_get_members(o);

	if (!keys)
		return 0;
	const char *key = keys->data;
	const char *value = keyval_str(o, key);

	error_set(err, "%s: unknown option '%s%s%s'", what, key, value ? "=" : "",
		  value ? value : "");
	return -EINVAL;
}

bool keyval_wants_help(JsonObject *o)
{
	g_autoptr(GList) keys = json_object_get_members(o);

	for (GList *k = keys; k; k = k->next) {
		const char *value = keyval_str(o, k->data);

		if (!strcmp(k->data, "help") || !strcmp(k->data, "?"))
			return true;
		if (value && keys->next == NULL && (!strcmp(value, "help") || !strcmp(value, "?")))
			return true;
	}
	return false;
}
