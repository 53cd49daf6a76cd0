/* hw/core/none.c - the machine "none": RAM if asked for, no devices; for asking the binary. */
#include "hw/none.h"

#include "accel/vm.h"

struct none_machine {
	struct machine m;
	struct mapping ram;
};

static int none_init(struct machine *m, GError **err)
{
	struct none_machine *n = (struct none_machine *)m;
	struct ramblock *block;

	bus_add(m, "System", "main-system-bus");
	if (!m->opt.ram_size && !m->opt.ram)
		return 0;
	block = machine_alloc_ram(m, err);
	if (!block)
		return -ENOMEM;
	n->ram = (struct mapping){
		.name = "ram", .size = block->used_size, .kind = MAP_RAM, .block = block
	};
	address_space_map(m->vm->memory, &n->ram);
	return 0;
}

static void none_finish(struct machine *m)
{
	struct none_machine *n = (struct none_machine *)m;

	if (n->ram.mapped)
		address_space_unmap(m->vm->memory, &n->ram);
}

const struct machine_type none_machine_type = {
	.name = "none",
	.desc = "empty machine",
	.default_ram_id = "ram",
	.max_cpus = 1,
	.instance_size = sizeof(struct none_machine),
	.init = none_init,
	.finish = none_finish,
};
