/*
 * tests/unit/accel/guest.h - a small VM under real KVM, for tests.
 */
#ifndef TESTS_UNIT_ACCEL_GUEST_H
#define TESTS_UNIT_ACCEL_GUEST_H

#include "accel/vcpu.h"
#include "accel/vm.h"
#include "target/i386.h"

/* Port that the guest writes to say something; last value in guest.said, count in guest.words. */
#define GUEST_PORT      0xf1
#define GUEST_WORD_ADDR 0x3ffff000 /* the same, as memory */

struct guest {
	struct vm *vm;
	struct ramblock *ram;
	struct mapping ram_map, port_map, word_map;
	u32 said;  /* atomic */
	u32 words; /* atomic */
	int stops, resets, shutdowns;
	enum run_state stopped_as;
};

/* guest_skip() - skip the test if there is no usable KVM; says why. */
bool guest_skip(void);

/*
 * guest_create() - RAM at 0, a port, @ncpus vCPUs whose code starts at 0x1000 in real mode.
 * @props: of -accel kvm, as on the command line; may be "".
 *
 * The machine lock is held from here to guest_destroy().
 */
struct guest *guest_create(const char *props, u64 ram_bytes, int ncpus, const void *code,
			   size_t code_len);
void guest_destroy(struct guest *g);

/*
 * guest_long_mode() - make a vCPU run in long mode: memory below 1 GiB is mapped to itself,
 * with GUEST_WORD_ADDR, and from 3 to 4 GiB, with the APIC.
 * @cpl: 0 or 3. Some hosts' KVM interprets level 0, slowly.
 */
void guest_long_mode(struct guest *g, int cpu, unsigned cpl);

/*
 * guest_write_loop() - long mode; the vCPU for ever writes a growing number into each page of
 * [@start, @end), and says the number after each round.
 */
void guest_write_loop(struct guest *g, int cpu, u64 start, u64 end);

/* guest_wait_words() - let the guest run until it has said @n words more; fails after 20 s. */
void guest_wait_words(struct guest *g, u32 n);

/* guest_sleep() - let the guest run for a while. */
void guest_sleep(unsigned us);

#endif
