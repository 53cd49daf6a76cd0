/* block/throttle-opts.c - the limits that a -drive gives: throttling.*, and the names before it. */
#include "block/block-priv.h"

#include "util/error.h"
#include "util/keyval.h"

/* What -drive called them at first. */
static const char *const old_names[BLOCK_LIMITS] = {
	[BLOCK_BPS_TOTAL] = "bps",   [BLOCK_BPS_READ] = "bps_rd",   [BLOCK_BPS_WRITE] = "bps_wr",
	[BLOCK_IOPS_TOTAL] = "iops", [BLOCK_IOPS_READ] = "iops_rd", [BLOCK_IOPS_WRITE] = "iops_wr",
};

/* A member whose name has two parts. Return: 0, also if it is not there. */
static int take(JsonObject *o, const char *name, const char *suffix, u64 *out, GError **err)
{
	g_autofree char *key = g_strconcat(name, suffix, NULL);
	int ret = keyval_take_size(o, key, 'B', out, err);

	return ret == -ENOENT ? 0 : ret;
}

static int take_limits(JsonObject *o, bool old, struct block_throttle *t, GError **err)
{
	int ret = take(o, old ? "iops_size" : "iops-size", "", &t->iops_size, err);

	for (int i = 0; i < BLOCK_LIMITS && !ret; i++) {
		struct block_limit *l = &t->limit[i];
		const char *name = old ? old_names[i] : block_limit_name(i);

		ret = take(o, name, "", &l->avg, err)
			      ?: take(o, name, old ? "_max" : "-max", &l->max, err);
		if (!ret && !old)
			ret = take(o, name, "-max-length", &l->length, err);
	}
	return ret;
}

int throttle_take_opts(JsonObject *o, struct block_backend *b, GError **err)
{
	JsonNode *n = json_object_get_member(o, "throttling");
	g_autoptr(JsonObject) sub = json_object_new();
	g_autofree char *group = NULL;
	struct block_throttle t;
	int ret;

	block_throttle_init(&t);
	if (n && JSON_NODE_HOLDS_OBJECT(n)) {
		keyval_merge(sub, json_node_get_object(n));
		json_object_remove_member(o, "throttling");
	}
	ret = take_limits(o, true, &t, err) ?: take_limits(sub, false, &t, err);
	if (ret)
		return ret;
	group = keyval_take_str(sub, "group");
	if (!group)
		group = keyval_take_str(o, "group");
	return keyval_reject_rest(sub, "throttling", err) ?: block_throttle_set(b, &t, group, err);
}
