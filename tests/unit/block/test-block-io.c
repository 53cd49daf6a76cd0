/* Requests on images: every engine against a model, odd sizes, O_DIRECT, snapshots. */
#include "tests/unit/block/helper.h"

#include <signal.h>
#include <sys/resource.h>

char *test_dir;

#define IMAGE_SIZE (1024 * 1024)
#define IN_FLIGHT  16

struct random_request {
	enum { READ, WRITE, ZEROES, DISCARD, FLUSH } op;
	u64 offset;
	size_t len;
	u8 *buf;
	int ret;
	bool used;
};

/* Offsets and lengths in bytes of @unit; requests in flight never overlap. */
static void pick(GRand *rand, struct random_request *r, const struct random_request *all,
		 unsigned unit)
{
	bool clash;

	r->op = g_rand_int_range(rand, READ, FLUSH + 1);
	do {
		clash = false;
		r->offset = (u64)g_rand_int_range(rand, 0, IMAGE_SIZE / unit) * unit;
		r->len = g_rand_int_range(rand, 1, 40000 / unit) * unit;
		r->len = MIN(r->len, IMAGE_SIZE - r->offset);
		for (int i = 0; i < IN_FLIGHT; i++) {
			const struct random_request *o = &all[i];

			clash |= o != r && o->used && r->offset < o->offset + o->len &&
				 o->offset < r->offset + r->len;
		}
	} while (clash);
}

static void start(GRand *rand, struct block_backend *b, struct random_request *r, u8 *model)
{
	struct iovec v[3];
	const struct block_span span = { r->offset, v, 3 };
	size_t cut = r->len / 3;

	r->used = true;
	r->ret = PENDING;
	/* An odd address: O_DIRECT must bounce. */
	r->buf = (u8 *)g_malloc(r->len + 1) + 1;
	v[0] = (struct iovec){ r->buf, cut };
	v[1] = (struct iovec){ r->buf + cut, 0 };
	v[2] = (struct iovec){ r->buf + cut, r->len - cut };
	switch (r->op) {
	case READ: block_readv(b, &span, on_done, &r->ret); break;
	case WRITE:
		for (size_t i = 0; i < r->len; i++)
			r->buf[i] = g_rand_int(rand);
		memcpy(model + r->offset, r->buf, r->len);
		block_writev(b, &span, g_rand_boolean(rand) ? BLOCK_FUA : 0, on_done, &r->ret);
		break;
	case ZEROES:
		memset(model + r->offset, 0, r->len);
		block_write_zeroes(b, r->offset, r->len, g_rand_boolean(rand) ? BLOCK_MAY_UNMAP : 0,
				   on_done, &r->ret);
		break;
	/* Nodes of this test ignore discards, so the content stays. */
	case DISCARD: block_discard(b, r->offset, r->len, on_done, &r->ret); break;
	case FLUSH: block_flush(b, on_done, &r->ret); break;
	}
}

static void finish(struct random_request *r, const u8 *model)
{
	g_assert_cmpint(r->ret, ==, 0);
	if (r->op == READ)
		g_assert_cmpmem(r->buf, r->len, model + r->offset, r->len);
	g_free(r->buf - 1);
	r->used = false;
}

static void run_random(struct block_backend *b, unsigned unit, int rounds)
{
	GRand *rand = g_rand_new_with_seed(g_test_rand_int());
	g_autofree u8 *model = g_malloc(IMAGE_SIZE);
	struct random_request r[IN_FLIGHT] = { 0 };
	g_autofree u8 *back = g_malloc(IMAGE_SIZE);

	g_assert_cmpint(do_read(b, 0, model, IMAGE_SIZE), ==, 0);
	for (int n = 0; n < rounds; n++) {
		struct random_request *one = &r[g_rand_int_range(rand, 0, IN_FLIGHT)];

		if (one->used) {
			wait_done(&one->ret);
			finish(one, model);
		}
		pick(rand, one, r, unit);
		start(rand, b, one, model);
	}
	block_drain(b);
	for (int i = 0; i < IN_FLIGHT; i++) {
		if (r[i].used)
			finish(&r[i], model);
	}
	g_assert_cmpint(block_pread(b, 0, back, IMAGE_SIZE), ==, 0);
	g_assert_cmpmem(back, IMAGE_SIZE, model, IMAGE_SIZE);
	g_rand_free(rand);
}

struct random_case {
	const char *opts;
	unsigned unit;
	bool direct;
};

static bool has_direct_io(void)
{
	g_autofree char *path = make_image("probe", 4096);
	int fd = open(path, O_RDONLY | O_DIRECT);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void test_random(gconstpointer data)
{
	const struct random_case *c = data;
	g_autofree char *path = make_image("random", IMAGE_SIZE);
	struct block_backend *b;

	if (c->direct && !has_direct_io()) {
		g_test_skip("the temporary directory has no O_DIRECT");
		return;
	}
	b = node_ok(g_strdup_printf("driver=raw,node-name=r,file.driver=file,file.filename=%s,%s",
				    path, c->opts));
	run_random(b, c->unit, 400);
	node_drop("r");
}

/* With offset= and size= the node is a window; nothing outside of it changes. */
static void test_window(void)
{
	g_autofree char *path = make_image("window", IMAGE_SIZE + 8192);
	g_autofree char *before = NULL, *after = NULL;
	struct block_backend *b;
	gsize len;

	g_assert_true(g_file_get_contents(path, &before, NULL, NULL));
	b = node_ok(g_strdup_printf("driver=raw,node-name=r,file.driver=file,file.filename=%s,"
				    "offset=4096,size=1M",
				    path));
	g_assert_cmpuint(block_size(b), ==, IMAGE_SIZE);
	run_random(b, 512, 100);
	node_drop("r");
	g_assert_true(g_file_get_contents(path, &after, &len, NULL));
	g_assert_cmpuint(len, ==, IMAGE_SIZE + 8192);
	g_assert_cmpmem(before, 4096, after, 4096);
	g_assert_cmpmem(before + IMAGE_SIZE + 4096, 4096, after + IMAGE_SIZE + 4096, 4096);
}

/* 1000 bytes are two sectors; the rest reads as zeroes, with and without O_DIRECT. */
static void test_odd_size(gconstpointer opts)
{
	g_autofree char *path = make_image("odd", 1000);
	g_autofree char *text = NULL;
	struct block_backend *b;
	u8 buf[1024];
	struct stat st;

	if (strstr(opts, "direct") && !has_direct_io()) {
		g_test_skip("the temporary directory has no O_DIRECT");
		return;
	}
	b = node_ok(g_strdup_printf("driver=file,node-name=o,filename=%s,%s", path,
				    (const char *)opts));
	g_assert_cmpuint(block_size(b), ==, 1024);
	memset(buf, 0xee, sizeof(buf));
	g_assert_cmpint(do_read(b, 0, buf, 1024), ==, 0);
	g_assert_cmpuint(buf[999], ==, (u8)(999 * 7 >> 4));
	for (int i = 1000; i < 1024; i++)
		g_assert_cmpuint(buf[i], ==, 0);
	g_assert_cmpint(do_write(b, 512, buf, 512), ==, 0);
	g_assert_cmpint(do_read(b, 512, buf + 512, 512), ==, 0);
	g_assert_cmpmem(buf, 512, buf + 512, 512);
	g_assert_cmpint(do_read(b, 512, buf, 1024), ==, -EIO);
	g_assert_cmpint(do_read(b, UINT64_MAX - 511, buf, 512), ==, -EIO);
	node_drop("o");
	/* O_DIRECT wrote whole units, and the file did not grow beyond its last sector. */
	g_assert_cmpint(stat(path, &st), ==, 0);
	g_assert_cmpint(st.st_size, ==, 1024);
}

/* Somebody cut the file while it was open: reads give zeroes, writes bring it back. */
static void test_cut_off(gconstpointer opts)
{
	g_autofree char *path = make_image("cut", 65536);
	struct block_backend *b = node_ok(g_strdup_printf("driver=file,node-name=c,filename=%s,%s",
							  path, (const char *)opts));
	u8 buf[8192];

	g_assert_cmpint(truncate(path, 10000), ==, 0);
	g_assert_cmpint(do_read(b, 8192, buf, sizeof(buf)), ==, 0);
	g_assert_cmpuint(buf[1800], ==, (u8)((8192 + 1800) * 7 >> 4));
	g_assert_cmpuint(buf[1809], ==, 0);
	g_assert_cmpuint(buf[8191], ==, 0);
	memset(buf, 0x11, sizeof(buf));
	g_assert_cmpint(do_write(b, 32768, buf, 512), ==, 0);
	g_assert_cmpint(do_read(b, 32768, buf + 512, 512), ==, 0);
	g_assert_cmpmem(buf, 512, buf + 512, 512);
	node_drop("c");
}

static void test_read_only(void)
{
	g_autofree char *path = make_image("ro", 4096);
	struct block_backend *b =
		node_ok(g_strdup_printf("driver=file,node-name=ro,read-only=on,filename=%s", path));
	struct block_stats s;
	u8 buf[512] = { 0 };
	int ret = PENDING;

	g_assert_cmpint(do_write(b, 0, buf, 512), ==, -EROFS);
	g_assert_cmpint(block_pwrite(b, 0, buf, 512), ==, -EROFS);
	block_write_zeroes(b, 0, 512, 0, on_done, &ret);
	g_assert_cmpint(wait_done(&ret), ==, -EROFS);
	g_assert_cmpint(do_flush(b), ==, 0);
	g_assert_cmpint(do_read(b, 0, buf, 512), ==, 0);
	block_get_stats(b, &s);
	g_assert_cmpuint(s.invalid[BLOCK_OP_WRITE], ==, 3);
	g_assert_cmpuint(s.operations[BLOCK_OP_READ], ==, 1);
	g_assert_cmpuint(s.bytes[BLOCK_OP_READ], ==, 512);
	g_assert_cmpuint(s.operations[BLOCK_OP_FLUSH], ==, 1);
	node_drop("ro");
}

/* The host's errno reaches the device, and the next request is served again. */
static void test_host_error(gconstpointer opts)
{
	g_autofree char *path = make_image("full", IMAGE_SIZE);
	struct block_backend *b = node_ok(g_strdup_printf("driver=file,node-name=f,filename=%s,%s",
							  path, (const char *)opts));
	struct rlimit old, small;
	struct block_stats s;
	u8 buf[512] = { 1 };

	g_assert_cmpint(truncate(path, 0), ==, 0);
	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &old), ==, 0);
	small = old;
	small.rlim_cur = 65536;
	signal(SIGXFSZ, SIG_IGN);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &small), ==, 0);
	g_assert_cmpint(do_write(b, 131072, buf, 512), ==, -EFBIG);
	g_assert_cmpint(do_write(b, 0, buf, 512), ==, 0);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &old), ==, 0);
	block_get_stats(b, &s);
	g_assert_cmpuint(s.failed[BLOCK_OP_WRITE], ==, 1);
	g_assert_cmpuint(s.operations[BLOCK_OP_WRITE], ==, 1);
	g_assert_cmpuint(s.wr_highest_offset, ==, 512);
	node_drop("f");
}

static void test_snapshot(void)
{
	g_autofree char *path = make_image("snap", IMAGE_SIZE);
	g_autofree char *before = NULL, *after = NULL;
	struct block_backend *b;
	u8 part[3] = { 1, 2, 3 }, back[5];

	g_assert_true(g_file_get_contents(path, &before, NULL, NULL));
	b = drive_ok(g_strdup_printf("if=none,id=snap,snapshot=on,format=raw,file=%s", path));
	g_assert_false(block_read_only(b));
	run_random(b, 512, 300);
	/* Flash writes bytes. */
	g_assert_cmpint(block_pwrite(b, 1023, part, 3), ==, 0);
	g_assert_cmpint(block_pread(b, 1022, back, 5), ==, 0);
	g_assert_cmpmem(back + 1, 3, part, 3);
	g_assert_true(g_file_get_contents(path, &after, NULL, NULL));
	g_assert_cmpmem(before, IMAGE_SIZE, after, IMAGE_SIZE);
}

static void test_zeroes_and_discard(void)
{
	g_autofree char *path = make_image("trim", IMAGE_SIZE);
	struct block_backend *b =
		node_ok(g_strdup_printf("driver=raw,node-name=t,discard=unmap,detect-zeroes=unmap,"
					"file.driver=file,file.filename=%s",
					path));
	g_autofree u8 *zero = g_malloc0(IMAGE_SIZE);
	struct stat full, holes;
	int ret = PENDING;

	g_assert_true(block_can_discard(b));
	g_assert_cmpint(do_flush(b), ==, 0);
	g_assert_cmpint(stat(path, &full), ==, 0);
	block_discard(b, 0, IMAGE_SIZE / 2, on_done, &ret);
	g_assert_cmpint(wait_done(&ret), ==, 0);
	g_assert_cmpint(stat(path, &holes), ==, 0);
	g_assert_cmpint(holes.st_blocks, <, full.st_blocks);
	/* A write of zeroes makes a hole too. */
	g_assert_cmpint(do_write(b, IMAGE_SIZE / 2, zero, IMAGE_SIZE / 2), ==, 0);
	g_assert_cmpint(stat(path, &full), ==, 0);
	g_assert_cmpint(full.st_blocks, <, holes.st_blocks);
	g_assert_cmpint(full.st_size, ==, IMAGE_SIZE);
	node_drop("t");
}

static void count_done(void *opaque, int ret)
{
	g_assert_cmpint(ret, ==, 0);
	g_assert_true(machine_lock_held());
	++*(int *)opaque;
}

static void test_drain(gconstpointer opts)
{
	g_autofree char *path = make_image("drain", IMAGE_SIZE);
	struct block_backend *b = node_ok(g_strdup_printf("driver=file,node-name=d,filename=%s,%s",
							  path, (const char *)opts));
	g_autofree u8 *buf = g_malloc0(IMAGE_SIZE);
	int done = 0;

	block_plug();
	for (int i = 0; i < 600; i++) {
		struct iovec v = { buf + i * 512, 512 };
		const struct block_span span = { i * 512, &v, 1 };

		block_writev(b, &span, 0, count_done, &done);
	}
	block_unplug();
	g_assert_cmpint(done, ==, 0);
	block_drain(b);
	g_assert_cmpint(done, ==, 600);
	g_assert_cmpint(block_flush_all(), ==, 0);
	node_drop("d");
}

static void test_null(void)
{
	struct block_backend *b = node_ok(g_strdup("driver=null-co,node-name=n,size=1M"));
	u8 buf[512];

	memset(buf, 1, sizeof(buf));
	g_assert_cmpuint(block_size(b), ==, IMAGE_SIZE);
	g_assert_cmpint(do_write(b, 0, buf, 512), ==, 0);
	g_assert_cmpint(do_read(b, 0, buf, 512), ==, 0);
	g_assert_cmpuint(buf[0] | buf[511], ==, 0);
	g_assert_cmpint(do_read(b, IMAGE_SIZE, buf, 512), ==, -EIO);
	node_drop("n");
}

int main(int argc, char **argv)
{
	static const struct random_case cases[] = {
		{ "file.aio=threads", 512, false },
		{ "file.aio=io_uring", 512, false },
		{ "file.aio=threads", 1, false },
		{ "file.aio=threads,cache.direct=on", 512, true },
		{ "cache.direct=on", 1, true },
		{ "file.aio=native,cache.direct=on", 4096, true },
		{ "file.aio=io_uring,cache.direct=on", 512, true },
		{ "cache.no-flush=on,detect-zeroes=on", 512, false },
	};
	int ret;

	g_test_init(&argc, &argv, NULL);
	test_dir = g_dir_make_tmp("block-XXXXXX", NULL);
	main_loop_init();
	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *name =
			g_strdup_printf("/block/random/%s,unit=%u", cases[i].opts, cases[i].unit);

		g_test_add_data_func(name, &cases[i], test_random);
	}
	g_test_add_func("/block/window", test_window);
	g_test_add_data_func("/block/odd-size/threads", "aio=threads", test_odd_size);
	g_test_add_data_func("/block/odd-size/io_uring", "aio=io_uring", test_odd_size);
	g_test_add_data_func("/block/odd-size/direct", "cache.direct=on", test_odd_size);
	g_test_add_data_func("/block/cut-off/threads", "aio=threads", test_cut_off);
	g_test_add_data_func("/block/cut-off/io_uring", "aio=io_uring", test_cut_off);
	g_test_add_func("/block/read-only", test_read_only);
	g_test_add_data_func("/block/host-error/threads", "aio=threads", test_host_error);
	g_test_add_data_func("/block/host-error/io_uring", "aio=io_uring", test_host_error);
	g_test_add_func("/block/snapshot", test_snapshot);
	g_test_add_func("/block/zeroes-and-discard", test_zeroes_and_discard);
	g_test_add_data_func("/block/drain/threads", "aio=threads", test_drain);
	g_test_add_data_func("/block/drain/io_uring", "aio=io_uring", test_drain);
	g_test_add_func("/block/null", test_null);
	ret = g_test_run();
	g_autofree char *rm = g_strdup_printf("rm -r '%s'", test_dir);

	return g_spawn_command_line_sync(rm, NULL, NULL, NULL, NULL) ? ret : 1;
}
