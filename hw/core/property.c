/* hw/core/property.c - typed properties: parsing, defaults, read-back, help. */
#include "hw/property.h"

#include "hw/machine.h"
#include "net/net.h"
#include "util/error.h"
#include "util/keyval.h"

struct prop_class {
	const char *type_name; /* as QEMU prints it */
	const char *wants;     /* for messages */
	bool is_signed;
	u8 bits; /* of integers; 0: not an integer */
};

static const struct prop_class classes[] = {
	[PROP_BOOL] = { "bool", "on or off" },
	[PROP_U8] = { "uint8", NULL, false, 8 },
	[PROP_U16] = { "uint16", NULL, false, 16 },
	[PROP_U32] = { "uint32", NULL, false, 32 },
	[PROP_U64] = { "uint64", NULL, false, 64 },
	[PROP_S32] = { "int32", NULL, true, 32 },
	[PROP_S64] = { "int64", NULL, true, 64 },
	[PROP_SIZE] = { "size", "a size such as 4096, 64K, 1.5G" },
	[PROP_STR] = { "str", "a string" },
	[PROP_ENUM] = { "enum", NULL },
	[PROP_ON_OFF_AUTO] = { "OnOffAuto", "on, off or auto" },
	[PROP_MACADDR] = { "str", "six bytes such as 52:54:00:12:34:56" },
	[PROP_CHARDEV] = { "str", "the id of a -chardev" },
	[PROP_NETDEV] = { "str", "the id of a -netdev" },
	[PROP_DRIVE] = { "str", "the id of a -drive or the node name of a -blockdev" },
	[PROP_LINK] = { "link", NULL },
};

const struct property *property_find(const struct property *props, const char *name)
{
	for (const struct property *p = props; p && p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

bool property_is_link(const struct property *p)
{
	return p->type == PROP_CHARDEV || p->type == PROP_NETDEV || p->type == PROP_DRIVE ||
	       p->type == PROP_LINK;
}

const char *property_type_name(const struct property *p)
{
	return classes[p->type].type_name;
}

static char *wanted(const struct property *p)
{
	const struct prop_class *c = &classes[p->type];

	if (c->wants)
		return g_strdup(c->wants);
	if (c->is_signed)
		return g_strdup_printf("a number from %" PRId64 " to %" PRIu64,
				       (s64)(~(u64)0 << (c->bits - 1)), ~(u64)0 >> (65 - c->bits));
	if (c->bits)
		return g_strdup_printf("a number from 0 to %" PRIu64, ~(u64)0 >> (64 - c->bits));
	if (p->type == PROP_ENUM) {
		g_autofree char *list = g_strjoinv(", ", (char **)p->names);

		return g_strdup_printf("one of %s", list);
	}
	return g_strdup_printf("the id of a %s object", p->link_type);
}

static int refuse(const struct property *p, const struct prop_owner *owner, const char *text,
		  GError **err)
{
	g_autofree char *want = wanted(p);

	error_set(err, "property '%s.%s' does not take value '%s', it wants %s", owner->name,
		  p->name, text, want);
	return -EINVAL;
}

static bool parse_bool(const char *text, bool *out)
{
	static const char *const yes[] = { "on", "yes", "true", "y", NULL };
	static const char *const no[] = { "off", "no", "false", "n", NULL };

	if (g_strv_contains(yes, text))
		*out = true;
	else if (g_strv_contains(no, text))
		*out = false;
	else
		return false;
	return true;
}

/* Decimal, 0x hexadecimal or 0 octal, the whole text, in the range of the type. */
static bool parse_int(const char *text, const struct prop_class *c, u64 *out)
{
	const char *digits = *text == '-' ? text + 1 : text;
	char *end;

	if (!g_ascii_isdigit(*digits))
		return false;
	errno = 0;
	if (c->is_signed) {
		s64 v = strtoll(text, &end, 0);

		*out = v;
		if (c->bits < 64 && (v < -(1ll << (c->bits - 1)) || v >= 1ll << (c->bits - 1)))
			return false;
	} else {
		*out = strtoull(digits, &end, 0);
		if (digits != text || (c->bits < 64 && *out >> c->bits))
			return false;
	}
	return !errno && !*end;
}

static bool parse_mac(const char *text, u8 *mac)
{
	u8 out[6];

	for (int i = 0; i < 6; i++, text += 3) {
		if (!g_ascii_isxdigit(text[0]) || !g_ascii_isxdigit(text[1]))
			return false;
		if (i < 5 ? text[2] != ':' && text[2] != '-' : text[2] != 0)
			return false;
		out[i] = g_ascii_xdigit_value(text[0]) << 4 | g_ascii_xdigit_value(text[1]);
	}
	memcpy(mac, out, sizeof(out));
	return true;
}

static void *resolve(const struct property *p, const struct machine_host *host, const char *id)
{
	if (!host)
		return NULL;
	switch (p->type) {
	case PROP_CHARDEV: return host->chardev ? host->chardev(host->opaque, id) : NULL;
	case PROP_NETDEV: return host->netdev ? host->netdev(host->opaque, id) : NULL;
	case PROP_DRIVE: return host->drive ? host->drive(host->opaque, id) : NULL;
	default: return host->object ? host->object(host->opaque, id, p->link_type) : NULL;
	}
}

static void store_int(void *field, unsigned bits, u64 v)
{
	switch (bits) {
	case 8: *(u8 *)field = v; break;
	case 16: *(u16 *)field = v; break;
	case 32: *(u32 *)field = v; break;
	default: *(u64 *)field = v; break;
	}
}

static bool set_link(void *field, const struct property *p, const struct prop_owner *owner,
		     const char *text)
{
	void *target = resolve(p, owner->host, text);

	if (target)
		*(void **)field = target;
	return target;
}

static bool set_on_off_auto(int *field, const char *text)
{
	bool on;

	if (!strcmp(text, "auto"))
		*field = OOA_AUTO;
	else if (parse_bool(text, &on))
		*field = on ? OOA_ON : OOA_OFF;
	else
		return false;
	return true;
}

static bool set_enum(int *field, const char *const *names, const char *text)
{
	for (int i = 0; names[i]; i++) {
		if (!strcmp(names[i], text)) {
			*field = i;
			return true;
		}
	}
	return false;
}

int property_set_text(void *obj, const struct property *p, const struct prop_owner *owner,
		      const char *text, GError **err)
{
	const struct prop_class *c = &classes[p->type];
	void *field = (char *)obj + p->offset;
	bool ok;
	u64 v;

	switch (p->type) {
	case PROP_BOOL: ok = parse_bool(text, field); break;
	case PROP_SIZE:
		ok = !size_parse(text, 'B', &v);
		if (ok)
			*(u64 *)field = v;
		break;
	case PROP_STR:
		g_free(*(char **)field);
		*(char **)field = g_strdup(text);
		ok = true;
		break;
	case PROP_ENUM: ok = set_enum(field, p->names, text); break;
	case PROP_ON_OFF_AUTO: ok = set_on_off_auto(field, text); break;
	case PROP_MACADDR: ok = parse_mac(text, field); break;
	case PROP_CHARDEV:
	case PROP_NETDEV:
	case PROP_DRIVE:
	case PROP_LINK: ok = set_link(field, p, owner, text); break;
	default:
		ok = parse_int(text, c, &v);
		if (ok)
			store_int(field, c->bits, v);
		break;
	}
	return ok ? 0 : refuse(p, owner, text, err);
}

static bool takes_number(const struct property *p)
{
	return classes[p->type].bits || p->type == PROP_SIZE;
}

/* A JSON scalar as the text of the same meaning; NULL if the property takes no such type. */
static char *node_text(const struct property *p, JsonNode *node)
{
	GType t;

	if (!JSON_NODE_HOLDS_VALUE(node))
		return NULL;
	t = json_node_get_value_type(node);
	if (t == G_TYPE_STRING)
		return g_strdup(json_node_get_string(node));
	if (t == G_TYPE_BOOLEAN && (p->type == PROP_BOOL || p->type == PROP_ON_OFF_AUTO))
		return g_strdup(json_node_get_boolean(node) ? "on" : "off");
	if (t == G_TYPE_INT64 && takes_number(p))
		return g_strdup_printf("%" PRId64, json_node_get_int(node));
	return NULL;
}

/* Of a key that was given several times the last one counts. */
static JsonNode *last_value(JsonNode *node)
{
	while (JSON_NODE_HOLDS_ARRAY(node)) {
		JsonArray *a = json_node_get_array(node);

		if (!json_array_get_length(a))
			break;
		node = json_array_get_element(a, json_array_get_length(a) - 1);
	}
	return node;
}

int property_set(void *obj, const struct property *p, const struct prop_owner *owner,
		 JsonNode *value, GError **err)
{
	JsonNode *node = last_value(value);
	g_autofree char *text = node_text(p, node);

	if (!text) {
		g_autofree char *json = json_to_string(node, FALSE);

		return refuse(p, owner, json, err);
	}
	return property_set_text(obj, p, owner, text, err);
}

void properties_init(void *obj, const struct property *props)
{
	static const struct prop_owner nobody = { .name = "default" };

	for (const struct property *p = props; p && p->name; p++)
		if (p->default_text && property_set_text(obj, p, &nobody, p->default_text, NULL))
			g_assert_not_reached();
}

void properties_free(void *obj, const struct property *props)
{
	for (const struct property *p = props; p && p->name; p++)
		if (p->type == PROP_STR)
			g_clear_pointer((char **)((char *)obj + p->offset), g_free);
}

static u64 load_int(const void *field, const struct prop_class *c)
{
	switch (c->bits) {
	case 8: return *(const u8 *)field;
	case 16: return *(const u16 *)field;
	case 32: return c->is_signed ? (u64)(s64) * (const s32 *)field : *(const u32 *)field;
	default: return *(const u64 *)field;
	}
}

JsonNode *property_get(const void *obj, const struct property *p)
{
	static const char *const ooa[] = { "auto", "on", "off" };
	const void *field = (const char *)obj + p->offset;
	g_autofree char *mac = NULL;
	JsonNode *node;

	if (property_is_link(p))
		return NULL;
	node = json_node_alloc();
	switch (p->type) {
	case PROP_BOOL: return json_node_init_boolean(node, *(const bool *)field);
	case PROP_STR: return json_node_init_string(node, *(char *const *)field ?: "");
	case PROP_ENUM: return json_node_init_string(node, p->names[*(const int *)field]);
	case PROP_ON_OFF_AUTO: return json_node_init_string(node, ooa[*(const int *)field]);
	case PROP_MACADDR: mac = mac_text(field); return json_node_init_string(node, mac);
	default: return json_node_init_int(node, load_int(field, &classes[p->type]));
	}
}

static int by_name(const void *a, const void *b)
{
	const struct property *const *pa = a, *const *pb = b;

	return strcmp((*pa)->name, (*pb)->name);
}

static GPtrArray *sorted(const struct property *props)
{
	GPtrArray *list = g_ptr_array_new();

	for (const struct property *p = props; p && p->name; p++)
		g_ptr_array_add(list, (void *)p);
	g_ptr_array_sort(list, by_name);
	return list;
}

char *properties_help(const struct property *props)
{
	g_autoptr(GPtrArray) list = sorted(props);
	GString *s = g_string_new(NULL);

	for (guint i = 0; i < list->len; i++) {
		const struct property *p = list->pdata[i];
		g_autofree char *left =
			g_strdup_printf("  %s=<%s>", p->name, property_type_name(p));

		g_string_append_printf(s, "%-24s - %s", left, p->help ?: "");
		if (p->default_text)
			g_string_append_printf(s, "%s(default: %s)", p->help ? " " : "",
					       p->default_text);
		g_string_append_c(s, '\n');
	}
	return g_string_free(s, FALSE);
}

char *properties_names(const struct property *props)
{
	g_autoptr(GPtrArray) list = sorted(props);
	GString *s = g_string_new(list->len ? NULL : "none");

	for (guint i = 0; i < list->len; i++)
		g_string_append_printf(s, "%s%s", i ? ", " : "",
				       ((const struct property *)list->pdata[i])->name);
	return g_string_free(s, FALSE);
}
