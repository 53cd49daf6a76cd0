/* target/arm/bus.c - how a vCPU's accesses reach the machine's memory map. */
#include "accel/tcg.h"
#include "accel/tcg/work.h"
#include "target/arm/vcpu.h"
#include "util/lock.h"

static struct accel *accel_of(const struct arm_vcpu *v)
{
	return v->vcpu->vm->accel;
}

/* Remember the RAM around a page. Return: false if the page is not wholly RAM or ROM. */
static bool find_window(struct arm_vcpu *v, u64 phys, bool *writable)
{
	struct address_space *as = v->vcpu->vm->memory;
	const struct flat_view *view = address_space_view_get(as);
	const struct flat_range *r = flat_view_find(view, phys);
	bool found = r && r->map->kind != MAP_MMIO && phys + TCG_PAGE_SIZE <= r->base + r->size;

	if (found) {
		v->window = (struct arm_ram_window){
			.base = r->base,
			.size = r->size,
			.block = r->map->block,
			.offset = r->offset,
		};
		*writable = r->map->kind == MAP_RAM;
	}
	address_space_view_put(as, view);
	return found;
}

static bool in_window(const struct arm_vcpu *v, u64 phys)
{
	return phys - v->window.base < v->window.size &&
	       v->window.size - (phys - v->window.base) >= TCG_PAGE_SIZE;
}

static void bus_page(void *opaque, u64 phys, struct arm_bus_page *page)
{
	struct arm_vcpu *v = opaque;
	bool writable = true;
	u64 at;

	*page = (struct arm_bus_page){ 0 };
	if (!in_window(v, phys) && !find_window(v, phys, &writable))
		return;
	at = v->window.offset + (phys - v->window.base);
	page->host = v->window.block->host + at;
	page->writable = writable;
	page->track = writable && tcg_must_track(v->window.block, at >> TCG_PAGE_BITS);
	if (!writable) /* only RAM is remembered */
		v->window.size = 0;
}

static void bus_dirty(void *opaque, u64 phys)
{
	struct arm_vcpu *v = opaque;
	bool writable;

	if (in_window(v, phys) || find_window(v, phys, &writable))
		tcg_mark_dirty(accel_of(v), v->window.block,
			       (v->window.offset + (phys - v->window.base)) >> TCG_PAGE_BITS);
}

static bool bus_read(void *opaque, u64 phys, unsigned size, u64 *val)
{
	struct arm_vcpu *v = opaque;
	enum mem_result result;

	tcg_wait_begin(&v->cpu.tcg);
	machine_lock();
	*val = address_space_ld(v->vcpu->vm->memory, phys, size, &result);
	machine_unlock();
	tcg_wait_end(&v->cpu.tcg);
	return result == MEM_OK;
}

static bool bus_write(void *opaque, u64 phys, unsigned size, u64 val)
{
	struct arm_vcpu *v = opaque;
	enum mem_result result;

	tcg_wait_begin(&v->cpu.tcg);
	machine_lock();
	result = address_space_st(v->vcpu->vm->memory, phys, val, size);
	machine_unlock();
	tcg_wait_end(&v->cpu.tcg);
	return result == MEM_OK;
}

void arm_bus_init(struct arm_vcpu *v)
{
	v->bus = (struct arm_bus){
		.page = bus_page,
		.read = bus_read,
		.write = bus_write,
		.dirty = bus_dirty,
		.opaque = v,
	};
}
