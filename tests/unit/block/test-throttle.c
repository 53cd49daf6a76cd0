/* Limits of bytes and requests a second, counted against a virtual clock that the test drives. */
#include "tests/unit/block/helper.h"

#include "block/throttle.h"
#include "util/timer.h"

#define SECOND 1000000000ll

char *test_dir;
static s64 now_ns;

static s64 test_now(void)
{
	return now_ns;
}

/* Disks without a host's side: what takes time is the throttling alone. */
static struct block_backend *disk(const char *limits)
{
	static int n;

	return drive_ok(
		g_strdup_printf("if=none,id=t%d,file.driver=null-co,format=raw%s", n++, limits));
}

struct count {
	int done;
	u64 bytes;
};

static void on_counted(void *opaque, int ret)
{
	g_assert_cmpint(ret, ==, 0);
	((struct count *)opaque)->done++;
}

static void submit(struct block_backend *b, bool write, size_t len, int n, struct count *c)
{
	static u8 buf[MiB];
	struct iovec v = { buf, len };
	const struct block_span span = { 0, &v, 1 };

	for (int i = 0; i < n; i++) {
		if (write)
			block_writev(b, &span, 0, on_counted, c);
		else
			block_readv(b, &span, on_counted, c);
	}
}

static void pump(void)
{
	for (int i = 0; i < 3; i++)
		main_loop_iterate(false);
}

/* Lets time pass; every timer fires when it is due. */
static void pass(s64 ns)
{
	s64 end = now_ns + ns, next;

	pump();
	while ((next = timer_next_virtual()) >= 0 && next <= end) {
		now_ns = MAX(next, now_ns);
		timer_run_virtual();
		pump();
	}
	now_ns = end;
	pump();
}

/* Rounding may move the last request over the edge. */
static void expect(const struct count *c, int wanted)
{
	g_assert_cmpint(c->done, >=, wanted - 1);
	g_assert_cmpint(c->done, <=, wanted);
}

static void end(struct block_backend *b)
{
	struct block_throttle t;
	g_autoptr(GError) err = NULL;

	block_drain(b);
	block_throttle_init(&t);
	block_throttle_set(b, &t, NULL, &err);
	g_assert_no_error(err);
}

static void test_requests(void)
{
	struct block_backend *b = disk(",throttling.iops-total=100");
	struct count reads = { 0 };

	submit(b, false, 512, 5000, &reads);
	pass(0);
	expect(&reads, 11); /* a tenth of a second ahead, and one */
	pass(SECOND);
	expect(&reads, 111);
	pass(9 * SECOND);
	expect(&reads, 1011);
	end(b);
	pump();
	g_assert_cmpint(reads.done, ==, 5000);
}

static void test_bytes(void)
{
	struct block_backend *b = disk(",throttling.bps-write=1048576");
	struct count reads = { 0 }, writes = { 0 };

	submit(b, true, 64 * KiB, 500, &writes);
	submit(b, false, 64 * KiB, 500, &reads);
	pass(10 * SECOND);
	g_assert_cmpint(reads.done, ==, 500); /* not limited */
	expect(&writes, 2 + 160);
	end(b);
}

/* 3000 in a burst of one second's worth, then 100 a second. */
static void test_burst(void)
{
	struct block_backend *b = disk(",throttling.iops-read=100,throttling.iops-read-max=3000");
	struct count reads = { 0 };

	submit(b, false, 512, 5000, &reads);
	pass(0);
	expect(&reads, 3001);
	pass(5 * SECOND);
	expect(&reads, 3501);
	end(b);
}

/* 1000 a second until 5 seconds of that are used up, of which 100 a second come back meanwhile. */
static void test_long_burst(void)
{
	struct block_backend *b = disk(",throttling.iops-total=100,throttling.iops-total-max=1000,"
				       "throttling.iops-total-max-length=5");
	struct count reads = { 0 };

	submit(b, false, 512, 20000, &reads);
	pass(0);
	expect(&reads, 101);
	pass(4 * SECOND);
	expect(&reads, 4101);
	pass(6 * SECOND);
	expect(&reads, 6001);
	end(b);
}

static void test_request_size(void)
{
	struct block_backend *b = disk(",throttling.iops-total=100,throttling.iops-size=4096");
	struct count reads = { 0 };

	submit(b, false, 16 * KiB, 1000, &reads); /* each counts as four */
	pass(10 * SECOND);
	expect(&reads, 3 + 250);
	end(b);
}

static void test_group(void)
{
	struct block_backend *a = disk(",throttling.iops-total=100,throttling.group=g");
	struct block_backend *b = disk(",throttling.iops-total=100,throttling.group=g");
	struct block_throttle t;
	struct count of_a = { 0 }, of_b = { 0 }, both;

	g_assert_cmpstr(block_throttle_get(b, &t), ==, "g");
	submit(a, false, 512, 2000, &of_a);
	submit(b, false, 512, 2000, &of_b);
	pass(10 * SECOND);
	both.done = of_a.done + of_b.done;
	expect(&both, 1011);
	/* The start belongs to the first; then they take turns. */
	g_assert_cmpint(of_b.done, >=, 499);
	g_assert_cmpint(of_b.done, <=, 501);
	/* New limits are those of both. */
	t.limit[BLOCK_IOPS_TOTAL].avg = 1000;
	g_assert_cmpint(block_throttle_set(a, &t, NULL, NULL), ==, 0);
	block_throttle_get(b, &t);
	g_assert_cmpint(t.limit[BLOCK_IOPS_TOTAL].avg, ==, 1000);
	end(a);
	g_assert_null(block_throttle_get(a, &t));
	g_assert_cmpstr(block_throttle_get(b, &t), ==, "g");
	end(b);
}

/* What waits is not lost when the disk is drained, nor when limits go or change. */
static void test_drain(void)
{
	struct block_backend *b = disk(",throttling.iops-total=1");
	struct block_throttle t;
	struct count reads = { 0 };

	submit(b, false, 512, 100, &reads);
	pump();
	g_assert_cmpint(reads.done, ==, 1);
	block_drain(b);
	g_assert_cmpint(reads.done, ==, 100);
	/* What ran ahead is paid for afterwards. */
	submit(b, false, 512, 1, &reads);
	pass(90 * SECOND);
	g_assert_cmpint(reads.done, ==, 100);
	pass(20 * SECOND);
	g_assert_cmpint(reads.done, ==, 101);
	submit(b, false, 512, 100, &reads);
	block_throttle_get(b, &t);
	t.limit[BLOCK_IOPS_TOTAL].avg = 10000;
	g_assert_cmpint(block_throttle_set(b, &t, NULL, NULL), ==, 0);
	pump();
	g_assert_cmpint(reads.done, ==, 201);
	end(b);
}

/* Flushes and discards are not limited. */
static void test_flush(void)
{
	struct block_backend *b = disk(",throttling.iops-total=1");
	struct count reads = { 0 }, flushes = { 0 };

	submit(b, false, 512, 10, &reads);
	block_flush(b, on_counted, &flushes);
	pump();
	g_assert_cmpint(flushes.done, ==, 1);
	end(b);
}

static void test_names(void)
{
	static const char *const all[] = { "bps-total",  "bps-read",  "bps-write",
					   "iops-total", "iops-read", "iops-write" };
	struct block_backend *b = disk(",bps_rd=1M,bps_rd_max=2M,iops=50,iops_size=8k,group=old");
	struct block_throttle t;

	g_assert_cmpstr(block_throttle_get(b, &t), ==, "old");
	g_assert_cmpint(t.limit[BLOCK_BPS_READ].avg, ==, MiB);
	g_assert_cmpint(t.limit[BLOCK_BPS_READ].max, ==, 2 * MiB);
	g_assert_cmpint(t.limit[BLOCK_IOPS_TOTAL].avg, ==, 50);
	g_assert_cmpint(t.iops_size, ==, 8192);
	for (int i = 0; i < BLOCK_LIMITS; i++)
		g_assert_cmpstr(block_limit_name(i), ==, all[i]);
	end(b);
}

static void refuse(const char *limits, const char *part)
{
	g_autoptr(GError) err = NULL;

	g_assert_null(drive_try(
		g_strdup_printf("if=none,id=r,file.driver=null-co,format=raw,%s", limits), &err));
	expect_error(err, part);
}

static void test_refused(void)
{
	refuse("throttling.bps-total=1,throttling.bps-read=1", "goes with neither bps-read");
	refuse("throttling.iops-total=1,throttling.iops-write=1", "goes with neither iops-read");
	refuse("throttling.iops-total-max=5", "needs iops-total");
	refuse("throttling.iops-total=5,throttling.iops-total-max=4", "below iops-total=5");
	refuse("throttling.iops-total=5,throttling.iops-total-max-length=4", "iops-total-max");
	refuse("throttling.iops-total=5,throttling.iops-total-max=9,"
	       "throttling.iops-total-max-length=0",
	       "at least 1 second");
	refuse("throttling.bps-read=2000000000000000", "above 1000000000000000");
	refuse("throttling.bps-read=1,throttling.bps-read-max=1000000000000,"
	       "throttling.bps-read-max-length=1001",
	       "1001 seconds");
	refuse("throttling.iops-size=4096", "needs a limit of requests");
	refuse("throttling.frob=4096", "frob");
	refuse("throttling.bps-total=-1", "bps-total");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	clock_virtual_set_source(test_now, NULL);
	main_loop_init();
	g_test_add_func("/throttle/requests", test_requests);
	g_test_add_func("/throttle/bytes", test_bytes);
	g_test_add_func("/throttle/burst", test_burst);
	g_test_add_func("/throttle/long-burst", test_long_burst);
	g_test_add_func("/throttle/request-size", test_request_size);
	g_test_add_func("/throttle/group", test_group);
	g_test_add_func("/throttle/drain", test_drain);
	g_test_add_func("/throttle/flush", test_flush);
	g_test_add_func("/throttle/names", test_names);
	g_test_add_func("/throttle/refused", test_refused);
	return g_test_run();
}
