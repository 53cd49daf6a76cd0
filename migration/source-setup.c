/*
 * migration/source-setup.c - before the guest is touched: connection, header, agreement.
 */
#include "migration/source.h"

#include "migration/stream.h"
#include "util/error.h"
#include "util/lock.h"

/* How long a receiver may take to answer. One of another kind may not answer at all when its
 * channel has no way back, so silence only means that nothing private is sent. */
#define HELLO_TIMEOUT_MS 3000

static int put_header(struct source *s, GError **err)
{
	struct state_writer w;
	int ret = 0;

	state_writer_init(&w);
	state_put_be32(&w, STREAM_MAGIC);
	state_put_be32(&w, STREAM_VERSION);
	if (s->settings.send_configuration) {
		struct configuration c;

		configuration_fill(&c, s->m, &s->settings);
		state_put_u8(&w, ELEM_CONFIGURATION);
		ret = state_save_object(&w, &configuration_state, &c, NULL, err);
	}
	if (!ret)
		ret = send_queue_put(&s->q, w.buf->data, w.buf->len, err);
	state_writer_finish(&w);
	return ret;
}

static int ping(struct source *s, u32 value, GError **err)
{
	u32 be = GUINT32_TO_BE(value);

	return source_command(s, CMD_PING, &be, sizeof(be), err);
}

/* Who watches the receiver only is told the cause too, and not that the stream ends early. */
static void tell_receiver(struct source *s, const GError *error)
{
	size_t len = MIN(strlen(error->message), UINT16_MAX);

	if (!source_command(s, CMD_OWN_ERROR, error->message, len, NULL))
		send_queue_flush(&s->q, NULL);
}

/* Asks the receiver what it is; one of our kind answers with its description. */
static int meet_receiver(struct source *s, GError **err)
{
	int ret = source_command(s, CMD_OPEN_RETURN_PATH, NULL, 0, err);
	g_autofree char *hello = NULL;

	if (!ret)
		ret = ping(s, PING_SETUP, err);
	if (!ret)
		ret = ping(s, PING_OWN, err);
	if (!ret)
		ret = send_queue_flush(&s->q, err);
	if (ret)
		return ret;
	if (!return_path_wait(&s->rp, &s->rp.pong_own, HELLO_TIMEOUT_MS) &&
	    s->settings.caps[CAP_RETURN_PATH] && !return_path_error(&s->rp, err)) {
		error_set(err, "the receiver does not answer on the return path");
		return -ETIMEDOUT;
	}
	if (err && *err)
		return -EPROTO;
	g_mutex_lock(&s->m->lock);
	if (s->rp.hello->len)
		hello = g_strdup(s->rp.hello->str);
	g_mutex_unlock(&s->m->lock);
	if (return_path_error(&s->rp, err))
		return -EPROTO;
	if (!hello)
		return 0;
	s->peer_is_ours = true;
	ret = peer_check(s, hello, err);
	if (ret)
		tell_receiver(s, *err);
	return ret;
}

int source_setup(struct source *s, GError **err)
{
	bool wanted = s->settings.caps[CAP_RETURN_PATH];
	int ret = 0;

	if (s->address->transport == TRANSPORT_SOCKET)
		ret = channel_connect(s->ch, s->address->socket, err);
	if (ret)
		return ret;
	if (wanted && !channel_bidirectional(s->ch)) {
		error_set(err, "capability 'return-path' needs a socket: this transport has only "
			       "one direction");
		return -ENOTSUP;
	}
	ret = put_header(s, err);
	if (ret)
		return ret;
	if (channel_bidirectional(s->ch) && !s->settings.return_path_off) {
		return_path_start(&s->rp, s->m, s->ch);
		ret = meet_receiver(s, err);
	}
	if (!ret && s->settings.caps[CAP_VERIFY] && !s->peer_is_ours) {
		error_set(err, "capability 'x-verify' needs a receiver of the same kind behind a "
			       "return path");
		ret = -ENOTSUP;
	}
	return ret;
}
