/*
 * hw/display/ramfb.c - a frame buffer in guest RAM, whose place the guest tells by fw_cfg.
 *
 * Source: the fw_cfg file "etc/ramfb": address, DRM's code of the pixel format (drm_fourcc.h),
 * flags, width, height, stride, all big-endian. UEFI firmware draws through it, and Linux goes on
 * with what firmware set up (efifb, simpledrm).
 */
#include "accel/vm.h"
#include "hw/device.h"
#include "hw/display/devices.h"
#include "hw/machine.h"
#include "hw/nvram/fw_cfg.h"
#include "memory/address-space.h"
#include "migration/state.h"
#include "ui/display.h"
#include "util/error.h"
#include "util/log.h"

#define FILE_NAME "etc/ramfb"
#define SIDE_MIN  16 /* pixels */

/* On the wire, in fw_cfg and in a migration; big-endian. */
struct ramfb_config {
	u64 address;
	u32 fourcc, flags, width, height, stride;
} __attribute__((packed));
_Static_assert(sizeof(struct ramfb_config) == 28, "etc/ramfb");

struct ramfb {
	struct device dev;
	struct device *fw_cfg;
	struct console *console;
	u8 cfg[sizeof(struct ramfb_config)]; /* migrates */

	/* Property. */
	bool opt_migrate;
};

static const struct {
	char code[5];
	pixman_format_code_t format;
} formats[] = {
	{ "XR24", PIXMAN_x8r8g8b8 }, { "AR24", PIXMAN_a8r8g8b8 }, { "XB24", PIXMAN_x8b8g8r8 },
	{ "AB24", PIXMAN_a8b8g8r8 }, { "RX24", PIXMAN_r8g8b8x8 }, { "RA24", PIXMAN_r8g8b8a8 },
	{ "BX24", PIXMAN_b8g8r8x8 }, { "BA24", PIXMAN_b8g8r8a8 }, { "RG24", PIXMAN_r8g8b8 },
	{ "BG24", PIXMAN_b8g8r8 },   { "RG16", PIXMAN_r5g6b5 },   { "XR15", PIXMAN_x1r5g5b5 },
};

static bool find_format(u32 fourcc, pixman_format_code_t *format)
{
	for (unsigned i = 0; i < ARRAY_SIZE(formats); i++) {
		const char *c = formats[i].code;

		if (fourcc != ((u32)c[0] | c[1] << 8 | c[2] << 16 | (u32)c[3] << 24))
			continue;
		*format = formats[i].format;
		return true;
	}
	return false;
}

/* What the guest asked for as a picture; NULL: nothing that can be. */
static struct surface *make_surface(struct ramfb *r)
{
	struct ramfb_config c;
	u32 fourcc, width, height, stride;
	pixman_format_code_t format;
	u64 address, line, len;
	u8 *bits = NULL;

	memcpy(&c, r->cfg, sizeof(c));
	address = GUINT64_FROM_BE(c.address);
	fourcc = GUINT32_FROM_BE(c.fourcc);
	width = GUINT32_FROM_BE(c.width);
	height = GUINT32_FROM_BE(c.height);
	stride = GUINT32_FROM_BE(c.stride);
	if (find_format(fourcc, &format) && width >= SIDE_MIN && height >= SIDE_MIN &&
	    surface_bytes(format, width, height)) {
		line = (u64)width * PIXMAN_FORMAT_BPP(format) / 8;
		if (!stride)
			stride = ROUND_UP(line, (u64)4);
		len = (u64)stride * (height - 1) + line;
		if (stride >= line && !(stride % 4) && !(address % 4))
			bits = address_space_ram(r->dev.machine->vm->memory, address, &len, true,
						 NULL, NULL);
		if (bits && len < (u64)stride * (height - 1) + line)
			bits = NULL;
	}
	if (!bits) {
		log_guest("ramfb: no %ux%u pixels of format 0x%08x, %u bytes a line, at 0x%" PRIx64
			  "\n",
			  width, height, fourcc, stride, address);
		return NULL;
	}
	return surface_wrap(format, width, height, stride, bits);
}

/* A guest that asks for nothing useful keeps what it had. */
static void configured(void *opaque)
{
	struct ramfb *r = opaque;
	struct surface *s = make_surface(r);

	if (s)
		console_show(r->console, s, true);
	surface_unref(s);
}

static void ramfb_reset(struct device *dev)
{
	struct ramfb *r = (struct ramfb *)dev;

	memset(r->cfg, 0, sizeof(r->cfg));
	console_show(r->console, NULL, false);
}

static int ramfb_realize(struct device *dev, GError **err)
{
	struct ramfb *r = (struct ramfb *)dev;
	struct display *display = dev->machine->host->display;
	int ret;

	r->fw_cfg = fw_cfg_find(dev->machine);
	if (!r->fw_cfg || !display) {
		error_set(err, "ramfb needs a machine with fw_cfg, which %s is not",
			  dev->machine->type->name);
		return -EINVAL;
	}
	ret = fw_cfg_add_writable(r->fw_cfg, FILE_NAME, r->cfg, sizeof(r->cfg), configured, r, err);
	if (!ret)
		r->console = console_create(display, dev->id, 0);
	return ret;
}

static void ramfb_unrealize(struct device *dev)
{
	struct ramfb *r = (struct ramfb *)dev;

	fw_cfg_remove_writable(r->fw_cfg, FILE_NAME);
	console_destroy(r->console);
}

static int config_loaded(void *obj, int version, GError **err)
{
	static const u8 none[sizeof(struct ramfb_config)];
	struct ramfb *r = obj;

	if (memcmp(r->cfg, none, sizeof(none)))
		configured(r);
	return 0;
}

static const struct state_field config_fields[] = { FIELD_BUFFER(struct ramfb, cfg), FIELD_END };

static const struct state_desc config_state = {
	.name = "ramfb",
	.version = 1,
	.min_version = 1,
	.fields = config_fields,
	.post_load = config_loaded,
};

static bool migrates(void *obj)
{
	return ((struct ramfb *)obj)->opt_migrate;
}

static const struct state_field ramfb_fields[] = {
	{ .name = "state",
	  .type = STATE_STRUCT,
	  .size = sizeof(struct ramfb),
	  .desc = &config_state },
	FIELD_END,
};

static const struct state_desc ramfb_state = {
	.name = "ramfb-dev",
	.version = 1,
	.min_version = 1,
	.fields = ramfb_fields,
	.needed = migrates,
};

static const struct property ramfb_props[] = {
	PROP(struct ramfb, opt_migrate, "x-migrate", BOOL, "on",
	     "tell the other side of a migration where the picture is"),
	PROP_END,
};

const struct device_type ramfb_type = {
	.name = "ramfb",
	.desc = "frame buffer in guest RAM, set up by firmware",
	.category = DEVICE_DISPLAY,
	.instance_size = sizeof(struct ramfb),
	.props = ramfb_props,
	.user_creatable = true,
	.realize = ramfb_realize,
	.unrealize = ramfb_unrealize,
	.reset = ramfb_reset,
	.state = &ramfb_state,
};
