/*
 * system/emulator.h - the process: one machine, its monitors, and what they need of each other.
 */
#ifndef SYSTEM_EMULATOR_H
#define SYSTEM_EMULATOR_H

#include "accel/accel.h"
#include "config.h"
#include "hw/machine.h"

struct dump;
struct gdb_server;
struct migration;
struct monitor_server;
struct objects;
struct qapi_event_sink;
struct qtest_server;
struct semihosting_config;

/* Takes what a CPU model has; see target_desc. */
struct cpu_visitor {
	/* feature() - a flag of CPUs; @unavailable: asked for, and the host cannot give it. */
	void (*feature)(void *opaque, const char *name, bool on, bool unavailable);
	/* value() - any other property: a text, or a number if @text is NULL. */
	void (*value)(void *opaque, const char *name, u64 number, const char *text);
	void *opaque;
};

/* Dirty-state engines of CPUs, for the monitors. */
struct dirty_engine_ops {
	/* Append a struct qapi_dirty_state_engines for each CPU that has some. */
	void (*query)(struct machine *m, GPtrArray *list);
	/* Change an injection of CPU @index, -1: all. 0 or -errno with @err. */
	int (*inject)(struct machine *m, int index, const char *name, const char *value,
		      GError **err);
	/* Append a struct qapi_dirty_state_problem for each mistake that was found. */
	void (*problems)(GPtrArray *list);
};

/* What one emulator binary is built for. */
struct target_desc {
	const struct hw_target *hw;
	const struct accel_ops *const *accels;  /* NULL-terminated; best first */
	char *(*cpu_help)(void);                /* text of -cpu help */
	const char *const *(*cpu_models)(void); /* NULL-terminated names */
	/* cpu_needs_kvm() - whether that model is what the host's KVM gives. */
	bool (*cpu_needs_kvm)(const char *model);
	/* cpu_expand() - what -cpu @text would give with the machine's accelerator. 0 or -EINVAL
	 * with @err. */
	int (*cpu_expand)(struct machine *m, const char *text, const struct cpu_visitor *v,
			  GError **err);
	/* Semihosting, of a machine that is set up. NULL: there is no such thing. */
	void (*semihosting_enable)(struct machine *m, const struct semihosting_config *config);
	void (*semihosting_disable)(void); /* the vCPUs are gone */
	/* inject_nmi() - 0 or -errno with @err. NULL: there is no such thing. */
	int (*inject_nmi)(struct machine *m, GError **err);
	/* Whether vCPUs list in "unavailable-features" what was asked for and cannot be had:
	 * clients that find the property expect to name features of that CPU one by one. */
	bool cpu_lists_unavailable;
	const struct dirty_engine_ops *dirty_engines; /* NULL: CPUs have none */
};

extern const struct target_desc target_desc; /* system/target-NAME.c */

enum action_panic { PANIC_PAUSE, PANIC_SHUTDOWN, PANIC_EXIT_FAILURE, PANIC_NONE };

struct emulator {
	struct config *cfg;
	struct vm *vm;
	struct machine *machine;
	struct machine_host host;
	struct monitor_server *monitors;
	struct qapi_event_sink *events;
	struct state_registry *registry;
	struct migration *migration;
	struct objects *objects;
	struct qtest_server *qtest;
	struct gdb_server *gdb;
	struct dump *dump; /* the last one; NULL: none yet */

	struct notifier run_state_notifier;

	bool reboot_exits;    /* -no-reboot, -action reboot=shutdown */
	bool shutdown_pauses; /* -no-shutdown, -action shutdown=pause */
	enum action_panic on_panic;
	bool autostart; /* run when set up, or when an incoming migration is complete */
	bool ending;    /* exit_code is decided */
	int exit_code;
};

/* emulator_of() - the process that a machine belongs to; for QMP handlers. */
static inline struct emulator *emulator_of(struct machine *m)
{
	return m->host->opaque;
}

/*
 * emulator_setup() - create everything that the configuration asks for.
 *
 * Return: 0; 1 if a help text was printed and the program should end with status 0; -errno with
 * @err. emulator_teardown() must be called in each case.
 * Context: main thread, machine lock held.
 */
int emulator_setup(struct emulator *e, GError **err);

/* emulator_start() - run the guest, or begin to wait for an incoming migration. */
int emulator_start(struct emulator *e, GError **err);

/*
 * emulator_activate() - take the disks' locks before the guest runs here (again).
 *
 * After a migration has completed the source's guest may still be started, by somebody who knows
 * that the destination does not run. Return: 0 or -errno with @err.
 */
int emulator_activate(struct emulator *e, GError **err);

/* emulator_teardown() - stop and free everything, in reverse. */
void emulator_teardown(struct emulator *e);

/* run.c: what happens on shutdown, reset, power button, signals. */
extern const struct vm_owner emulator_vm_owner;
void emulator_handle_signals(struct emulator *e);
/* For machine_host; the last three are in events.c. */
void emulator_guest_panicked(void *opaque, unsigned events);
void emulator_rtc_changed(void *opaque, s64 offset_s, const char *path);
void emulator_serial_port_changed(void *opaque, const char *id, bool open);
void emulator_rx_filter_changed(void *opaque, const char *id, const char *path);
void emulator_reset(struct emulator *e, enum shutdown_cause cause);
/* emulator_set_action() - -action and set-action; NULL leaves a setting alone. */
int emulator_set_action(struct emulator *e, const char *reboot, const char *shutdown,
			const char *panic, GError **err);

/*
 * emulator_connect_events() - have the rooms' reports become events, from now on.
 *
 * emulator_disconnect_events() ends that; neither events nor callbacks come any more.
 */
void emulator_connect_events(struct emulator *e);
void emulator_disconnect_events(struct emulator *e);
void emulator_stopped(void *opaque, enum run_state state); /* for vm_owner */

/* setup-machine.c: parts of emulator_setup(). */
int setup_machine(struct emulator *e, GError **err);
int setup_machine_devices(struct emulator *e, GError **err);

/* setup-host.c: character devices, monitors, disks, networks. */
int setup_chardevs(struct emulator *e, GError **err);
int setup_monitors(struct emulator *e, GError **err);
int setup_backends(struct emulator *e, GError **err);

/* setup-vnc.c: VNC servers, once the devices are there. */
int setup_vnc(struct emulator *e, GError **err);

#endif
