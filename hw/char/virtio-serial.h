/*
 * hw/char/virtio-serial.h - the virtio console device and its ports.
 */
#ifndef HW_CHAR_VIRTIO_SERIAL_H
#define HW_CHAR_VIRTIO_SERIAL_H

#include "chardev/char.h"
#include "hw/virtio/virtio.h"
#include "util/timer.h"

#include <linux/virtio_console.h>

#define SERIAL_MAX_PORTS 511 /* two queues each, and two for control */
#define PORT_ID_AUTO     UINT32_MAX

struct serial_port;

struct virtio_serial {
	struct virtio_device vdev;
	struct virtqueue *ctrl_in, *ctrl_out; /* to, from the driver; NULL: a single port */
	struct serial_port **ports;           /* by number; NULL: none there */
	u32 nports;                           /* numbers there are */
	GQueue messages;                      /* of GBytes: control messages without a buffer yet */

	/* Properties. */
	u32 opt_max_ports;
	bool opt_emergency_write;
};

struct serial_port {
	struct device dev;
	struct virtio_serial *serial;
	struct virtqueue *in, *out; /* to, from the driver */
	struct chardev_fe *fe;      /* NULL: no back end */
	bool is_console;
	bool guest_connected; /* the guest has it open; migrates, as the next */
	bool host_connected;  /* somebody is at the other end */
	bool host_loaded;     /* what the guest believes of that after a migration */
	struct timer retry;   /* the back end was full */

	/* Properties. */
	u32 nr;
	char *opt_name;
	struct chardev *opt_chardev;
};

static inline struct virtio_serial *virtio_serial_of(struct virtio_device *vdev)
{
	return container_of(vdev, struct virtio_serial, vdev);
}

/* hw/char/virtio-serial.c */
int virtio_serial_add_port(struct virtio_serial *serial, struct serial_port *port, GError **err);
void virtio_serial_remove_port(struct serial_port *port);
void virtio_serial_send(struct serial_port *port, u16 event, u16 value); /* control message */
bool virtio_serial_multiport(const struct virtio_serial *serial);

/* hw/char/virtio-serial-port.c */
void serial_port_handle_in(struct serial_port *port);
void serial_port_handle_out(struct serial_port *port);
void serial_port_guest_open(struct serial_port *port, bool open);
/* serial_port_set_guest_connected() - note it, and report a change. */
void serial_port_set_guest_connected(struct serial_port *port, bool connected);
void serial_port_run(struct serial_port *port);
void serial_port_emergency(struct serial_port *port, u8 c);

#endif
