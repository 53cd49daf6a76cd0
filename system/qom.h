/*
 * system/qom.h - types and objects by the names that QMP clients know them by.
 *
 * A view of the tables of device types, machines, accelerators, CPU models and -object types, and
 * of what was made of them; nothing is stored here. Paths and type names: QEMU's QMP reference
 * (qom-list, qom-list-types), as clients use them.
 * All functions: main thread, machine lock held.
 */
#ifndef SYSTEM_QOM_H
#define SYSTEM_QOM_H

#include "emulator.h"

#include <json-glib/json-glib.h>

typedef void qom_type_fn(const char *name, const char *parent, bool abstract, void *opaque);

/* qom_types_foreach() - every type; @parent is NULL for the root. */
void qom_types_foreach(qom_type_fn *fn, void *opaque);

/* qom_type_is() - whether @type is @ancestor or derives from it. */
bool qom_type_is(const char *type, const char *ancestor);

/*
 * qom_type_props() - what objects of a type have.
 * @device_only: other types are refused.
 *
 * Return: list of struct qapi_object_property_info; NULL with @err, of class DeviceNotFound if
 * there is no such type.
 */
GPtrArray *qom_type_props(struct emulator *e, const char *type, bool device_only, GError **err);

/*
 * qom_list() - what the object at @path has: properties and children.
 *
 * Return: list of struct qapi_object_property_info; NULL with @err, of class DeviceNotFound if
 * there is nothing.
 */
GPtrArray *qom_list(struct emulator *e, const char *path, GError **err);

/* qom_get() - NULL with @err; free with json_node_unref(). */
JsonNode *qom_get(struct emulator *e, const char *path, const char *prop, GError **err);

/* qom_set() - 0, or -errno with @err; few properties may change once an object works. */
int qom_set(struct emulator *e, const char *path, const char *prop, JsonNode *value, GError **err);

#endif
