/* tests/unit/migration/test-wire.c - pieces of the stream: deltas, pages, addresses, settings. */
#include "pair.h"

#include "migration/channel.h"
#include "migration/convergence.h"
#include "migration/pages.h"
#include "migration/ram-load.h"
#include "migration/settings.h"
#include "migration/wire.h"
#include "migration/xbzrle.h"
#include "util/bitmap.h"
#include "util/main-loop.h"
#include "util/socket.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- xbzrle ---- */

static void test_xbzrle_golden(void)
{
	static u8 old[4096], page[4096];
	u8 out[4096];
	static const u8 want[] = { 0, 2, 'a', 'b', 0xfe, 0x01, 1, 'c' };

	page[0] = 'a';
	page[1] = 'b';
	page[256] = 'c';
	g_assert_cmpint(xbzrle_encode(old, page, out, sizeof(out)), ==, sizeof(want));
	g_assert_cmpmem(out, sizeof(want), want, sizeof(want));
	g_assert_cmpint(xbzrle_decode(want, sizeof(want), old), ==, 0);
	g_assert_cmpmem(old, sizeof(old), page, sizeof(page));
	g_assert_cmpint(xbzrle_encode(old, page, out, sizeof(out)), ==, 0);
}

static void test_xbzrle_round_trip(void)
{
	for (unsigned round = 0; round < 2000; round++) {
		static u8 old[4096], page[4096], copy[4096];
		u8 out[4096];
		unsigned changes = g_test_rand_int_range(0, 200);
		int len;

		for (unsigned i = 0; i < sizeof(old); i++)
			old[i] = g_test_rand_int();
		memcpy(page, old, sizeof(page));
		memcpy(copy, old, sizeof(copy));
		for (unsigned i = 0; i < changes; i++) {
			unsigned at = g_test_rand_int_range(0, 4096);
			unsigned n = g_test_rand_int_range(1, 30);

			for (; n && at < 4096; n--, at++)
				page[at] = g_test_rand_int();
		}
		len = xbzrle_encode(old, page, out, sizeof(out));
		if (len == -ENOSPC)
			continue;
		g_assert_cmpint(xbzrle_decode(out, len, copy), ==, 0);
		g_assert_cmpmem(copy, sizeof(copy), page, sizeof(page));
	}
}

static void test_xbzrle_malformed(void)
{
	static const struct {
		u8 bytes[8];
		int len;
	} bad[] = {
		{ { 0x80 }, 1 },               /* length breaks off */
		{ { 0x80, 0x80, 1 }, 3 },      /* length of three bytes */
		{ { 0xff, 0x7f, 1, 'x' }, 4 }, /* unchanged run beyond the page */
		{ { 0 }, 1 },                  /* no changed run */
		{ { 0, 0 }, 2 },               /* an empty one */
		{ { 0, 5, 'a' }, 3 },          /* shorter than it says */
		{ { 0x80, 0x20, 1, 'x' }, 4 }, /* unchanged run of a whole page, then more */
	};

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		u8 page[4096 + 64];

		memset(page, 0x5a, sizeof(page));
		g_assert_cmpint(xbzrle_decode(bad[i].bytes, bad[i].len, page), ==, -EINVAL);
		g_assert_cmpint(page[4096], ==, 0x5a);
	}
	for (unsigned round = 0; round < 20000; round++) {
		u8 in[64], page[4096 + 64];

		for (unsigned i = 0; i < sizeof(in); i++)
			in[i] = g_test_rand_int();
		memset(page + 4096, 0x5a, 64);
		xbzrle_decode(in, g_test_rand_int_range(0, sizeof(in)), page);
		for (unsigned i = 0; i < 64; i++)
			g_assert_cmpint(page[4096 + i], ==, 0x5a);
	}
}

static void test_xbzrle_cache(void)
{
	struct xbzrle_cache *c = xbzrle_cache_create(4 * 4096);
	u8 page[4096] = { 1 }, other[4096] = { 2 };

	g_assert_null(xbzrle_cache_find(c, 5, 1));
	g_assert_nonnull(xbzrle_cache_insert(c, 5, page, 1));
	g_assert_cmpmem(xbzrle_cache_find(c, 5, 2), 4096, page, 4096);
	/* 9 falls into the same slot, but 5 is in use. */
	g_assert_null(xbzrle_cache_insert(c, 9, other, 3));
	g_assert_nonnull(xbzrle_cache_find(c, 5, 2));
	g_assert_nonnull(xbzrle_cache_insert(c, 9, other, 4));
	g_assert_null(xbzrle_cache_find(c, 5, 4));
	xbzrle_cache_destroy(c);
}

/* ---- pages ---- */

static void test_zero_page(void)
{
	static u8 page[4096] __attribute__((aligned(4096)));

	g_assert_true(page_is_zero(page));
	for (unsigned i = 0; i < sizeof(page); i++) {
		page[i] = 1;
		g_assert_false(page_is_zero(page));
		page[i] = 0;
	}
}

static unsigned count_absent(struct ramblock *b, const u64 *absent)
{
	return bitmap_count(absent, 0, ram_pages(b));
}

static void check_probe(int fd, u32 flags, u64 *absent, unsigned *before, unsigned *after)
{
	struct ram_list *list = ram_list_create();
	struct ram_spec spec = { .id = "r", .size = 1024 * 4096, .fd = fd, .flags = flags };
	struct ramblock *b = ram_create(list, &spec, NULL);
	struct page_probe probe;

	g_assert_nonnull(b);
	madvise(b->host, b->max_size, MADV_NOHUGEPAGE);
	page_probe_init(&probe);
	page_probe_absent(&probe, b, 0, 1024, absent);
	*before = count_absent(b, absent);
	b->host[100 * 4096] = 1;
	b->host[101 * 4096] = 1;
	b->host[1023 * 4096] = 1;
	page_probe_absent(&probe, b, 0, 1024, absent);
	*after = count_absent(b, absent);
	page_probe_finish(&probe);
	ram_list_destroy(list);
}

static void test_probe(void)
{
	u64 absent[BITMAP_WORDS(1024)];
	unsigned before, after;

	check_probe(-1, 0, absent, &before, &after);
	g_assert_cmpuint(before, ==, 1024);
	g_assert_cmpuint(after, ==, 1021);
	g_assert_false(bitmap_test(absent, 100));
	g_assert_true(bitmap_test(absent, 102));

	{
		int fd = memfd_create("probe", 0);

		g_assert_cmpint(ftruncate(fd, 1024 * 4096), ==, 0);
		check_probe(fd, RAM_SHARED, absent, &before, &after);
	}
	g_assert_cmpuint(before, ==, 1024);
	g_assert_cmpuint(after, ==, 1021);
	g_assert_false(bitmap_test(absent, 1023));
}

/* ---- addresses ---- */

static void test_addresses(void)
{
	static const char *const bad[] = {
		"zzz:1",     "tcp:host", "tcp:host:1,colour=red", "unix:",
		"fd:",       "file:",    "file:/x,offset=0x20M",  "rdma:h:1",
		"vsock:1:2", ""
	};
	struct migration_address *a = migration_address_parse("file:/a,b,offset=4K", NULL);

	g_assert_cmpstr(a->path, ==, "/a,b");
	g_assert_cmpuint(a->offset, ==, 4096);
	migration_address_free(a);
	a = migration_address_parse("tcp:[::1]:4444,ipv4=off", NULL);
	g_assert_cmpstr(a->socket->host, ==, "::1");
	g_assert_cmpstr(a->socket->port, ==, "4444");
	migration_address_free(a);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		GError *err = NULL;

		g_assert_null(migration_address_parse(bad[i], &err));
		g_assert_nonnull(err);
		g_error_free(err);
	}
}

static struct migration_address *from_channels(const char *json, GError **err)
{
	g_autoptr(JsonNode) node = json_from_string(json, NULL);

	return migration_address_from_channels(json_node_get_array(node), err);
}

static void test_channels(void)
{
	static const char *const bad[] = {
		"[]",
		"[{'channel-type':'main'}]",
		"[{'channel-type':'cpr','addr':{'transport':'file','filename':'x'}}]",
		"[{'channel-type':'main','addr':{'transport':'rdma','host':'x','port':'1'}}]",
		"[{'channel-type':'main','addr':{'transport':'file'}}]",
		"[{'channel-type':'main','addr':{'transport':'exec','args':[]}}]",
		"[{'channel-type':'main','addr':{'transport':'socket','type':'vsock'}}]",
		"[1]",
	};
	struct migration_address *a;

	a = from_channels("[{'channel-type':'main','addr':{'transport':'socket','type':'inet',"
			  "'host':'h','port':'7'}}]",
			  NULL);
	g_assert_cmpint(a->transport, ==, TRANSPORT_SOCKET);
	g_assert_cmpstr(a->socket->port, ==, "7");
	migration_address_free(a);
	a = from_channels("[{'channel-type':'main','addr':{'transport':'socket','type':'fd',"
			  "'str':'mig'}}]",
			  NULL);
	g_assert_cmpint(a->transport, ==, TRANSPORT_FD);
	g_assert_cmpstr(a->fd, ==, "mig");
	migration_address_free(a);
	a = from_channels("[{'channel-type':'main','addr':{'transport':'exec',"
			  "'args':['/bin/cat','x']}}]",
			  NULL);
	g_assert_cmpstr(a->argv[1], ==, "x");
	migration_address_free(a);
	a = from_channels("[{'channel-type':'main','addr':{'transport':'file','filename':'f',"
			  "'offset':512}}]",
			  NULL);
	g_assert_cmpuint(a->offset, ==, 512);
	migration_address_free(a);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		GError *err = NULL;

		g_assert_null(from_channels(bad[i], &err));
		g_assert_nonnull(err);
		g_error_free(err);
	}
}

/* ---- settings ---- */

static void set(struct settings *s, const char *json, const char *error)
{
	g_autoptr(JsonNode) node = json_from_string(json, NULL);
	struct settings before = *s;
	GError *err = NULL;
	int ret = settings_set_parameters(s, json_node_get_object(node), &err);

	if (!error) {
		g_assert_no_error(err);
		return;
	}
	g_assert_cmpint(ret, ==, -EINVAL);
	if (!strstr(err->message, error))
		g_error("'%s' is not in '%s'", error, err->message);
	g_error_free(err);
	g_assert_cmpmem(&before, sizeof(before), s, sizeof(*s));
}

/* The section's block list as @v has it, then one record for @n pages from @page on. */
static void put_run(struct state_writer *w, struct fake_vm *v, u64 page, u64 flag, u32 n)
{
	const struct ramblock *blocks[] = { v->ram, v->rom };

	state_writer_init(w);
	state_put_be64(w, (v->ram->used_size + v->rom->used_size) | RAM_FLAG_MEM_SIZE);
	for (unsigned i = 0; i < G_N_ELEMENTS(blocks); i++) {
		state_put_cstr8(w, blocks[i]->id);
		state_put_be64(w, blocks[i]->used_size);
	}
	state_put_be64(w, page << DIRTY_PAGE_BITS | flag);
	state_put_cstr8(w, v->ram->id);
	state_put_be32(w, n);
}

/* Return: whether a receiver takes the record with @content bytes 0xa5 and the end after it. */
static bool take_run(struct fake_vm *v, u64 page, u64 flag, u32 n, size_t content)
{
	g_autofree u8 *bytes = g_malloc(content + 1);
	g_autoptr(GError) err = NULL;
	struct settings settings;
	struct state_reader r;
	struct state_writer w;
	struct ram_load l;
	int ret;

	memset(bytes, 0xa5, content);
	settings_init(&settings);
	put_run(&w, v, page, flag, n);
	state_put_buffer(&w, bytes, content);
	state_put_be64(&w, RAM_FLAG_EOS);
	state_reader_init_memory(&r, w.buf->data, w.buf->len);
	ram_load_init(&l, v->vm, &settings);
	ret = ram_load_part(&l, &r, &err);
	g_assert_cmpint(!ret, ==, !err);
	ram_load_finish(&l);
	state_reader_finish(&r);
	state_writer_finish(&w);
	return !ret;
}

static void test_runs(void)
{
	struct fake_vm *v = fake_vm_create(&(struct fake_vm_spec){ .machine = "none" });
	u64 npages = v->ram->used_size >> DIRTY_PAGE_BITS;
	u8 *last = v->ram->host + v->ram->used_size - 1;

	g_assert_true(take_run(v, npages - 3, RAM_FLAG_OWN_RUN, 3, 3 * 4096));
	g_assert_cmpuint(*last, ==, 0xa5);
	g_assert_cmpuint(*(last - 3 * 4096), ==, 0);
	g_assert_false(take_run(v, npages - 3, RAM_FLAG_OWN_RUN, 4, 4 * 4096));
	g_assert_false(take_run(v, 0, RAM_FLAG_OWN_RUN, 0, 0));
	g_assert_false(take_run(v, 0, RAM_FLAG_OWN_RUN, UINT32_MAX, 4096));
	g_assert_false(take_run(v, 0, RAM_FLAG_OWN_RUN, 4, 3 * 4096));

	g_assert_true(take_run(v, npages - 2, RAM_FLAG_OWN_ZEROES, 2, 0));
	g_assert_cmpuint(*last, ==, 0);
	g_assert_cmpuint(*(last - 2 * 4096), ==, 0xa5);
	g_assert_false(take_run(v, npages - 2, RAM_FLAG_OWN_ZEROES, 3, 0));
	g_assert_false(take_run(v, 0, RAM_FLAG_OWN_ZEROES, 0, 0));
	fake_vm_destroy(v);
}

struct collector {
	int fd;
	GByteArray *got;
};

static gpointer collect(gpointer data)
{
	struct collector *c = data;
	u8 buf[10000];
	ssize_t n;

	while ((n = read(c->fd, buf, sizeof(buf))) > 0)
		g_byte_array_append(c->got, buf, n);
	return NULL;
}

/* Pages by reference arrive whole and in order with what is copied, whatever carries them. */
static void write_pages(int wfd, int rfd, bool is_socket)
{
	const size_t len = 5 * MiB + 12345;
	struct collector c = { .fd = rfd, .got = g_byte_array_new() };
	struct channel *ch = channel_create();
	g_autofree u8 *pages = g_malloc(len);
	GThread *t;

	for (size_t i = 0; i < len; i++)
		pages[i] = i * 37 >> 5;
	if (is_socket)
		channel_adopt_socket(ch, wfd);
	else
		ch->wfd = wfd;
	t = g_thread_new("collect", collect, &c);
	g_assert_cmpint(channel_write(ch, "head", 4, NULL), ==, 0);
	g_assert_cmpint(channel_write_pages(ch, pages, len, NULL), ==, 0);
	g_assert_cmpint(channel_write(ch, "tail", 4, NULL), ==, 0);
	g_assert_cmpuint(ch->written, ==, len + 8);
	g_assert_cmpint(ch->no_splice, ==, false);
	g_assert_cmpint(ch->pipe[0] >= 0, ==, is_socket);
	g_assert_cmpint(channel_close(ch, NULL), ==, 0);
	g_thread_join(t);
	g_assert_cmpuint(c.got->len, ==, len + 8);
	g_assert_cmpmem(c.got->data, 4, "head", 4);
	g_assert_cmpmem(c.got->data + 4, len, pages, len);
	g_assert_cmpmem(c.got->data + 4 + len, 4, "tail", 4);
	g_byte_array_unref(c.got);
	channel_destroy(ch);
	close(rfd);
}

static void test_write_pages(void)
{
	int ends[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), ==, 0);
	write_pages(ends[0], ends[1], true);
	g_assert_cmpint(pipe(ends), ==, 0);
	write_pages(ends[1], ends[0], false);
}

/* A guest that could stop runs on while a pass leaves much less, but not for ever. */
static void test_late_passes(void)
{
	struct ram_stats stats = { .dirty_pages = 20 * MiB >> DIRTY_PAGE_BITS };
	struct settings s;
	struct convergence c;

	settings_init(&s);
	s.params.avail_switchover_bandwidth = 100 * MiB;
	convergence_init(&c, &s, 0);
	g_assert_false(convergence_pass(&c, NULL, &s, &stats, 0));
	g_assert_cmpuint(c.verdict, ==, VERDICT_CONVERGED);
	g_assert_false(convergence_pass(&c, NULL, &s, &stats, 0));
	g_assert_true(convergence_pass(&c, NULL, &s, &stats, 0));

	convergence_init(&c, &s, 0);
	stats.dirty_pages_rate = 60 * MiB >> DIRTY_PAGE_BITS;
	g_assert_true(convergence_pass(&c, NULL, &s, &stats, 0));
	stats.dirty_pages_rate = 0;
	stats.dirty_pages = 100;
	g_assert_true(convergence_pass(&c, NULL, &s, &stats, 0));
}

static void test_parameters(void)
{
	struct settings s;
	g_autoptr(JsonObject) all = NULL;

	settings_init(&s);
	set(&s, "{'downtime-limit': 2000000, 'max-bandwidth': 9223372036853727232}", NULL);
	g_assert_cmpuint(s.params.downtime_limit, ==, 2000000);
	set(&s, "{'downtime-limit': 2000001}", "'downtime-limit'");
	set(&s, "{'downtime-limit': -1}", "'downtime-limit'");
	set(&s, "{'cpu-throttle-initial': 0}", "1 to 99");
	set(&s, "{'cpu-throttle-initial': 100}", "1 to 99");
	set(&s, "{'cpu-throttle-initial': 60, 'max-cpu-throttle': 50}", "max-cpu-throttle");
	set(&s, "{'xbzrle-cache-size': 5000}", "power of two");
	set(&s, "{'xbzrle-cache-size': 1024}", "xbzrle-cache-size");
	set(&s, "{'downtime-limit': 5, 'no-such': 1}", "no-such");
	set(&s, "{'multifd-channels': 2}", NULL);
	set(&s, "{'multifd-channels': 255}", "multifd is not supported");
	set(&s, "{'multifd-zstd-level': 3}", "multifd is not supported");
	set(&s, "{'max-postcopy-bandwidth': 1000}", "post-copy is not supported");
	set(&s, "{'vcpu-dirty-limit': 10}", "dirty-limit is not supported");
	set(&s, "{'x-checkpoint-delay': 100}", "COLO is not supported");
	set(&s, "{'x-rdma-chunk-size': 4096}", "no RDMA");
	set(&s, "{'multifd-compression': 'zstd'}", "multifd is not supported");
	set(&s, "{'multifd-channels': 300}", "1 to 255");
	set(&s, "{'tls-creds': ''}", NULL);
	set(&s, "{'tls-creds': 'tls0'}", "TLS is not supported");
	set(&s, "{'zero-page-detection': 'none'}", NULL);
	set(&s, "{'zero-page-detection': 'sometimes'}", "zero-page-detection");
	set(&s, "{'mode': 'cpr-reboot'}", "only mode normal");
	set(&s, "{'cpr-exec-command': []}", NULL);
	set(&s, "{'cpr-exec-command': ['x']}", "cpr-exec-command");

	/* Whatever is reported can be set again: management tools restore it. */
	all = settings_parameters(&s);
	g_assert_cmpint(json_object_get_size(all), ==, 30);
	g_assert_cmpint(settings_set_parameters(&s, all, NULL), ==, 0);
}

static void test_capabilities(void)
{
	struct settings s;
	GError *err = NULL;

	settings_init(&s);
	g_assert_cmpint(settings_set_capability(&s, "xbzrle", true, NULL), ==, 0);
	g_assert_true(s.caps[CAP_XBZRLE]);
	g_assert_cmpint(settings_set_capability(&s, "multifd", false, NULL), ==, 0);
	g_assert_cmpint(settings_set_capability(&s, "multifd", true, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "'multifd' is not supported"));
	g_clear_error(&err);
	g_assert_cmpint(settings_set_capability(&s, "switchover-ack", true, NULL), ==, 0);
	g_assert_cmpint(settings_check_capabilities(&s, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "return-path"));
	g_clear_error(&err);
	g_assert_cmpint(settings_set_capability(&s, "return-path", true, NULL), ==, 0);
	g_assert_cmpint(settings_check_capabilities(&s, NULL), ==, 0);
}

static void test_globals(void)
{
	struct settings s;
	GError *err = NULL;

	settings_init(&s);
	g_assert_cmpint(settings_set_global(&s, "send-switchover-start", "off", NULL), ==, 0);
	g_assert_false(s.send_switchover_start);
	g_assert_cmpint(settings_set_global(&s, "x-events", "on", NULL), ==, 0);
	g_assert_true(s.caps[CAP_EVENTS]);
	g_assert_cmpint(settings_set_global(&s, "x-downtime-limit", "77", NULL), ==, 0);
	g_assert_cmpuint(s.params.downtime_limit, ==, 77);
	g_assert_cmpint(settings_set_global(&s, "x-nonsense", "1", &err), ==, -EINVAL);
	g_error_free(err);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/xbzrle/golden", test_xbzrle_golden);
	g_test_add_func("/xbzrle/round-trip", test_xbzrle_round_trip);
	g_test_add_func("/xbzrle/malformed", test_xbzrle_malformed);
	g_test_add_func("/xbzrle/cache", test_xbzrle_cache);
	g_test_add_func("/pages/zero", test_zero_page);
	g_test_add_func("/pages/probe", test_probe);
	g_test_add_func("/address/uri", test_addresses);
	g_test_add_func("/address/channels", test_channels);
	g_test_add_func("/ram/runs", test_runs);
	g_test_add_func("/ram/late-passes", test_late_passes);
	g_test_add_func("/channel/pages", test_write_pages);
	g_test_add_func("/settings/parameters", test_parameters);
	g_test_add_func("/settings/capabilities", test_capabilities);
	g_test_add_func("/settings/globals", test_globals);
	return g_test_run();
}
