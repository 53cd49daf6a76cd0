/*
 * loads.c - bare-metal guest that runs one load program and tells how long it took.
 *
 * Command line: load=NAME rounds=N. Prints "load checksum ns" and powers off; without load= it
 * lists the names.
 */
#include "../../guests/guest.h"
#include "micro.h"

#define PSCI_SYSTEM_OFF 0x84000008

long psci_call(u64 use_smc, u64 function, u64 a, u64 b, u64 c);

static const char *names[64];
static u64 chosen = ~0ul, rounds = 1;
static const struct guest_option options[] = { { "load", &chosen, names },
					       { "rounds", &rounds, NULL },
					       { NULL, NULL, NULL } };
static const struct kernel *loads[64];
static unsigned count;

static void add(const struct kernel *k)
{
	for (; k->name; k++) {
		names[count] = k->name;
		loads[count++] = k;
	}
}

void guest_main(void)
{
	add(kernels);
	add(micro);
	options_parse(options);
	if (chosen == ~0ul) {
		for (unsigned i = 0; i < count; i++)
			say("%s\n", names[i]);
	} else {
		u64 start, result;

		micro_init();
		start = now_ns();
		result = loads[chosen]->run(rounds);
		say("%s %lx %lu\n", names[chosen], result, now_ns() - start);
	}
	psci_call(0, PSCI_SYSTEM_OFF, 0, 0, 0);
	arch_stop();
}
