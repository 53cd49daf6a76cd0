/*
 * migration/incoming-load.c - the elements of a stream.
 */
#include "migration/incoming.h"

#include "migration/return-path.h"
#include "migration/source.h"
#include "util/error.h"
#include "util/lock.h"

/* A reader's own error comes first: what was decoded after it are zeroes. */
static int stream_result(struct incoming *in, int ret, GError **err)
{
	if (!in->r.error)
		return ret;
	g_clear_error(err);
	g_propagate_error(err, g_error_copy(in->r.error));
	return -EINVAL;
}

static int load_header(struct incoming *in, GError **err)
{
	u32 magic = state_get_be32(&in->r), version = state_get_be32(&in->r);

	if (in->r.error)
		return -EINVAL;
	if (magic != STREAM_MAGIC) {
		error_set(err, "not a migration stream: it begins with 0x%08x, expected 0x%08x",
			  magic, STREAM_MAGIC);
		return -EINVAL;
	}
	if (version != STREAM_VERSION) {
		error_set(err, "stream version %u, expected %u", version, STREAM_VERSION);
		return -EINVAL;
	}
	return 0;
}

static int load_configuration(struct incoming *in, GError **err)
{
	struct configuration c = { 0 };
	int ret = state_load_object(&in->r, &configuration_state, &c, 1, err);

	if (ret) {
		g_prefix_error(err, "configuration: ");
		return ret;
	}
	/* The sender hears of a mismatch only once it has opened the return path. */
	if (configuration_check(&c, in->m, &in->settings, &in->config_error) &&
	    !channel_bidirectional(in->ch)) {
		g_propagate_error(err, g_steal_pointer(&in->config_error));
		return -EINVAL;
	}
	return 0;
}

/* ---- sections ---- */

static int ram_element(struct incoming *in, GError **err)
{
	int ret = ram_load_part(&in->ram, &in->r, err);

	if (!ret && in->settings.send_section_footer)
		ret = state_check_footer(&in->r, in->ram_section, err);
	if (ret)
		g_prefix_error(err, "section 'ram': ");
	return ret;
}

static int begin_ram(struct incoming *in, u32 id, u32 instance, u32 version, GError **err)
{
	if (instance || version > RAM_SECTION_VERSION || !version || in->ram_begun) {
		error_set(err,
			  "section 'ram': expected instance 0 of version %u once, got instance "
			  "%u of version %u",
			  RAM_SECTION_VERSION, instance, version);
		return -EINVAL;
	}
	in->ram_begun = true;
	in->ram_section = id;
	return ram_element(in, err);
}

static int load_device(struct incoming *in, const char *idstr, u32 instance, u32 version, u32 id,
		       GError **err)
{
	struct state_entry *e;
	int ret;

	machine_lock();
	in->r.drop_lock = true;
	e = state_registry_find(in->m->states, idstr, instance);
	if (e) {
		ret = state_load_entry(&in->r, e, version, id, in->settings.send_section_footer,
				       err);
	} else {
		error_set(err,
			  "section '%s' instance %u (version %u): this machine has no such "
			  "device",
			  idstr, instance, version);
		ret = -ENODEV;
	}
	in->r.drop_lock = false;
	machine_unlock();
	return ret;
}

static int begin_section(struct incoming *in, u8 type, GError **err)
{
	u32 id = state_get_be32(&in->r), instance, version;
	char idstr[256];

	state_get_cstr8(&in->r, idstr);
	instance = state_get_be32(&in->r);
	version = state_get_be32(&in->r);
	if (in->r.error)
		return -EINVAL;
	if (g_str_equal(idstr, "ram") && type == ELEM_SECTION_START)
		return begin_ram(in, id, instance, version, err);
	if (type == ELEM_SECTION_FULL)
		return load_device(in, idstr, instance, version, id, err);
	error_set(err, "section '%s' instance %u is sent in parts: only 'ram' is understood so",
		  idstr, instance);
	return -EINVAL;
}

static int continue_section(struct incoming *in, GError **err)
{
	u32 id = state_get_be32(&in->r);

	if (in->r.error)
		return -EINVAL;
	if (!in->ram_begun || id != in->ram_section) {
		error_set(err, "section %u goes on but was never begun", id);
		return -EINVAL;
	}
	return ram_element(in, err);
}

/* ---- commands ---- */

static int open_return_path(struct incoming *in, GError **err)
{
	if (!channel_bidirectional(in->ch)) {
		error_set(err, "the sender opens a return path, but this channel has none");
		return -ENOTSUP;
	}
	in->return_path = true;
	/* No device of ours needs more than RAM to agree to the switch-over. */
	return in->settings.caps[CAP_SWITCHOVER_ACK]
		       ? return_path_send(in->ch, RP_SWITCHOVER_ACK, NULL, 0, err)
		       : 0;
}

static int send_hello(struct incoming *in, GError **err)
{
	g_autofree char *text = NULL;
	size_t len;
	int ret = 0;

	machine_lock();
	text = peer_describe(in->m);
	machine_unlock();
	len = strlen(text);
	for (size_t at = 0; at < len && !ret; at += UINT16_MAX)
		ret = return_path_send(in->ch, RP_OWN_HELLO, text + at, MIN(len - at, UINT16_MAX),
				       err);
	return ret;
}

static int answer_ping(struct incoming *in, u32 value, GError **err)
{
	u32 be = GUINT32_TO_BE(value);
	int ret = 0;

	if (!in->return_path) {
		error_set(err, "a ping before the return path was opened");
		return -EINVAL;
	}
	if (value == PING_OWN) {
		in->peer_is_ours = true;
		/* The mismatch is told instead. */
		if (in->config_error)
			return 0;
		ret = send_hello(in, err);
	}
	return ret ? ret : return_path_send(in->ch, RP_PONG, &be, sizeof(be), err);
}

static int run_command(struct incoming *in, u16 cmd, u16 len, GError **err)
{
	static const struct {
		u16 cmd, len;
	} fixed[] = { { CMD_OPEN_RETURN_PATH, 0 },
		      { CMD_PING, 4 },
		      { CMD_SWITCHOVER_START, 0 },
		      { CMD_OWN_VERIFY, 0 } };
	char block[256];

	for (unsigned i = 0; i < ARRAY_SIZE(fixed); i++)
		if (cmd == fixed[i].cmd && len != fixed[i].len) {
			error_set(err, "command %u has %u bytes, expected %u", cmd, len,
				  fixed[i].len);
			return -EINVAL;
		}
	switch (cmd) {
	case CMD_OPEN_RETURN_PATH: return open_return_path(in, err);
	case CMD_PING: return answer_ping(in, state_get_be32(&in->r), err);
	case CMD_SWITCHOVER_START: return 0;
	}
	if (in->peer_is_ours && cmd == CMD_OWN_VERIFY)
		return verify_answer(in, err);
	if (in->peer_is_ours && cmd == CMD_OWN_VERIFY_BLOCK) {
		state_get_cstr8(&in->r, block);
		return in->r.error ? -EINVAL : verify_answer_block(in, block, err);
	}
	if (in->peer_is_ours && cmd == CMD_OWN_ERROR) {
		g_autofree char *text = state_get_text(&in->r, len);

		error_set(err, "the sender gave up: %s", text);
		return -EPROTO;
	}
	error_set(err,
		  "command %u (%u bytes) is not supported: post-copy, packages and COLO are not",
		  cmd, len);
	return -ENOTSUP;
}

static int load_command(struct incoming *in, GError **err)
{
	u16 cmd = state_get_be16(&in->r), len = state_get_be16(&in->r);

	return in->r.error ? -EINVAL : run_command(in, cmd, len, err);
}

static int load_element(struct incoming *in, u8 type, GError **err)
{
	switch (type) {
	case ELEM_SECTION_START:
	case ELEM_SECTION_FULL: return begin_section(in, type, err);
	case ELEM_SECTION_PART:
	case ELEM_SECTION_END: return continue_section(in, err);
	case ELEM_COMMAND: return load_command(in, err);
	default:
		error_set(err, "unknown element 0x%02x at byte %" PRIu64, type,
			  state_position(&in->r) - 1);
		return -EINVAL;
	}
}

static int load_elements(struct incoming *in, GError **err)
{
	for (;;) {
		u8 type = state_get_u8(&in->r);
		int ret;

		if (in->r.error)
			return -EINVAL;
		if (in->config_error && (type != ELEM_COMMAND || in->peer_is_ours)) {
			g_propagate_error(err, g_steal_pointer(&in->config_error));
			return -EINVAL;
		}
		if (type == ELEM_EOF)
			return 0;
		ret = load_element(in, type, err);
		if (ret || in->r.error)
			return stream_result(in, ret, err);
		if (in->config_error && in->peer_is_ours) {
			g_propagate_error(err, g_steal_pointer(&in->config_error));
			return -EINVAL;
		}
	}
}

int incoming_load(struct incoming *in, GError **err)
{
	int ret = load_header(in, err);

	if (!ret && in->settings.send_configuration) {
		u8 type = state_get_u8(&in->r);

		if (!in->r.error && type != ELEM_CONFIGURATION) {
			error_set(err,
				  "the sender sends no configuration (element 0x%02x): "
				  "is migration.send-configuration off there?",
				  type);
			return -EINVAL;
		}
		if (!in->r.error)
			ret = load_configuration(in, err);
	}
	if (!ret && !in->r.error)
		ret = load_elements(in, err);
	return stream_result(in, ret, err);
}
