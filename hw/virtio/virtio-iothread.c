/*
 * hw/virtio/virtio-iothread.c - queues that an I/O thread serves.
 *
 * A kick that arrives in a vCPU thread, or when the VM starts, is left for the thread: it finds the
 * queues that were kicked when its eventfd wakes it.
 */
#include "hw/virtio/virtio.h"

#include "util/error.h"

#include <assert.h>
#include <glib-unix.h>
#include <sys/eventfd.h>
#include <unistd.h>

static gboolean serve(gint fd, GIOCondition condition, gpointer opaque)
{
	struct virtio_device *vdev = opaque;
	eventfd_t count;

	eventfd_read(fd, &count);
	for (unsigned i = 0; i < vdev->nqueues; i++) {
		struct virtqueue *vq = &vdev->vqs[i];

		if (vq->kicked) {
			vq->kicked = false;
			virtio_kick(vdev, i);
		}
	}
	return G_SOURCE_CONTINUE;
}

int virtio_set_iothread(struct virtio_device *vdev, struct iothread *t, GError **err)
{
	if (!t)
		return 0;
	vdev->kick_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (vdev->kick_fd < 0) {
		error_set_errno(err, errno, "cannot make an eventfd for kicks of the I/O thread");
		return -errno;
	}
	vdev->iothread = t;
	iothread_hold(t);
	vdev->kick_source = g_unix_fd_source_new(vdev->kick_fd, G_IO_IN);
	g_source_set_callback(vdev->kick_source, G_SOURCE_FUNC(serve), vdev, NULL);
	g_source_attach(vdev->kick_source, iothread_context(t));
	return 0;
}

void virtio_drop_iothread(struct virtio_device *vdev)
{
	if (!vdev->iothread)
		return;
	g_source_destroy(vdev->kick_source);
	g_clear_pointer(&vdev->kick_source, g_source_unref);
	close(vdev->kick_fd);
	iothread_drop(vdev->iothread);
	vdev->iothread = NULL;
}

bool virtio_leave_to_iothread(struct virtqueue *vq)
{
	struct virtio_device *vdev = vq->vdev;

	if (!vdev->iothread || iothread_is_current(vdev->iothread))
		return false;
	vq->kicked = true;
	/* The counter cannot overflow: the thread takes it all. */
	if (eventfd_write(vdev->kick_fd, 1))
		assert(errno == EAGAIN);
	return true;
}
