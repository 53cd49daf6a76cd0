/*
 * hw/i386/microvm.c - the machine "microvm": no PCI, virtio over memory, direct boot of a kernel.
 *
 * 24 virtio-mmio transports lie at 0xfeb00000 in steps of 512 bytes. There is one I/O interrupt
 * controller, so they share eight of its lines: transport N has line 16 + N % 8 with ACPI (which
 * tells the guest), and 5 + N % 8 without, where kernels that know ISA interrupts only can use it
 * (then line 9 replaces 8 if there is a clock, whose line that is). The first eight transports are
 * those of QEMU's microvm, and like there devices fill them from the eighth downwards.
 */
#include "hw/i386/microvm.h"

#include "accel/accel.h"
#include "accel/vm.h"
#include "chardev/char.h"
#include "hw/acpi/ged.h"
#include "hw/acpi/tables.h"
#include "hw/nvram/fw_cfg.h"
#include "hw/rtc/mc146818.h"
#include "hw/virtio/virtio-mmio.h"
#include "util/error.h"

#define CMOS_CPUS   0x5f
#define APIC_ID_MAX 253 /* 255 means all; the IOAPIC has the one behind the last */

static struct microvm *microvm_of(struct machine *m)
{
	return (struct microvm *)m;
}

unsigned microvm_virtio_line(const struct microvm *vm, unsigned transport)
{
	unsigned n = transport % VIRTIO_MMIO_LINES;

	if (microvm_has_acpi(vm))
		return VIRTIO_LINE_ACPI + n;
	n += VIRTIO_LINE_ISA;
	return vm->clock && n == MC146818_IRQ ? MC146818_IRQ + 1 : n;
}

/* ---- what the machine does not have ---- */

static int refuse(const char *property, const char *why, GError **err)
{
	error_set(err, "machine microvm: %s=on is not available: %s; leave it out or set it to off",
		  property, why);
	return -ENOTSUP;
}

static int check_properties(const struct microvm *vm, GError **err)
{
	if (vm->pcie == OOA_ON)
		return refuse("pcie", "it has no PCI bus", err);
	if (vm->ioapic2 == OOA_ON)
		return refuse("ioapic2", "the interrupt controllers in the kernel are one IOAPIC",
			      err);
	if (vm->option_roms)
		return refuse("x-option-roms", "no option ROMs come with it", err);
	if (vm->pit == OOA_ON && !vm->m.vm->accel->irqchip)
		return refuse("pit", "the i8254 timer is in the kernel, it needs accelerator kvm",
			      err);
	return 0;
}

static int check_options(const struct machine *m, GError **err)
{
	const struct machine_options *o = &m->opt;

	if (o->dtb) {
		error_set(err, "-dtb: machine %s describes its devices by ACPI", m->type->name);
		return -ENOTSUP;
	}
	if (o->max_ram_size > o->ram_size || o->ram_slots) {
		error_set(err, "-m: machine %s has no memory slots to plug more into",
			  m->type->name);
		return -ENOTSUP;
	}
	return 0;
}

/* ---- memory ---- */

static int map_ram(struct microvm *vm, GError **err)
{
	struct machine *m = &vm->m;
	struct ramblock *block = machine_alloc_ram(m, err);
	u64 low = MIN(m->opt.ram_size, PCI_HOLE);

	if (!block)
		return -ENOMEM;
	vm->low_ram = (struct mapping){
		.name = "ram-below-4g", .size = low, .kind = MAP_RAM, .block = block
	};
	address_space_map(m->vm->memory, &vm->low_ram);
	if (low == m->opt.ram_size)
		return 0;
	vm->high_ram = (struct mapping){ .name = "ram-above-4g",
					 .base = ABOVE_4G,
					 .size = m->opt.ram_size - low,
					 .kind = MAP_RAM,
					 .block = block,
					 .block_offset = low };
	address_space_map(m->vm->memory, &vm->high_ram);
	return 0;
}

void microvm_memory_map(const struct microvm *vm, struct e820_map *map, bool acpi_area)
{
	u64 low = vm->low_ram.size;

	e820_add(map, 0, MIN(EBDA, low), E820_RAM);
	if (low <= HIGH_MEMORY)
		return;
	e820_add(map, EBDA, VGA_HOLE, E820_RESERVED);
	if (acpi_area)
		e820_add(map, ACPI_AREA, ACPI_AREA_END, E820_ACPI);
	e820_add(map, MP_TABLE, HIGH_MEMORY, E820_RESERVED);
	e820_add(map, HIGH_MEMORY, low, E820_RAM);
	e820_add(map, ABOVE_4G, ABOVE_4G + vm->high_ram.size, E820_RAM);
}

/* ---- devices ---- */

static struct device *add_device(struct machine *m, const char *type, GError **err)
{
	struct device *dev = device_create(m, type, NULL, err);

	if (dev && device_realize(dev, NULL, err)) {
		device_destroy(dev);
		return NULL;
	}
	return dev;
}

static int add_clock(struct microvm *vm, GError **err)
{
	if (vm->rtc == OOA_OFF)
		return 0;
	vm->clock = add_device(&vm->m, MC146818_TYPE, err);
	if (!vm->clock)
		return -EINVAL;
	mc146818_set_cmos(vm->clock, CMOS_CPUS, vm->m.opt.cpus - 1);
	return 0;
}

static int add_ged(struct microvm *vm, GError **err)
{
	struct device *dev;

	if (!microvm_has_acpi(vm))
		return 0;
	dev = device_create(&vm->m, GED_TYPE, NULL, err);
	if (!dev)
		return -EINVAL;
	if (device_set_u64(dev, "base", GED_BASE, err) ||
	    device_set_u64(dev, "irq", GED_LINE, err) || device_realize(dev, NULL, err)) {
		device_destroy(dev);
		return -EINVAL;
	}
	vm->ged = dev;
	return 0;
}

static int add_serial(struct machine *m, unsigned index, GError **err)
{
	struct device *dev = device_create(m, "isa-serial", NULL, err);

	if (!dev)
		return -EINVAL;
	if (device_set_u64(dev, "index", index, err) ||
	    device_set(dev, "chardev", chardev_id(m->opt.serial[index]), err) ||
	    device_realize(dev, NULL, err)) {
		device_destroy(dev);
		return -EINVAL;
	}
	return 0;
}

static int add_serials(struct microvm *vm, GError **err)
{
	for (unsigned i = 0; vm->isa_serial && i < MACHINE_SERIALS; i++)
		if (vm->m.opt.serial[i] && add_serial(&vm->m, i, err))
			return -EINVAL;
	return 0;
}

static int add_transports(struct microvm *vm, GError **err)
{
	for (unsigned i = 0; i < VIRTIO_MMIO_TRANSPORTS; i++) {
		struct device *dev =
			virtio_mmio_create(&vm->m, VIRTIO_MMIO_BASE + i * VIRTIO_MMIO_STEP,
					   microvm_virtio_line(vm, i), err);

		if (!dev)
			return -EINVAL;
		dev->bus->rank = i < VIRTIO_MMIO_LINES ? VIRTIO_MMIO_LINES - 1 - i : i;
		vm->transports[i] = dev;
	}
	return 0;
}

static int add_cpu(struct machine *m, const struct x86_cpu_model *model, GError **err)
{
	struct vcpu *cpu = x86_cpu_create(m->vm, model, err);

	if (!cpu)
		return -EINVAL;
	if (x86_cpu_apic_id(cpu) <= APIC_ID_MAX)
		return 0;
	error_set(err,
		  "-smp: this topology gives vCPU %d the APIC id %u, machine %s has ids up to %d",
		  cpu->index, x86_cpu_apic_id(cpu), m->type->name, APIC_ID_MAX);
	return -EINVAL;
}

static int add_cpus(struct machine *m, GError **err)
{
	const struct machine_options *o = &m->opt;
	const struct x86_topology topo = { o->sockets, o->dies, o->cores, o->threads };
	struct x86_cpu_model *model =
		x86_cpu_model_create(m->vm, o->cpu_model ?: m->type->default_cpu, &topo, err);
	int ret = model ? 0 : -EINVAL;

	for (unsigned i = 0; !ret && i < o->cpus; i++)
		ret = add_cpu(m, model, err);
	if (model)
		x86_cpu_model_destroy(model);
	return ret;
}

/* The interrupt controllers and the timer are the kernel's; a test without vCPUs has none. */
static int add_chips(struct microvm *vm, GError **err)
{
	struct machine *m = &vm->m;
	unsigned which = X86_CHIP_IOAPIC | (vm->pic == OOA_OFF ? 0 : X86_CHIP_PIC) |
			 (vm->pit == OOA_OFF ? 0 : X86_CHIP_PIT);

	if (!m->vm->accel->irqchip)
		return 0;
	vm->chips = x86_chips_create(m->vm, which, err);
	return vm->chips ? 0 : -EINVAL;
}

static void register_states(struct microvm *vm)
{
	struct machine *m = &vm->m;

	if (!m->registry)
		return;
	for (int i = 0; i < m->vm->ncpus; i++)
		x86_cpu_register_state(m->vm->cpus[i], m->registry);
	if (vm->chips)
		x86_chips_register_state(vm->chips, m->registry);
	vm->states_registered = true;
}

static void unregister_states(struct microvm *vm)
{
	struct machine *m = &vm->m;

	if (!vm->states_registered)
		return;
	if (vm->chips)
		x86_chips_unregister_state(vm->chips, m->registry);
	for (int i = 0; i < m->vm->ncpus; i++)
		x86_cpu_unregister_state(m->vm->cpus[i], m->registry);
}

static int microvm_init(struct machine *m, GError **err)
{
	struct microvm *vm = microvm_of(m);

	if (check_properties(vm, err) || check_options(m, err) || add_cpus(m, err) ||
	    add_chips(vm, err) || map_ram(vm, err))
		return -EINVAL;
	register_states(vm);
	bus_add(m, "System", "main-system-bus");
	bus_add(m, "ISA", "isa.0");
	vm->fw_cfg = add_device(m, FW_CFG_IO_TYPE, err);
	if (!vm->fw_cfg || add_clock(vm, err) || add_ged(vm, err) || add_serials(vm, err) ||
	    add_transports(vm, err))
		return -EINVAL;
	return m->opt.bios ? microvm_load_bios(vm, err) : 0;
}

/* ---- start ---- */

static bool has_device(const struct microvm *vm, unsigned transport)
{
	return bus_child(vm->transports[transport]->bus);
}

char *microvm_cmdline(struct microvm *vm)
{
	GString *s = g_string_new(NULL);

	/* In front, since what follows "--" is for init. */
	for (unsigned i = 0; i < VIRTIO_MMIO_TRANSPORTS; i++)
		if (vm->auto_kernel_cmdline && !microvm_has_acpi(vm) && has_device(vm, i))
			g_string_append_printf(s, "virtio_mmio.device=%u@0x%x:%u ",
					       VIRTIO_MMIO_STEP,
					       VIRTIO_MMIO_BASE + i * VIRTIO_MMIO_STEP,
					       microvm_virtio_line(vm, i));
	g_string_append(s, vm->m.opt.append ?: "");
	g_strchomp(s->str);
	return g_string_free(s, FALSE);
}

/*
 * What a kernel finds that jumps to the firmware's entry to restart, as Linux does on
 * hardware-reduced ACPI without EFI: a triple fault, which resets the machine.
 */
static int add_reset_vector(struct machine *m, GError **err)
{
	static const u8 code[16] = {
		0xfa,                               /* cli */
		0x2e, 0x0f, 0x01, 0x1e, 0xfa, 0xff, /* lidt cs:0xfffa, the zeroes below */
		0xcc,                               /* int3: no vector is left */
	};
	g_autoptr(GBytes) bytes = g_bytes_new_static(code, sizeof(code));

	return machine_add_blob(m, "reset vector", RESET_VECTOR, bytes, err);
}

static int add_tables(struct microvm *vm, GError **err)
{
	g_autoptr(GBytes) tables = NULL;
	struct acpi_tables where;
	int ret = add_reset_vector(&vm->m, err);

	if (ret)
		return ret;
	if (!microvm_has_acpi(vm)) {
		tables = microvm_mp_table(vm, MP_TABLE);
		return machine_add_blob(&vm->m, "MP table", MP_TABLE, tables, err);
	}
	tables = microvm_acpi_tables(vm, ACPI_AREA, &where);
	g_assert(g_bytes_get_size(tables) <= ACPI_AREA_END - ACPI_AREA);
	return machine_add_blob(&vm->m, "ACPI tables", ACPI_AREA, tables, err);
}

static int direct_boot(struct microvm *vm, GError **err)
{
	struct x86_boot b = {
		.m = &vm->m,
		.cmdline = microvm_cmdline(vm),
		.rsdp = microvm_has_acpi(vm) ? ACPI_AREA : 0,
		.low_ram_end = vm->low_ram.size,
	};
	int ret = add_tables(vm, err);

	microvm_memory_map(vm, &b.map, microvm_has_acpi(vm));
	if (!ret)
		ret = x86_boot_load(&b, err);
	vm->start = b.state;
	x86_boot_finish(&b);
	return ret;
}

static int microvm_done(struct machine *m, GError **err)
{
	struct microvm *vm = microvm_of(m);

	if (m->opt.bios)
		return microvm_bios_boot(vm, err);
	if (m->opt.kernel)
		return direct_boot(vm, err);
	/* Nobody executes anything until an incoming migration brings memory and registers. */
	if (m->opt.incoming || !m->vm->accel->ops->dirty_log)
		return 0;
	error_set(err,
		  "machine %s has nothing to start: give a kernel with -kernel (a Linux bzImage or "
		  "an ELF file with a PVH entry) or a firmware image with -bios",
		  m->type->name);
	return -EINVAL;
}

static int microvm_reset(struct machine *m, GError **err)
{
	struct microvm *vm = microvm_of(m);
	int ret = vm->chips ? x86_chips_reset(vm->chips, err) : 0;

	if (!ret && vm->chips && vm->start.mode != X86_BOOT_RESET)
		ret = x86_chips_boot(vm->chips, err);
	return ret ? ret : x86_cpu_boot(m->vm->cpus[0], &vm->start, err);
}

static bool microvm_powerdown(struct machine *m)
{
	struct microvm *vm = microvm_of(m);

	if (!vm->ged)
		return false;
	ged_press_power_button(vm->ged);
	return true;
}

static void microvm_irq_set(struct machine *m, unsigned line, bool level)
{
	struct accel *a = m->vm->accel;

	if (a->ops->gsi_set)
		a->ops->gsi_set(a, line, level);
}

static void unmap(struct machine *m, struct mapping *map)
{
	if (map->mapped)
		address_space_unmap(m->vm->memory, map);
}

static void microvm_finish(struct machine *m)
{
	struct microvm *vm = microvm_of(m);

	unregister_states(vm);
	if (vm->chips)
		x86_chips_destroy(vm->chips);
	unmap(m, &vm->bios_low);
	unmap(m, &vm->bios);
	unmap(m, &vm->high_ram);
	unmap(m, &vm->low_ram);
	while (m->vm->ncpus)
		x86_cpu_destroy(m->vm->cpus[m->vm->ncpus - 1]);
}

static const struct property microvm_props[] = {
	PROP(struct microvm, acpi, "acpi", ON_OFF_AUTO, "auto", "describe devices by ACPI"),
	PROP(struct microvm, rtc, "rtc", ON_OFF_AUTO, "auto", "have an MC146818 clock"),
	PROP(struct microvm, pit, "pit", ON_OFF_AUTO, "auto", "have an i8254 timer"),
	PROP(struct microvm, pic, "pic", ON_OFF_AUTO, "auto",
	     "tell the guest of the i8259 interrupt controllers"),
	PROP(struct microvm, pcie, "pcie", ON_OFF_AUTO, "auto", "have a PCI Express bus"),
	PROP(struct microvm, ioapic2, "ioapic2", ON_OFF_AUTO, "auto", "have a second IOAPIC"),
	PROP(struct microvm, isa_serial, "isa-serial", BOOL, "on",
	     "have a serial port for each -serial"),
	PROP(struct microvm, auto_kernel_cmdline, "auto-kernel-cmdline", BOOL, "on",
	     "without ACPI, name virtio devices on the kernel command line"),
	PROP(struct microvm, option_roms, "x-option-roms", BOOL, "off", "load option ROMs"),
	PROP_END,
};

const struct machine_type microvm_machine_type = {
	.name = "microvm-11.1",
	.alias = "microvm",
	.desc = "microvm (i386)",
	.default_ram_id = "microvm.ram",
	.default_ram_size = 128 * MiB,
	.default_cpu = "qemu64",
	.max_cpus = 255,
	.has_acpi = true,
	.has_io = true,
	.instance_size = sizeof(struct microvm),
	.props = microvm_props,
	.init = microvm_init,
	.done = microvm_done,
	.reset = microvm_reset,
	.powerdown = microvm_powerdown,
	.irq_set = microvm_irq_set,
	.finish = microvm_finish,
};
