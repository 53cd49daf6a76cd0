/*
 * tests/unit/hw/isa-machine.h - a machine with bare buses, to test devices on.
 */
#ifndef TESTS_UNIT_HW_ISA_MACHINE_H
#define TESTS_UNIT_HW_ISA_MACHINE_H

#include "tests/unit/hw/fake-chardev.h"
#include "tests/unit/hw/fake-machine.h"

#include "accel/runstate.h"
#include "memory/address-space.h"
#include "migration/state.h"

extern bool isa_lines[24]; /* level of each interrupt line */
extern s64 isa_time_ns;    /* what the virtual clock shows; timers fire by isa_run_to() */

/* What devices asked of the process, cleared by isa_machine(). */
struct isa_requests {
	enum shutdown_cause shutdown, reset;
	int exit_code;
	unsigned panic_events;
	unsigned rtc_changes;
	s64 rtc_offset_s; /* of the last one */
};
extern struct isa_requests isa_requests;

extern const struct hw_target isa_target;

/* isa_machine() - 4 MiB of RAM at 0, buses "System" and "ISA"; @rtc_offset_s as in the options. */
struct machine *isa_machine(s64 rtc_offset_s);
void isa_machine_free(struct machine *m);

/* isa_device() - create and realize; options as after -device, or an exact type name for types
 * that the user cannot create. */
struct device *isa_device(struct machine *m, const char *options);

u8 in8(struct machine *m, u16 port);
void out8(struct machine *m, u16 port, u8 val);

/* isa_run_requests() - let what devices requested arrive in isa_requests. */
void isa_run_requests(void);

/* isa_run_to() - move the virtual clock and fire its timers on the way. */
void isa_run_to(s64 ns);

/*
 * state_layout() - the fields of a state table, one a line: "name:type:size", subsections as
 * "SUB name vN" with theirs indented; the form of the interface's field lists. Free with g_free().
 */
char *state_layout(const struct state_desc *desc);

#endif
