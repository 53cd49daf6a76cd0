/*
 * hw/char/virtio-serial.c - virtio console device: ports, and the protocol that controls them.
 *
 * Source: Virtio 1.2, 5.3. Layouts are those of <linux/virtio_console.h>.
 */
#include "hw/char/virtio-serial.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "hw/virtio/devices.h"
#include "util/error.h"
#include "util/log.h"

#include <linux/virtio_ids.h>

#define PORT_QUEUE_SIZE 128
#define CTRL_QUEUE_SIZE 32
#define CONFIG_SIZE     12
#define MESSAGES_MAX    4096 /* kept for a driver that offers no buffers */

_Static_assert(sizeof(struct virtio_console_config) == CONFIG_SIZE, "5.3.4");
_Static_assert(sizeof(struct virtio_console_control) == 8, "5.3.6.2");

/* Queues 2 and 3 are for control, so that port 0 has 0 and 1, port 1 has 4 and 5, ... (5.3.2). */
static unsigned port_queue(u32 port)
{
	return port ? 2 * port + 2 : 0;
}

static struct serial_port *port_of_queue(struct virtio_serial *serial, const struct virtqueue *vq)
{
	u32 port = vq->index < 2 ? 0 : vq->index / 2 - 1;

	return serial->ports[port];
}

bool virtio_serial_multiport(const struct virtio_serial *serial)
{
	return virtio_has_feature(&serial->vdev, VIRTIO_CONSOLE_F_MULTIPORT);
}

/* ---- Control messages to the driver --------------------------------------------------------- */

static void flush_messages(struct virtio_serial *serial)
{
	struct virtqueue_elem *elem;
	bool pushed = false;

	if (!virtio_live(&serial->vdev))
		return;
	while (serial->messages.length && (elem = virtqueue_pop(serial->ctrl_in))) {
		GBytes *msg = g_queue_pop_head(&serial->messages);
		gsize size;
		const void *data = g_bytes_get_data(msg, &size);

		if (elem->in_len < size)
			log_guest("virtio-serial: control buffer of %" PRIu64 " bytes for %zu",
				  elem->in_len, size);
		virtqueue_push(serial->ctrl_in, elem, virtq_elem_write(elem, 0, data, size));
		g_bytes_unref(msg);
		pushed = true;
	}
	if (pushed)
		virtio_notify(serial->ctrl_in);
}

static void post(struct virtio_serial *serial, GByteArray *msg)
{
	if (!virtio_serial_multiport(serial) || serial->messages.length >= MESSAGES_MAX) {
		g_byte_array_unref(msg);
		return;
	}
	g_queue_push_tail(&serial->messages, g_byte_array_free_to_bytes(msg));
	flush_messages(serial);
}

static GByteArray *message(u32 id, u16 event, u16 value)
{
	struct virtio_console_control c = {
		.id = GUINT32_TO_LE(id),
		.event = GUINT16_TO_LE(event),
		.value = GUINT16_TO_LE(value),
	};
	GByteArray *msg = g_byte_array_new();

	return g_byte_array_append(msg, (u8 *)&c, sizeof(c));
}

void virtio_serial_send(struct serial_port *port, u16 event, u16 value)
{
	post(port->serial, message(port->nr, event, value));
}

static void send_name(struct serial_port *port)
{
	GByteArray *msg = message(port->nr, VIRTIO_CONSOLE_PORT_NAME, 1);

	g_byte_array_append(msg, (u8 *)port->opt_name, strlen(port->opt_name) + 1);
	post(port->serial, msg);
}

/* ---- Control messages from the driver ------------------------------------------------------- */

static void driver_ready(struct virtio_serial *serial, bool ok)
{
	if (!ok) {
		log_guest("virtio-serial: the driver could not set up the device");
		return;
	}
	for (u32 i = 0; i < serial->nports; i++)
		if (serial->ports[i])
			virtio_serial_send(serial->ports[i], VIRTIO_CONSOLE_PORT_ADD, 1);
}

static void port_ready(struct serial_port *port, bool ok)
{
	if (!ok) {
		log_guest("virtio-serial: the driver could not set up port %u", port->nr);
		return;
	}
	if (port->is_console)
		virtio_serial_send(port, VIRTIO_CONSOLE_CONSOLE_PORT, 1);
	if (port->opt_name)
		send_name(port);
	if (port->host_connected)
		virtio_serial_send(port, VIRTIO_CONSOLE_PORT_OPEN, 1);
}

static void control(struct virtio_serial *serial, const struct virtqueue_elem *elem)
{
	struct virtio_console_control c;
	struct serial_port *port;
	u32 id;
	u16 event, value;

	if (virtq_elem_read(elem, 0, &c, sizeof(c)) < sizeof(c)) {
		log_guest("virtio-serial: control message of %" PRIu64 " bytes", elem->out_len);
		return;
	}
	id = GUINT32_FROM_LE(c.id);
	event = GUINT16_FROM_LE(c.event);
	value = GUINT16_FROM_LE(c.value);
	if (event == VIRTIO_CONSOLE_DEVICE_READY) {
		driver_ready(serial, value);
		return;
	}
	port = id < serial->nports ? serial->ports[id] : NULL;
	if (port && event == VIRTIO_CONSOLE_PORT_READY)
		port_ready(port, value);
	else if (port && event == VIRTIO_CONSOLE_PORT_OPEN)
		serial_port_guest_open(port, value);
	else
		log_guest("virtio-serial: control event %u for port %u", event, id);
}

static void handle_ctrl_out(struct virtio_device *vdev, struct virtqueue *vq)
{
	struct virtqueue_elem *elem;

	do {
		while ((elem = virtqueue_pop(vq))) {
			control(virtio_serial_of(vdev), elem);
			virtqueue_push(vq, elem, 0);
			virtio_notify(vq);
		}
	} while (!virtqueue_notify_on(vq));
}

static void handle_ctrl_in(struct virtio_device *vdev, struct virtqueue *vq)
{
	flush_messages(virtio_serial_of(vdev));
}

/* ---- Ports ---------------------------------------------------------------------------------- */

static void handle_in(struct virtio_device *vdev, struct virtqueue *vq)
{
	struct serial_port *port = port_of_queue(virtio_serial_of(vdev), vq);

	if (port)
		serial_port_handle_in(port);
}

static void handle_out(struct virtio_device *vdev, struct virtqueue *vq)
{
	struct serial_port *port = port_of_queue(virtio_serial_of(vdev), vq);
	struct virtqueue_elem *elem;

	if (port) {
		serial_port_handle_out(port);
		return;
	}
	while ((elem = virtqueue_pop(vq))) /* nobody is there to read it */
		virtqueue_push(vq, elem, 0);
	virtio_notify(vq);
}

/* Number 0 is kept for a console: it is what a driver without MULTIPORT uses (5.3.5). */
static int choose_number(struct virtio_serial *serial, struct serial_port *port, GError **err)
{
	u32 nr = port->nr;

	if (nr == PORT_ID_AUTO) {
		nr = port->is_console ? 0 : 1;
		while (nr < serial->nports && serial->ports[nr])
			nr++;
	}
	if (nr >= serial->nports) {
		error_set(err, "nr=%u: the controller has ports 0 to %u; raise max_ports", nr,
			  serial->nports - 1);
		return -EINVAL;
	}
	if (!nr && !port->is_console) {
		error_set(err, "nr=0: number 0 is kept for a virtconsole");
		return -EINVAL;
	}
	if (serial->ports[nr]) {
		error_set(err, "nr=%u is taken by another port", nr);
		return -EINVAL;
	}
	port->nr = nr;
	return 0;
}

int virtio_serial_add_port(struct virtio_serial *serial, struct serial_port *port, GError **err)
{
	int ret = choose_number(serial, port, err);

	if (ret)
		return ret;
	port->serial = serial;
	port->in = &serial->vdev.vqs[port_queue(port->nr)];
	port->out = port->in + 1;
	serial->ports[port->nr] = port;
	virtio_serial_send(port, VIRTIO_CONSOLE_PORT_ADD, 1);
	return 0;
}

void virtio_serial_remove_port(struct serial_port *port)
{
	virtio_serial_send(port, VIRTIO_CONSOLE_PORT_REMOVE, 1);
	port->serial->ports[port->nr] = NULL;
}

/* ---- State ---------------------------------------------------------------------------------- */

static u32 map_words(const struct virtio_serial *serial)
{
	return DIV_ROUND_UP(serial->nports, 32);
}

/* Which numbers are taken; number 0 always counts as taken. */
static u32 map_word(const struct virtio_serial *serial, u32 word)
{
	u32 bits = word ? 0 : 1;

	for (u32 i = word * 32; i < MIN(serial->nports, word * 32 + 32); i++)
		if (serial->ports[i])
			bits |= 1u << (i % 32);
	return bits;
}

static u32 count_ports(const struct virtio_serial *serial)
{
	u32 n = 0;

	for (u32 i = 0; i < serial->nports; i++)
		n += serial->ports[i] != NULL;
	return n;
}

static int serial_save(struct virtio_device *vdev, struct state_writer *w, GError **err)
{
	struct virtio_serial *serial = virtio_serial_of(vdev);

	state_put_be16(w, 0); /* columns and rows: we do not tell a size */
	state_put_be16(w, 0);
	state_put_be32(w, serial->nports);
	for (u32 i = 0; i < map_words(serial); i++)
		state_put_be32(w, map_word(serial, i));
	state_put_be32(w, count_ports(serial));
	for (u32 i = 0; i < serial->nports; i++) {
		const struct serial_port *port = serial->ports[i];

		if (!port)
			continue;
		state_put_be32(w, port->nr);
		state_put_u8(w, port->guest_connected);
		state_put_u8(w, port->host_connected);
		state_put_be32(w, 0); /* no chain is half sent */
	}
	return 0;
}

static int load_port(struct virtio_serial *serial, struct state_reader *r, GError **err)
{
	u32 nr = state_get_be32(r);
	struct serial_port *port = nr < serial->nports ? serial->ports[nr] : NULL;

	if (!port) {
		error_set(err, "virtio-serial: the source has a port %u, this device has not", nr);
		return -EINVAL;
	}
	serial_port_set_guest_connected(port, state_get_u8(r));
	port->host_loaded = state_get_u8(r);
	if (state_get_be32(r)) {
		error_set(err,
			  "virtio-serial: port %u: a chain that was sent in part cannot be"
			  " taken over",
			  nr);
		return -EINVAL;
	}
	return 0;
}

static int serial_load(struct virtio_device *vdev, struct state_reader *r, int version,
		       GError **err)
{
	struct virtio_serial *serial = virtio_serial_of(vdev);
	u32 n;

	state_get_be16(r);
	state_get_be16(r);
	n = state_get_be32(r);
	if (n != serial->nports) {
		error_set(err, "virtio-serial: max_ports=%u at the source, %u here", n,
			  serial->nports);
		return -EINVAL;
	}
	for (u32 i = 0; i < map_words(serial); i++) {
		u32 bits = state_get_be32(r);

		if (bits != map_word(serial, i)) {
			error_set(err,
				  "virtio-serial: ports %u to %u: bitmap %#x at the source,"
				  " %#x here",
				  i * 32, i * 32 + 31, bits, map_word(serial, i));
			return -EINVAL;
		}
	}
	n = state_get_be32(r);
	for (u32 i = 0; i < MIN(n, serial->nports); i++)
		if (load_port(serial, r, err))
			return -EINVAL;
	return 0;
}

/* ---- Device --------------------------------------------------------------------------------- */

static u64 serial_features(struct virtio_device *vdev)
{
	const struct virtio_serial *serial = virtio_serial_of(vdev);
	u64 f = 0;

	f |= serial->nports > 1 ? 1u << VIRTIO_CONSOLE_F_MULTIPORT : 0;
	f |= serial->opt_emergency_write ? 1u << VIRTIO_CONSOLE_F_EMERG_WRITE : 0;
	return f;
}

static void serial_config_get(struct virtio_device *vdev, u8 *config)
{
	struct virtio_console_config c = {
		.max_nr_ports = GUINT32_TO_LE(virtio_serial_of(vdev)->nports),
	};

	memcpy(config, &c, sizeof(c));
}

static void serial_config_set(struct virtio_device *vdev, const u8 *config)
{
	struct virtio_serial *serial = virtio_serial_of(vdev);
	struct virtio_console_config c;

	memcpy(&c, config, sizeof(c));
	/* Usable before negotiation: that is what it is for (5.3.4). */
	if (serial->opt_emergency_write && serial->ports[0] && c.emerg_wr)
		serial_port_emergency(serial->ports[0], GUINT32_FROM_LE(c.emerg_wr));
}

static void serial_reset(struct virtio_device *vdev)
{
	struct virtio_serial *serial = virtio_serial_of(vdev);

	g_queue_clear_full(&serial->messages, (GDestroyNotify)g_bytes_unref);
	for (u32 i = 0; i < serial->nports; i++) {
		if (!serial->ports[i])
			continue;
		serial_port_set_guest_connected(serial->ports[i], false);
		timer_del(&serial->ports[i]->retry);
	}
}

static void serial_run(struct virtio_device *vdev, bool running)
{
	struct virtio_serial *serial = virtio_serial_of(vdev);

	for (u32 i = 0; running && i < serial->nports; i++)
		if (serial->ports[i])
			serial_port_run(serial->ports[i]);
}

static const struct virtio_class serial_class = {
	.id = VIRTIO_ID_CONSOLE,
	.config_size = CONFIG_SIZE,
	.features = serial_features,
	.config_get = serial_config_get,
	.config_set = serial_config_set,
	.reset = serial_reset,
	.run = serial_run,
	.save = serial_save,
	.load = serial_load,
};

static int serial_realize(struct device *dev, GError **err)
{
	struct virtio_serial *serial = container_of(dev, struct virtio_serial, vdev.dev);
	struct virtio_device *vdev = &serial->vdev;
	int ret;

	if (!serial->opt_max_ports || serial->opt_max_ports > SERIAL_MAX_PORTS) {
		error_set(err, "max_ports=%u is not between 1 and %u", serial->opt_max_ports,
			  SERIAL_MAX_PORTS);
		return -EINVAL;
	}
	serial->nports = serial->opt_max_ports;
	ret = virtio_device_init(vdev, &serial_class, port_queue(serial->nports - 1) + 4, err);
	if (ret)
		return ret;
	serial->ports = g_new0(struct serial_port *, serial->nports);
	for (u32 i = 0; i < serial->nports; i++) {
		virtio_add_queue(vdev, PORT_QUEUE_SIZE, handle_in);
		virtio_add_queue(vdev, PORT_QUEUE_SIZE, handle_out);
		if (i == 0 && serial->nports > 1) {
			serial->ctrl_in = virtio_add_queue(vdev, CTRL_QUEUE_SIZE, handle_ctrl_in);
			serial->ctrl_out = virtio_add_queue(vdev, CTRL_QUEUE_SIZE, handle_ctrl_out);
		}
	}
	return 0;
}

static void serial_unrealize(struct device *dev)
{
	struct virtio_serial *serial = container_of(dev, struct virtio_serial, vdev.dev);

	virtio_device_finish(&serial->vdev);
	g_free(serial->ports);
}

static const struct property serial_props[] = {
	VIRTIO_PROPS(struct virtio_serial),
	PROP(struct virtio_serial, opt_max_ports, "max_ports", U32, "31", "ports there can be"),
	PROP(struct virtio_serial, opt_emergency_write, "emergency-write", BOOL, "on",
	     "offer output through the configuration"),
	PROP_END
};

static const struct state_desc serial_state = {
	.name = "virtio-console",
	.version = 3,
	.min_version = 3,
	.fields = virtio_state_fields,
};

const struct device_type virtio_serial_type = {
	.name = "virtio-serial-device",
	.alias = "virtio-serial",
	.desc = "virtio serial ports and consoles",
	.category = DEVICE_INPUT,
	.bus = "virtio-bus",
	.provides_bus = "virtio-serial-bus",
	.bus_hotplug = true,
	.instance_size = sizeof(struct virtio_serial),
	.props = serial_props,
	.user_creatable = true,
	.realize = serial_realize,
	.unrealize = serial_unrealize,
	.reset = virtio_device_reset,
	.state = &serial_state,
};
