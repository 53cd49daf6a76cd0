/*
 * migration/return-path.c - what the receiver tells the sender while the stream flows.
 *
 * A message is u16 type, u16 length, data, big-endian. Types beyond QEMU's come only from a
 * receiver that was asked by PING_OWN.
 */
#include "migration/return-path.h"

#include "migration/internal.h"
#include "migration/send-queue.h"
#include "util/error.h"

#define HELLO_MAX (4 * MiB)

int return_path_send(struct channel *ch, enum return_message type, const void *data, size_t len,
		     GError **err)
{
	u8 head[4] = { type >> 8, type, len >> 8, len };
	struct iovec iov[2] = { { head, sizeof(head) }, { (void *)data, len } };

	g_assert(len <= UINT16_MAX);
	return channel_writev(ch, iov, len ? 2 : 1, err);
}

static int expect_length(u16 type, u16 len, u16 want, GError **err)
{
	if (len == want)
		return 0;
	error_set(err, "return path message %u has %u bytes, expected %u", type, len, want);
	return -EINVAL;
}

static int take_block_hash(struct return_path *rp, struct state_reader *r, u16 len, GError **err)
{
	struct block_hash h;

	h.npages = state_get_be64(r);
	h.hash = state_get_be64(r);
	state_get_cstr8(r, h.block);
	if (len != 17 + strlen(h.block) || rp->block_hashes->len >= UINT16_MAX) {
		error_set(err, "malformed block hash on the return path");
		return -EINVAL;
	}
	g_array_append_val(rp->block_hashes, h);
	return 0;
}

static int take_page_hashes(struct return_path *rp, struct state_reader *r, u16 len, GError **err)
{
	u64 first = state_get_be64(r);

	if (len < 8 || len % 8 || first != rp->page_hashes->len) {
		error_set(err, "malformed page hashes on the return path");
		return -EINVAL;
	}
	for (u16 at = 8; at < len; at += 8) {
		u64 hash = state_get_be64(r);

		g_array_append_val(rp->page_hashes, hash);
	}
	return 0;
}

/* One message whose data is in the reader's buffer. Lock held. */
static int take_message(struct return_path *rp, struct state_reader *r, u16 type, u16 len,
			GError **err)
{
	u32 value;
	int ret = 0;

	switch (type) {
	case RP_SHUT:
		ret = expect_length(type, len, 4, err);
		rp->shut_status = state_get_be32(r);
		rp->shut_ns = monotonic_ns();
		rp->shut = true;
		return ret;
	case RP_PONG:
		ret = expect_length(type, len, 4, err);
		value = state_get_be32(r);
		rp->pong = true;
		rp->pong_own |= value == PING_OWN;
		return ret;
	case RP_SWITCHOVER_ACK: rp->switchover_ack = true; return expect_length(type, len, 0, err);
	case RP_OWN_HELLO:
		if (rp->hello->len + len > HELLO_MAX) {
			error_set(err, "the receiver's description exceeds %" PRIu64 " bytes",
				  HELLO_MAX);
			return -EINVAL;
		}
		g_string_append_len(rp->hello, (char *)r->buf + r->pos, len);
		state_skip(r, len);
		return 0;
	case RP_OWN_ERROR:
		g_free(rp->peer_error);
		rp->peer_error = state_get_text(r, len);
		return 0;
	case RP_OWN_BLOCK_HASH: return take_block_hash(rp, r, len, err);
	case RP_OWN_PAGE_HASHES: return take_page_hashes(rp, r, len, err);
	case RP_OWN_VERIFY_DONE: rp->verify_done = true; return expect_length(type, len, 0, err);
	default:
		error_set(err, "unknown message %u of %u bytes on the return path", type, len);
		return -EINVAL;
	}
}

static gpointer return_path_thread(gpointer data)
{
	struct return_path *rp = data;
	g_autoptr(GError) err = NULL;
	struct state_reader r;
	bool failed = false;

	state_reader_init(&r, rp->ch, 128 * KiB);
	while (!failed && state_peek(&r, 4) == 4) {
		u16 type = state_get_be16(&r), len = state_get_be16(&r);

		if (!state_fill(&r, len))
			break;
		g_mutex_lock(&rp->m->lock);
		failed = take_message(rp, &r, type, len, &err) != 0;
		if (failed && !rp->peer_error)
			rp->peer_error = g_strdup(err->message);
		failed |= rp->shut && rp->shut_status;
		g_cond_broadcast(&rp->m->changed);
		g_mutex_unlock(&rp->m->lock);
	}
	g_mutex_lock(&rp->m->lock);
	rp->ended = true;
	g_cond_broadcast(&rp->m->changed);
	g_mutex_unlock(&rp->m->lock);
	if (failed) /* wakes a writer that the receiver no longer reads */
		channel_cancel(rp->ch);
	state_reader_finish(&r);
	return NULL;
}

void return_path_start(struct return_path *rp, struct migration *m, struct channel *ch)
{
	rp->m = m;
	rp->ch = ch;
	rp->open = true;
	rp->hello = g_string_new(NULL);
	rp->block_hashes = g_array_new(FALSE, FALSE, sizeof(struct block_hash));
	rp->page_hashes = g_array_new(FALSE, FALSE, sizeof(u64));
	rp->thread = g_thread_new("mig-return-path", return_path_thread, rp);
}

void return_path_stop(struct return_path *rp)
{
	if (!rp->thread)
		return;
	g_thread_join(rp->thread);
	rp->thread = NULL;
	rp->open = false;
	g_string_free(rp->hello, TRUE);
	g_array_unref(rp->block_hashes);
	g_array_unref(rp->page_hashes);
	g_clear_pointer(&rp->peer_error, g_free);
}

bool return_path_wait(struct return_path *rp, const bool *flag, int timeout_ms)
{
	s64 end = g_get_monotonic_time() + timeout_ms * 1000LL;
	bool got;

	g_mutex_lock(&rp->m->lock);
	while (!*flag && !rp->ended) {
		if (timeout_ms < 0)
			g_cond_wait(&rp->m->changed, &rp->m->lock);
		else if (!g_cond_wait_until(&rp->m->changed, &rp->m->lock, end))
			break;
	}
	got = *flag;
	g_mutex_unlock(&rp->m->lock);
	return got;
}

bool return_path_error(struct return_path *rp, GError **err)
{
	bool failed;

	if (!rp->open)
		return false;
	g_mutex_lock(&rp->m->lock);
	failed = rp->peer_error || (rp->shut && rp->shut_status);
	if (rp->peer_error)
		error_set(err, "the receiver failed: %s", rp->peer_error);
	else if (failed)
		error_set(err, "the receiver failed with status %u; its own log says why",
			  rp->shut_status);
	g_mutex_unlock(&rp->m->lock);
	return failed;
}
