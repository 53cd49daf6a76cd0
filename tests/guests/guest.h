/*
 * guest.h - what the bare-metal test guests share: types, printing, options, the clock, the arch
 * hooks.
 *
 * A guest is one program without an operating system, linked from its own file, this library and
 * one folder of architecture code. All of it but the architecture folder is portable C.
 */
#ifndef TESTS_GUESTS_GUEST_H
#define TESTS_GUESTS_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define PAGE_SIZE 4096UL
#define MAX_CPUS  16

/*
 * struct guest_option - one "name=value" word of the kernel command line.
 * @name:   text before the equals sign.
 * @value:  where a number goes (suffixes K, M, G; 0x prefix); its start value is the default.
 * @choice: for words: NULL-terminated list, the index of the one given goes to @value.
 */
struct guest_option {
	const char *name;
	u64 *value;
	const char *const *choice;
};

/* Console and text. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* %s %lu %lx only */
int command_read(void);                                               /* byte or -1 */
void __attribute__((noreturn)) die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * options_parse() - fill in the options from the kernel command line.
 * @opts: table that ends with a NULL name, searched after the library's own tables.
 *
 * An unknown word or a bad value ends the guest with a message that names it.
 */
void options_parse(const struct guest_option *opts);

/* Time. The counter is the TSC or the generic timer; it need not start at 0. */
u64 now_ns(void); /* since the guest started */

/*
 * poll_clock() - print what is due: a heartbeat '.' every beat= ms, a "T" line every clock= ms.
 *
 * A T line is "T n guest_ns host_ns": number of the tick counted in whole intervals (a number
 * that is left out was missed), guest time, host time (0 without the test device).
 * Call it at least once a millisecond.
 */
void poll_clock(void);

/* What the test device offers beside its console; see testdev.c. */
bool testdev_present(void);
void testdev_init(void);
void testdev_putc(u8 c);
int testdev_getc(void);
u64 testdev_host_ns(void);
void testdev_exit(u8 code);

/* What an architecture folder provides. */
extern const u64 arch_ram_base; /* where RAM starts */
extern const u64
	arch_testdev_base; /* where the test device is unless testdev= says, 0 is nowhere */
extern const struct guest_option arch_options[]; /* ends with a NULL name */
const char *arch_cmdline(void);
u64 arch_ticks(void);
u64 arch_ticks_hz(void);
bool arch_ram_covers(u64 start, u64 size);
void arch_putc(u8 c);
int arch_getc(void);
void arch_relax(void);
void arch_barrier(void);
void __attribute__((noreturn)) arch_stop(void);
u64 arch_virtio_mmio(unsigned slot); /* address of transport @slot, 0 after the last */
/* Runs fn(index) on another CPU for ever; 1 <= index < MAX_CPUS. False when it does not come up. */
bool arch_start_cpu(unsigned index, void (*fn)(unsigned index));

/* What a program provides; never returns. */
void __attribute__((noreturn)) guest_main(void);

#endif
