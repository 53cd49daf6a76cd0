/* util/fdset.c - descriptors that the user handed over: fd sets and named ones. */
#include "util/fdset.h"

#include "util/error.h"

#include <fcntl.h>
#include <unistd.h>

#define FDSET_PREFIX "/dev/fdset/"

struct member {
	s64 set;
	int fd;
	char *opaque;
};

static GList *members;    /* of struct member, by ascending set, then in order of adding */
static GHashTable *named; /* name -> fd + 1 */

static void set_cloexec(int fd)
{
	fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static bool set_exists(s64 set)
{
	for (GList *l = members; l; l = l->next) {
		if (((struct member *)l->data)->set == set)
			return true;
	}
	return false;
}

static int by_set(const void *a, const void *b)
{
	s64 x = ((const struct member *)a)->set, y = ((const struct member *)b)->set;

	/* Never 0, so that equal ones keep their order (the new one is @a). */
	return x < y ? -1 : 1;
}

s64 fdset_add(s64 set, int fd, const char *opaque, GError **err)
{
	struct member *m;

	if (fcntl(fd, F_GETFD) < 0) {
		error_set_errno(err, errno, "file descriptor %d", fd);
		return -EBADF;
	}
	if (set < 0) {
		for (set = 0; set_exists(set); set++)
			;
	}
	set_cloexec(fd);
	m = g_new(struct member, 1);
	*m = (struct member){ set, fd, g_strdup(opaque) };
	members = g_list_insert_sorted(members, m, by_set);
	return set;
}

int fdset_remove(s64 set, int fd, GError **err)
{
	bool found = false;

	for (GList *l = members, *next; l; l = next) {
		struct member *m = l->data;

		next = l->next;
		if (m->set != set || (fd >= 0 && m->fd != fd))
			continue;
		found = true;
		close(m->fd);
		g_free(m->opaque);
		g_free(m);
		members = g_list_delete_link(members, l);
	}
	if (found)
		return 0;
	if (fd >= 0)
		error_set(err, "fd set %" PRId64 " has no file descriptor %d", set, fd);
	else
		error_set(err, "there is no fd set %" PRId64, set);
	return -ENOENT;
}

void fdset_foreach(void (*fn)(s64 set, int fd, const char *opaque, void *arg), void *arg)
{
	for (GList *l = members; l; l = l->next) {
		struct member *m = l->data;

		fn(m->set, m->fd, m->opaque, arg);
	}
}

/* How well a member's access mode serves @want: 2 equal, 1 more than asked, 0 not at all. */
static int fit(int fd, int want)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return 0;
	flags &= O_ACCMODE;
	return flags == want ? 2 : flags == O_RDWR ? 1 : 0;
}

static int open_from_set(s64 set, int flags)
{
	struct member *best = NULL;
	int ret;

	if (!set_exists(set))
		return -ENOENT;
	for (GList *l = members; l; l = l->next) {
		struct member *m = l->data;

		if (m->set == set &&
		    fit(m->fd, flags & O_ACCMODE) > (best ? fit(best->fd, flags & O_ACCMODE) : 0))
			best = m;
	}
	if (!best)
		return -EACCES;
	ret = fcntl(best->fd, F_DUPFD_CLOEXEC, 0);
	return ret < 0 ? -errno : ret;
}

int file_open(const char *path, int flags, mode_t mode)
{
	int fd;

	if (g_str_has_prefix(path, FDSET_PREFIX)) {
		const char *digits = path + strlen(FDSET_PREFIX);
		char *end;
		s64 set = g_ascii_strtoll(digits, &end, 10);

		if (end == digits || *end || set < 0)
			return -EINVAL;
		return open_from_set(set, flags);
	}
	fd = open(path, flags | O_CLOEXEC, mode);
	return fd < 0 ? -errno : fd;
}

int fd_named_add(const char *name, int fd, GError **err)
{
	if (!name[0] || g_ascii_isdigit(name[0])) {
		error_set(err, "descriptor name '%s' must not be empty or start with a digit",
			  name);
		return -EINVAL;
	}
	if (!named)
		named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	set_cloexec(fd);
	fd_named_remove(name, NULL);
	g_hash_table_insert(named, g_strdup(name), GINT_TO_POINTER(fd + 1));
	return 0;
}

static int named_steal(const char *name, GError **err)
{
	int fd = named ? GPOINTER_TO_INT(g_hash_table_lookup(named, name)) - 1 : -1;

	if (fd < 0) {
		error_set(err, "no file descriptor was given the name '%s' by getfd", name);
		return -ENOENT;
	}
	g_hash_table_remove(named, name);
	return fd;
}

int fd_named_remove(const char *name, GError **err)
{
	int fd = named_steal(name, err);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int fd_take(const char *text, GError **err)
{
	char *end;
	s64 fd;

	if (!g_ascii_isdigit(text[0]))
		return named_steal(text, err);
	fd = g_ascii_strtoll(text, &end, 10);
	if (*end || fd > INT32_MAX) {
		error_set(err, "'fd=%s': expected a number or a name given by getfd", text);
		return -EINVAL;
	}
	if (fcntl(fd, F_GETFD) < 0) {
		int errnum = errno;

		error_set_errno(err, errnum, "'fd=%s'", text);
		return -errnum;
	}
	set_cloexec(fd);
	return fd;
}
