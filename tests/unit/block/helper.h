/*
 * tests/unit/block/helper.h - images in a temporary directory, and requests that are waited for.
 */
#ifndef TESTS_UNIT_BLOCK_HELPER_H
#define TESTS_UNIT_BLOCK_HELPER_H

#include "block/block.h"
#include "util/keyval.h"
#include "util/lock.h"
#include "util/main-loop.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

extern char *test_dir;

/* A file of @size bytes: byte i is i * 7 >> 4 (sparse if @hole). */
static inline char *make_image(const char *name, size_t size)
{
	char *path = g_build_filename(test_dir, name, NULL);
	g_autofree u8 *bytes = g_malloc(size);

	for (size_t i = 0; i < size; i++)
		bytes[i] = i * 7 >> 4;
	g_assert_true(g_file_set_contents(path, (char *)bytes, size, NULL));
	return path;
}

static inline JsonObject *parse_opts(char *text)
{
	g_autoptr(GError) err = NULL;
	JsonObject *o = keyval_parse(text, NULL, &err);

	g_assert_no_error(err);
	g_free(text);
	return o;
}

static inline struct block_backend *node_try(char *text, GError **err)
{
	g_autoptr(JsonObject) o = parse_opts(text);

	return block_node_create(o, err);
}

static inline struct block_backend *node_ok(char *text)
{
	g_autoptr(GError) err = NULL;
	struct block_backend *b = node_try(text, &err);

	g_assert_no_error(err);
	g_assert_nonnull(b);
	return b;
}

static inline void node_drop(const char *name)
{
	g_autoptr(GError) err = NULL;

	block_node_remove(name, &err);
	g_assert_no_error(err);
}

static inline struct block_drive *drive_try(char *text, GError **err)
{
	g_autoptr(JsonObject) o = parse_opts(text);

	return block_drive_create(o, BLOCK_IF_VIRTIO, false, err);
}

static inline struct block_backend *drive_ok(char *text)
{
	g_autoptr(GError) err = NULL;
	struct block_drive *d = drive_try(text, &err);

	g_assert_no_error(err);
	return d->backend;
}

static inline void expect_error(GError *err, const char *part)
{
	g_assert_nonnull(err);
	if (!strstr(err->message, part))
		g_error("the message '%s' does not say '%s'", err->message, part);
}

static inline void on_done(void *opaque, int ret)
{
	*(int *)opaque = ret;
}

#define PENDING 12345

/* Runs the main loop until the request is done. */
static inline int wait_done(int *ret)
{
	while (*ret == PENDING)
		main_loop_iterate(true);
	return *ret;
}

static inline int do_read(struct block_backend *b, u64 offset, void *buf, size_t len)
{
	struct iovec v = { buf, len };
	const struct block_span span = { offset, &v, 1 };
	int ret = PENDING;

	block_readv(b, &span, on_done, &ret);
	g_assert_cmpint(ret, ==, PENDING); /* never before the call returned */
	return wait_done(&ret);
}

static inline int do_write(struct block_backend *b, u64 offset, const void *buf, size_t len)
{
	struct iovec v = { (void *)buf, len };
	const struct block_span span = { offset, &v, 1 };
	int ret = PENDING;

	block_writev(b, &span, 0, on_done, &ret);
	g_assert_cmpint(ret, ==, PENDING);
	return wait_done(&ret);
}

static inline int do_flush(struct block_backend *b)
{
	int ret = PENDING;

	block_flush(b, on_done, &ret);
	return wait_done(&ret);
}

#endif
