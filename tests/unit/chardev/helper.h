/*
 * tests/unit/chardev/helper.h - a front end that records, and waiting with a deadline.
 */
#ifndef TESTS_UNIT_CHARDEV_HELPER_H
#define TESTS_UNIT_CHARDEV_HELPER_H

#include "chardev/char.h"
#include "util/keyval.h"
#include "util/lock.h"
#include "util/main-loop.h"

struct recorder {
	GString *got;
	GString *events; /* a letter each: O C B I(in) U(out) */
	size_t room;
	struct chardev_fe *fe;
};

static size_t recorder_room(void *opaque)
{
	struct recorder *r = opaque;

	return r->room;
}

static void recorder_receive(void *opaque, const u8 *buf, size_t len)
{
	struct recorder *r = opaque;

	g_assert_cmpuint(len, <=, r->room);
	g_string_append_len(r->got, (const char *)buf, len);
}

static void recorder_event(void *opaque, enum chardev_event event)
{
	struct recorder *r = opaque;

	g_string_append_c(r->events, "OCBIU"[event]);
}

static inline struct recorder *recorder_new(struct chardev *c, size_t room)
{
	struct recorder *r = g_new0(struct recorder, 1);
	const struct chardev_frontend fe = {
		.can_receive = recorder_room,
		.receive = recorder_receive,
		.event = recorder_event,
		.opaque = r,
	};
	g_autoptr(GError) err = NULL;

	r->got = g_string_new(NULL);
	r->events = g_string_new(NULL);
	r->room = room;
	r->fe = chardev_attach(c, &fe, &err);
	g_assert_no_error(err);
	return r;
}

static inline void recorder_free(struct recorder *r)
{
	chardev_detach(r->fe);
	g_string_free(r->got, TRUE);
	g_string_free(r->events, TRUE);
	g_free(r);
}

/* Runs the main loop until @cond; fails after ten seconds. */
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

static inline void pump(void)
{
	while (g_main_context_pending(NULL))
		main_loop_iterate(false);
}

static inline struct chardev *make(const char *id, const char *text, GError **err)
{
	g_autoptr(JsonObject) o = keyval_parse(text, "backend", err);

	return o ? chardev_create(id, o, err) : NULL;
}

static inline struct chardev *make_ok(const char *id, const char *text)
{
	g_autoptr(GError) err = NULL;
	struct chardev *c = make(id, text, &err);

	g_assert_no_error(err);
	g_assert_nonnull(c);
	return c;
}

/* Creation fails with a message that holds @part. */
static inline void expect_refused(const char *text, const char *part)
{
	g_autoptr(GError) err = NULL;
	struct chardev *c = make("refused", text, &err);

	g_assert_null(c);
	g_assert_nonnull(err);
	if (!strstr(err->message, part))
		g_error("'%s' was refused with '%s', which does not say '%s'", text, err->message,
			part);
	g_assert_null(chardev_find("refused"));
}

#endif
