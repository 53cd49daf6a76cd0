/* system/dump.c - a core file of the guest: what is in it, and the thread that writes it. */
#include "dump.h"

#include "accel/vcpu.h"
#include "accel/vm.h"
#include "emulator.h"
#include "migration/migration.h"
#include "qapi/gen/dump.h"
#include "util/error.h"
#include "util/fdset.h"
#include "util/lock.h"
#include "util/main-loop.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CHUNK   MiB
#define BLOCKER "dump-guest-memory is in progress"

struct dump {
	struct emulator *e;
	struct dump_content content;
	GByteArray *header;
	int fd, cancel_fd;
	u64 completed; /* bytes of memory; atomic */
	enum dump_status status;
	bool was_running;
	enum run_state was_state;
	GThread *thread;
	GError *error; /* of the thread, until it was joined */
};

/* ---- what is written ---- */

static void add_range(struct dump_content *c, const struct flat_range *r,
		      const struct dump_request *q)
{
	u64 begin = q->filtered ? MAX(r->base, q->begin) : r->base;
	u64 end = q->filtered ? MIN(r->base + r->size, q->begin + q->length) : r->base + r->size;
	struct dump_range *last =
		c->ranges->len ? &g_array_index(c->ranges, struct dump_range, c->ranges->len - 1)
			       : NULL;
	struct dump_range new;

	if (r->map->kind != MAP_RAM || begin >= end)
		return;
	new = (struct dump_range){ begin, end - begin,
				   r->map->block->host + r->offset + (begin - r->base) };
	c->bytes += new.size;
	if (last && last->gpa + last->size == new.gpa && last->host + last->size == new.host)
		last->size += new.size;
	else
		g_array_append_val(c->ranges, new);
}

static int find_content(struct dump *d, const struct dump_request *q, GError **err)
{
	const struct flat_view *view = address_space_view_get(d->e->vm->memory);

	d->content.ranges = g_array_new(FALSE, FALSE, sizeof(struct dump_range));
	for (unsigned i = 0; i < view->nranges; i++)
		add_range(&d->content, &view->ranges[i], q);
	address_space_view_put(d->e->vm->memory, view);
	if (d->content.ranges->len)
		return 0;
	error_set(err, "dump: there is no RAM at 0x%" PRIx64 "..0x%" PRIx64, q->begin,
		  q->begin + q->length - 1);
	return -EINVAL;
}

/* ---- writing ---- */

/* Return: 0 or -errno. */
static int wait_writable(struct dump *d)
{
	struct pollfd p[2] = { { .fd = d->fd, .events = POLLOUT },
			       { .fd = d->cancel_fd, .events = POLLIN } };

	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return p[1].revents ? -ECANCELED : 0;
}

static int write_all(struct dump *d, const u8 *buf, size_t len)
{
	while (len) {
		ssize_t n = write(d->fd, buf, len);
		int ret = n >= 0 || errno == EINTR ? 0
			  : errno == EAGAIN        ? wait_writable(d)
						   : -errno;

		if (ret)
			return ret;
		n = MAX(n, 0);
		buf += n;
		len -= n;
	}
	return 0;
}

static int write_range(struct dump *d, const struct dump_range *r)
{
	for (u64 at = 0; at < r->size; at += CHUNK) {
		u64 n = MIN(CHUNK, r->size - at);
		int ret = write_all(d, r->host + at, n);

		if (ret)
			return ret;
		__atomic_fetch_add(&d->completed, n, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Any thread, without the machine lock: the guest does not run and its RAM stays. */
static void write_file(struct dump *d)
{
	int ret = write_all(d, d->header->data, d->header->len);

	for (guint i = 0; !ret && i < d->content.ranges->len; i++)
		ret = write_range(d, &g_array_index(d->content.ranges, struct dump_range, i));
	if (close(d->fd) && !ret)
		ret = -errno;
	d->fd = -1;
	if (ret)
		error_set_errno(&d->error, -ret, "dump: cannot write the file");
}

/* ---- life ---- */

static void dump_free(struct dump *d)
{
	if (d->content.ranges)
		g_array_unref(d->content.ranges);
	if (d->header)
		g_byte_array_unref(d->header);
	if (d->fd >= 0)
		close(d->fd);
	if (d->cancel_fd >= 0)
		close(d->cancel_fd);
	g_clear_error(&d->error);
	g_free(d);
}

/* The file is complete, or cannot be: the guest goes on. */
static void end_dump(struct dump *d)
{
	d->status = d->error ? DUMP_FAILED : DUMP_COMPLETED;
	migration_del_blocker(d->e->migration, BLOCKER);
	if (d->was_running)
		vm_start(d->e->vm);
	else
		vm_set_run_state(d->e->vm, d->was_state);
}

static void thread_is_done(void *opaque)
{
	struct emulator *e = opaque;
	struct dump *d = e->dump;
	struct qapi_dump_query_result result = {};
	struct qapi_dump_completed_event data = { .result = &result };

	if (!d || !d->thread)
		return; /* dump_finish() was faster */
	g_thread_join(d->thread);
	d->thread = NULL;
	end_dump(d);
	result.status = d->error ? QAPI_DUMP_STATUS_FAILED : QAPI_DUMP_STATUS_COMPLETED;
	result.completed = d->completed;
	result.total = d->content.bytes;
	data.error = d->error ? d->error->message : NULL;
	qapi_event_send_dump_completed(e->events, &data);
}

static gpointer dump_thread(gpointer opaque)
{
	struct dump *d = opaque;

	write_file(d);
	main_loop_call(thread_is_done, d->e);
	return NULL;
}

static int open_target(const char *protocol, GError **err)
{
	const char *path;
	int fd;

	if (g_str_has_prefix(protocol, "fd:")) {
		fd = fd_take(protocol + 3, err);
	} else if (g_str_has_prefix(protocol, "file:")) {
		path = protocol + strlen("file:");
		fd = file_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd < 0)
			error_set_errno(err, -fd, "dump: cannot create '%s'", path);
	} else {
		error_set(err, "parameter 'protocol' must begin with 'file:' or 'fd:', not '%s'",
			  protocol);
		return -EINVAL;
	}
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return fd;
}

static int prepare(struct dump *d, const struct dump_request *q, GError **err)
{
	if (!d->e->vm->ncpus || !d->e->vm->cpus[0]->ops->core_regs) {
		error_set(err, "dump: machine %s has no CPUs with registers to show",
			  d->e->machine->type->name);
		return -ENOTSUP;
	}
	if (find_content(d, q, err))
		return -EINVAL;
	d->header = dump_elf_header(d->e->vm, &d->content, err);
	if (!d->header)
		return -EIO;
	d->fd = open_target(q->protocol, err);
	return MIN(d->fd, 0);
}

static int write_now(struct dump *d, GError **err)
{
	machine_unlock();
	write_file(d);
	machine_lock();
	end_dump(d);
	if (!d->error)
		return 0;
	g_propagate_error(err, g_error_copy(d->error));
	return -EIO;
}

int dump_start(struct emulator *e, const struct dump_request *q, GError **err)
{
	struct dump *d;
	int ret;

	if (dump_query(e, NULL, NULL) == DUMP_ACTIVE) {
		error_set(err, "There is a dump in process, please wait.");
		return -EBUSY;
	}
	if (migration_incoming_waiting(e->migration)) {
		error_set(err, "Dump not allowed during incoming migration.");
		return -EBUSY;
	}
	if (migration_add_blocker(e->migration, BLOCKER, err))
		return -EBUSY;
	dump_finish(e);
	d = e->dump = g_new0(struct dump, 1);
	d->e = e;
	d->fd = -1;
	d->cancel_fd = eventfd(0, EFD_CLOEXEC);
	d->was_running = vm_running(e->vm);
	d->was_state = vm_run_state(e->vm);
	vm_stop(e->vm, RUN_STATE_SAVE_VM);
	d->status = DUMP_ACTIVE;
	ret = prepare(d, q, err);
	if (ret) {
		end_dump(d);
		dump_finish(e);
		return ret;
	}
	if (!q->detach)
		return write_now(d, err);
	d->thread = g_thread_new("dump", dump_thread, d);
	return 0;
}

enum dump_status dump_query(const struct emulator *e, u64 *completed, u64 *total)
{
	const struct dump *d = e->dump;

	if (completed)
		*completed = d ? __atomic_load_n(&d->completed, __ATOMIC_RELAXED) : 0;
	if (total)
		*total = d ? d->content.bytes : 0;
	return d ? d->status : DUMP_NONE;
}

void dump_finish(struct emulator *e)
{
	struct dump *d = e->dump;
	u64 one = 1;

	if (!d)
		return;
	if (d->thread) {
		if (write(d->cancel_fd, &one, sizeof(one)) != sizeof(one))
			g_assert_not_reached(); /* an eventfd takes one always */
		g_thread_join(d->thread);
	}
	e->dump = NULL;
	dump_free(d);
}
