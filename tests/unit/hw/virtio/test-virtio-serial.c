/* tests/unit/hw/virtio/test-virtio-serial.c - console device, its ports and their protocol. */
#include "tests/unit/hw/virtio/driver.h"

#include "chardev/char.h"
#include "hw/virtio/devices.h"
#include "util/keyval.h"

#include <linux/virtio_console.h>
#include <sys/socket.h>
#include <unistd.h>

#define MULTIPORT (1ull << VIRTIO_CONSOLE_F_MULTIPORT)

static struct chardev *find_chardev(void *opaque, const char *id)
{
	return chardev_find(id);
}

static const struct device_type *const types[] = {
	&virtio_mmio_type,
	&virtio_serial_type,
	&virtio_console_type,
	&virtio_serial_port_type,
	NULL,
};
const struct device_type *const *const rig_devices[] = { types, NULL };

static GString *reports; /* what the device told of its ports */

static void port_changed(void *opaque, const char *id, bool open)
{
	g_string_append_printf(reports, "%s%c ", id, open ? '+' : '-');
}

const struct machine_host rig_host = { .chardev = find_chardev,
				       .serial_port_changed = port_changed };

static void expect_reports(const char *want)
{
	g_assert_cmpstr(reports->str, ==, want);
	g_string_truncate(reports, 0);
}

/* Queues of the driver: control, and those of port 0 and port 1. */
enum { P0_IN, P0_OUT, CTRL_IN, CTRL_OUT, P1_IN, P1_OUT, NQUEUES };

struct fixture {
	struct rig *rig;
	struct virtio_device *vdev;
	struct drv *d;
	struct drv_queue *q[NQUEUES];
	u64 buf[NQUEUES]; /* a page each */
	int con, port;    /* the other ends of the two back ends */
};

/* A character device on a socket; the other end of it. */
static int make_chardev(const char *id)
{
	g_autofree char *text = NULL;
	JsonObject *opts;
	GError *err = NULL;
	int fds[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), ==, 0);
	text = g_strdup_printf("socket,fd=%d", fds[0]);
	opts = keyval_parse(text, "backend", &err);
	g_assert_no_error(err);
	chardev_create(id, opts, &err);
	g_assert_no_error(err);
	json_object_unref(opts);
	return fds[1];
}

static void add_devices(struct rig *rig, struct virtio_device **vdev)
{
	*vdev = rig_add(rig, "virtio-serial,id=ser");
	rig_add(rig, "virtserialport,chardev=port,name=org.tidemark.0,id=p1");
	rig_add(rig, "virtconsole,chardev=con");
}

static void begin(struct fixture *f, u64 features)
{
	f->rig = rig_new(false);
	f->con = make_chardev("con");
	f->port = make_chardev("port");
	add_devices(f->rig, &f->vdev);
	f->d = drv_probe(f->rig, f->vdev, features);
	for (unsigned i = 0; i < NQUEUES; i++)
		f->q[i] = drv_queue(f->d, i, QUEUE_SIZE);
	drv_ready(f->d);
	f->rig->next_gpa = ROUND_UP(f->rig->next_gpa, 4096);
	for (unsigned i = 0; i < NQUEUES; i++)
		f->buf[i] = rig_alloc(f->rig, 4096);
}

static void end(struct fixture *f)
{
	for (unsigned i = 0; i < NQUEUES; i++)
		g_free(f->q[i]);
	drv_free(f->d);
	rig_free(f->rig);
	chardev_remove(chardev_find("con"));
	chardev_remove(chardev_find("port"));
	close(f->con);
	close(f->port);
}

static void send_control(struct fixture *f, u32 id, u16 event, u16 value)
{
	struct virtio_console_control *c = rig_at(f->rig, f->buf[CTRL_OUT]);
	struct drv_buf buf = { f->buf[CTRL_OUT], sizeof(*c), false };

	*c = (struct virtio_console_control){ id, event, value };
	drv_request(f->q[CTRL_OUT], &buf, 1);
}

/* The next control message; it must come with @len bytes. Return: what follows the header. */
static const char *expect_control(struct fixture *f, u32 id, u16 event, u16 value, u32 len)
{
	struct virtio_console_control *c = rig_at(f->rig, f->buf[CTRL_IN]);
	struct drv_buf buf = { f->buf[CTRL_IN], 256, true };

	g_assert_cmpuint(drv_request(f->q[CTRL_IN], &buf, 1), ==, sizeof(*c) + len);
	g_assert_cmpuint(c->id, ==, id);
	g_assert_cmpuint(c->event, ==, event);
	g_assert_cmpuint(c->value, ==, value);
	return (char *)(c + 1);
}

static void no_control(struct fixture *f)
{
	struct drv_buf buf = { f->buf[CTRL_IN], 256, true };

	drv_add(f->q[CTRL_IN], &buf, 1);
	drv_kick(f->q[CTRL_IN]);
	g_assert_false(drv_has_used(f->q[CTRL_IN]));
}

static void put(struct fixture *f, unsigned q, const char *text)
{
	struct drv_buf buf = { f->buf[q], strlen(text), false };

	memcpy(rig_at(f->rig, f->buf[q]), text, strlen(text));
	drv_request(f->q[q], &buf, 1);
}

static void expect_host(int fd, const char *want)
{
	char got[64] = { 0 };

	for (unsigned i = 0; i < 100 && strlen(got) < strlen(want); i++) {
		ssize_t n = read(fd, got + strlen(got), sizeof(got) - 1 - strlen(got));

		if (n <= 0) {
			g_main_context_iteration(NULL, FALSE);
			g_usleep(1000);
		}
	}
	g_assert_cmpstr(got, ==, want);
}

static void expect_guest(struct fixture *f, unsigned q, const char *want)
{
	struct drv_buf buf = { f->buf[q], 64, true };
	u32 len = drv_request(f->q[q], &buf, 1);

	g_assert_cmpmem(rig_at(f->rig, f->buf[q]), len, want, strlen(want));
}

/* Without MULTIPORT there is one console and nothing to negotiate. */
static void test_console(void)
{
	struct fixture f;

	begin(&f, 0);
	g_assert_cmpuint(drv_read(f.d, VIRTIO_MMIO_CONFIG + 4), ==, 31);
	put(&f, P0_OUT, "from the guest");
	expect_host(f.con, "from the guest");
	g_assert_cmpint(write(f.con, "from the host", 13), ==, 13);
	expect_guest(&f, P0_IN, "from the host");
	drv_write(f.d, VIRTIO_MMIO_CONFIG + 8, 'E');
	expect_host(f.con, "E");
	end(&f);
}

static void open_port(struct fixture *f)
{
	send_control(f, -1, VIRTIO_CONSOLE_DEVICE_READY, 1);
	expect_control(f, 0, VIRTIO_CONSOLE_PORT_ADD, 1, 0);
	expect_control(f, 1, VIRTIO_CONSOLE_PORT_ADD, 1, 0);
	send_control(f, 0, VIRTIO_CONSOLE_PORT_READY, 1);
	expect_control(f, 0, VIRTIO_CONSOLE_CONSOLE_PORT, 1, 0);
	send_control(f, 1, VIRTIO_CONSOLE_PORT_READY, 1);
	g_assert_cmpstr(expect_control(f, 1, VIRTIO_CONSOLE_PORT_NAME, 1, sizeof("org.tidemark.0")),
			==, "org.tidemark.0");
	expect_control(f, 1, VIRTIO_CONSOLE_PORT_OPEN, 1, 0);
}

static void test_multiport(void)
{
	struct fixture f;

	begin(&f, MULTIPORT);
	open_port(&f);
	no_control(&f);

	/* Input waits until the guest has opened the port. */
	g_assert_cmpint(write(f.port, "ping", 4), ==, 4);
	for (unsigned i = 0; i < 20; i++)
		g_main_context_iteration(NULL, FALSE);
	g_assert_false(drv_has_used(f.q[P1_IN]));
	send_control(&f, 1, VIRTIO_CONSOLE_PORT_OPEN, 1);
	expect_guest(&f, P1_IN, "ping");
	put(&f, P1_OUT, "pong");
	expect_host(f.port, "pong");
	expect_reports("p1+ ");
	send_control(&f, 1, VIRTIO_CONSOLE_PORT_OPEN, 1);
	send_control(&f, 1, VIRTIO_CONSOLE_PORT_OPEN, 0);
	expect_reports("p1- ");

	/* Nonsense is ignored. */
	send_control(&f, 77, VIRTIO_CONSOLE_PORT_OPEN, 1);
	send_control(&f, 1, 99, 1);
	g_assert_false(drv_needs_reset(f.d));

	/* The other end goes away. */
	close(f.port);
	rig_iterate(drv_has_used, f.q[CTRL_IN]);
	drv_take(f.q[CTRL_IN], NULL);
	g_assert_cmpuint(((struct virtio_console_control *)rig_at(f.rig, f.buf[CTRL_IN]))->event,
			 ==, VIRTIO_CONSOLE_PORT_OPEN);
	g_assert_cmpuint(((struct virtio_console_control *)rig_at(f.rig, f.buf[CTRL_IN]))->value,
			 ==, 0);
	f.port = -1;
	end(&f);
}

/* A port goes while the guest runs, and comes back. */
static void test_hotplug(void)
{
	struct fixture f;

	begin(&f, MULTIPORT);
	open_port(&f);
	device_destroy(device_find(f.rig->m, "p1"));
	expect_control(&f, 1, VIRTIO_CONSOLE_PORT_REMOVE, 1, 0);
	put(&f, P1_OUT, "to nobody");
	send_control(&f, 1, VIRTIO_CONSOLE_PORT_OPEN, 1); /* ignored */
	rig_add(f.rig, "virtserialport,chardev=port");
	expect_control(&f, 1, VIRTIO_CONSOLE_PORT_ADD, 1, 0);
	send_control(&f, 1, VIRTIO_CONSOLE_PORT_READY, 1);
	expect_control(&f, 1, VIRTIO_CONSOLE_PORT_OPEN, 1, 0);
	put(&f, P1_OUT, "here again");
	expect_host(f.port, "here again");
	end(&f);
}

/* More than one buffer takes, and buffers one after the other. */
static void test_long_input(void)
{
	struct fixture f;
	struct drv_buf buf;
	g_autofree char *text = g_strnfill(1000, 'x');
	u32 got = 0, len;

	begin(&f, 0);
	buf = (struct drv_buf){ f.buf[P0_IN], 64, true };
	g_assert_cmpint(write(f.con, text, 1000), ==, 1000);
	while (got < 1000) {
		drv_add(f.q[P0_IN], &buf, 1);
		drv_kick(f.q[P0_IN]);
		rig_iterate(drv_has_used, f.q[P0_IN]);
		drv_take(f.q[P0_IN], &len);
		g_assert_cmpuint(len, <=, 64);
		got += len;
	}
	g_assert_cmpuint(got, ==, 1000);
	end(&f);
}

/* A back end that nobody reads stops the guest rather than eating its memory. */
static void test_backlog(void)
{
	struct fixture f;
	struct drv_buf buf;
	g_autofree char *chunk = g_malloc(65536);
	u64 got = 0, sent = 0;

	begin(&f, 0);
	buf = (struct drv_buf){ f.buf[P0_OUT], 4096, false };
	do {
		drv_add(f.q[P0_OUT], &buf, 1);
		drv_kick(f.q[P0_OUT]);
		if (!drv_has_used(f.q[P0_OUT]))
			break;
		drv_take(f.q[P0_OUT], NULL);
		sent += 4096;
		g_main_context_iteration(NULL, FALSE);
	} while (sent < 8 * MiB);
	g_assert_cmpuint(sent, <, 8 * MiB);
	for (unsigned i = 0; i < 5000 && got < sent + 4096; i++) {
		ssize_t n = read(f.con, chunk, 65536);

		if (n > 0)
			got += n;
		else
			g_usleep(1000);
		g_main_context_iteration(NULL, FALSE);
	}
	g_assert_cmpuint(got, ==, sent + 4096);
	drv_take(f.q[P0_OUT], NULL);
	end(&f);
}

static void test_refused(void)
{
	struct rig *rig = rig_new(false);

	rig_refuse(rig, "virtio-serial,max_ports=512", "max_ports=512");
	rig_add(rig, "virtio-serial,max_ports=3");
	rig_refuse(rig, "virtserialport,nr=0", "nr=0");
	rig_refuse(rig, "virtserialport,nr=3", "max_ports");
	rig_add(rig, "virtserialport,nr=2");
	rig_refuse(rig, "virtserialport,nr=2", "taken");
	rig_add(rig, "virtserialport");
	rig_refuse(rig, "virtserialport", "ports 0 to 2");
	rig_free(rig);
}

static void test_migrate(void)
{
	struct fixture f, before;
	struct rig *to;
	struct virtio_device *vdev;
	GByteArray *bytes;
	GError *err = NULL;

	begin(&f, MULTIPORT);
	open_port(&f);
	send_control(&f, 1, VIRTIO_CONSOLE_PORT_OPEN, 1);
	rig_run(f.rig, false);
	bytes = rig_save(f.rig);
	before = f;
	to = rig_new(false);
	rig_run(to, false);
	rig_copy_ram(to, f.rig);
	rig_free(f.rig);
	add_devices(to, &vdev);
	g_string_truncate(reports, 0);
	rig_load(to, bytes, &err);
	g_assert_no_error(err);
	expect_reports("p1+ ");
	g_byte_array_unref(bytes);
	bytes = rig_save(to);
	g_byte_array_unref(bytes);
	f = before;
	f.rig = f.d->rig = to;
	f.vdev = vdev;
	g_assert_cmpint(write(f.port, "ping", 4), ==, 4);
	rig_run(to, true);
	expect_guest(&f, P1_IN, "ping");
	put(&f, P1_OUT, "pong");
	expect_host(f.port, "pong");
	no_control(&f);
	end(&f);
}

static void refuse_load(struct rig *from, const char *controller, const char *port,
			const char *want)
{
	GByteArray *bytes = rig_save(from);
	struct rig *to = rig_new(false);
	GError *err = NULL;

	rig_add(to, controller);
	rig_add(to, port);
	g_assert_cmpint(rig_load(to, bytes, &err), ==, -EINVAL);
	if (!strstr(err->message, want))
		g_error("'%s' lacks '%s'", err->message, want);
	g_error_free(err);
	g_byte_array_unref(bytes);
	rig_free(to);
}

static void test_refuse_load(void)
{
	struct rig *rig = rig_new(false);

	rig_add(rig, "virtio-serial");
	rig_add(rig, "virtserialport");
	refuse_load(rig, "virtio-serial,max_ports=30", "virtserialport", "queues");
	refuse_load(rig, "virtio-serial,max_ports=32", "virtserialport", "max_ports=31");
	refuse_load(rig, "virtio-serial", "virtserialport,nr=2", "bitmap");
	rig_free(rig);
}

/* The size that qemu-system-aarch64 7.2 gives the section with one port, without driver. */
static void test_wire_size(void)
{
	struct rig *rig = rig_new(false);
	GByteArray *bytes;

	rig_add(rig, "virtio-serial");
	rig_add(rig, "virtserialport,name=foo");
	bytes = rig_save(rig);
	g_assert_cmpuint(bytes->len, ==,
			 5 + 1 + strlen("virtio-mmio@0000000010000000/virtio-console") + 8 + 45363 +
				 5);
	g_byte_array_unref(bytes);
	rig_free(rig);
}

int main(int argc, char **argv)
{
	reports = g_string_new(NULL);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/virtio-serial/console", test_console);
	g_test_add_func("/virtio-serial/multiport", test_multiport);
	g_test_add_func("/virtio-serial/hotplug", test_hotplug);
	g_test_add_func("/virtio-serial/long-input", test_long_input);
	g_test_add_func("/virtio-serial/backlog", test_backlog);
	g_test_add_func("/virtio-serial/refused", test_refused);
	g_test_add_func("/virtio-serial/migrate", test_migrate);
	g_test_add_func("/virtio-serial/migrate-refused", test_refuse_load);
	g_test_add_func("/virtio-serial/wire-size", test_wire_size);
	return g_test_run();
}
