/* Scattered buffers: copies and slices across element borders. */
#include "util/iov.h"

struct pieces {
	char a[3], b[1], c[4];
	struct iovec v[4];
};

static void set_up(struct pieces *p)
{
	memcpy(p->a, "abc", 3);
	memcpy(p->b, "d", 1);
	memcpy(p->c, "efgh", 4);
	p->v[0] = (struct iovec){ p->a, 3 };
	p->v[1] = (struct iovec){ p->b, 0 };
	p->v[2] = (struct iovec){ p->b, 1 };
	p->v[3] = (struct iovec){ p->c, 4 };
}

static void test_copy(void)
{
	struct pieces p;
	char buf[16] = "";

	set_up(&p);
	g_assert_cmpuint(iov_size(p.v, 4), ==, 8);
	g_assert_cmpuint(iov_to_buf(p.v, 4, 2, buf, 4), ==, 4);
	g_assert_cmpstr(buf, ==, "cdef");
	g_assert_cmpuint(iov_to_buf(p.v, 4, 6, buf, 9), ==, 2);
	g_assert_cmpmem(buf, 4, "ghef", 4);
	g_assert_cmpuint(iov_to_buf(p.v, 4, 8, buf, 1), ==, 0);
	g_assert_cmpuint(iov_from_buf(p.v, 4, 2, "CDE", 3), ==, 3);
	g_assert_cmpmem(p.a, 3, "abC", 3);
	g_assert_cmpmem(p.b, 1, "D", 1);
	g_assert_cmpmem(p.c, 4, "Efgh", 4);
	g_assert_cmpuint(iov_set(p.v, 4, 7, 'x', 100), ==, 1);
	g_assert_cmpmem(p.c, 4, "Efgx", 4);
}

static void test_slice(void)
{
	struct pieces p;
	struct iovec out[4];
	char buf[8] = "";

	set_up(&p);
	g_assert_cmpint(iov_slice(p.v, 4, 1, 4, out), ==, 3);
	g_assert_cmpuint(iov_size(out, 3), ==, 4);
	iov_to_buf(out, 3, 0, buf, 4);
	g_assert_cmpstr(buf, ==, "bcde");
	g_assert_cmpint(iov_slice(p.v, 4, 8, 4, out), ==, 0);
}

static void test_zero(void)
{
	char a[64] = "", b[64] = "";
	struct iovec v[] = { { a, 64 }, { b, 0 }, { b, 64 } };

	g_assert_true(iov_is_zero(v, 3));
	for (int i = 0; i < 64; i++) {
		b[i] = 1;
		g_assert_false(iov_is_zero(v, 3));
		b[i] = 0;
	}
	a[0] = 1;
	g_assert_false(iov_is_zero(v, 3));
	g_assert_true(iov_is_zero(v + 1, 2));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iov/copy", test_copy);
	g_test_add_func("/iov/slice", test_slice);
	g_test_add_func("/iov/zero", test_zero);
	return g_test_run();
}
