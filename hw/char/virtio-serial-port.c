/*
 * hw/char/virtio-serial-port.c - ports of the virtio console device: virtconsole, virtserialport.
 *
 * Source: Virtio 1.2, 5.3.6.
 */
#include "hw/char/virtio-serial.h"

#include "hw/machine.h"
#include "hw/virtio/devices.h"
#include "util/error.h"

#define BACKLOG_MAX (64 * KiB) /* bytes that wait in the back end before we stop taking more */
#define RETRY_MS    10         /* how often to look whether it has drained */

static struct serial_port *port_of(struct device *dev)
{
	return container_of(dev, struct serial_port, dev);
}

/* Without the multiport protocol there is no opening: the port is simply there. */
static bool guest_listens(const struct serial_port *port)
{
	return port->guest_connected || !virtio_serial_multiport(port->serial);
}

/* ---- From the guest ------------------------------------------------------------------------- */

static bool backlogged(const struct serial_port *port)
{
	return port->fe && chardev_queued(port->fe) > BACKLOG_MAX;
}

/* Return: false if the back end must drain first. */
static bool take_output(struct serial_port *port)
{
	struct virtqueue *vq = port->out;
	struct virtqueue_elem *elem;

	while (!backlogged(port)) {
		elem = virtqueue_pop(vq);
		if (!elem)
			return true;
		for (unsigned i = 0; port->fe && i < elem->out_num; i++)
			chardev_write(port->fe, elem->out[i].iov_base, elem->out[i].iov_len);
		virtqueue_push(vq, elem, 0);
		virtio_notify(vq);
	}
	timer_mod(&port->retry, clock_ns(CLOCK_TYPE_REALTIME) + RETRY_MS * NS_PER_MS);
	return false;
}

void serial_port_handle_out(struct serial_port *port)
{
	do {
		virtqueue_notify_off(port->out);
	} while (take_output(port) && !virtqueue_notify_on(port->out));
}

static void retry(void *opaque)
{
	struct serial_port *port = opaque;

	virtio_kick(&port->serial->vdev, port->out->index);
}

void serial_port_emergency(struct serial_port *port, u8 c)
{
	if (port->fe)
		chardev_write(port->fe, &c, 1);
}

/* ---- To the guest --------------------------------------------------------------------------- */

/* What fits into the next chain: receive() then needs just that one. */
static size_t can_receive(void *opaque)
{
	struct serial_port *port = opaque;
	struct virtqueue_elem *elem;
	size_t room;

	if (!virtio_live(&port->serial->vdev) || !guest_listens(port))
		return 0;
	elem = virtqueue_pop(port->in);
	if (!elem) {
		if (virtqueue_notify_on(port->in))
			return 0;
		elem = virtqueue_pop(port->in);
		if (!elem)
			return 0;
	}
	room = elem->in_len;
	virtqueue_unpop(port->in, elem);
	return room;
}

static void receive(void *opaque, const u8 *buf, size_t len)
{
	struct serial_port *port = opaque;

	while (len) {
		struct virtqueue_elem *elem = virtqueue_pop(port->in);
		u64 n;

		if (!elem) /* the driver broke it since can_receive() */
			return;
		n = virtq_elem_write(elem, 0, buf, len);
		virtqueue_push(port->in, elem, n);
		buf += n;
		len -= n;
	}
	virtio_notify(port->in);
}

void serial_port_handle_in(struct serial_port *port)
{
	if (port->fe)
		chardev_accept_input(port->fe);
}

static void set_host_connected(struct serial_port *port, bool connected)
{
	if (port->is_console || port->host_connected == connected)
		return;
	port->host_connected = port->host_loaded = connected;
	virtio_serial_send(port, VIRTIO_CONSOLE_PORT_OPEN, connected);
}

static void event(void *opaque, enum chardev_event event)
{
	if (event == CHARDEV_OPENED)
		set_host_connected(opaque, true);
	else if (event == CHARDEV_CLOSED)
		set_host_connected(opaque, false);
}

void serial_port_set_guest_connected(struct serial_port *port, bool connected)
{
	const struct machine_host *host = port->dev.machine->host;

	if (port->guest_connected == connected)
		return;
	port->guest_connected = connected;
	if (port->dev.id && host && host->serial_port_changed)
		host->serial_port_changed(host->opaque, port->dev.id, connected);
}

void serial_port_guest_open(struct serial_port *port, bool open)
{
	serial_port_set_guest_connected(port, open);
	serial_port_handle_in(port);
}

/* The VM runs (again): the other end may have come or gone meanwhile. */
void serial_port_run(struct serial_port *port)
{
	if (port->host_loaded != port->host_connected)
		virtio_serial_send(port, VIRTIO_CONSOLE_PORT_OPEN, port->host_connected);
	port->host_loaded = port->host_connected;
	serial_port_handle_in(port);
}

/* ---- Device --------------------------------------------------------------------------------- */

static int port_realize(struct device *dev, GError **err)
{
	struct serial_port *port = port_of(dev);
	struct virtio_serial *serial = container_of(dev->parent, struct virtio_serial, vdev.dev);
	struct chardev_frontend fe = {
		.can_receive = can_receive,
		.receive = receive,
		.event = event,
		.opaque = port,
	};
	int ret;

	port->is_console = dev->type == &virtio_console_type;
	timer_init(&port->retry, CLOCK_TYPE_REALTIME, retry, port);
	ret = virtio_serial_add_port(serial, port, err);
	if (ret || !port->opt_chardev)
		return ret;
	port->fe = chardev_attach(port->opt_chardev, &fe, err);
	if (!port->fe) {
		virtio_serial_remove_port(port);
		return -EBUSY;
	}
	set_host_connected(port, chardev_connected(port->fe));
	port->host_loaded = port->host_connected;
	return 0;
}

static void port_unrealize(struct device *dev)
{
	struct serial_port *port = port_of(dev);

	timer_del(&port->retry);
	virtio_serial_remove_port(port);
	if (port->fe)
		chardev_detach(port->fe);
}

static const struct property port_props[] = {
	PROP(struct serial_port, nr, "nr", U32, "4294967295", "number; 4294967295: the next"),
	PROP(struct serial_port, opt_name, "name", STR, NULL, "how the guest finds it"),
	PROP(struct serial_port, opt_chardev, "chardev", CHARDEV, NULL, "id of the back end"),
	PROP_END
};

const struct device_type virtio_console_type = {
	.name = "virtconsole",
	.desc = "virtio console",
	.category = DEVICE_INPUT,
	.bus = "virtio-serial-bus",
	.instance_size = sizeof(struct serial_port),
	.props = port_props,
	.user_creatable = true,
	.realize = port_realize,
	.unrealize = port_unrealize,
};

const struct device_type virtio_serial_port_type = {
	.name = "virtserialport",
	.desc = "virtio serial port",
	.category = DEVICE_INPUT,
	.bus = "virtio-serial-bus",
	.instance_size = sizeof(struct serial_port),
	.props = port_props,
	.user_creatable = true,
	.realize = port_realize,
	.unrealize = port_unrealize,
};
