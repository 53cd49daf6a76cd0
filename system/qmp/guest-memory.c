/* system/qmp/guest-memory.c - commands about guest memory. */
#include "qapi/gen/guest-memory.h"

#include <fcntl.h>
#include <unistd.h>

#include "accel/vm.h"
#include "hw/machine.h"
#include "hw/virtio/balloon.h"
#include "memory/backend.h"
#include "system/emulator.h"
#include "system/objects.h"
#include "util/error.h"
#include "util/fdset.h"

struct qapi_memory_info *qmp_query_memory_size_summary(struct machine *m, GError **err)
{
	struct qapi_memory_info *info = g_new0(struct qapi_memory_info, 1);

	info->base_memory = m->opt.ram_size;
	info->has_plugged_memory = true;
	return info;
}

static void add_memdev(const char *id, const char *type, void *object, void *opaque)
{
	const struct memory_backend *b = object;
	struct qapi_memdev *d;

	if (!memory_backend_is_type(type))
		return;
	d = g_new0(struct qapi_memdev, 1);
	d->id = g_strdup(id);
	d->size = b->spec.size;
	d->merge = b->spec.flags & RAM_MERGE;
	d->dump = !(b->spec.flags & RAM_DUMP_OFF);
	d->prealloc = b->spec.flags & RAM_PREALLOC;
	d->share = b->spec.flags & RAM_SHARED;
	d->has_reserve = true;
	d->reserve = !(b->spec.flags & RAM_NORESERVE);
	d->host_nodes = g_array_new(FALSE, FALSE, sizeof(u16));
	d->policy = QAPI_HOST_MEM_POLICY_DEFAULT;
	g_ptr_array_add(opaque, d);
}

GPtrArray *qmp_query_memdev(struct machine *m, GError **err)
{
	GPtrArray *list = qapi_memdev_list_new();

	objects_foreach(emulator_of(m)->objects, add_memdev, list);
	return list;
}

/* Guest physical memory into a file, a piece at a time. */
static void save_physical(struct machine *m, u64 at, u64 size, const char *path, GError **err)
{
	g_autofree char *buf = g_malloc(MiB);
	int fd = file_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0) {
		error_set_errno(err, -fd, "cannot create '%s'", path);
		return;
	}
	while (size) {
		u64 n = MIN(size, MiB);

		if (address_space_read(m->vm->memory, at, buf, n) != MEM_OK) {
			error_set(err, "there is no memory at 0x%" PRIx64 "..0x%" PRIx64, at,
				  at + n - 1);
			break;
		}
		if (write(fd, buf, n) != (ssize_t)n) {
			error_set_errno(err, errno, "cannot write '%s'", path);
			break;
		}
		at += n;
		size -= n;
	}
	if (close(fd) && err && !*err)
		error_set_errno(err, errno, "cannot write '%s'", path);
}

void qmp_pmemsave(struct machine *m, const struct qapi_pmemsave_args *args, GError **err)
{
	save_physical(m, args->val, args->size, args->filename, err);
}

struct qapi_balloon_info *qmp_query_balloon(struct machine *m, GError **err)
{
	struct qapi_balloon_info *info;
	u64 actual;

	if (balloon_actual(m, &actual, err))
		return NULL;
	info = g_new0(struct qapi_balloon_info, 1);
	info->actual = (s64)actual;
	return info;
}

void qmp_balloon(struct machine *m, const struct qapi_balloon_args *args, GError **err)
{
	if (args->value <= 0)
		error_set(err, "Parameter 'value' expects a size");
	else
		balloon_set_target(m, args->value, err);
}
