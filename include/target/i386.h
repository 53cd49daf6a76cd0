/*
 * target/i386.h - x86 vCPUs, for machines.
 */
#ifndef TARGET_I386_H
#define TARGET_I386_H

#include "accel/vcpu.h"

/* Values of mp_state; KVM's. */
enum { X86_MP_RUNNABLE = 0, X86_MP_UNINITIALIZED = 1 };

/* Counts per level; their product is the number of vCPUs that are possible. */
struct x86_topology {
	unsigned sockets, dies, cores, threads; /* 0: 1 */
};

struct x86_cpu_model;

/*
 * x86_cpu_model_create() - understand the text after -cpu.
 * @text: "MODEL[,+feature][,-feature][,name=value]..."; MODEL is host, max, qemu64 or kvm64.
 * @topo: from -smp; copied.
 *
 * Features that the kernel cannot give are left out, with a warning if they were asked for (check,
 * the default) or an error (enforce).
 * Return: the model; NULL with @err naming model or property.
 * Context: accelerator attached.
 */
struct x86_cpu_model *x86_cpu_model_create(struct vm *vm, const char *text,
					   const struct x86_topology *topo, GError **err);
void x86_cpu_model_destroy(struct x86_cpu_model *model);

/* x86_cpu_model_name() - "host", "qemu64", ...; x86_cpu_models() - all of them, NULL-terminated. */
const char *x86_cpu_model_name(const struct x86_cpu_model *model);
const char *const *x86_cpu_models(void);

/*
 * x86_cpu_model_features() - every feature that has a name, and whether guests see it.
 * @unavailable: it was asked for, and the kernel cannot give it.
 */
void x86_cpu_model_features(const struct x86_cpu_model *model,
			    void (*fn)(void *opaque, const char *name, bool on, bool unavailable),
			    void *opaque);

/* x86_cpu_model_values() - its other properties, each a text, or a number if @text is NULL. */
void x86_cpu_model_values(const struct x86_cpu_model *model,
			  void (*fn)(void *opaque, const char *name, u64 number, const char *text),
			  void *opaque);

/*
 * x86_inject_nmi() - a non-maskable interrupt for every vCPU.
 *
 * Return: 0; -ENOTSUP with @err if the accelerator has no interrupt controllers, or its -errno.
 * Context: machine lock held; the vCPUs may run.
 */
int x86_inject_nmi(struct vm *vm, GError **err);

/*
 * x86_cpu_create() - add a vCPU to a VM.
 * @model: may be destroyed afterwards.
 *
 * Return: the vCPU (vm->cpus[]), reset and parked; NULL with @err.
 * Context: as vcpu_create().
 */
struct vcpu *x86_cpu_create(struct vm *vm, const struct x86_cpu_model *model, GError **err);

/* x86_cpu_apic_id() - identifier of its local APIC, for firmware tables.
 * x86_topology_apic_id() - that of vCPU @index, also before it exists. */
u32 x86_cpu_apic_id(const struct vcpu *cpu);
u32 x86_topology_apic_id(const struct x86_topology *topo, unsigned index);

struct state_registry;

/* x86_cpu_register_state() - its sections "apic", "cpu_common" and "cpu" travel in a migration. */
void x86_cpu_register_state(struct vcpu *cpu, struct state_registry *reg);
void x86_cpu_unregister_state(struct vcpu *cpu, struct state_registry *reg);

/* Devices of a PC that live in the kernel. */
enum x86_chip {
	X86_CHIP_PIC = 1 << 0, /* two i8259 */
	X86_CHIP_IOAPIC = 1 << 1,
	X86_CHIP_PIT = 1 << 2, /* i8254 with the speaker's port */
};

struct x86_chips;

/*
 * x86_chips_create() - the interrupt controllers, timer and guest clock of an accelerator that has
 * them in the kernel.
 * @which: enum x86_chip; what is not given keeps its reset state and does not travel. The
 *         controllers exist in any case, the PIT is created here.
 *
 * Return: NULL with @err.
 * Context: main thread, machine lock held, accel->irqchip.
 */
struct x86_chips *x86_chips_create(struct vm *vm, unsigned which, GError **err);
void x86_chips_destroy(struct x86_chips *chips);

/* x86_chips_reset() - power-on state. Return: 0 or -errno with @err. vCPUs parked. */
int x86_chips_reset(struct x86_chips *chips, GError **err);

/*
 * x86_chips_boot() - after a reset: the state in which firmware leaves the controllers.
 *
 * A kernel that starts without firmware may not know of the i8259: unmasked, and with vectors that
 * nobody set, the first tick of the timer would arrive as a divide error.
 * Return: 0 or -errno with @err.
 */
int x86_chips_boot(struct x86_chips *chips, GError **err);

/* x86_chips_register_state() - sections "i8259", "ioapic", "i8254", "kvmclock". */
void x86_chips_register_state(struct x86_chips *chips, struct state_registry *reg);
void x86_chips_unregister_state(struct x86_chips *chips, struct state_registry *reg);

/* How a vCPU starts when there is no firmware. */
enum x86_boot_mode {
	X86_BOOT_RESET,  /* at the reset vector, in real mode; nothing else below counts */
	X86_BOOT_FLAT32, /* protected mode, flat segments, no paging (PVH) */
	X86_BOOT_LONG,   /* 64-bit mode with the page tables at cr3, flat segments (Linux) */
};

struct x86_boot_state {
	enum x86_boot_mode mode;
	u64 rip, rsp, rbx, rsi;
	u64 cr3;       /* X86_BOOT_LONG */
	u64 gdt;       /* guest address of the descriptor table; 0: none */
	u32 gdt_limit; /* its bytes less one */
};

/*
 * x86_cpu_boot() - let a vCPU that was just reset start in another state.
 *
 * Interrupts are off. Selectors in 64-bit mode are Linux's: code 0x10, data 0x18.
 * Return: 0, or -errno with @err when the accelerator refuses it.
 * Context: machine lock held, vCPU parked.
 */
int x86_cpu_boot(struct vcpu *cpu, const struct x86_boot_state *s, GError **err);

/* x86_cpu_destroy() - as vcpu_destroy(), and free its registers. */
void x86_cpu_destroy(struct vcpu *vcpu);

#endif
