/* qcow2 nodes: taken and given back, host errors, many requests at once. qemu-img is the judge. */
#include "tests/unit/block/helper.h"

#include <signal.h>
#include <sys/resource.h>

char *test_dir;

static const struct block_user user = { .qdev = "test" };

static bool run(char *command)
{
	g_autofree char *text = command, *out = NULL, *errors = NULL;
	int status;

	g_assert_true(g_spawn_command_line_sync(text, &out, &errors, &status, NULL));
	if (status)
		g_test_message("%s: %s%s", text, out, errors);
	return !status;
}

static char *create(const char *opts, const char *size)
{
	char *path = g_build_filename(test_dir, "q", NULL);

	g_assert_true(run(
		g_strdup_printf("qemu-img create -q -f qcow2 -o %s '%s' %s", opts, path, size)));
	return path;
}

static struct block_backend *open_image(const char *path)
{
	return node_ok(g_strdup_printf("driver=qcow2,node-name=q,discard=unmap,file.driver=file,"
				       "file.filename=%s",
				       path));
}

static void attach(struct block_backend *b)
{
	g_autoptr(GError) err = NULL;

	block_attach(b, &user, true, &err);
	g_assert_no_error(err);
}

/* Between two users of a node somebody else may change the file. */
static void test_reattach(void)
{
	g_autofree char *path = create("cluster_size=4096", "1M");
	struct block_backend *b = open_image(path);
	u8 buf[512];

	g_assert_cmpint(do_read(b, 0, buf, sizeof(buf)), ==, -ENOMEDIUM);
	attach(b);
	memset(buf, 0x11, sizeof(buf));
	g_assert_cmpint(do_write(b, 0, buf, sizeof(buf)), ==, 0);
	/* Locked while in use. */
	g_assert_false(run(g_strdup_printf("qemu-io -f qcow2 -c 'write -P 7 0 512' '%s'", path)));
	block_detach(b);
	g_assert_true(run(g_strdup_printf("qemu-io -f qcow2 -c 'read -P 0x11 0 512' -c "
					  "'write -P 0x22 4096 512' '%s'",
					  path)));
	g_assert_true(run(g_strdup_printf("qemu-img resize -q -f qcow2 '%s' 2M", path)));
	attach(b);
	g_assert_cmpint(do_read(b, 4096, buf, sizeof(buf)), ==, 0);
	g_assert_cmpuint(buf[0], ==, 0x22);
	g_assert_cmpuint(block_size(b), ==, 2 * MiB);
	block_detach(b);
	node_drop("q");
	g_assert_true(run(g_strdup_printf("qemu-img check '%s'", path)));
}

/* The host has no room: the request fails, nothing else is harmed, and later it works. */
static void test_no_room(void)
{
	g_autofree char *path = create("cluster_size=65536", "8M");
	struct block_backend *b = open_image(path);
	struct rlimit old, low = { .rlim_cur = MiB };
	g_autofree u8 *buf = g_malloc(2 * MiB);

	memset(buf, 0x33, 2 * MiB);
	attach(b);
	g_assert_cmpint(do_write(b, 0, buf, 65536), ==, 0);
	getrlimit(RLIMIT_FSIZE, &old);
	low.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &low);
	g_assert_cmpint(do_write(b, 65536, buf, 2 * MiB), ==, -EFBIG);
	g_assert_cmpint(do_flush(b), ==, 0);
	setrlimit(RLIMIT_FSIZE, &old);
	g_assert_cmpint(do_read(b, 65536, buf, 512), ==, 0);
	g_assert_cmpuint(buf[0], ==, 0);
	memset(buf, 0x44, 512);
	g_assert_cmpint(do_write(b, 65536, buf, 2 * MiB), ==, 0);
	block_detach(b);
	node_drop("q");
	g_assert_true(run(g_strdup_printf("qemu-img check '%s'", path)));
	g_assert_true(run(g_strdup_printf("qemu-io -f qcow2 -c 'read -P 0x33 0 64k' -c "
					  "'read -P 0x44 64k 512' '%s'",
					  path)));
}

/* Requests for one cluster at once: each sector has what was written there. */
static void test_same_cluster(void)
{
	enum { WRITERS = 64 };
	g_autofree char *path = create("cluster_size=65536", "8M");
	struct block_backend *b = open_image(path);
	g_autofree u8 *bufs = g_malloc(WRITERS * 512), *back = g_malloc(WRITERS * 512);
	int rets[WRITERS];

	attach(b);
	for (int round = 0; round < 20; round++) {
		u64 at = (u64)round * 65536 * 2 + 32768;

		for (int i = 0; i < WRITERS; i++) {
			struct iovec v = { bufs + i * 512, 512 };
			const struct block_span span = { at + i * 512, &v, 1 };

			memset(v.iov_base, i + 1, 512);
			rets[i] = PENDING;
			block_writev(b, &span, 0, on_done, &rets[i]);
		}
		for (int i = 0; i < WRITERS; i++)
			g_assert_cmpint(wait_done(&rets[i]), ==, 0);
		g_assert_cmpint(do_read(b, at, back, WRITERS * 512), ==, 0);
		g_assert_cmpmem(back, WRITERS * 512, bufs, WRITERS * 512);
	}
	block_detach(b);
	node_drop("q");
	g_assert_true(run(g_strdup_printf("qemu-img check '%s'", path)));
}

/* A cluster that was discarded is used again, and its space in the file was given back. */
static void test_discard(void)
{
	g_autofree char *path = create("cluster_size=65536", "64M");
	struct block_backend *b = open_image(path);
	g_autofree u8 *buf = g_malloc(4 * MiB);
	struct stat full, empty, again;
	int ret = PENDING;

	memset(buf, 0x55, 4 * MiB);
	attach(b);
	g_assert_cmpint(do_write(b, 0, buf, 4 * MiB), ==, 0);
	g_assert_cmpint(do_flush(b), ==, 0);
	stat(path, &full);
	block_discard(b, 0, 4 * MiB, on_done, &ret);
	g_assert_cmpint(wait_done(&ret), ==, 0);
	g_assert_cmpint(do_flush(b), ==, 0);
	stat(path, &empty);
	g_assert_cmpint(empty.st_blocks, <=, full.st_blocks - 4 * MiB / 512);
	g_assert_cmpint(do_read(b, 0, buf, 512), ==, 0);
	g_assert_cmpuint(buf[0], ==, 0);
	g_assert_cmpint(do_write(b, 32 * MiB, buf, 4 * MiB), ==, 0);
	block_detach(b);
	node_drop("q");
	stat(path, &again);
	g_assert_cmpint(again.st_size, ==, full.st_size);
	g_assert_true(run(g_strdup_printf("qemu-img check '%s'", path)));
}

int main(int argc, char **argv)
{
	g_autofree char *tool = g_find_program_in_path("qemu-img");
	int ret = 77; /* skipped */

	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	if (!tool)
		return ret;
	test_dir = g_dir_make_tmp("qcow2-XXXXXX", NULL);
	g_test_add_func("/qcow2/reattach", test_reattach);
	g_test_add_func("/qcow2/no-room", test_no_room);
	g_test_add_func("/qcow2/same-cluster", test_same_cluster);
	g_test_add_func("/qcow2/discard", test_discard);
	ret = g_test_run();
	run(g_strdup_printf("rm -rf '%s'", test_dir));
	return ret;
}
