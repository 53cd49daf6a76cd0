/*
 * hw/net/virtio-net-state.c - the virtio network device in the migration stream.
 *
 * The layout is the one of QEMU's virtio-net section, version 11: read off a stream that
 * qemu-system-aarch64 7.2 wrote.
 */
#include "hw/net/virtio-net.h"

#include "util/error.h"

/* Only the addresses in use travel. */
static int macs_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	const struct net_filter *f = field;

	state_put_buffer(w, f->macs, f->in_use * 6ull);
	return 0;
}

static int macs_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	struct net_filter *f = field;
	u32 n = f->in_use;

	if (n > NET_MAC_ENTRIES) {
		/* A larger table overflows ours: let everything pass, as a driver's would. */
		for (u64 i = 0; i < MIN(n, UINT16_MAX) * 6ull; i++)
			state_get_u8(r);
		f->in_use = 0;
		f->uni_overflow = f->multi_overflow = 1;
		return 0;
	}
	state_get_buffer(r, f->macs, n * 6ull);
	for (f->first_multi = 0; f->first_multi < n; f->first_multi++)
		if (f->macs[f->first_multi][0] & 1)
			break;
	return 0;
}

static const struct state_codec macs_codec = { "buffer", macs_save, macs_load };

/* Off-loads that the back end does: we offer none. */
static int offload_load(u32 value, const char *name, GError **err)
{
	if (!value)
		return 0;
	error_set(err, "virtio-net: the source's back end has %s, this one has not", name);
	return -EINVAL;
}

static int vnet_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	state_put_be32(w, 0);
	return 0;
}

static int vnet_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	return offload_load(state_get_be32(r), "a vnet header", err);
}

static int ufo_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	state_put_u8(w, 0);
	return 0;
}

static int ufo_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	return offload_load(state_get_u8(r), "UDP fragmentation", err);
}

static const struct state_codec vnet_codec = { "uint32", vnet_save, vnet_load };
static const struct state_codec ufo_codec = { "uint8", ufo_save, ufo_load };

static int mergeable_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	state_put_be32(w, virtio_has_feature(field, VIRTIO_NET_F_MRG_RXBUF));
	return 0;
}

static int mergeable_load(struct state_reader *r, void *field, size_t size, int version,
			  GError **err)
{
	state_get_be32(r); /* the features say it */
	return 0;
}

static const struct state_codec mergeable_codec = { "uint32", mergeable_save, mergeable_load };

#define NET_CUSTOM(nm, c)                                                                          \
	{                                                                                          \
		.name = nm, .type = STATE_CUSTOM, .size = 1, .codec = &(c)                         \
	}

static const struct state_field own_fields[] = { FIELD_ARRAY(struct virtio_net, mac, U8),
						 FIELD_U32(struct virtio_net, tx_waiting),
						 NET_CUSTOM("mergeable_rx_bufs", mergeable_codec),
						 FIELD_U16(struct virtio_net, status),
						 FIELD_U8(struct virtio_net, filter.promisc),
						 FIELD_U8(struct virtio_net, filter.allmulti),
						 FIELD_U32(struct virtio_net, filter.in_use),
						 FIELD_CUSTOM(struct virtio_net, filter,
							      macs_codec),
						 FIELD_BUFFER(struct virtio_net, filter.vlans),
						 NET_CUSTOM("has_vnet_hdr", vnet_codec),
						 FIELD_U8(struct virtio_net, filter.multi_overflow),
						 FIELD_U8(struct virtio_net, filter.uni_overflow),
						 FIELD_U8(struct virtio_net, filter.alluni),
						 FIELD_U8(struct virtio_net, filter.nomulti),
						 FIELD_U8(struct virtio_net, filter.nouni),
						 FIELD_U8(struct virtio_net, filter.nobcast),
						 NET_CUSTOM("has_ufo", ufo_codec),
						 FIELD_END };

static const struct state_desc own_state = {
	.name = "virtio-net-device",
	.version = 11,
	.min_version = 11,
	.fields = own_fields,
};

int virtio_net_save(struct virtio_device *vdev, struct state_writer *w, GError **err)
{
	return state_save_nested(w, &own_state, virtio_net_of(vdev), err);
}

int virtio_net_load(struct virtio_device *vdev, struct state_reader *r, int version, GError **err)
{
	return state_load_nested(r, &own_state, virtio_net_of(vdev), version, err);
}
