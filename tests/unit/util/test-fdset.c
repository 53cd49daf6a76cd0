/* Descriptors that were handed over: sets, names, and opening by /dev/fdset/N. */
#include "util/fdset.h"

#include <fcntl.h>
#include <unistd.h>

static void note(s64 set, int fd, const char *opaque, void *arg)
{
	g_string_append_printf(arg, "%d:%s ", (int)set, opaque ? opaque : "-");
}

static void expect_error(GError **err, const char *part)
{
	g_assert_nonnull(*err);
	g_assert_nonnull(strstr((*err)->message, part));
	g_clear_error(err);
}

static void test_sets(void)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) err = NULL;
	int p[2];

	g_assert_cmpint(pipe(p), ==, 0);
	g_assert_cmpint(fdset_add(-1, dup(p[0]), "first", &err), ==, 0);
	g_assert_cmpint(fdset_add(7, dup(p[0]), NULL, &err), ==, 7);
	g_assert_cmpint(fdset_add(-1, dup(p[0]), "second", &err), ==, 1);
	g_assert_cmpint(fdset_add(0, p[1], "again", &err), ==, 0);
	g_assert_cmpint(fcntl(p[1], F_GETFD) & FD_CLOEXEC, ==, FD_CLOEXEC);
	fdset_foreach(note, text);
	g_assert_cmpstr(text->str, ==, "0:first 0:again 1:second 7:- ");
	g_assert_cmpint(fdset_remove(0, 999, &err), ==, -ENOENT);
	expect_error(&err, "999");
	g_assert_cmpint(fdset_remove(0, p[1], &err), ==, 0);
	g_assert_cmpint(fcntl(p[1], F_GETFD), ==, -1);
	for (int set = 0; set < 8; set += set ? 6 : 1)
		g_assert_cmpint(fdset_remove(set, -1, &err), ==, 0);
	g_assert_cmpint(fdset_remove(0, -1, &err), ==, -ENOENT);
	expect_error(&err, "fd set 0");
	g_assert_cmpint(fdset_add(0, 999, NULL, &err), ==, -EBADF);
	expect_error(&err, "999");
	close(p[0]);
}

/* The member whose access mode fits is taken; a read-write one serves both. */
static void test_open(void)
{
	g_autoptr(GError) err = NULL;
	int p[2], fd;
	char byte;

	g_assert_cmpint(pipe(p), ==, 0);
	fdset_add(3, p[0], NULL, &err);
	fdset_add(3, p[1], NULL, &err);
	fd = file_open("/dev/fdset/3", O_WRONLY | O_CREAT | O_APPEND, 0600);
	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(write(fd, "x", 1), ==, 1);
	close(fd);
	fd = file_open("/dev/fdset/3", O_RDONLY, 0);
	g_assert_cmpint(read(fd, &byte, 1), ==, 1);
	close(fd);
	g_assert_cmpint(file_open("/dev/fdset/3", O_RDWR, 0), ==, -EACCES);
	fdset_add(4, open("/dev/null", O_RDWR), NULL, &err);
	for (int mode = O_RDONLY; mode <= O_RDWR; mode++) {
		fd = file_open("/dev/fdset/4", mode, 0);
		g_assert_cmpint(fd, >=, 0);
		close(fd);
	}
	fdset_remove(3, -1, NULL);
	fdset_remove(4, -1, NULL);
	g_assert_cmpint(file_open("/dev/fdset/3", O_RDONLY, 0), ==, -ENOENT);
	g_assert_cmpint(file_open("/dev/fdset/x", O_RDONLY, 0), ==, -EINVAL);
	g_assert_cmpint(file_open("/nonexistent/x", O_RDONLY, 0), ==, -ENOENT);
}

static void test_named(void)
{
	g_autoptr(GError) err = NULL;
	int a = dup(0), b = dup(0);

	g_assert_cmpint(fd_named_add("migrate", a, &err), ==, 0);
	g_assert_cmpint(fd_named_add("migrate", b, &err), ==, 0); /* replaces */
	g_assert_cmpint(fcntl(a, F_GETFD), ==, -1);
	g_assert_cmpint(fd_take("migrate", &err), ==, b);
	g_assert_cmpint(fd_take("migrate", &err), ==, -ENOENT);
	expect_error(&err, "'migrate'");
	g_assert_cmpint(fd_named_add("7up", b, &err), ==, -EINVAL);
	expect_error(&err, "7up");
	g_autofree char *number = g_strdup_printf("%d", b);

	g_assert_cmpint(fd_take(number, &err), ==, b);
	g_assert_cmpint(fd_named_add("again", b, &err), ==, 0);
	g_assert_cmpint(fd_named_remove("again", &err), ==, 0);
	g_assert_cmpint(fcntl(b, F_GETFD), ==, -1);
	g_assert_cmpint(fd_named_remove("again", &err), ==, -ENOENT);
	expect_error(&err, "'again'");
	g_assert_cmpint(fd_take(number, &err), ==, -EBADF);
	expect_error(&err, "Bad file descriptor");
	g_assert_cmpint(fd_take("3x", &err), ==, -EINVAL);
	expect_error(&err, "3x");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fdset/sets", test_sets);
	g_test_add_func("/fdset/open", test_open);
	g_test_add_func("/fdset/named", test_named);
	return g_test_run();
}
