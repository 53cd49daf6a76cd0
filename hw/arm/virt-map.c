/* hw/arm/virt-map.c - the machine "virt": what lies where. */
#include "hw/arm/virt.h"

#include "accel/vm.h"
#include "util/error.h"

#define ADDRESS_BITS_MAX 48
#define CLUSTER_CPUS     16

static const struct virt_range low_map[VIRT_REGIONS] = {
	[VIRT_FLASH] = { 0x00000000, 0x08000000 },
	[VIRT_GIC_DIST] = { 0x08000000, 0x00010000 },
	[VIRT_GIC_CPU] = { 0x08010000, 0x00010000 },
	[VIRT_GIC_V2M] = { 0x08020000, 0x00001000 },
	[VIRT_GIC_HYP] = { 0x08030000, 0x00010000 },
	[VIRT_GIC_VCPU] = { 0x08040000, 0x00010000 },
	[VIRT_GIC_ITS] = { 0x08080000, 0x00020000 },
	[VIRT_GIC_REDIST] = { 0x080a0000, 0x00f60000 },
	[VIRT_UART] = { 0x09000000, 0x00001000 },
	[VIRT_RTC] = { 0x09010000, 0x00001000 },
	[VIRT_FW_CFG] = { 0x09020000, 0x00000018 },
	[VIRT_GPIO] = { 0x09030000, 0x00001000 },
	[VIRT_UART1] = { 0x09040000, 0x00001000 },
	[VIRT_GED] = { 0x09080000, 0x00000008 },
	[VIRT_MMIO] = { 0x0a000000, 0x00000200 },
	[VIRT_PLATFORM_BUS] = { 0x0c000000, 0x02000000 },
	[VIRT_PCIE_MMIO] = { 0x10000000, 0x2eff0000 },
	[VIRT_PCIE_PIO] = { 0x3eff0000, 0x00010000 },
	[VIRT_PCIE_ECAM] = { 0x3f000000, 0x01000000 },
};

/* Above RAM, each at a multiple of its size, none below 256 GiB. */
static const struct {
	enum virt_region region;
	u64 size;
} high_map[] = {
	{ VIRT_GIC_REDIST2, 64 * MiB },
	{ VIRT_HIGH_PCIE_ECAM, 256 * MiB },
	{ VIRT_HIGH_PCIE_MMIO, 512 * GiB },
};

#define RAM_BASE   GiB
#define HIGH_START (256 * GiB)

int virt_layout(struct virt *v, GError **err)
{
	u64 size = v->m.opt.ram_size, at;

	memcpy(v->map, low_map, sizeof(v->map));
	v->map[VIRT_MEM] = (struct virt_range){ RAM_BASE, size };
	if (size > ((u64)1 << ADDRESS_BITS_MAX) / 2) {
		error_set(err, "-m: %" PRIu64 " GiB do not fit into %d address bits", size / GiB,
			  ADDRESS_BITS_MAX);
		return -EINVAL;
	}
	if (!v->highmem) {
		if (RAM_BASE + size <= 4 * GiB)
			return 0;
		error_set(err, "-m: with highmem=off there is room for 3 GiB, not %" PRIu64 " MiB",
			  size / MiB);
		return -EINVAL;
	}
	at = MAX(HIGH_START, RAM_BASE + size);
	for (unsigned i = 0; i < ARRAY_SIZE(high_map); i++) {
		at = ROUND_UP(at, high_map[i].size);
		v->map[high_map[i].region] = (struct virt_range){ at, high_map[i].size };
		at += high_map[i].size;
	}
	return 0;
}

int virt_map_ram(struct virt *v, GError **err)
{
	struct ramblock *block = machine_alloc_ram(&v->m, err);

	if (!block)
		return -ENOMEM;
	v->ram = (struct mapping){
		.name = "mach-virt.ram",
		.base = v->map[VIRT_MEM].base,
		.size = v->map[VIRT_MEM].size,
		.kind = MAP_RAM,
		.block = block,
	};
	address_space_map(v->m.vm->memory, &v->ram);
	return 0;
}

void virt_unmap_ram(struct virt *v)
{
	if (v->ram.mapped)
		address_space_unmap(v->m.vm->memory, &v->ram);
}

u64 virt_mpidr(const struct virt *v, unsigned index)
{
	return (u64)(index / CLUSTER_CPUS) << 8 | index % CLUSTER_CPUS;
}
