/*
 * tests/unit/block/test-qcow2-crash.c - what a crash of the host leaves of a qcow2 image.
 *
 * Random requests run on an image while every write to its file is recorded. Then the file is made
 * again as it may be after a crash: what a flush had covered is there, and of what came later any
 * sectors, since a disk writes them in its own order. qemu-img must find no corruption, and each
 * sector must have what was last flushed or something newer.
 *
 * The default run makes few cuts; "-m slow" makes a thousand.
 */
#include "tests/unit/block/helper.h"

#include <linux/falloc.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define SECTOR    512
#define IN_FLIGHT 8

char *test_dir;

/* ---- The record ---- */

enum entry_type { ENTRY_WRITE, ENTRY_PUNCH, ENTRY_FLUSH };

struct entry {
	enum entry_type type;
	u64 offset, len;
	u8 *bytes;     /* WRITE */
	size_t covers; /* FLUSH: entries before this one are on stable storage */
};

static GArray *record; /* of struct entry */
static GMutex record_lock;
static dev_t record_dev;
static ino_t record_ino;
static bool recording;

static bool is_recorded(int fd)
{
	struct stat st;

	return recording && !fstat(fd, &st) && st.st_dev == record_dev && st.st_ino == record_ino;
}

static size_t record_now(void)
{
	size_t n;

	g_mutex_lock(&record_lock);
	n = record ? record->len : 0;
	g_mutex_unlock(&record_lock);
	return n;
}

static void add_entry(struct entry e)
{
	g_mutex_lock(&record_lock);
	g_array_append_val(record, e);
	g_mutex_unlock(&record_lock);
}

/* These stand before the C library's. */
ssize_t pwritev2(int fd, const struct iovec *iov, int niov, off_t offset, int flags)
{
	ssize_t n = syscall(SYS_pwritev2, fd, iov, niov, offset, 0, flags);

	if (n > 0 && is_recorded(fd)) {
		struct entry e = { .type = ENTRY_WRITE, .offset = offset, .len = n };
		size_t done = 0;

		e.bytes = g_malloc(n);
		for (int i = 0; done < n; done += iov[i++].iov_len)
			memcpy(e.bytes + done, iov[i].iov_base, MIN(iov[i].iov_len, n - done));
		add_entry(e);
	}
	return n;
}

int fdatasync(int fd)
{
	struct entry e = { .type = ENTRY_FLUSH, .covers = record_now() };

	/* The host's disk is not asked: nothing depends on it here. */
	if (is_recorded(fd))
		add_entry(e);
	return 0;
}

int fallocate(int fd, int mode, off_t offset, off_t len)
{
	int ret = syscall(SYS_fallocate, fd, mode, offset, len);

	if (!ret && is_recorded(fd))
		add_entry((struct entry){ .type = ENTRY_PUNCH, .offset = offset, .len = len });
	return ret;
}

static void start_record(const char *path)
{
	struct stat st;

	g_assert_cmpint(stat(path, &st), ==, 0);
	record_dev = st.st_dev;
	record_ino = st.st_ino;
	record = g_array_new(false, false, sizeof(struct entry));
	recording = true;
}

static void end_record(void)
{
	recording = false;
	for (guint i = 0; i < record->len; i++)
		g_free(g_array_index(record, struct entry, i).bytes);
	g_clear_pointer(&record, g_array_unref);
}

/* ---- What each sector went through ---- */

#define ANYTHING UINT32_MAX /* a discard: the content is not promised */

struct change {
	u32 value;   /* the sector is filled with it */
	size_t from; /* entries in the record when it began */
	bool over;
};

struct flush {
	size_t done; /* entries in the record when it was over */
	u32 *known;  /* per sector, how many changes it covers */
};

struct history {
	u64 sectors;
	GArray **changes; /* of struct change, per sector; the first is the initial content */
	GArray *flushes;  /* of struct flush */
};

static void history_init(struct history *h, u64 sectors)
{
	h->sectors = sectors;
	h->changes = g_new(GArray *, sectors);
	for (u64 i = 0; i < sectors; i++)
		h->changes[i] = g_array_new(false, false, sizeof(struct change));
	h->flushes = g_array_new(false, false, sizeof(struct flush));
}

static void history_clear(struct history *h)
{
	for (u64 i = 0; i < h->sectors; i++)
		g_array_unref(h->changes[i]);
	for (guint i = 0; i < h->flushes->len; i++)
		g_free(g_array_index(h->flushes, struct flush, i).known);
	g_array_unref(h->flushes);
	g_free(h->changes);
}

static void change_sectors(struct history *h, u64 first, u64 count, u32 value)
{
	struct change c = { .value = value, .from = record_now() };

	for (u64 i = first; i < first + count; i++)
		g_array_append_val(h->changes[i], c);
}

static void end_change(struct history *h, u64 first, u64 count)
{
	for (u64 i = first; i < first + count; i++)
		g_array_index(h->changes[i], struct change, h->changes[i]->len - 1).over = true;
}

/* Changes of each sector that are over. */
static u32 *known_changes(const struct history *h)
{
	u32 *known = g_new(u32, h->sectors);

	for (u64 i = 0; i < h->sectors; i++) {
		GArray *c = h->changes[i];

		known[i] = c->len - !g_array_index(c, struct change, c->len - 1).over;
	}
	return known;
}

/* Whether the sector may have @value after a crash at @cut, of whose flushes @known is the last. */
static bool is_allowed(const struct history *h, u64 sector, const u32 *known, size_t cut, u32 value)
{
	GArray *c = h->changes[sector];

	for (guint i = known ? known[sector] - 1 : 0; i < c->len; i++) {
		const struct change *one = &g_array_index(c, struct change, i);

		if (one->from <= cut && (one->value == value || one->value == ANYTHING))
			return true;
	}
	return false;
}

static const u32 *known_at(const struct history *h, size_t cut)
{
	const u32 *known = NULL;

	for (guint i = 0; i < h->flushes->len; i++) {
		const struct flush *f = &g_array_index(h->flushes, struct flush, i);

		if (f->done <= cut)
			known = f->known;
	}
	return known;
}

/* ---- Requests ---- */

struct crash_case {
	const char *name;
	const char *create;  /* options of qemu-img create */
	const char *opts;    /* of the node */
	const char *backing; /* format of the backing file; NULL: none */
	u64 size;
	u64 backing_size;
	int requests;
};

struct job {
	enum { WRITE, ZEROES, DISCARD, FLUSH } op;
	u64 first, count;
	u8 *buf;
	u32 *known;
	u32 value;
	int ret;
	bool used, fua;
};

static u32 next_value;

static void fill(u8 *buf, u64 sectors, u32 value)
{
	for (u64 i = 0; i < sectors * SECTOR / 4; i++)
		((u32 *)buf)[i] = value;
}

static void pick(GRand *rand, struct job *j, const struct job *all, u64 sectors)
{
	static const u8 ops[] = { WRITE, WRITE, WRITE, WRITE, WRITE, ZEROES, DISCARD, FLUSH };
	bool clash;

	j->op = ops[g_rand_int_range(rand, 0, ARRAY_SIZE(ops))];
	do {
		clash = false;
		j->first = g_rand_int_range(rand, 0, sectors);
		j->count = g_rand_int_range(rand, 1, g_rand_boolean(rand) ? 16 : 600);
		j->count = MIN(j->count, sectors - j->first);
		for (int i = 0; i < IN_FLIGHT && j->op != FLUSH; i++) {
			const struct job *o = &all[i];

			clash |= o != j && o->used && o->op != FLUSH &&
				 j->first < o->first + o->count && o->first < j->first + j->count;
		}
	} while (clash);
}

static void start(GRand *rand, struct block_backend *b, struct job *j, struct history *h)
{
	u64 offset = j->first * SECTOR, bytes = j->count * SECTOR;
	unsigned unmap = g_rand_boolean(rand) ? BLOCK_MAY_UNMAP : 0;
	struct iovec v;

	j->used = true;
	j->ret = PENDING;
	j->fua = false;
	switch (j->op) {
	case WRITE:
		j->value = ++next_value;
		j->buf = g_malloc(bytes);
		fill(j->buf, j->count, j->value);
		v = (struct iovec){ j->buf, bytes };
		change_sectors(h, j->first, j->count, j->value);
		block_writev(b, &(struct block_span){ offset, &v, 1 }, 0, on_done, &j->ret);
		break;
	case ZEROES:
		change_sectors(h, j->first, j->count, 0);
		block_write_zeroes(b, offset, bytes, unmap, on_done, &j->ret);
		break;
	case DISCARD:
		change_sectors(h, j->first, j->count, ANYTHING);
		block_discard(b, offset, bytes, on_done, &j->ret);
		break;
	default:
		j->known = known_changes(h);
		block_flush(b, on_done, &j->ret);
		break;
	}
}

static void finish(struct job *j, struct history *h)
{
	struct flush f;

	g_assert_cmpint(wait_done(&j->ret), ==, 0);
	if (j->op == FLUSH) {
		f = (struct flush){ record_now(), g_steal_pointer(&j->known) };
		g_array_append_val(h->flushes, f);
	} else {
		end_change(h, j->first, j->count);
	}
	g_clear_pointer(&j->buf, g_free);
	j->used = false;
}

static void run_requests(GRand *rand, struct block_backend *b, struct history *h, int requests)
{
	struct job jobs[IN_FLIGHT] = { 0 };

	for (int n = 0; n < requests; n++) {
		struct job *j = &jobs[g_rand_int_range(rand, 0, IN_FLIGHT)];

		if (j->used)
			finish(j, h);
		pick(rand, j, jobs, h->sectors);
		start(rand, b, j, h);
	}
	for (int i = 0; i < IN_FLIGHT; i++) {
		if (jobs[i].used)
			finish(&jobs[i], h);
	}
}

/* ---- After the crash ---- */

static void put(int fd, u64 offset, const u8 *bytes, size_t len)
{
	if (bytes)
		g_assert_cmpint(pwrite(fd, bytes, len, offset), ==, len);
	else
		syscall(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, len);
}

/* @whole: each write is there or not; else each sector of it. */
static void apply(GRand *rand, int fd, const struct entry *e, bool sure, double chance, bool whole)
{
	if (e->type == ENTRY_FLUSH)
		return;
	if (sure || (whole && g_rand_double(rand) < chance))
		put(fd, e->offset, e->bytes, e->len);
	if (sure || whole)
		return;
	for (u64 at = 0; at < e->len; at += SECTOR) {
		if (g_rand_double(rand) < chance)
			put(fd, e->offset + at, e->bytes ? e->bytes + at : NULL,
			    MIN(SECTOR, e->len - at));
	}
}

static void crash_at(GRand *rand, const char *before, const char *path, size_t cut)
{
	static const double chances[] = { 0, 0.1, 0.5, 0.9, 1 };
	double chance = chances[g_rand_int_range(rand, 0, ARRAY_SIZE(chances))];
	bool whole = g_rand_boolean(rand);
	g_autofree char *bytes = NULL;
	size_t sure = 0;
	gsize len;
	int fd;

	g_assert_true(g_file_get_contents(before, &bytes, &len, NULL));
	g_assert_true(g_file_set_contents(path, bytes, len, NULL));
	fd = open(path, O_RDWR);
	for (size_t i = 0; i < cut; i++) {
		const struct entry *e = &g_array_index(record, struct entry, i);

		if (e->type == ENTRY_FLUSH)
			sure = MAX(sure, e->covers);
	}
	for (size_t i = 0; i < cut; i++)
		apply(rand, fd, &g_array_index(record, struct entry, i), i < sure, chance, whole);
	close(fd);
}

/* Return: qemu-img's exit status. */
static int run(char *command)
{
	g_autofree char *text = command, *out = NULL, *errors = NULL;
	g_autoptr(GError) err = NULL;
	int status;

	g_spawn_command_line_sync(text, &out, &errors, &status, &err);
	g_assert_no_error(err);
	g_assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) && WEXITSTATUS(status) != 3)
		g_test_message("%s: %s%s", text, out, errors);
	return WEXITSTATUS(status);
}

/* 0: clean; 3: leaked clusters; anything else is worse. */
static int check_image(const char *path)
{
	return run(g_strdup_printf("qemu-img check -f qcow2 '%s'", path));
}

static void check_content(const char *path, const struct history *h, size_t cut)
{
	g_autofree char *raw = g_build_filename(test_dir, "crashed.raw", NULL), *bytes = NULL;
	const u32 *known = known_at(h, cut);
	gsize len;

	g_assert_cmpint(
		run(g_strdup_printf("qemu-img convert -f qcow2 -O raw '%s' '%s'", path, raw)), ==,
		0);
	g_assert_true(g_file_get_contents(raw, &bytes, &len, NULL));
	g_assert_cmpuint(len, ==, h->sectors * SECTOR);
	for (u64 i = 0; i < h->sectors; i++) {
		u32 *words = (u32 *)(bytes + i * SECTOR);

		for (int w = 1; w < SECTOR / 4; w++)
			g_assert_cmphex(words[w], ==, words[0]);
		if (!is_allowed(h, i, known, cut, words[0]))
			g_error("cut %zu: sector %" PRIu64 " has %#x", cut, i, words[0]);
	}
}

/* ---- Cases ---- */

static void make_backing(const struct crash_case *c, const char *path, struct history *h)
{
	g_autofree char *raw = g_strconcat(path, ".raw", NULL);
	g_autofree u8 *bytes = g_malloc(c->backing_size);

	for (u64 i = 0; i < c->backing_size / SECTOR; i++) {
		u32 value = 0x80000000 | i;

		fill(bytes + i * SECTOR, 1, value);
		g_array_index(h->changes[i], struct change, 0).value = value;
	}
	g_assert_true(g_file_set_contents(raw, (char *)bytes, c->backing_size, NULL));
	/* With compressed clusters where it is qcow2. */
	g_assert_cmpint(run(g_strdup_printf("qemu-img convert %s -f raw -O %s '%s' '%s'",
					    strcmp(c->backing, "qcow2") ? "" : "-c", c->backing,
					    raw, path)),
			==, 0);
}

static void make_disk(const struct crash_case *c, const char *path, struct history *h)
{
	g_autofree char *backing = g_strconcat(path, ".base", NULL);
	g_autofree char *with = g_strdup("");

	history_init(h, c->size / SECTOR);
	for (u64 i = 0; i < h->sectors; i++) {
		struct change zero = { .over = true };

		g_array_append_val(h->changes[i], zero);
	}
	if (c->backing) {
		make_backing(c, backing, h);
		g_free(with);
		with = g_strdup_printf("-b '%s' -F %s", backing, c->backing);
	}
	g_assert_cmpint(run(g_strdup_printf("qemu-img create -q -f qcow2 -o %s %s '%s' %" PRIu64,
					    c->create, with, path, c->size)),
			==, 0);
}

static void run_case(const struct crash_case *c, int cuts)
{
	g_autofree char *path = g_build_filename(test_dir, "disk", NULL);
	g_autofree char *before = g_build_filename(test_dir, "before", NULL);
	g_autofree char *crashed = g_build_filename(test_dir, "crashed", NULL);
	GRand *rand = g_rand_new_with_seed(g_test_rand_int());
	const struct block_user user = { .qdev = "test" };
	g_autoptr(GError) err = NULL;
	struct history h = { 0 };
	struct block_backend *b;
	int leaks = 0;

	make_disk(c, path, &h);
	g_assert_cmpint(run(g_strdup_printf("cp '%s' '%s'", path, before)), ==, 0);
	b = node_ok(g_strdup_printf("driver=qcow2,node-name=q,discard=unmap,file.driver=file,"
				    "file.filename=%s%s",
				    path, c->opts));
	start_record(path);
	block_attach(b, &user, true, &err);
	g_assert_no_error(err);
	run_requests(rand, b, &h, c->requests);
	block_detach(b);
	node_drop("q");
	recording = false;
	g_assert_cmpint(check_image(path), ==, 0); /* closed in order: no leaks either */
	check_content(path, &h, record->len);
	for (int i = 0; i < cuts; i++) {
		size_t cut = g_rand_int_range(rand, 0, record->len + 1);
		int status;

		crash_at(rand, before, crashed, cut);
		status = check_image(crashed);
		if (status && status != 3)
			g_error("%s: corrupt after cut %zu of %u", c->name, cut, record->len);
		leaks += status == 3;
		check_content(crashed, &h, cut);
	}
	g_test_message("%u writes and flushes, %d cuts, %d with leaks", record->len, cuts, leaks);
	end_record();
	history_clear(&h);
	g_rand_free(rand);
}

static void test_crash(gconstpointer data)
{
	const struct crash_case *c = data;
	g_autofree char *tool = g_find_program_in_path("qemu-img");
	int runs = g_test_slow() ? 10 : 1;

	if (!tool) {
		g_test_skip("there is no qemu-img (package qemu-utils)");
		return;
	}
	for (int i = 0; i < runs; i++)
		run_case(c, g_test_slow() ? 20 : 4);
}

static const struct crash_case cases[] = {
	{ "v3", "compat=1.1", "", NULL, 24 * MiB, 0, 300 },
	{ "small", "cluster_size=512,refcount_bits=64", ",cache-size=16k", NULL, 6 * MiB, 0, 300 },
	{ "bits", "cluster_size=1024,refcount_bits=1", ",cache-size=32k", "raw", 4 * MiB, 3 * MiB,
	  200 },
	{ "v2", "compat=0.10,cluster_size=4096", "", "raw", 5 * MiB, 4 * MiB, 200 },
	{ "v2-alone", "compat=0.10,cluster_size=4096", "", NULL, 5 * MiB, 0, 200 },
	{ "backing", "compat=1.1,cluster_size=16384", "", "qcow2", 8 * MiB, 6 * MiB, 200 },
};

int main(int argc, char **argv)
{
	int ret;

	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	test_dir = g_dir_make_tmp("qcow2-XXXXXX", NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		g_autofree char *name = g_strconcat("/qcow2/crash/", cases[i].name, NULL);

		g_test_add_data_func(name, &cases[i], test_crash);
	}
	ret = g_test_run();
	run(g_strdup_printf("rm -rf '%s'", test_dir));
	return ret;
}
