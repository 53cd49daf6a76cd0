/* One VM with one vCPU whose guest writes a set of pages and then exits, over and over. */
#ifndef KERNEL_TESTBED_PROBE_VM_H
#define KERNEL_TESTBED_PROBE_VM_H

#include <linux/kvm.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_PAGE       4096ul
#define PROBE_CODE_GPA   0x10000ul
#define PROBE_TABLES_GPA (PROBE_CODE_GPA + PROBE_PAGE) /* of the guest, where it needs some */
#define PROBE_EXIT_GPA   0x20000ul
#define PROBE_RAM_GPA    0x40000000ul
#define PROBE_SLOT       1
#define PROBE_SLOT2      2 /* right behind, as large, not logged; for bad_entries */

enum backing { BACKING_4K, BACKING_THP, BACKING_HUGETLB };

struct probe_options {
	unsigned long mib; /* size of the slot that is logged */
	unsigned long rounds;
	unsigned long manual_caps;  /* argument of MANUAL_DIRTY_LOG_PROTECT2, 0: off */
	unsigned long clear_pages;  /* pages per CLEAR call, 0: the whole slot */
	unsigned long split_chunk;  /* bytes, arm64's eager splitting, 0: off */
	unsigned long ring_entries; /* 0: bitmap */
	unsigned long stride;       /* the guest writes every stride-th page */
	unsigned long step;         /* of the order in which it writes them; odd */
	unsigned long signal_ns;    /* interval of a signal to the caller, 0: none */
	unsigned long unmapped;     /* pages that are unmapped each time before the log is read */
	bool may_report_more;       /* pages that the guest did not write are no failure */
	bool bad_entries;           /* of the ring, for the kernel to find; needs a slot behind */
	bool write_again;           /* once more before logging ends: it leaves pages writable */
	bool check_ids, check_vmids;
	enum backing backing;
};

struct probe_vm {
	const struct probe_options *options;
	int kvm, vm, vcpu;
	struct kvm_run *run;
	struct kvm_dirty_gfn *ring;
	uint8_t *ram;
	uint8_t *tables;       /* the page at PROBE_TABLES_GPA */
	unsigned long pages;   /* of the slot */
	unsigned long written; /* by the guest in one round, of them and those of PROBE_SLOT2 */
};

/* Prints what failed with errno's text, and exits. */
void fail(const char *what) __attribute__((noreturn));

/* CLOCK_MONOTONIC in nanoseconds; under instruction counting, instructions. */
uint64_t now(void);

void vm_create(struct probe_vm *p, const struct probe_options *o);

/* Dirty logging of the slot on or off. */
void vm_log(struct probe_vm *p, bool on);

/* Prints "stat NAME VALUE" for each of KVM's counters that matter here. */
void vm_print_stats(const struct probe_vm *p);

/* One of KVM's counters of the vCPU. */
uint64_t vm_stat(const struct probe_vm *p, const char *name);

/* Whether a guest's ID registers hide what it does not have; 0: they do. */
int check_ids(const struct probe_options *o);

/* Runs the vCPU until it exits; true: the ring is full, false: the guest has written all pages. */
bool vm_run(struct probe_vm *p);

/*
 * Runs the vCPU until the guest has written all pages; false if it exits more than limit times on
 * the way, that is if it faults on the same page for ever. Needs signals that end KVM_RUN now and
 * then.
 */
bool vm_run_within(struct probe_vm *p, uint64_t limit);

/* Of guest-ARCH.c: its code, and registers so that it writes as p->options say. */
extern const uint8_t guest_code[], guest_code_end[];
void guest_setup(struct probe_vm *p);

#endif
