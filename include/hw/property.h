/*
 * hw/property.h - typed properties of devices and machines, described by const tables.
 *
 * From one table come defaults, parsing of key=value text and JSON, help texts and read-back.
 * Names of the types in help texts are those that QEMU prints (QEMU 7.2, -device X,help).
 */
#ifndef HW_PROPERTY_H
#define HW_PROPERTY_H

#include "util/base.h"

#include <json-glib/json-glib.h>

struct machine_host;

enum prop_type {
	PROP_BOOL, /* bool */
	PROP_U8,
	PROP_U16,
	PROP_U32,
	PROP_U64,
	PROP_S32,
	PROP_S64,
	PROP_SIZE,        /* u64, accepts suffixes */
	PROP_STR,         /* char *, owned */
	PROP_ENUM,        /* int, index into names */
	PROP_ON_OFF_AUTO, /* int, enum on_off_auto */
	PROP_MACADDR,     /* u8[6] */
	PROP_CHARDEV,     /* struct chardev * by id */
	PROP_NETDEV,      /* struct net_client * by id */
	PROP_DRIVE,       /* struct block_backend * by id or node name */
	PROP_LINK,        /* an object of type link_type (rng, iothread, memory back end) by id */
};

enum on_off_auto { OOA_AUTO, OOA_ON, OOA_OFF };

struct property {
	const char *name;
	enum prop_type type;
	size_t offset;            /* in the instance */
	const char *default_text; /* parsed as if given by the user; NULL: zero */
	const char *help;
	const char *const *names; /* PROP_ENUM: NULL-terminated */
	const char *link_type;    /* PROP_LINK: "rng-backend", "iothread", ... */
};

#define PROP(sname, field, nm, ty, def, hlp)                                                       \
	{                                                                                          \
		.name = nm, .type = PROP_##ty, .offset = offsetof(sname, field),                   \
		.default_text = def, .help = hlp                                                   \
	}
#define PROP_NAMES(sname, field, nm, def, hlp, list)                                               \
	{                                                                                          \
		.name = nm, .type = PROP_ENUM, .offset = offsetof(sname, field),                   \
		.default_text = def, .help = hlp, .names = list                                    \
	}
#define PROP_OBJECT(sname, field, nm, ltype, hlp)                                                  \
	{                                                                                          \
		.name = nm, .type = PROP_LINK, .offset = offsetof(sname, field), .help = hlp,      \
		.link_type = ltype                                                                 \
	}
#define PROP_END                                                                                   \
	{                                                                                          \
		.name = NULL                                                                       \
	}

/* Whose property is set: for messages and for links. */
struct prop_owner {
	const char *name;                /* device type or machine name */
	const struct machine_host *host; /* resolves links; NULL: links are refused */
};

/* property_find() - entry of a table by name; NULL if there is none. @props may be NULL. */
const struct property *property_find(const struct property *props, const char *name);

/*
 * properties_init() - set every property of a zeroed object to its default.
 *
 * A default that does not parse is our bug and asserts.
 */
void properties_init(void *obj, const struct property *props);

/* properties_free() - release owned strings. */
void properties_free(void *obj, const struct property *props);

/*
 * property_set() - give a property a value.
 * @value: a string (parsed by the property's type), or a JSON boolean, integer or number of the
 *         matching kind.
 *
 * Return: 0, or -EINVAL with @err naming owner, property, value and what would be accepted; the
 * property keeps its value then.
 */
int property_set(void *obj, const struct property *p, const struct prop_owner *owner,
		 JsonNode *value, GError **err);

/* property_set_text() - as property_set() from text. */
int property_set_text(void *obj, const struct property *p, const struct prop_owner *owner,
		      const char *text, GError **err);

/*
 * property_get() - the value for qom-get: boolean, integer or string. Links have no value here
 * (the owner knows the id): NULL. Free with json_node_unref().
 */
JsonNode *property_get(const void *obj, const struct property *p);

/* property_type_name() - "bool", "uint32", "str", ... as help texts and
 * device-list-properties show it. */
const char *property_type_name(const struct property *p);

/* property_is_link() - whether the value names something outside the object. */
bool property_is_link(const struct property *p);

/* properties_help() - one line a property: "  name=<type>  - help (default: X)", sorted by name.
 * Free with g_free(). */
char *properties_help(const struct property *props);

/* properties_names() - "a, b, c" for messages; "none" if there are none. Free with g_free(). */
char *properties_names(const struct property *props);

#endif
