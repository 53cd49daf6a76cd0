/*
 * system/objects.h - what -object and object-add make.
 */
#ifndef SYSTEM_OBJECTS_H
#define SYSTEM_OBJECTS_H

#include "util/base.h"

#include <json-glib/json-glib.h>

struct emulator;
struct objects;

struct objects *objects_create(struct emulator *e);
void objects_destroy(struct objects *o);

/* objects_drop_monitors() - remove the monitors among them; before the monitor server goes. */
void objects_drop_monitors(struct objects *o);

/*
 * objects_add() - make an object.
 * @opts: "qom-type", "id" and the type's properties; consumed members are removed.
 *
 * Return: 0, or -EINVAL with @err naming type, property and value.
 */
int objects_add(struct objects *o, JsonObject *opts, GError **err);

/* objects_del() - -ENOENT or -EBUSY with @err. */
int objects_del(struct objects *o, const char *id, GError **err);

/*
 * objects_find() - an object by id.
 * @kind: type ("memory-backend-ram") or family ("memory-backend", "rng-backend"); NULL: any.
 *
 * Return: the room's own struct; NULL if there is none of that kind.
 */
void *objects_find(struct objects *o, const char *id, const char *kind);

/* objects_foreach() - in order of creation. */
void objects_foreach(struct objects *o,
		     void (*fn)(const char *id, const char *type, void *object, void *opaque),
		     void *opaque);

/* A property of a type of objects. */
struct object_prop {
	const char *name;
	const char *type; /* "bool", "int", "string", as qom-list-properties shows it */
	const char *help;
	const char *default_text; /* NULL: none */
};

/* objects_types() - NULL-terminated names of the types; objects_families() - of their parents. */
const char *const *objects_types(void);
const char *const *objects_families(void);
/* objects_family() - parent of a type; NULL: there is no such type. */
const char *objects_family(const char *type);
/* objects_props() - of a type that exists; ended by name NULL. */
const struct object_prop *objects_props(const char *type);

/* objects_type() - of the object with that id; NULL: there is none. */
const char *objects_type(struct objects *o, const char *id);
/* objects_get() - a property's value; NULL: it has none. Free with json_node_unref(). */
JsonNode *objects_get(struct objects *o, const char *id, const char *prop);

/* objects_help() - text of -object help; object_type_help() - of -object TYPE,help, NULL with @err
 * if there is no such type. */
char *objects_help(void);
char *object_type_help(const char *type, GError **err);

#endif
