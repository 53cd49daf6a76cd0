/*
 * tests/unit/net/helper.h - a NIC that records frames, and making back ends from text.
 */
#ifndef TESTS_UNIT_NET_HELPER_H
#define TESTS_UNIT_NET_HELPER_H

#include "net/net.h"
#include "util/iov.h"
#include "util/keyval.h"
#include "util/lock.h"
#include "util/main-loop.h"

struct nic {
	struct net_client *nc;
	GPtrArray *frames; /* of GBytes */
	bool full;         /* takes nothing */
	int ready;         /* calls of peer_ready() */
	int link_changes;
};

static inline bool nic_receive(struct net_client *nc, const struct iovec *iov, int niov)
{
	struct nic *n = nc->opaque;
	size_t len = iov_size(iov, niov);
	u8 *copy;

	if (n->full)
		return false;
	copy = g_malloc(len);
	iov_to_buf(iov, niov, 0, copy, len);
	g_ptr_array_add(n->frames, g_bytes_new_take(copy, len));
	return true;
}

static inline void nic_ready(struct net_client *nc)
{
	((struct nic *)nc->opaque)->ready++;
}

static inline void nic_link(struct net_client *nc)
{
	((struct nic *)nc->opaque)->link_changes++;
}

static const struct net_client_ops nic_test_ops = {
	.type = "nic",
	.receive = nic_receive,
	.peer_ready = nic_ready,
	.link_changed = nic_link,
};

static inline struct nic *nic_new(const char *netdev)
{
	const struct net_nic_names names = { .model = "test", .netdev = netdev };
	struct nic *n = g_new0(struct nic, 1);
	g_autoptr(GError) err = NULL;
	u8 mac[6] = { 0 };

	n->frames = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
	n->nc = net_nic_create(&nic_test_ops, &names, mac, n, &err);
	g_assert_no_error(err);
	return n;
}

static inline void nic_free(struct nic *n)
{
	net_client_free(n->nc);
	g_ptr_array_unref(n->frames);
	g_free(n);
}

static inline const u8 *nic_frame(struct nic *n, guint i, size_t *len)
{
	g_assert_cmpuint(i, <, n->frames->len);
	return g_bytes_get_data(n->frames->pdata[i], len);
}

static inline void expect_frame(struct nic *n, guint i, const void *want, size_t len)
{
	size_t got_len;
	const u8 *got = nic_frame(n, i, &got_len);

	g_assert_cmpmem(got, got_len, want, len);
}

static inline struct net_client *netdev_try(const char *text, GError **err)
{
	g_autoptr(JsonObject) o = keyval_parse(text, "type", err);

	return o ? net_netdev_create(o, err) : NULL;
}

static inline struct net_client *netdev_ok(const char *text)
{
	g_autoptr(GError) err = NULL;
	struct net_client *nc = netdev_try(text, &err);

	g_assert_no_error(err);
	return nc;
}

static inline void netdev_drop(const char *id)
{
	g_autoptr(GError) err = NULL;

	net_netdev_remove(id, &err);
	g_assert_no_error(err);
}

static inline void expect_error(GError *err, const char *part)
{
	g_assert_nonnull(err);
	if (!strstr(err->message, part))
		g_error("the message '%s' does not say '%s'", err->message, part);
}

static inline void refuse_netdev(const char *text, const char *part)
{
	g_autoptr(GError) err = NULL;

	g_assert_null(netdev_try(text, &err));
	expect_error(err, part);
	g_assert_null(net_find("r"));
}

static inline gboolean tick(gpointer unused)
{
	return G_SOURCE_CONTINUE;
}

#define pump_until(cond)                                                                           \
	do {                                                                                       \
		s64 end_ = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;                           \
		guint id_ = g_timeout_add(2, tick, NULL);                                          \
		while (!(cond) && g_get_monotonic_time() < end_)                                   \
			main_loop_iterate(true);                                                   \
		g_source_remove(id_);                                                              \
		g_assert_true(cond);                                                               \
	} while (0)

#endif
