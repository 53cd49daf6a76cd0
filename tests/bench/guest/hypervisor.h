/* tests/bench/guest/hypervisor.h - guest physical addresses of the VM that hypervisor.c makes. */
#ifndef TESTS_BENCH_GUEST_HYPERVISOR_H
#define TESTS_BENCH_GUEST_HYPERVISOR_H

#define GUEST_CODE 0x10000
#define GUEST_MMIO 0x20000 /* nothing is there: a write is an exit to the program */
#define GUEST_EXIT 0x21000 /* likewise: a write ends the load */
#define GUEST_GICD 0x8000000
#define GUEST_GICR 0x80a0000
#define GUEST_RAM  0x40000000

#endif
