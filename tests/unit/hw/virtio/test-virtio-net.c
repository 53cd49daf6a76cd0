/* tests/unit/hw/virtio/test-virtio-net.c - network device: frames, filter, control, migration. */
#include "tests/unit/hw/virtio/driver.h"

#include "hw/net/virtio-net.h"
#include "hw/virtio/devices.h"
#include "net/net.h"
#include "util/keyval.h"

#include <linux/virtio_net.h>
#include <sys/socket.h>
#include <unistd.h>

#define MRG      (1ull << VIRTIO_NET_F_MRG_RXBUF)
#define STATUS   (1ull << VIRTIO_NET_F_STATUS)
#define CTRL     (1ull << VIRTIO_NET_F_CTRL_VQ)
#define RX       (1ull << VIRTIO_NET_F_CTRL_RX)
#define RX_EXTRA (1ull << VIRTIO_NET_F_CTRL_RX_EXTRA)
#define VLAN     (1ull << VIRTIO_NET_F_CTRL_VLAN)
#define MAC_ADDR (1ull << VIRTIO_NET_F_CTRL_MAC_ADDR)
#define ANNOUNCE (1ull << VIRTIO_NET_F_GUEST_ANNOUNCE)
#define ALL      (MRG | STATUS | CTRL | RX | RX_EXTRA | VLAN | MAC_ADDR | ANNOUNCE)
#define BUF_SIZE 2048

static struct net_client *find_net(void *opaque, const char *id)
{
	return net_find(id);
}

static const struct device_type *const types[] = { &virtio_mmio_type, &virtio_net_type, NULL };
const struct device_type *const *const rig_devices[] = { types, NULL };

static unsigned filter_reports;

static void filter_changed(void *opaque, const char *id, const char *path)
{
	filter_reports++;
}

const struct machine_host rig_host = { .netdev = find_net, .rx_filter_changed = filter_changed };

static const u8 own[6] = { 0x52, 0x54, 0, 1, 2, 3 };
static const u8 other[6] = { 0x52, 0x54, 0, 1, 2, 4 };
static const u8 group[6] = { 0x33, 0x33, 0, 0, 0, 1 };
static const u8 everyone[6] = { 255, 255, 255, 255, 255, 255 };

enum { Q_RX, Q_TX, Q_CTRL, NQUEUES };

struct fixture {
	struct rig *rig;
	struct virtio_device *vdev;
	struct drv *d;
	struct drv_queue *q[NQUEUES];
	u64 rx, tx, ctrl; /* 64 KiB, 64 KiB, a page */
	unsigned hdr;     /* bytes */
	int wire;         /* the other end of the link */
};

static void make_link(struct fixture *f)
{
	g_autofree char *text = NULL;
	g_autoptr(JsonObject) opts = NULL;
	GError *err = NULL;
	int fds[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fds), ==, 0);
	text = g_strdup_printf("socket,id=link,fd=%d", fds[1]);
	opts = keyval_parse(text, "type", &err);
	g_assert_no_error(err);
	net_netdev_create(opts, &err);
	g_assert_no_error(err);
	f->wire = fds[0];
}

static void begin_on(struct fixture *f, const char *device, u64 features, bool legacy)
{
	make_link(f);
	f->rig = rig_new(legacy);
	f->vdev = rig_add(f->rig, device);
	f->d = drv_probe(f->rig, f->vdev, features);
	for (unsigned i = 0; i < NQUEUES; i++)
		f->q[i] = drv_queue(f->d, i, QUEUE_SIZE);
	drv_ready(f->d);
	f->rig->next_gpa = ROUND_UP(f->rig->next_gpa, 4096);
	f->rx = rig_alloc(f->rig, 64 * KiB);
	f->tx = rig_alloc(f->rig, 64 * KiB);
	f->ctrl = rig_alloc(f->rig, 4096);
	f->hdr = legacy && !(features & MRG) ? 10 : 12;
}

static void begin(struct fixture *f, u64 features)
{
	begin_on(f, "virtio-net,netdev=link,mac=52:54:00:01:02:03", features, false);
}

static void end(struct fixture *f)
{
	GError *err = NULL;

	for (unsigned i = 0; i < NQUEUES; i++)
		g_free(f->q[i]);
	drv_free(f->d);
	rig_free(f->rig);
	net_netdev_remove("link", &err);
	g_assert_no_error(err);
	close(f->wire);
}

static void pump(void)
{
	for (unsigned i = 0; i < 20; i++)
		g_main_context_iteration(NULL, FALSE);
}

/* ---- Frames --------------------------------------------------------------------------------- */

static void make_frame(u8 *frame, const u8 *to, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		frame[i] = len + i;
	memcpy(frame, to, 6);
	memcpy(frame + 6, other, 6);
	frame[12] = 8;
	frame[13] = 0;
}

static void test_send(gconstpointer legacy)
{
	struct fixture f;
	u8 frame[1500], got[2000];
	struct drv_buf bufs[3];

	begin_on(&f, "virtio-net,netdev=link", 0, legacy);
	make_frame(frame, everyone, sizeof(frame));
	memcpy(rig_at(f.rig, f.tx + f.hdr), frame, sizeof(frame));
	bufs[0] = (struct drv_buf){ f.tx, f.hdr + 1, false };
	bufs[1] = (struct drv_buf){ f.tx + f.hdr + 1, 499, false };
	bufs[2] = (struct drv_buf){ f.tx + f.hdr + 500, 1000, false };
	g_assert_cmpuint(drv_request(f.q[Q_TX], bufs, 3), ==, 0);
	g_assert_cmpint(recv(f.wire, got, sizeof(got), 0), ==, 1500);
	g_assert_cmpmem(got, 1500, frame, 1500);

	/* Not a frame: dropped, and the next one passes. */
	bufs[0].len = f.hdr + 3;
	drv_request(f.q[Q_TX], bufs, 1);
	bufs[0].len = f.hdr + 60;
	drv_request(f.q[Q_TX], bufs, 1);
	g_assert_cmpint(recv(f.wire, got, sizeof(got), 0), ==, 60);
	g_assert_cmpint(recv(f.wire, got, sizeof(got), 0), ==, -1);
	bufs[0].len = f.hdr - 1;
	drv_add(f.q[Q_TX], bufs, 1);
	drv_kick(f.q[Q_TX]);
	g_assert_true(f.vdev->broken);
	end(&f);
}

/* The wire is full: frames wait, in order, and none is lost. */
static void test_send_back_pressure(void)
{
	struct fixture f;
	struct drv_buf buf;
	u8 got[2000];
	unsigned sent = 0, received = 0;
	int small = 4096;

	begin(&f, 0);
	setsockopt(f.wire, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	buf = (struct drv_buf){ f.tx, f.hdr + 1000, false };
	memset(rig_at(f.rig, f.tx), 0, f.hdr + 1000);
	while (sent < 5000) {
		*(u32 *)rig_at(f.rig, f.tx + f.hdr + 20) = sent;
		drv_add(f.q[Q_TX], &buf, 1);
		drv_kick(f.q[Q_TX]);
		pump();
		if (!drv_has_used(f.q[Q_TX]))
			break;
		drv_take(f.q[Q_TX], NULL);
		sent++;
	}
	g_assert_cmpuint(sent, <, 5000);
	while (received <= sent) {
		if (recv(f.wire, got, sizeof(got), 0) == 1000)
			g_assert_cmpuint(*(u32 *)(got + 20), ==, received++);
		else
			pump();
	}
	drv_take(f.q[Q_TX], NULL);
	end(&f);
}

static void offer(struct fixture *f, unsigned n, u32 len)
{
	for (unsigned i = 0; i < n; i++) {
		struct drv_buf buf = { f->rx + (u64)i * BUF_SIZE, len, true };

		drv_add(f->q[Q_RX], &buf, 1);
	}
	drv_kick(f->q[Q_RX]);
}

static void send_to_guest(struct fixture *f, const u8 *to, unsigned len)
{
	u8 frame[20000];

	make_frame(frame, to, len);
	g_assert_cmpint(send(f->wire, frame, len, 0), ==, len);
}

/* The next frame that the guest gets has @len bytes and fills @n buffers of @buf_len bytes. */
static void expect_frame(struct fixture *f, const u8 *to, unsigned len, unsigned n, u32 buf_len)
{
	u8 frame[20000], got[20000];
	unsigned at = 0, left = f->hdr + len;

	rig_iterate(drv_has_used, f->q[Q_RX]);
	for (unsigned i = 0; i < n; i++) {
		u32 part;

		drv_take(f->q[Q_RX], &part);
		g_assert_cmpuint(part, ==, MIN(left, buf_len));
		memcpy(got + at, rig_at(f->rig, f->rx + (u64)i * BUF_SIZE), part);
		at += part;
		left -= part;
	}
	make_frame(frame, to, len);
	g_assert_cmpmem(got + f->hdr, len, frame, len);
	if (f->hdr == 12)
		g_assert_cmpuint(*(u16 *)(got + 10), ==, n);
}

static void test_receive(gconstpointer legacy)
{
	struct fixture f;

	begin_on(&f, "virtio-net,netdev=link,mac=52:54:00:01:02:03", 0, legacy);
	offer(&f, 1, BUF_SIZE);
	rig_watch(f.rig);
	send_to_guest(&f, own, 1500);
	rig_iterate(drv_has_used, f.q[Q_RX]);
	g_assert_cmpuint(rig_check(f.rig), >=, 2);
	expect_frame(&f, own, 1500, 1, BUF_SIZE);
	g_assert_true(f.rig->irq[0]);

	/* Without a buffer it waits; a buffer that is too small loses it. */
	send_to_guest(&f, own, 100);
	pump();
	g_assert_false(drv_has_used(f.q[Q_RX]));
	offer(&f, 1, BUF_SIZE);
	expect_frame(&f, own, 100, 1, BUF_SIZE);
	offer(&f, 1, 64);
	send_to_guest(&f, own, 100);
	send_to_guest(&f, own, 40);
	expect_frame(&f, own, 40, 1, 64);
	end(&f);
}

static void test_receive_merged(gconstpointer event_idx)
{
	struct fixture f;

	begin(&f, MRG | (event_idx ? 1ull << VIRTIO_RING_F_EVENT_IDX : 0));
	for (unsigned round = 0; round < 5; round++) {
		offer(&f, 4, 1000);
		rig_watch(f.rig);
		send_to_guest(&f, own, 3500);
		rig_iterate(drv_has_used, f.q[Q_RX]);
		rig_check(f.rig);
		expect_frame(&f, own, 3500, 4, 1000);
	}
	/* Three buffers are not enough; the fourth makes it fit. */
	offer(&f, 3, 1000);
	send_to_guest(&f, own, 3500);
	pump();
	g_assert_false(drv_has_used(f.q[Q_RX]));
	drv_add(f.q[Q_RX], &(struct drv_buf){ f.rx + 3 * BUF_SIZE, 1000, true }, 1);
	if (event_idx) /* the device must want this kick: avail_event is where we were */
		g_assert_cmpuint(*(u16 *)rig_at(f.rig, f.q[Q_RX]->used + 4 + 8 * QUEUE_SIZE), ==,
				 f.q[Q_RX]->avail_idx - 1);
	drv_kick(f.q[Q_RX]);
	expect_frame(&f, own, 3500, 4, 1000);
	end(&f);
}

/* ---- Control -------------------------------------------------------------------------------- */

static u8 control(struct fixture *f, u8 class, u8 cmd, const void *data, u32 len)
{
	u8 *p = rig_at(f->rig, f->ctrl);
	struct drv_buf bufs[] = {
		{ f->ctrl, 2, false },
		{ f->ctrl + 2, len, false },
		{ f->ctrl + 2048, 1, true },
	};

	p[0] = class;
	p[1] = cmd;
	memcpy(p + 2, data, len);
	p[2048] = 0xff;
	g_assert_cmpuint(drv_request(f->q[Q_CTRL], bufs, 3), ==, 1);
	return p[2048];
}

static void set_mode(struct fixture *f, u8 cmd, u8 on)
{
	g_assert_cmpuint(control(f, VIRTIO_NET_CTRL_RX, cmd, &on, 1), ==, VIRTIO_NET_OK);
}

/* Whether a frame to @to reaches the guest; a broadcast behind it tells when it is decided. */
static bool passes(struct fixture *f, const u8 *to, bool broadcast_passes)
{
	unsigned n = 0;

	offer(f, 2, BUF_SIZE);
	send_to_guest(f, to, 100);
	if (broadcast_passes)
		send_to_guest(f, everyone, 60);
	pump();
	while (drv_has_used(f->q[Q_RX])) {
		drv_take(f->q[Q_RX], NULL);
		n++;
	}
	/* Use up what was not. */
	set_mode(f, VIRTIO_NET_CTRL_RX_PROMISC, 1);
	for (unsigned i = n; i < 2; i++) {
		send_to_guest(f, own, 60);
		rig_iterate(drv_has_used, f->q[Q_RX]);
		drv_take(f->q[Q_RX], NULL);
	}
	set_mode(f, VIRTIO_NET_CTRL_RX_PROMISC, 0);
	return n > broadcast_passes;
}

static void set_table(struct fixture *f, const u8 *unicast, const u8 *multicast)
{
	u8 data[64] = { 0 };
	u32 len = 0;

	data[len] = !!unicast;
	len += 4;
	if (unicast)
		memcpy(data + len, unicast, 6);
	len += unicast ? 6 : 0;
	data[len] = !!multicast;
	len += 4;
	if (multicast)
		memcpy(data + len, multicast, 6);
	len += multicast ? 6 : 0;
	g_assert_cmpuint(control(f, VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_TABLE_SET, data, len),
			 ==, VIRTIO_NET_OK);
}

static void test_filter(void)
{
	struct fixture f;

	begin(&f, ALL & ~VLAN);
	set_mode(&f, VIRTIO_NET_CTRL_RX_PROMISC, 0);
	g_assert_true(passes(&f, own, true));
	g_assert_false(passes(&f, other, true));
	g_assert_false(passes(&f, group, true));
	set_table(&f, other, group);
	g_assert_true(passes(&f, other, true));
	g_assert_true(passes(&f, group, true));
	set_mode(&f, VIRTIO_NET_CTRL_RX_NOMULTI, 1);
	g_assert_false(passes(&f, group, true));
	set_mode(&f, VIRTIO_NET_CTRL_RX_NOMULTI, 0);
	set_table(&f, NULL, NULL);
	g_assert_false(passes(&f, other, true));
	set_mode(&f, VIRTIO_NET_CTRL_RX_ALLUNI, 1);
	g_assert_true(passes(&f, other, true));
	g_assert_false(passes(&f, group, true));
	set_mode(&f, VIRTIO_NET_CTRL_RX_ALLMULTI, 1);
	g_assert_true(passes(&f, group, true));
	set_mode(&f, VIRTIO_NET_CTRL_RX_NOUNI, 1);
	g_assert_false(passes(&f, own, true));
	set_mode(&f, VIRTIO_NET_CTRL_RX_NOBCAST, 1);
	g_assert_false(passes(&f, everyone, false));
	end(&f);
}

/* What the monitor is told: once, until it has asked. */
static void test_filter_query(void)
{
	struct net_client *nc;
	struct net_rx_filter filter;
	struct fixture f;

	begin(&f, ALL);
	nc = virtio_net_of(f.vdev)->nc;
	nc->ops->rx_filter(nc, &filter);
	g_assert_true(filter.promiscuous && filter.broadcast);
	filter_reports = 0;
	set_mode(&f, VIRTIO_NET_CTRL_RX_PROMISC, 0);
	set_mode(&f, VIRTIO_NET_CTRL_RX_NOMULTI, 1);
	set_table(&f, other, group);
	g_assert_cmpuint(filter_reports, ==, 1);
	nc->ops->rx_filter(nc, &filter);
	g_assert_false(filter.promiscuous);
	g_assert_cmpint(filter.multicast, ==, NET_RX_NONE);
	g_assert_cmpint(filter.unicast, ==, NET_RX_NORMAL);
	g_assert_cmpint(filter.vlan, ==, NET_RX_NORMAL);
	g_assert_cmpuint(filter.nunicast, ==, 1);
	g_assert_cmpmem(filter.unicast_macs[0], 6, other, 6);
	g_assert_cmpuint(filter.nmulticast, ==, 1);
	g_assert_cmpmem(filter.multicast_macs[0], 6, group, 6);
	set_mode(&f, VIRTIO_NET_CTRL_RX_ALLUNI, 1);
	g_assert_cmpuint(filter_reports, ==, 2);
	end(&f);
}

static void test_vlan(void)
{
	struct fixture f;
	u8 frame[100];
	__virtio16 id = 100;

	begin(&f, ALL);
	set_mode(&f, VIRTIO_NET_CTRL_RX_PROMISC, 0);
	make_frame(frame, own, sizeof(frame));
	frame[12] = 0x81;
	frame[14] = 0x20;
	frame[15] = 100;
	offer(&f, 2, BUF_SIZE);
	g_assert_cmpint(send(f.wire, frame, sizeof(frame), 0), ==, sizeof(frame));
	pump();
	g_assert_false(drv_has_used(f.q[Q_RX]));
	g_assert_cmpuint(control(&f, VIRTIO_NET_CTRL_VLAN, VIRTIO_NET_CTRL_VLAN_ADD, &id, 2), ==,
			 VIRTIO_NET_OK);
	g_assert_cmpint(send(f.wire, frame, sizeof(frame), 0), ==, sizeof(frame));
	rig_iterate(drv_has_used, f.q[Q_RX]);
	drv_take(f.q[Q_RX], NULL);
	control(&f, VIRTIO_NET_CTRL_VLAN, VIRTIO_NET_CTRL_VLAN_DEL, &id, 2);
	g_assert_cmpint(send(f.wire, frame, sizeof(frame), 0), ==, sizeof(frame));
	pump();
	g_assert_false(drv_has_used(f.q[Q_RX]));
	id = 4096;
	g_assert_cmpuint(control(&f, VIRTIO_NET_CTRL_VLAN, VIRTIO_NET_CTRL_VLAN_ADD, &id, 2), ==,
			 VIRTIO_NET_ERR);
	end(&f);
}

static void test_control_errors(void)
{
	struct fixture f;
	u8 data[8] = { 200, 0, 0, 0 };
	struct drv_buf buf;

	begin(&f, CTRL | RX);
	g_assert_cmpuint(control(&f, 77, 0, data, 1), ==, VIRTIO_NET_ERR);
	g_assert_cmpuint(control(&f, VIRTIO_NET_CTRL_RX, 99, data, 1), ==, VIRTIO_NET_ERR);
	g_assert_cmpuint(control(&f, VIRTIO_NET_CTRL_RX, VIRTIO_NET_CTRL_RX_NOBCAST, data, 1), ==,
			 VIRTIO_NET_ERR);
	g_assert_cmpuint(control(&f, VIRTIO_NET_CTRL_RX, 0, data, 0), ==, VIRTIO_NET_ERR);
	g_assert_cmpuint(control(&f, VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_ADDR_SET, data, 6),
			 ==, VIRTIO_NET_ERR);
	/* 200 addresses that are not there. */
	g_assert_cmpuint(control(&f, VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_TABLE_SET, data, 8),
			 ==, VIRTIO_NET_ERR);
	g_assert_cmpuint(control(&f, VIRTIO_NET_CTRL_ANNOUNCE, 0, data, 0), ==, VIRTIO_NET_ERR);
	buf = (struct drv_buf){ f.ctrl, 2, false };
	drv_add(f.q[Q_CTRL], &buf, 1);
	drv_kick(f.q[Q_CTRL]);
	g_assert_true(drv_needs_reset(f.d));
	end(&f);
}

/* More addresses than the table takes: every unicast frame passes. */
static void test_table_overflow(void)
{
	struct fixture f;
	u8 data[4 + 65 * 6 + 4] = { 65 };

	begin(&f, ALL);
	set_mode(&f, VIRTIO_NET_CTRL_RX_PROMISC, 0);
	g_assert_cmpuint(
		control(&f, VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_TABLE_SET, data, sizeof(data)),
		==, VIRTIO_NET_OK);
	g_assert_true(passes(&f, other, true));
	g_assert_false(passes(&f, group, true));
	end(&f);
}

/* ---- Configuration -------------------------------------------------------------------------- */

static void test_config(void)
{
	struct fixture f;
	GError *err = NULL;

	begin_on(&f, "virtio-net,netdev=link,mac=52:54:00:01:02:03,host_mtu=1400,id=nic", ALL,
		 false);
	g_assert_cmphex(drv_read(f.d, VIRTIO_MMIO_CONFIG), ==, 0x01005452);
	g_assert_cmphex(drv_read(f.d, VIRTIO_MMIO_CONFIG + 4), ==,
			VIRTIO_NET_S_LINK_UP << 16 | 0x0302);
	g_assert_cmphex(drv_read(f.d, VIRTIO_MMIO_CONFIG + 8), ==, 1400 << 16 | 1);
	net_set_link("nic", false, &err);
	g_assert_no_error(err);
	g_assert_true(f.rig->irq[0]);
	g_assert_cmpuint(drv_read(f.d, VIRTIO_MMIO_CONFIG + 4) >> 16, ==, 0);
	net_set_link("nic", true, &err);
	g_assert_cmpuint(drv_read(f.d, VIRTIO_MMIO_CONFIG + 4) >> 16, ==, VIRTIO_NET_S_LINK_UP);
	g_assert_cmpuint(control(&f, VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_ADDR_SET, other, 6),
			 ==, VIRTIO_NET_OK);
	g_assert_cmphex(drv_read(f.d, VIRTIO_MMIO_CONFIG + 4) & 0xffff, ==, 0x0402);
	drv_write(f.d, VIRTIO_MMIO_STATUS, 0);
	g_assert_cmphex(drv_read(f.d, VIRTIO_MMIO_CONFIG + 4) & 0xffff, ==, 0x0302);
	end(&f);
}

static void test_refused(void)
{
	struct rig *rig = rig_new(false);

	rig_refuse(rig, "virtio-net,mq=on", "mq=off");
	rig_refuse(rig, "virtio-net,host_tso4=on", "host_tso4=off");
	rig_refuse(rig, "virtio-net,rx_queue_size=128", "rx_queue_size=128");
	rig_refuse(rig, "virtio-net,host_mtu=60", "host_mtu=60");
	rig_refuse(rig, "virtio-net,mac=01:00:00:00:00:00", "multicast");
	rig_refuse(rig, "virtio-net,netdev=nowhere", "nowhere");
	rig_free(rig);
}

/* ---- State ---------------------------------------------------------------------------------- */

/* What the driver had set is in force, and it is asked to announce itself. */
static void test_migrate(void)
{
	struct fixture f;
	struct rig *to;
	GByteArray *bytes, *again;
	GError *err = NULL;
	u8 data = 0;

	begin(&f, ALL);
	set_mode(&f, VIRTIO_NET_CTRL_RX_PROMISC, 0);
	set_table(&f, other, group);
	set_mode(&f, VIRTIO_NET_CTRL_RX_NOBCAST, 1);
	rig_run(f.rig, false);
	send_to_guest(&f, own, 100); /* comes too late for the source */
	rig_watch(f.rig);
	pump();
	g_assert_cmpuint(rig_check(f.rig), ==, 0);
	bytes = rig_save(f.rig);
	to = rig_new(false);
	rig_run(to, false);
	rig_copy_ram(to, f.rig);
	rig_free(f.rig);
	f.vdev = rig_add(to, "virtio-net,netdev=link,mac=52:54:00:01:02:03");
	rig_load(to, bytes, &err);
	g_assert_no_error(err);
	again = rig_save(to);
	g_assert_cmpmem(again->data, again->len, bytes->data, bytes->len);
	g_byte_array_unref(again);
	g_byte_array_unref(bytes);
	f.rig = f.d->rig = to;
	g_assert_cmphex(drv_read(f.d, VIRTIO_MMIO_CONFIG + 4) >> 16, ==, VIRTIO_NET_S_LINK_UP);
	rig_run(to, true);
	g_assert_cmphex(drv_read(f.d, VIRTIO_MMIO_CONFIG + 4) >> 16, ==,
			VIRTIO_NET_S_LINK_UP | VIRTIO_NET_S_ANNOUNCE);
	g_assert_true(to->irq[0]);
	g_assert_cmpuint(control(&f, VIRTIO_NET_CTRL_ANNOUNCE, 0, &data, 0), ==, VIRTIO_NET_OK);
	g_assert_cmphex(drv_read(f.d, VIRTIO_MMIO_CONFIG + 4) >> 16, ==, VIRTIO_NET_S_LINK_UP);
	g_assert_true(passes(&f, other, false));
	g_assert_true(passes(&f, group, false));
	g_assert_false(passes(&f, everyone, false));
	end(&f);
}

/* The size that qemu-system-aarch64 7.2 gives the section of a device without driver. */
static void test_wire_size(void)
{
	struct rig *rig = rig_new(false);
	GByteArray *bytes;

	rig_add(rig, "virtio-net");
	bytes = rig_save(rig);
	g_assert_cmpuint(bytes->len, ==,
			 5 + 1 + strlen("virtio-mmio@0000000010000000/virtio-net") + 8 + 44780 + 5);
	g_byte_array_unref(bytes);
	rig_free(rig);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/virtio-net/send/modern", GINT_TO_POINTER(0), test_send);
	g_test_add_data_func("/virtio-net/send/legacy", GINT_TO_POINTER(1), test_send);
	g_test_add_func("/virtio-net/send/back-pressure", test_send_back_pressure);
	g_test_add_data_func("/virtio-net/receive/modern", GINT_TO_POINTER(0), test_receive);
	g_test_add_data_func("/virtio-net/receive/legacy", GINT_TO_POINTER(1), test_receive);
	g_test_add_data_func("/virtio-net/merged/plain", GINT_TO_POINTER(0), test_receive_merged);
	g_test_add_data_func("/virtio-net/merged/event-idx", GINT_TO_POINTER(1),
			     test_receive_merged);
	g_test_add_func("/virtio-net/filter", test_filter);
	g_test_add_func("/virtio-net/filter-query", test_filter_query);
	g_test_add_func("/virtio-net/filter/vlan", test_vlan);
	g_test_add_func("/virtio-net/filter/overflow", test_table_overflow);
	g_test_add_func("/virtio-net/control-errors", test_control_errors);
	g_test_add_func("/virtio-net/config", test_config);
	g_test_add_func("/virtio-net/refused", test_refused);
	g_test_add_func("/virtio-net/migrate", test_migrate);
	g_test_add_func("/virtio-net/wire-size", test_wire_size);
	return g_test_run();
}
