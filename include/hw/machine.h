/*
 * hw/machine.h - machine types and the machine that a process runs.
 *
 * The owner of the process (system/) creates a machine of a type, fills its options, sets its
 * properties, and calls machine_init(), device_add() for every -device, machine_done(), and
 * machine_reset(). Nothing here knows the command line.
 */
#ifndef HW_MACHINE_H
#define HW_MACHINE_H

#include "hw/device.h"
#include "hw/irq.h"
#include "hw/target.h"
#include "util/notify.h"
#include "util/timer.h"

struct block_backend;
struct chardev;
struct display;
struct machine;
struct net_client;
struct ramblock;
struct state_registry;
struct vm;

#define MACHINE_SERIALS 4

/* Events of the pvpanic device. */
enum pvpanic_event {
	PVPANIC_PANICKED = 1,
	PVPANIC_CRASH_LOADED = 2, /* panicked, and a crash kernel will run */
	PVPANIC_SHUTDOWN = 4,
	PVPANIC_EVENTS = 7,
};

/* What a machine needs of the process around it. Look-ups return NULL if there is no such id. */
struct machine_host {
	struct chardev *(*chardev)(void *opaque, const char *id);
	struct net_client *(*netdev)(void *opaque, const char *id);
	struct block_backend *(*drive)(void *opaque, const char *id);
	void *(*object)(void *opaque, const char *id, const char *type);
	/* A device that was removed by device_del(); @id NULL if it had none. */
	void (*device_deleted)(void *opaque, const char *id, const char *path);
	/* The guest's kernel told of a panic; @events: bits of enum pvpanic_event. NULL: the VM
	 * stops in state guest-panicked. Any thread, machine lock held. */
	void (*guest_panicked)(void *opaque, unsigned events);
	/* What devices report; each may be NULL. Any thread, machine lock held. */
	/* The guest set its clock. @offset_s: how far from the time that -rtc base= gives it. */
	void (*rtc_changed)(void *opaque, s64 offset_s, const char *path);
	/* The guest opened or closed the virtio serial port of that id. */
	void (*serial_port_changed)(void *opaque, const char *id, bool open);
	/* The guest wants other frames than before; told once until somebody asks which. @id NULL:
	 * the card has none. */
	void (*rx_filter_changed)(void *opaque, const char *id, const char *path);
	/* Where display and input devices plug in; NULL: there are none. */
	struct display *display;
	void *opaque;
};

/* One -fw_cfg item; owned by the options. */
struct fw_cfg_option {
	char *name; /* at most 55 bytes; "opt/..." by convention */
	GBytes *data;
};

/* What the user asked for; filled by the process before machine_init(), owned by the machine. */
struct machine_options {
	char *kernel; /* path, NULL: none; likewise below */
	char *initrd;
	char *append;
	char *bios; /* path of a firmware image */
	char *dtb;
	char *cpu_model;  /* text after -cpu; NULL: the machine's default */
	char *boot_order; /* -boot order= */
	char *name;       /* -name guest= */
	u8 uuid[16];      /* -uuid, as its text reads from left to right */
	bool has_uuid;
	u64 ram_size;     /* bytes; 0: the machine's default */
	u64 max_ram_size; /* bytes; 0: ram_size */
	unsigned ram_slots;
	unsigned cpus;                          /* 0: 1 */
	unsigned max_cpus;                      /* 0: cpus */
	unsigned sockets, dies, cores, threads; /* product is max_cpus; 0: not given */
	struct ramblock *ram;      /* -machine memory-backend=; NULL: the machine allocates */
	enum clock_type rtc_clock; /* -rtc clock=: HOST, REALTIME ("rt") or VIRTUAL ("vm") */
	s64 rtc_offset_s;          /* guest's RTC minus UTC of the host at start (-rtc base=) */
	GPtrArray *fw_cfg;         /* of struct fw_cfg_option *; NULL: none */
	struct chardev *serial[MACHINE_SERIALS]; /* NULL: port has no back end */
	unsigned nserials; /* ports that -serial mentioned (with "none" too) */
	bool no_defaults;  /* -nodefaults */
	bool incoming;     /* -incoming: memory and registers come from a migration */
	bool stopped;      /* -S: somebody looks before the vCPUs run */
};

#define MACHINE_VERSION(major, minor) (100 * (major) + (minor))

/* What machines of older versions have otherwise: the value of a property, as -global gives it. */
struct machine_compat {
	int before;         /* MACHINE_VERSION(): the first that has the property's default */
	const char *driver; /* type of device, "migration" or "cpu"; NULL: any with that property */
	const char *property, *value;
};

struct machine_type {
	const char *name;                    /* "microvm-11.1" */
	const char *alias;                   /* "microvm"; NULL */
	int version;                         /* MACHINE_VERSION(); 0: there is only one */
	const struct machine_compat *compat; /* ended by property NULL; NULL: none */
	const char *desc;
	const char *default_ram_id; /* id of the main RAM block */
	u64 default_ram_size;       /* bytes */
	const char *default_cpu;
	unsigned max_cpus;
	bool has_acpi;                /* it can describe its devices by ACPI */
	bool has_io;                  /* the VM needs a port address space */
	size_t instance_size;         /* of the struct that begins with struct machine */
	const struct property *props; /* PROP_END-terminated */
	/* init() - vCPUs, memory and the devices that are always there. 0 or -errno. */
	int (*init)(struct machine *m, GError **err);
	/* done() - after the user's devices: tables for the guest, kernel. NULL: nothing. */
	int (*done)(struct machine *m, GError **err);
	/* reset() - after devices and vCPUs were reset: state of the first vCPU. 0 or -errno. NULL:
	 * nothing. */
	int (*reset)(struct machine *m, GError **err);
	/* start_at() - after reset(): a vCPU begins at @pc; one that is off stays off. 0 or
	 * -errno. NULL: where vCPUs begin cannot be chosen. */
	int (*start_at)(struct machine *m, unsigned cpu, u64 pc, GError **err);
	/* powerdown() - the user pressed the power button. False: there is none. NULL: likewise. */
	bool (*powerdown)(struct machine *m);
	/* irq_set() - a line of the machine's interrupt controller changed. NULL: it has none. */
	void (*irq_set)(struct machine *m, unsigned line, bool level);
	/* send_msi() - a message-signalled interrupt; see machine_send_msi(). NULL: messages are
	 * just writes to memory. */
	void (*send_msi)(struct machine *m, u16 requester, u64 addr, u32 data);
	/* finish() - undo init(). NULL: nothing beyond what the framework frees. */
	void (*finish)(struct machine *m);
};

struct machine {
	const struct machine_type *type;
	const struct hw_target *target;
	const struct machine_host *host;
	struct vm *vm;
	struct state_registry *registry;
	struct machine_options opt;
	GQueue devices;      /* of struct device, in order of creation */
	GQueue buses;        /* of struct bus, in order of creation */
	GPtrArray *globals;  /* -global, see machine_add_global() */
	GArray *irq_sources; /* hw/core/irq-lines.c */
	GPtrArray *blobs;    /* hw/core/blob.c */
	GArray *entries;     /* of struct machine_entry, see machine_add_entry() */
	bool complete;       /* machine_done() was called: new devices are hot-plugged */

	/* Properties that every machine has. */
	bool usb;
	bool graphics;
	bool dump_guest_core;
	bool mem_merge;
};

/* machine_type_find() - by name or alias; NULL if the target has none. */
const struct machine_type *machine_type_find(const struct hw_target *target, const char *name);

/* machine_type_relatives() - "virt-7.2, virt-8.0, ...": types named like @name up to the version;
 * NULL if there are none. Free with g_free(). */
char *machine_type_relatives(const struct hw_target *target, const char *name);

/* machine_compat_value() - the value that a property of @driver, which is no device, has in the
 * type's version; NULL: its default. */
const char *machine_compat_value(const struct machine_type *type, const char *driver,
				 const char *property);

/* machine_types_help() - text of -machine help; machine_type_help() - of -machine NAME,help. */
char *machine_types_help(const struct hw_target *target);
char *machine_type_help(const struct machine_type *type);

/*
 * machine_create() - a machine with default options and properties, no devices.
 * @vm:       created with the port address space if type->has_io; not owned.
 * @registry: where device states are registered; not owned; NULL: nowhere (tests).
 * @host:     outlives the machine.
 */
struct machine *machine_create(const struct hw_target *target, const struct machine_type *type,
			       struct vm *vm, struct state_registry *registry,
			       const struct machine_host *host);

/* machine_destroy() - devices (last created first), machine, options. NULL is ignored. */
void machine_destroy(struct machine *m);

/*
 * machine_set_props() - apply the options of -machine that the process did not take itself.
 * @props: every member must be a property; "_" counts as "-" in names.
 *
 * Return: 0, or -EINVAL with @err.
 */
int machine_set_props(struct machine *m, JsonObject *props, GError **err);

/* machine_find_prop() - a property of the machine and the object it is in, for qom-get /machine;
 * NULL if there is none. */
const struct property *machine_find_prop(const struct machine *m, const char *name);

/* machine_common_props() - properties that every machine has beside its type's. */
const struct property *machine_common_props(void);

/*
 * machine_cpu_model() - the text after -cpu, or the machine's default.
 * machine_cpu_type() - QOM's name of that: "qemu64-x86_64-cpu". Free with g_free().
 * machine_cpu_path() - where the vCPU of that index is in the tree. Free with g_free().
 */
const char *machine_cpu_model(const struct machine *m);
char *machine_cpu_type(const struct machine *m);
char *machine_cpu_path(int index);

/*
 * machine_add_global() - -global DRIVER.PROP=VALUE: default for devices created later.
 *
 * Return: 0, or -EINVAL with @err if the target has the driver but not the property.
 */
int machine_add_global(struct machine *m, const char *driver, const char *prop, const char *value,
		       GError **err);

/* machine_unused_globals() - call @fn for each -global that no device used. */
void machine_unused_globals(struct machine *m,
			    void (*fn)(const char *driver, const char *prop, void *opaque),
			    void *opaque);

/*
 * machine_init() - check the options and build the machine.
 *
 * Return: 0, or -errno with @err naming option, value and what would work.
 * Context: main thread, machine lock held, accelerator created.
 */
int machine_init(struct machine *m, GError **err);

/* machine_done() - every device of the command line is there: finish tables, load the kernel. */
int machine_done(struct machine *m, GError **err);

/*
 * machine_reset() - power-on state of devices, memory images and vCPUs.
 *
 * Return: 0, or -errno with @err when the accelerator does not take a vCPU's registers.
 * Context: machine lock held, vCPUs parked.
 */
int machine_reset(struct machine *m, GError **err);

/* machine_rtc_changed() - for a clock device: see rtc_changed() of struct machine_host. */
void machine_rtc_changed(struct device *rtc, s64 offset_s);

/* machine_powerdown() - press the power button. Return: false if the machine has none. */
bool machine_powerdown(struct machine *m);

/*
 * machine_alloc_ram() - the machine's main RAM: the back end that the user gave, or a new block
 * named type->default_ram_id.
 *
 * Return: a block of opt.ram_size bytes; NULL with @err.
 */
struct ramblock *machine_alloc_ram(struct machine *m, GError **err);

/*
 * machine_connect_irq() - wire a device's output to a line of the interrupt controller.
 * @line: number as the machine documents it; several sources on a line are ORed.
 *
 * machine_disconnect_irq() lowers and frees it.
 * Context: machine lock held.
 */
void machine_connect_irq(struct machine *m, struct irq *irq, unsigned line);
void machine_disconnect_irq(struct machine *m, struct irq *irq);

/*
 * machine_send_msi() - a device writes a message.
 * @requester: what the interrupt controller tells devices apart by: PCI bus << 8 | devfn.
 * @addr, @data: as the guest set them up; 32 bits are written.
 *
 * Context: machine lock held.
 */
void machine_send_msi(struct machine *m, u16 requester, u64 addr, u32 data);

/*
 * machine_add_blob() - bytes that every reset writes into guest memory.
 * @name: for messages.
 * @data: reference taken.
 *
 * Return: 0, or -EINVAL with @err if it overlaps another blob (both named) or lies outside RAM.
 */
int machine_add_blob(struct machine *m, const char *name, u64 gpa, GBytes *data, GError **err);

/* machine_blob_at() - the name of a blob that shares a byte with a range; NULL: there is none. */
const char *machine_blob_at(const struct machine *m, u64 gpa, u64 size);

/* Where a vCPU begins after each reset, in place of what the machine says. */
struct machine_entry {
	unsigned cpu;
	u64 pc;
};

/*
 * machine_add_entry() - let vCPU @cpu begin at @pc; the last entry of a vCPU counts.
 *
 * Return: 0, or -EINVAL with @err if there is no such vCPU or the machine cannot do it.
 */
int machine_add_entry(struct machine *m, unsigned cpu, u64 pc, GError **err);

/* machine_blob_uses() - the blob at @gpa is a program that uses @size bytes from there on. */
void machine_blob_uses(struct machine *m, u64 gpa, u64 size);

/*
 * machine_free_ram() - the largest piece of RAM without a blob, as whole pages: what the machine
 * leaves to a program without an operating system.
 * @base, @limit: guest physical; equal if there is none.
 */
void machine_free_ram(struct machine *m, u64 *base, u64 *limit);

#endif
