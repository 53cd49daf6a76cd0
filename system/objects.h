/*
 * system/objects.h - what -object and object-add make.
 */
#ifndef SYSTEM_OBJECTS_H
#define SYSTEM_OBJECTS_H

#include "util/base.h"

#include <json-glib/json-glib.h>

struct objects;
struct memory_backend;

struct objects *objects_create(void);
void objects_destroy(struct objects *o);

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

/* objects_types() - NULL-terminated names of the types. */
const char *const *objects_types(void);
/* objects_help() - text of -object help. */
char *objects_help(void);

#endif
