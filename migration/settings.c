/*
 * migration/settings.c - capabilities, parameters and global properties.
 *
 * Names, defaults and ranges are those of QEMU 11.1's QMP interface.
 */
#include "migration/settings.h"

#include "util/error.h"
#include "util/keyval.h"

static const char *const capability_names[CAPABILITIES] = {
	[CAP_XBZRLE] = "xbzrle",
	[CAP_AUTO_CONVERGE] = "auto-converge",
	[CAP_EVENTS] = "events",
	[CAP_RETURN_PATH] = "return-path",
	[CAP_PAUSE_BEFORE_SWITCHOVER] = "pause-before-switchover",
	[CAP_IGNORE_SHARED] = "x-ignore-shared",
	[CAP_VALIDATE_UUID] = "validate-uuid",
	[CAP_SWITCHOVER_ACK] = "switchover-ack",
	[CAP_VERIFY] = "x-verify",
	[CAP_PAGE_COUNTS] = "x-page-counts",
};

/* Capabilities of QEMU that are not here; switching them off is fine. */
static const struct {
	const char *name, *why;
} unsupported_capabilities[] = {
	{ "rdma-pin-all", "there is no RDMA transport" },
	{ "postcopy-ram", "only pre-copy is supported; auto-converge makes busy guests converge" },
	{ "x-colo", "COLO is not supported" },
	{ "release-ram", "it needs postcopy-ram, which is not supported" },
	{ "multifd", "the stream uses one connection" },
	{ "dirty-bitmaps", "bitmaps of disks do not migrate" },
	{ "postcopy-blocktime", "it needs postcopy-ram, which is not supported" },
	{ "late-block-activate", "images are activated when the machine starts" },
	{ "background-snapshot", "stop the machine or migrate to file: instead" },
	{ "zero-copy-send", "it needs multifd, which is not supported" },
	{ "postcopy-preempt", "it needs postcopy-ram, which is not supported" },
	{ "dirty-limit", "use auto-converge instead" },
	{ "mapped-ram", "file: writes an ordinary stream" },
};

enum param_kind { PARAM_NUMBER, PARAM_BOOL, PARAM_ENUM };

struct param {
	const char *name;
	enum param_kind kind;
	size_t offset; /* in struct parameters */
	u64 initial;
	u64 min, max;
	const char *const *values; /* PARAM_ENUM */
	const char *fixed;         /* why other values than the initial one are refused; NULL */
};

static const char *const compressions[] = { "none", "zlib", "zstd", NULL };
static const char *const modes[] = { "normal", "cpr-reboot", "cpr-transfer", "cpr-exec", NULL };
static const char *const detections[] = { "none", "legacy", "multifd", NULL };

#define NO_MULTIFD "multifd is not supported"

#define NO_POSTCOPY "post-copy is not supported"

#define FIXED_NUMBER(nm, field, init, lo, hi, why)                                                 \
	{                                                                                          \
		nm, PARAM_NUMBER, offsetof(struct parameters, field), init, lo, hi, NULL, why      \
	}
#define NUMBER(nm, field, init, lo, hi) FIXED_NUMBER(nm, field, init, lo, hi, NULL)

static const struct param params[] = {
	NUMBER("announce-initial", announce_initial, 50, 0, 100000),
	NUMBER("announce-max", announce_max, 550, 0, 100000),
	NUMBER("announce-rounds", announce_rounds, 5, 0, 1000),
	NUMBER("announce-step", announce_step, 100, 1, 10000),
	NUMBER("throttle-trigger-threshold", throttle_trigger_threshold, 50, 1, 100),
	NUMBER("cpu-throttle-initial", cpu_throttle_initial, 20, 1, 99),
	NUMBER("cpu-throttle-increment", cpu_throttle_increment, 10, 1, 99),
	NUMBER("max-cpu-throttle", max_cpu_throttle, 99, 1, 99),
	NUMBER("max-bandwidth", max_bandwidth, 128 * MiB, 0, UINT64_MAX),
	NUMBER("avail-switchover-bandwidth", avail_switchover_bandwidth, 0, 0, UINT64_MAX),
	NUMBER("downtime-limit", downtime_limit, 300, 0, 2000000),
	NUMBER("xbzrle-cache-size", xbzrle_cache_size, 64 * MiB, 4 * KiB, UINT64_MAX),
	{ "cpu-throttle-tailslow", PARAM_BOOL, offsetof(struct parameters, cpu_throttle_tailslow),
	  0, 0, 1, NULL, NULL },
	{ "zero-page-detection", PARAM_ENUM, offsetof(struct parameters, zero_page_detection),
	  ZERO_PAGES_MULTIFD, 0, 2, detections, NULL },
	/* Management tools restore what was shown to them, so the initial value is accepted. */
	FIXED_NUMBER("x-checkpoint-delay", x_checkpoint_delay, 20000, 0, UINT32_MAX,
		     "COLO is not supported"),
	FIXED_NUMBER("multifd-channels", multifd_channels, 2, 1, 255, NO_MULTIFD),
	FIXED_NUMBER("max-postcopy-bandwidth", max_postcopy_bandwidth, 0, 0, UINT64_MAX,
		     NO_POSTCOPY),
	FIXED_NUMBER("multifd-zlib-level", multifd_zlib_level, 1, 0, 9, NO_MULTIFD),
	FIXED_NUMBER("multifd-qatzip-level", multifd_qatzip_level, 1, 1, 9, NO_MULTIFD),
	FIXED_NUMBER("multifd-zstd-level", multifd_zstd_level, 1, 0, 20, NO_MULTIFD),
	FIXED_NUMBER("x-vcpu-dirty-limit-period", x_vcpu_dirty_limit_period, 1000, 1, 1000,
		     "dirty-limit is not supported"),
	FIXED_NUMBER("vcpu-dirty-limit", vcpu_dirty_limit, 1, 1, UINT64_MAX,
		     "dirty-limit is not supported"),
	FIXED_NUMBER("x-rdma-chunk-size", x_rdma_chunk_size, MiB, 0, UINT64_MAX,
		     "there is no RDMA transport"),
	{ "multifd-compression", PARAM_ENUM, offsetof(struct parameters, multifd_compression), 0, 0,
	  2, compressions, NO_MULTIFD },
	{ "mode", PARAM_ENUM, offsetof(struct parameters, mode), 0, 0, 3, modes,
	  "only mode normal is supported" },
	{ "direct-io", PARAM_BOOL, offsetof(struct parameters, direct_io), 0, 0, 1, NULL,
	  "it needs mapped-ram, which is not supported" },
};

/* Texts that only accept being empty. */
static const struct {
	const char *name, *why;
} empty_params[] = {
	{ "tls-creds", "TLS is not supported; use a tunnel" },
	{ "tls-hostname", "TLS is not supported; use a tunnel" },
	{ "tls-authz", "TLS is not supported; use a tunnel" },
};

static u64 param_get(const struct parameters *p, const struct param *d)
{
	const u8 *at = (const u8 *)p + d->offset;

	return d->kind == PARAM_BOOL ? *(const bool *)at : *(const u64 *)at;
}

static void param_put(struct parameters *p, const struct param *d, u64 v)
{
	u8 *at = (u8 *)p + d->offset;

	if (d->kind == PARAM_BOOL)
		*(bool *)at = v;
	else
		*(u64 *)at = v;
}

void settings_init(struct settings *s)
{
	*s = (struct settings){
		.store_global_state = true,
		.send_configuration = true,
		.send_section_footer = true,
		.send_switchover_start = true,
	};
	for (unsigned i = 0; i < ARRAY_SIZE(params); i++)
		param_put(&s->params, &params[i], params[i].initial);
}

int settings_set_capability(struct settings *s, const char *name, bool on, GError **err)
{
	for (unsigned i = 0; i < CAPABILITIES; i++) {
		if (!g_str_equal(name, capability_names[i]))
			continue;
		s->caps[i] = on;
		if (i == CAP_RETURN_PATH)
			s->return_path_off = !on;
		return 0;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(unsupported_capabilities); i++) {
		if (!g_str_equal(name, unsupported_capabilities[i].name))
			continue;
		if (!on)
			return 0;
		error_set(err, "capability '%s' is not supported: %s", name,
			  unsupported_capabilities[i].why);
		return -EINVAL;
	}
	error_set(err, "unknown migration capability '%s'", name);
	return -EINVAL;
}

int settings_check_capabilities(const struct settings *s, GError **err)
{
	static const enum capability need_return_path[] = { CAP_SWITCHOVER_ACK };

	for (unsigned i = 0; i < ARRAY_SIZE(need_return_path); i++) {
		enum capability c = need_return_path[i];

		if (s->caps[c] && !s->caps[CAP_RETURN_PATH]) {
			error_set(err, "capability '%s' requires capability 'return-path'",
				  capability_names[c]);
			return -EINVAL;
		}
	}
	if (s->caps[CAP_VERIFY] && s->return_path_off) {
		error_set(err, "capability 'x-verify' requires capability 'return-path'");
		return -EINVAL;
	}
	if (s->caps[CAP_VERIFY] && s->caps[CAP_IGNORE_SHARED]) {
		error_set(err, "capability 'x-verify' excludes 'x-ignore-shared'");
		return -EINVAL;
	}
	return 0;
}

static int bad_value(const struct param *d, JsonNode *node, GError **err)
{
	g_autofree char *text = json_to_string(node, FALSE);

	if (d->kind == PARAM_NUMBER && d->max != UINT64_MAX)
		error_set(err,
			  "parameter '%s' expects an integer from %" PRIu64 " to %" PRIu64
			  ", got %s",
			  d->name, d->min, d->max, text);
	else
		error_set(err, "parameter '%s' does not accept %s", d->name, text);
	return -EINVAL;
}

/* Numbers come from QMP, decimal texts from -global. */
static bool node_number(JsonNode *node, u64 *out)
{
	if (!JSON_NODE_HOLDS_VALUE(node))
		return false;
	switch (json_node_get_value_type(node)) {
	case G_TYPE_INT64: *out = json_node_get_int(node); return (s64)*out >= 0;
	case G_TYPE_STRING: return !size_parse(json_node_get_string(node), 'B', out);
	default: return false;
	}
}

static bool node_bool(JsonNode *node, u64 *out)
{
	const char *text;

	if (!JSON_NODE_HOLDS_VALUE(node))
		return false;
	if (json_node_get_value_type(node) == G_TYPE_BOOLEAN) {
		*out = json_node_get_boolean(node);
		return true;
	}
	text = json_node_get_string(node);
	if (!text)
		return false;
	*out = g_str_equal(text, "on") || g_str_equal(text, "true");
	return *out || g_str_equal(text, "off") || g_str_equal(text, "false");
}

static bool node_enum(JsonNode *node, const char *const *values, u64 *out)
{
	const char *text = JSON_NODE_HOLDS_VALUE(node) ? json_node_get_string(node) : NULL;

	for (u64 i = 0; text && values[i]; i++) {
		*out = i;
		if (g_str_equal(text, values[i]))
			return true;
	}
	return false;
}

static int set_param(struct settings *s, const struct param *d, JsonNode *node, GError **err)
{
	bool ok;
	u64 v;

	switch (d->kind) {
	case PARAM_NUMBER: ok = node_number(node, &v) && v >= d->min && v <= d->max; break;
	case PARAM_BOOL: ok = node_bool(node, &v); break;
	case PARAM_ENUM: ok = node_enum(node, d->values, &v); break;
	default: g_assert_not_reached();
	}
	if (!ok)
		return bad_value(d, node, err);
	if (d->fixed && v != d->initial) {
		g_autofree char *text = json_to_string(node, FALSE);

		error_set(err, "parameter '%s' cannot be %s: %s", d->name, text, d->fixed);
		return -EINVAL;
	}
	param_put(&s->params, d, v);
	return 0;
}

/* Parameters whose only supported value is the empty one. Return: 1 if @name is none of them. */
static int check_empty_param(const char *name, JsonNode *node, GError **err)
{
	if (g_str_equal(name, "cpr-exec-command") || g_str_equal(name, "block-bitmap-mapping")) {
		if (JSON_NODE_HOLDS_ARRAY(node) &&
		    !json_array_get_length(json_node_get_array(node)))
			return 0;
		error_set(err, "parameter '%s' is not supported: it must be an empty list", name);
		return -EINVAL;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(empty_params); i++) {
		if (!g_str_equal(name, empty_params[i].name))
			continue;
		if (JSON_NODE_HOLDS_NULL(node) ||
		    (JSON_NODE_HOLDS_VALUE(node) && !g_strcmp0(json_node_get_string(node), "")))
			return 0;
		error_set(err, "parameter '%s' must be empty: %s", name, empty_params[i].why);
		return -EINVAL;
	}
	return 1;
}

static int check_parameters(const struct parameters *p, GError **err)
{
	if (!IS_POW2(p->xbzrle_cache_size)) {
		error_set(err,
			  "parameter 'xbzrle-cache-size' expects a power of two of at least "
			  "4096, got %" PRIu64,
			  p->xbzrle_cache_size);
		return -EINVAL;
	}
	if (p->max_cpu_throttle < p->cpu_throttle_initial) {
		error_set(err,
			  "parameter 'max-cpu-throttle' expects an integer from "
			  "cpu-throttle-initial (%" PRIu64 ") to 99, got %" PRIu64,
			  p->cpu_throttle_initial, p->max_cpu_throttle);
		return -EINVAL;
	}
	return 0;
}

int settings_set_parameters(struct settings *s, JsonObject *values, GError **err)
{
	struct settings n = *s;
	JsonObjectIter it;
	const char *name;
	JsonNode *node;
	int ret;

	json_object_iter_init(&it, values);
	while (json_object_iter_next(&it, &name, &node)) {
		unsigned i = 0;

		while (i < ARRAY_SIZE(params) && !g_str_equal(params[i].name, name))
			i++;
		if (i < ARRAY_SIZE(params))
			ret = set_param(&n, &params[i], node, err);
		else
			ret = check_empty_param(name, node, err);
		if (ret == 1) {
			error_set(err, "unknown migration parameter '%s'", name);
			ret = -EINVAL;
		}
		if (ret)
			return ret;
	}
	ret = check_parameters(&n.params, err);
	if (!ret)
		*s = n;
	return ret;
}

int settings_set_global(struct settings *s, const char *name, const char *value, GError **err)
{
	const struct {
		const char *name;
		bool *at;
	} flags[] = {
		{ "store-global-state", &s->store_global_state },
		{ "send-configuration", &s->send_configuration },
		{ "send-section-footer", &s->send_section_footer },
		{ "send-switchover-start", &s->send_switchover_start },
	};
	g_autoptr(JsonNode) node = json_node_init_string(json_node_alloc(), value);
	g_autoptr(JsonObject) one = NULL;
	u64 on;

	for (unsigned i = 0; i < ARRAY_SIZE(flags); i++) {
		if (!g_str_equal(name, flags[i].name))
			continue;
		if (!node_bool(node, &on)) {
			error_set(err, "migration.%s=%s: expected on or off", name, value);
			return -EINVAL;
		}
		*flags[i].at = on;
		return 0;
	}
	if (g_str_has_prefix(name, "x-") && node_bool(node, &on) &&
	    !settings_set_capability(s, name + 2, on, NULL))
		return 0;
	one = json_object_new();
	json_object_set_member(one, g_str_has_prefix(name, "x-") ? name + 2 : name,
			       g_steal_pointer(&node));
	if (settings_set_parameters(s, one, err)) {
		g_prefix_error(err, "migration.%s=%s: ", name, value);
		return -EINVAL;
	}
	return 0;
}

JsonArray *settings_capabilities(const struct settings *s)
{
	JsonArray *list = json_array_new();

	for (unsigned i = 0; i < CAPABILITIES; i++) {
		JsonObject *o = json_object_new();

		json_object_set_string_member(o, "capability", capability_names[i]);
		json_object_set_boolean_member(o, "state", s->caps[i]);
		json_array_add_object_element(list, o);
	}
	return list;
}

JsonObject *settings_parameters(const struct settings *s)
{
	JsonObject *o = json_object_new();

	for (unsigned i = 0; i < ARRAY_SIZE(params); i++) {
		const struct param *d = &params[i];
		u64 v = param_get(&s->params, d);

		if (d->kind == PARAM_BOOL)
			json_object_set_boolean_member(o, d->name, v);
		else if (d->kind == PARAM_ENUM)
			json_object_set_string_member(o, d->name, d->values[v]);
		else
			json_object_set_int_member(o, d->name, v);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(empty_params); i++)
		json_object_set_string_member(o, empty_params[i].name, "");
	json_object_set_array_member(o, "cpr-exec-command", json_array_new());
	return o;
}
