/*
 * hw/device.h - device types are const tables; devices are instances of them.
 */
#ifndef HW_DEVICE_H
#define HW_DEVICE_H

#include "util/base.h"

#include <json-glib/json-glib.h>

struct machine;
struct device;
struct state_desc;

enum prop_type {
	PROP_BOOL,    /* bool */
	PROP_U8, PROP_U16, PROP_U32, PROP_U64,
	PROP_S32, PROP_S64,
	PROP_SIZE,    /* u64, accepts suffixes */
	PROP_STR,     /* char *, owned */
	PROP_ENUM,    /* int, index into names */
	PROP_ON_OFF_AUTO, /* int: 0 auto, 1 on, 2 off */
	PROP_MACADDR, /* u8[6] */
	PROP_CHARDEV, /* struct chardev * by id */
	PROP_NETDEV,  /* struct net_client * by id */
	PROP_DRIVE,   /* struct block_backend * by id or node name */
	PROP_LINK,    /* struct object * (rng, iothread, memory back end) by id */
};

struct property {
	const char *name;
	enum prop_type type;
	size_t offset;              /* in the instance */
	const char *default_text;   /* parsed as if given by the user; NULL: zero */
	const char *help;
	const char *const *names;   /* PROP_ENUM: NULL-terminated */
};

#define PROP(sname, field, nm, ty, def, hlp)                                                       \
	{ .name = nm, .type = PROP_##ty, .offset = offsetof(sname, field), .default_text = def,    \
	  .help = hlp }
#define PROP_END { .name = NULL }

struct device_type {
	const char *name;
	const char *alias;          /* second spelling, e.g. without bus suffix; NULL */
	const char *desc;
	const char *bus;            /* bus it plugs into: "virtio-bus", "ISA", "System", ... */
	const char *provides_bus;   /* bus it offers, NULL */
	size_t instance_size;       /* of the struct that begins with struct device */
	const struct property *props; /* PROP_END-terminated; NULL: none */
	bool user_creatable;        /* may follow -device */
	/* realize() - check properties, map and connect. Everything can still fail here. */
	int (*realize)(struct device *dev, GError **err);
	void (*unrealize)(struct device *dev);
	void (*reset)(struct device *dev); /* machine lock held, vCPUs stopped */
	const struct state_desc *state;    /* migration; NULL: stateless */
	const char *state_idstr;           /* NULL: state->name */
};

struct device {
	const struct device_type *type;
	char *id;                /* user's id; NULL */
	struct machine *machine;
	struct device *parent;   /* whose bus it sits on; NULL: the machine's own */
	bool realized;
	GList link;              /* in machine->devices, in order of creation */
};

#endif
