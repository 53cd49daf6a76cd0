/*
 * hw/device.h - device types are const tables; devices are instances of them.
 *
 * A folder of hw/ exports one NULL-terminated array of its types; hw/target.h lists the arrays of
 * a target. Everything else (option parsing, help, the device tree, reset, migration) is derived
 * from the tables here.
 */
#ifndef HW_DEVICE_H
#define HW_DEVICE_H

#include "hw/property.h"

struct machine;
struct device;
struct hw_target;
struct state_desc;

/* Groups of -device help, in the order in which it shows them. */
enum device_category {
	DEVICE_MISC,
	DEVICE_BRIDGE,
	DEVICE_STORAGE,
	DEVICE_NETWORK,
	DEVICE_INPUT,
	DEVICE_DISPLAY,
	DEVICE_CATEGORIES,
};

/* Something about a device that can be read, and perhaps set, while it works. */
struct device_value {
	const char *name, *type; /* type: as qom-list shows it */
	const char *help;
	JsonNode *(*get)(struct device *dev); /* free with json_node_unref() */
	/* set() - 0 or -errno with @err. NULL: cannot be set. */
	int (*set)(struct device *dev, JsonNode *value, GError **err);
};

struct device_type {
	const char *name;
	const char *alias; /* second spelling, e.g. without bus suffix; NULL. Several types
			      may share it: the machine's buses decide. */
	const char *desc;
	enum device_category category;
	const char *bus;          /* type of bus it plugs into: "virtio-bus", "ISA", "System" */
	const char *provides_bus; /* type of bus it offers, NULL */
	const char *bus_name;     /* its bus is named "BUS_NAME.N" whatever the id; NULL: "ID.0", or
				     "PROVIDES_BUS.N" for a device without id */
	bool bus_named_by_id;     /* for a device with id, its bus is named just "ID" */
	unsigned bus_slots;       /* how many devices fit on it; 0: any number */
	bool bus_hotplug;         /* devices on it may come and go while the machine runs */
	/* bus_path() - where the bus of this provider is, for the section names of devices on it:
	 * "PATH/NAME". NULL: they have just their name. Free with g_free(). */
	char *(*bus_path)(const struct device *provider);
	/* state_path() - likewise for the section of the device itself; NULL: bus_path() of its
	 * provider counts. */
	char *(*state_path)(const struct device *dev);
	/* Another type, of which every device of this type has one inside: made with it, and to be
	 * realized by it on its bus. Properties and values of both are those of the outer one. */
	const struct device_type *inner;
	/* child_plugged() - for a provider: a device was added to its bus while the machine runs.
	 * NULL: nothing to do. */
	void (*child_plugged)(struct device *dev, struct device *child);
	/* unplug_request() - likewise: a device shall go, and the guest is asked first; whoever
	 * gets its consent calls device_unplug(). 0 or -errno with @err. NULL: it goes at once. */
	int (*unplug_request)(struct device *dev, struct device *child, GError **err);
	size_t instance_size;              /* of the struct that begins with struct device */
	const struct property *props;      /* PROP_END-terminated; NULL: none */
	const struct device_value *values; /* ended by name NULL; NULL: none */
	bool user_creatable;               /* may follow -device */
	/* realize() - check properties, map and connect. Everything can still fail here; on failure
	 * it leaves nothing behind. dev->on_bus and dev->parent are set. Return 0 or -errno. */
	int (*realize)(struct device *dev, GError **err);
	void (*unrealize)(struct device *dev);
	void (*reset)(struct device *dev); /* machine lock held, vCPUs stopped */
	const struct state_desc *state;    /* migration; NULL: stateless */
	const char *state_idstr;           /* NULL: state->name */
};

/* Where devices plug in. The machine's own buses have no provider. */
struct bus {
	char *type; /* "virtio-bus" */
	char *name; /* unique, "virtio-mmio-bus.0"; set when its provider is realized */
	struct device *provider; /* NULL: the machine */
	unsigned slots;          /* 0: any number */
	unsigned used;           /* devices on it */
	unsigned rank; /* bus_find_free() takes lower ranks first; the machine may set it */
	bool hotplug;
	void *owner_data; /* of the code that provides it */
	GList link;       /* in machine->buses, in order of creation */
};

struct device {
	const struct device_type *type;
	char *id; /* user's id; NULL */
	struct machine *machine;
	struct device *parent; /* whose bus it sits on; NULL: the machine's own */
	struct device *inner;  /* of type->inner; NULL */
	struct device *outer;  /* whose inner one it is; NULL */
	bool realized;
	bool user_created;  /* by -device or device_add */
	GList link;         /* in machine->devices, in order of creation */
	struct bus *bus;    /* it offers; NULL */
	struct bus *on_bus; /* it sits on; set from realize on */
	GHashTable *given;  /* property name -> text, of properties that were set */
};

/* device_type_find() - type by its name (not its alias); NULL if the target has none. */
const struct device_type *device_type_find(const struct hw_target *target, const char *name);

/* device_types_foreach() - every type of the target, sorted by name. */
void device_types_foreach(const struct hw_target *target,
			  void (*fn)(const struct device_type *type, void *opaque), void *opaque);

/* device_types_help() - text of -device help; device_type_help() - of -device NAME,help, NULL with
 * @err if there is no such type. Free with g_free(). */
char *device_types_help(const struct hw_target *target);
char *device_type_help(const struct hw_target *target, const char *name, GError **err);

/*
 * device_create() - make a device with its defaults and the machine's -global values.
 * @type_name: exact name of a type.
 * @id:        user's id or NULL; copied.
 *
 * Return: a device that is not realized, owned by the machine; NULL with @err: unknown type, id in
 * use or malformed, a -global value that the property refuses.
 * Context: machine lock held.
 */
struct device *device_create(struct machine *m, const char *type_name, const char *id,
			     GError **err);

/*
 * device_set(), device_set_json() - set a property before realize.
 *
 * Return: 0, or -EINVAL with @err (unknown property: the names that exist).
 */
int device_set(struct device *dev, const char *prop, const char *text, GError **err);
int device_set_json(struct device *dev, const char *prop, JsonNode *value, GError **err);

/* device_set_u64() - as device_set(), for the machine's own code. */
int device_set_u64(struct device *dev, const char *prop, u64 value, GError **err);

/* device_given() - whether a property was set by the user, a -global or the machine. */
bool device_given(const struct device *dev, const char *prop);

/* device_user_id() - id that the user knows it by: its own, or of the one it is inside of; NULL. */
const char *device_user_id(const struct device *dev);

/* device_get() - value of a property (of a link: the id); free with json_node_unref().
 * Return: NULL with @err if the device has no such property. */
JsonNode *device_get(struct device *dev, const char *prop, GError **err);

/*
 * device_realize() - put the device on a bus and make it work.
 * @bus: NULL: the first bus of the right type with room.
 *
 * Its state takes part in migration from now on.
 * Return: 0, or -errno with @err; the device is then as before.
 */
int device_realize(struct device *dev, struct bus *bus, GError **err);

/* device_destroy() - unrealize and free; devices on its bus go first. NULL is ignored. */
void device_destroy(struct device *dev);

/*
 * device_add() - what -device and the device_add command do.
 * @opts: "driver", optional "id" and "bus", and properties; not changed.
 *
 * A driver name may be an alias; among types that share it, the one whose bus the machine has is
 * taken. Once the machine is complete (machine_done()), the bus must allow hot plugging.
 * Return: the realized device; NULL with @err naming device, property, value and what would work.
 * Context: main thread, machine lock held.
 */
struct device *device_add(struct machine *m, JsonObject *opts, GError **err);

/*
 * device_del() - what the device_del command does.
 * @id: id or path below /machine.
 *
 * On success the device is gone and host->device_deleted() was called, or the guest has been asked
 * to let go of it and that will happen when it does.
 * Return: 0; -ENOENT (class DeviceNotFound) or -EBUSY with @err.
 */
int device_del(struct machine *m, const char *id, GError **err);

/* device_unplug() - destroy a device that the user had added, and call host->device_deleted().
 * Main thread, machine lock held. */
void device_unplug(struct device *dev);

/* device_find() - by id, or by path below /machine; NULL if there is none. */
struct device *device_find(struct machine *m, const char *id);

/* device_linked_to() - a device with a property that names the object @id; NULL: nobody. */
struct device *device_linked_to(struct machine *m, const char *id);

/* device_path() - "/machine/peripheral/ID", "/machine/peripheral-anon/device[N]" or
 * "/machine/unattached/device[N]". Free with g_free(). */
char *device_path(const struct device *dev);

/*
 * device_tree_list() - children of a path, for qom-list.
 * @fn: called with name and type ("child<isa-serial>", "bool", ...) of every entry.
 *
 * Return: 0, or -ENOENT with @err (class DeviceNotFound).
 */
int device_tree_list(struct machine *m, const char *path,
		     void (*fn)(const char *name, const char *type, void *opaque), void *opaque,
		     GError **err);

/*
 * device_tree_get() - value of a property of what is at a path.
 *
 * device_tree_set() - change one; of devices that work only struct device_value can be.
 * Return: the value, to be freed with json_node_unref(), or 0; NULL or -errno with @err.
 */
JsonNode *device_tree_get(struct machine *m, const char *path, const char *prop, GError **err);
int device_tree_set(struct machine *m, const char *path, const char *prop, JsonNode *value,
		    GError **err);

/* device_tree_text() - text of "info qtree". Free with g_free(). */
char *device_tree_text(struct machine *m);

/*
 * bus_add() - a bus of the machine itself.
 * @name: NULL: @type.
 *
 * Context: from the machine's init(). Return: the bus, owned by the machine.
 */
struct bus *bus_add(struct machine *m, const char *type, const char *name);

/* bus_find() - by name; NULL if there is none. */
struct bus *bus_find(struct machine *m, const char *name);

/* bus_find_free() - bus of a type that has room: of the lowest rank, then the oldest; NULL if there
 * is none. */
struct bus *bus_find_free(struct machine *m, const char *type);

/* bus_child() - first device on a bus that a device provides; NULL if it is empty. */
struct device *bus_child(const struct bus *bus);

#endif
