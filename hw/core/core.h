/*
 * hw/core/core.h - what the files of the device framework share.
 */
#ifndef HW_CORE_CORE_H
#define HW_CORE_CORE_H

#include "hw/device.h"

#include <assert.h>

/* bus_provide() - create the bus that dev->type offers. */
void bus_provide(struct device *dev);
void bus_destroy(struct machine *m, struct bus *bus);
bool bus_is_full(const struct bus *bus);
bool bus_type_exists(struct machine *m, const char *type);

/* bus_types() - "System, virtio-bus": types of the machine's buses. Free with g_free(). */
char *bus_types(struct machine *m);

/* device_type_prop() - a property of the type or of the one inside; NULL if neither has it.
 * device_type_prop_names() - of both, for messages. Free with g_free(). */
const struct property *device_type_prop(const struct device_type *t, const char *name);
char *device_type_prop_names(const struct device_type *t);

/* globals_apply() - give a new device the values that its type has in the machine's version, then
 * those of -global. */
int globals_apply(struct machine *m, struct device *dev, GError **err);
void globals_free(struct machine *m);

GArray *irq_sources_create(void);

/* blobs_write() - copy every blob into guest memory. */
void blobs_write(struct machine *m);
void blobs_free(struct machine *m);

#endif
