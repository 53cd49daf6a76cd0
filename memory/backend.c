/* memory/backend.c - memory-backend-ram, -memfd and -file. */
#include "memory/backend.h"

#include "util/error.h"
#include "util/keyval.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <linux/magic.h>

struct options {
	bool share, share_given, prealloc, merge, dump, reserve, hugetlb, readonly, pmem;
	bool discard_data, seal;
	u64 size, align, hugetlbsize, offset, prealloc_threads;
	char *mem_path;
};

bool memory_backend_is_type(const char *type)
{
	return !strcmp(type, "memory-backend-ram") || !strcmp(type, "memory-backend-memfd") ||
	       !strcmp(type, "memory-backend-file");
}

static int take_common(JsonObject *opts, struct options *o, GError **err)
{
	struct {
		const char *key;
		bool *to;
	} flags[] = {
		{ "prealloc", &o->prealloc },
		{ "merge", &o->merge },
		{ "dump", &o->dump },
		{ "reserve", &o->reserve },
	};
	int ret;

	for (unsigned i = 0; i < ARRAY_SIZE(flags); i++)
		if (keyval_take_bool(opts, flags[i].key, flags[i].to, err) == -EINVAL)
			return -EINVAL;
	ret = keyval_take_bool(opts, "share", &o->share, err);
	o->share_given = !ret;
	if (ret == -EINVAL || keyval_take_size(opts, "size", 'B', &o->size, err) == -EINVAL ||
	    keyval_take_u64(opts, "prealloc-threads", &o->prealloc_threads, err) == -EINVAL)
		return -EINVAL;
	return 0;
}

static int take_memfd(JsonObject *opts, struct options *o, GError **err)
{
	o->seal = true;
	if (keyval_take_bool(opts, "hugetlb", &o->hugetlb, err) == -EINVAL ||
	    keyval_take_bool(opts, "seal", &o->seal, err) == -EINVAL ||
	    keyval_take_size(opts, "hugetlbsize", 'B', &o->hugetlbsize, err) == -EINVAL)
		return -EINVAL;
	if (o->hugetlbsize && (!o->hugetlb || !IS_POW2(o->hugetlbsize))) {
		error_set(err, "'hugetlbsize=%" PRIu64 "' needs hugetlb=on and a power of two",
			  o->hugetlbsize);
		return -EINVAL;
	}
	if (!o->share_given)
		o->share = true;
	return 0;
}

static int take_file(JsonObject *opts, struct options *o, GError **err)
{
	o->mem_path = keyval_take_str(opts, "mem-path");
	if (keyval_take_size(opts, "align", 'B', &o->align, err) == -EINVAL ||
	    keyval_take_size(opts, "offset", 'B', &o->offset, err) == -EINVAL ||
	    keyval_take_bool(opts, "readonly", &o->readonly, err) == -EINVAL ||
	    keyval_take_bool(opts, "pmem", &o->pmem, err) == -EINVAL ||
	    keyval_take_bool(opts, "discard-data", &o->discard_data, err) == -EINVAL)
		return -EINVAL;
	if (!o->mem_path) {
		error_set(err, "memory-backend-file needs 'mem-path'");
		return -EINVAL;
	}
	if (o->pmem || o->readonly) {
		error_set(err, "memory-backend-file: '%s=on' is not supported; leave it off",
			  o->pmem ? "pmem" : "readonly");
		return -EINVAL;
	}
	if (o->align && !IS_POW2(o->align)) {
		error_set(err, "'align=%" PRIu64 "' is not a power of two", o->align);
		return -EINVAL;
	}
	return 0;
}

static int open_memfd(const char *id, const struct options *o, GError **err)
{
	unsigned flags = MFD_CLOEXEC | (o->seal ? MFD_ALLOW_SEALING : 0);
	int fd;

	if (o->hugetlb) {
		flags |= MFD_HUGETLB;
		if (o->hugetlbsize)
			flags |= (unsigned)__builtin_ctzll(o->hugetlbsize) << MAP_HUGE_SHIFT;
	}
	fd = memfd_create(id, flags);
	if (fd < 0 || ftruncate(fd, o->size)) {
		int e = errno;

		error_set_errno(
			err, e, "memory back end '%s': cannot make a memfd of %" PRIu64 " bytes%s",
			id, o->size, o->hugetlb ? " in huge pages (are enough reserved?)" : "");
		if (fd >= 0)
			close(fd);
		return -e;
	}
	if (o->seal)
		fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
	return fd;
}

/* A directory gives an unlinked file in it (hugetlbfs mounts); a path is opened or created. */
static int open_file(const char *id, const struct options *o, GError **err)
{
	struct stat st;
	int fd, e;

	if (!stat(o->mem_path, &st) && S_ISDIR(st.st_mode)) {
		g_autofree char *name = g_strdup_printf("%s/tidemark-XXXXXX", o->mem_path);

		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			unlink(name);
	} else {
		fd = open(o->mem_path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	}
	if (fd < 0 || fstat(fd, &st)) {
		e = errno;
		error_set_errno(err, e, "memory back end '%s': cannot open '%s'", id, o->mem_path);
		goto fail;
	}
	if (S_ISREG(st.st_mode) && st.st_size && (u64)st.st_size < o->offset + o->size) {
		e = EINVAL;
		error_set(err,
			  "memory back end '%s': '%s' has %" PRIu64 " bytes, %" PRIu64
			  " are needed",
			  id, o->mem_path, (u64)st.st_size, o->offset + o->size);
		goto fail;
	}
	if (S_ISREG(st.st_mode) && !st.st_size && ftruncate(fd, o->offset + o->size)) {
		e = errno;
		error_set_errno(err, e,
				"memory back end '%s': cannot grow '%s' to %" PRIu64 " bytes", id,
				o->mem_path, o->offset + o->size);
		goto fail;
	}
	return fd;
fail:
	if (fd >= 0)
		close(fd);
	return -e;
}

/* Page size of a hugetlbfs file, 0 for any other. */
static u64 huge_page_size(int fd)
{
	struct statfs fs;

	return fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == HUGETLBFS_MAGIC ? fs.f_bsize : 0;
}

static struct memory_backend *finish(const char *type, const char *id, struct options *o, int fd)
{
	struct memory_backend *b = g_new0(struct memory_backend, 1);

	b->id = g_strdup(id);
	b->type = g_strdup(type);
	b->mem_path = g_steal_pointer(&o->mem_path);
	b->spec = (struct ram_spec){
		.id = b->id,
		.size = o->size,
		.fd = fd,
		.fd_offset = o->offset,
		.align = o->align,
		.hugetlb_size = huge_page_size(fd),
		.prealloc_threads = o->prealloc_threads,
		.flags = RAM_MIGRATABLE | (o->share ? RAM_SHARED : 0) |
			 (o->prealloc ? RAM_PREALLOC : 0) | (o->merge ? RAM_MERGE : 0) |
			 (o->dump ? 0 : RAM_DUMP_OFF) | (o->reserve ? 0 : RAM_NORESERVE),
	};
	return b;
}

struct memory_backend *memory_backend_create(const char *type, const char *id, JsonObject *opts,
					     GError **err)
{
	struct options o = { .merge = false, .dump = true, .reserve = true };
	bool is_memfd = !strcmp(type, "memory-backend-memfd");
	bool is_file = !strcmp(type, "memory-backend-file");
	g_autofree char *what = g_strdup_printf("-object %s,id=%s", type, id);
	struct memory_backend *b = NULL;
	int fd = -1;

	if (take_common(opts, &o, err) || (is_memfd && take_memfd(opts, &o, err)) ||
	    (is_file && take_file(opts, &o, err)) || keyval_reject_rest(opts, what, err))
		goto out;
	if (!o.size || !IS_ALIGNED(o.size, DIRTY_PAGE_SIZE)) {
		error_set(err, "%s: 'size=%" PRIu64 "' must be a positive multiple of 4096", what,
			  o.size);
		goto out;
	}
	if (is_memfd || is_file) {
		fd = is_memfd ? open_memfd(id, &o, err) : open_file(id, &o, err);
		if (fd < 0)
			goto out;
	}
	b = finish(type, id, &o, fd);
out:
	g_free(o.mem_path);
	return b;
}

void memory_backend_destroy(struct memory_backend *b)
{
	if (!b->block && b->spec.fd >= 0)
		close(b->spec.fd);
	g_free(b->id);
	g_free(b->type);
	g_free(b->mem_path);
	g_free(b);
}

struct ramblock *memory_backend_use(struct memory_backend *b, struct ram_list *list,
				    const char *block_id, GError **err)
{
	struct ram_spec spec = b->spec;

	if (b->in_use) {
		error_set(err, "memory back end '%s' is in use already", b->id);
		return NULL;
	}
	if (block_id)
		spec.id = block_id;
	b->block = ram_create(list, &spec, err);
	b->in_use = b->block != NULL;
	return b->block;
}
