/*
 * target/i386/chips.c - interrupt controllers, timer and guest clock that KVM keeps in the kernel.
 *
 * Their states travel in the sections that QEMU gives to these devices: "i8259" 1, "ioapic" 3,
 * "i8254" 3, "kvmclock" 1. Source of the registers: Linux Documentation/virt/kvm/api.rst,
 * KVM_GET_IRQCHIP, KVM_GET_PIT2, KVM_GET_CLOCK.
 */
#include "accel/kvm.h"
#include "migration/state.h"
#include "target/i386.h"
#include "util/error.h"
#include "util/log.h"

#include <linux/kvm.h>

#define IOAPIC_BASE   0xfec00000u
#define IOAPIC_PINS   24
#define IOAPIC_MASKED ((u64)1 << 16)

struct pic {
	struct vm *vm;
	u32 chip; /* KVM_IRQCHIP_PIC_MASTER or _SLAVE */
	u8 last_irr, irr, imr, isr, priority_add, irq_base, read_reg_select, poll, special_mask;
	u8 init_state, auto_eoi, rotate_on_auto_eoi, special_fully_nested_mode, init4, single_mode;
	u8 elcr;
};

struct ioapic {
	struct vm *vm;
	u8 id, ioregsel;
	u32 irr;
	u64 ioredtbl[IOAPIC_PINS];
};

struct pit_channel {
	s32 count; /* 1..0x10000 */
	u16 latched_count;
	u8 count_latched, status_latched, status, read_state, write_state, write_latch;
	u8 rw_mode, mode, bcd, gate;
	s64 count_load_time; /* ns of the virtual clock */
	s64 next_transition_time;
	u32 irq_disabled;
};

struct pit {
	struct vm *vm;
	struct pit_channel channels[3];
};

struct guest_clock {
	struct vm *vm;
	struct notifier notifier;
	u64 clock; /* ns; what the guest sees when it goes on */
	bool valid;
	bool clock_is_reliable;
};

/* Vectors that a PC's firmware gives the controllers. */
enum { PIC_MASTER_BASE = 0x08, PIC_SLAVE_BASE = 0x70 };

struct x86_chips {
	struct vm *vm;
	unsigned which;
	struct pic pics[2];
	struct ioapic ioapic;
	struct pit pit;
	struct guest_clock clock;
};

static int fd_of(struct vm *vm)
{
	return kvm_fd_of_vm(vm->accel);
}

/* ---- i8259 ---- */

static int pic_collect(void *obj, GError **err)
{
	struct pic *p = obj;
	struct kvm_irqchip c = { .chip_id = p->chip };
	const struct kvm_pic_state *k = &c.chip.pic;
	int ret = KVM_CALL(fd_of(p->vm), KVM_GET_IRQCHIP, &c, err);

	if (ret < 0)
		return ret;
	p->last_irr = k->last_irr;
	p->irr = k->irr;
	p->imr = k->imr;
	p->isr = k->isr;
	p->priority_add = k->priority_add;
	p->irq_base = k->irq_base;
	p->read_reg_select = k->read_reg_select;
	p->poll = k->poll;
	p->special_mask = k->special_mask;
	p->init_state = k->init_state;
	p->auto_eoi = k->auto_eoi;
	p->rotate_on_auto_eoi = k->rotate_on_auto_eoi;
	p->special_fully_nested_mode = k->special_fully_nested_mode;
	p->init4 = k->init4;
	p->elcr = k->elcr;
	return 0;
}

static int pic_apply(struct pic *p, GError **err)
{
	struct kvm_irqchip c = {
		.chip_id = p->chip,
		.chip.pic = {
			.last_irr = p->last_irr,
			.irr = p->irr,
			.imr = p->imr,
			.isr = p->isr,
			.priority_add = p->priority_add,
			.irq_base = p->irq_base,
			.read_reg_select = p->read_reg_select,
			.poll = p->poll,
			.special_mask = p->special_mask,
			.init_state = p->init_state,
			.auto_eoi = p->auto_eoi,
			.rotate_on_auto_eoi = p->rotate_on_auto_eoi,
			.special_fully_nested_mode = p->special_fully_nested_mode,
			.init4 = p->init4,
			.elcr = p->elcr,
			/* Which lines may be level-triggered: not the timer, keyboard, cascade,
			 * clock and coprocessor. */
			.elcr_mask = p->chip == KVM_IRQCHIP_PIC_MASTER ? 0xf8 : 0xde,
		},
	};

	return MIN(KVM_CALL(fd_of(p->vm), KVM_SET_IRQCHIP, &c, err), 0);
}

static int pic_post_load(void *obj, int version, GError **err)
{
	struct pic *p = obj;

	if (p->priority_add > 7 || p->init_state > 3) {
		error_set(err, "i8259: priority_add %u or init_state %u is impossible",
			  p->priority_add, p->init_state);
		return -EINVAL;
	}
	return pic_apply(p, err);
}

static const struct state_field pic_fields[] = { FIELD_U8(struct pic, last_irr),
						 FIELD_U8(struct pic, irr),
						 FIELD_U8(struct pic, imr),
						 FIELD_U8(struct pic, isr),
						 FIELD_U8(struct pic, priority_add),
						 FIELD_U8(struct pic, irq_base),
						 FIELD_U8(struct pic, read_reg_select),
						 FIELD_U8(struct pic, poll),
						 FIELD_U8(struct pic, special_mask),
						 FIELD_U8(struct pic, init_state),
						 FIELD_U8(struct pic, auto_eoi),
						 FIELD_U8(struct pic, rotate_on_auto_eoi),
						 FIELD_U8(struct pic, special_fully_nested_mode),
						 FIELD_U8(struct pic, init4),
						 FIELD_U8(struct pic, single_mode),
						 FIELD_U8(struct pic, elcr),
						 FIELD_END };

static const struct state_desc pic_state = {
	.name = "i8259",
	.version = 1,
	.min_version = 1,
	.fields = pic_fields,
	.collect = pic_collect,
	.post_load = pic_post_load,
};

static int pic_reset(struct pic *p, GError **err)
{
	struct pic fresh = { .vm = p->vm, .chip = p->chip };

	*p = fresh;
	return pic_apply(p, err);
}

/* ---- ioapic ---- */

static int ioapic_collect(void *obj, GError **err)
{
	struct ioapic *i = obj;
	struct kvm_irqchip c = { .chip_id = KVM_IRQCHIP_IOAPIC };
	int ret = KVM_CALL(fd_of(i->vm), KVM_GET_IRQCHIP, &c, err);

	if (ret < 0)
		return ret;
	i->id = c.chip.ioapic.id;
	i->ioregsel = c.chip.ioapic.ioregsel;
	i->irr = c.chip.ioapic.irr;
	for (int n = 0; n < IOAPIC_PINS; n++)
		i->ioredtbl[n] = c.chip.ioapic.redirtbl[n].bits;
	return 0;
}

static int ioapic_apply(void *obj, int version, GError **err)
{
	struct ioapic *i = obj;
	struct kvm_irqchip c = {
		.chip_id = KVM_IRQCHIP_IOAPIC,
		.chip.ioapic = {
			.base_address = IOAPIC_BASE,
			.id = i->id,
			.ioregsel = i->ioregsel,
			.irr = i->irr,
		},
	};

	_Static_assert(KVM_IOAPIC_NUM_PINS == IOAPIC_PINS, "pins of the wire");
	for (int n = 0; n < IOAPIC_PINS; n++)
		c.chip.ioapic.redirtbl[n].bits = i->ioredtbl[n];
	return MIN(KVM_CALL(fd_of(i->vm), KVM_SET_IRQCHIP, &c, err), 0);
}

static const struct state_field ioapic_fields[] = {
	FIELD_U8(struct ioapic, id),   FIELD_U8(struct ioapic, ioregsel),         FIELD_UNUSED(8),
	FIELD_U32(struct ioapic, irr), FIELD_ARRAY(struct ioapic, ioredtbl, U64), FIELD_END
};

static const struct state_desc ioapic_state = {
	.name = "ioapic",
	.version = 3,
	.min_version = 3,
	.fields = ioapic_fields,
	.collect = ioapic_collect,
	.post_load = ioapic_apply,
};

static int ioapic_reset(struct ioapic *i, GError **err)
{
	*i = (struct ioapic){ .vm = i->vm };
	for (int n = 0; n < IOAPIC_PINS; n++)
		i->ioredtbl[n] = IOAPIC_MASKED;
	return ioapic_apply(i, 0, err);
}

/* ---- i8254 ---- */

/* KVM counts from the host's monotonic clock, the wire from the virtual one. */
static s64 virtual_minus_host(void)
{
	return clock_ns(CLOCK_TYPE_VIRTUAL) - clock_ns(CLOCK_TYPE_REALTIME);
}

static int pit_collect(void *obj, GError **err)
{
	struct pit *p = obj;
	struct kvm_pit_state2 s;
	s64 offset = virtual_minus_host();
	int ret = KVM_CALL(fd_of(p->vm), KVM_GET_PIT2, &s, err);

	if (ret < 0)
		return ret;
	for (int i = 0; i < 3; i++) {
		const struct kvm_pit_channel_state *k = &s.channels[i];

		p->channels[i] = (struct pit_channel){
			.count = k->count,
			.latched_count = k->latched_count,
			.count_latched = k->count_latched,
			.status_latched = k->status_latched,
			.status = k->status,
			.read_state = k->read_state,
			.write_state = k->write_state,
			.write_latch = k->write_latch,
			.rw_mode = k->rw_mode,
			.mode = k->mode,
			.bcd = k->bcd,
			.gate = k->gate,
			.count_load_time = k->count_load_time + offset,
			.next_transition_time = -1,
		};
	}
	p->channels[0].irq_disabled = !!(s.flags & KVM_PIT_FLAGS_HPET_LEGACY);
	return 0;
}

static int pit_apply(struct pit *p, GError **err)
{
	struct kvm_pit_state2 s = { .flags = p->channels[0].irq_disabled ? KVM_PIT_FLAGS_HPET_LEGACY
									 : 0 };
	s64 offset = virtual_minus_host();

	for (int i = 0; i < 3; i++) {
		const struct pit_channel *c = &p->channels[i];

		s.channels[i] = (struct kvm_pit_channel_state){
			.count = c->count,
			.latched_count = c->latched_count,
			.count_latched = c->count_latched,
			.status_latched = c->status_latched,
			.status = c->status,
			.read_state = c->read_state,
			.write_state = c->write_state,
			.write_latch = c->write_latch,
			.rw_mode = c->rw_mode,
			.mode = c->mode,
			.bcd = c->bcd,
			.gate = c->gate,
			.count_load_time = c->count_load_time - offset,
		};
	}
	return MIN(KVM_CALL(fd_of(p->vm), KVM_SET_PIT2, &s, err), 0);
}

static int pit_post_load(void *obj, int version, GError **err)
{
	struct pit *p = obj;

	for (int i = 0; i < 3; i++) {
		if (p->channels[i].mode <= 5 && p->channels[i].count >= 0 &&
		    p->channels[i].count <= 0x10000)
			continue;
		error_set(err, "i8254: channel %d has mode %u and count %d", i, p->channels[i].mode,
			  p->channels[i].count);
		return -EINVAL;
	}
	return pit_apply(p, err);
}

static const struct state_field channel_fields[] = { FIELD_S32(struct pit_channel, count),
						     FIELD_U16(struct pit_channel, latched_count),
						     FIELD_U8(struct pit_channel, count_latched),
						     FIELD_U8(struct pit_channel, status_latched),
						     FIELD_U8(struct pit_channel, status),
						     FIELD_U8(struct pit_channel, read_state),
						     FIELD_U8(struct pit_channel, write_state),
						     FIELD_U8(struct pit_channel, write_latch),
						     FIELD_U8(struct pit_channel, rw_mode),
						     FIELD_U8(struct pit_channel, mode),
						     FIELD_U8(struct pit_channel, bcd),
						     FIELD_U8(struct pit_channel, gate),
						     FIELD_S64(struct pit_channel, count_load_time),
						     FIELD_S64(struct pit_channel,
							       next_transition_time),
						     FIELD_END };
static const struct state_desc channel_state = {
	.name = "pit channel", .version = 2, .min_version = 2, .fields = channel_fields
};

static const struct state_field pit_fields[] = {
	FIELD_U32(struct pit, channels[0].irq_disabled),
	FIELD_STRUCT_ARRAY(struct pit, channels, channel_state),
	FIELD_S64(struct pit, channels[0].next_transition_time), FIELD_END
};

static const struct state_desc pit_state = {
	.name = "i8254",
	.version = 3,
	.min_version = 3,
	.fields = pit_fields,
	.collect = pit_collect,
	.post_load = pit_post_load,
};

static int pit_create(struct vm *vm, GError **err)
{
	/* The kernel answers the speaker's port, which shows the third channel. */
	struct kvm_pit_config config = { .flags = KVM_PIT_SPEAKER_DUMMY };

	return MIN(KVM_CALL(fd_of(vm), KVM_CREATE_PIT2, &config, err), 0);
}

static int pit_reset(struct pit *p, GError **err)
{
	*p = (struct pit){ .vm = p->vm };
	for (int i = 0; i < 3; i++)
		p->channels[i] = (struct pit_channel){
			.count = 0x10000,
			.mode = 3,
			.gate = i != 2,
			.count_load_time = clock_ns(CLOCK_TYPE_VIRTUAL),
			.next_transition_time = -1,
		};
	return pit_apply(p, err);
}

/* ---- kvmclock ---- */

static int clock_read(struct guest_clock *c, GError **err)
{
	struct kvm_clock_data d = { 0 };
	int ret = KVM_CALL(fd_of(c->vm), KVM_GET_CLOCK, &d, err);

	if (ret < 0)
		return ret;
	c->clock = d.clock;
	c->clock_is_reliable = d.flags & KVM_CLOCK_TSC_STABLE;
	c->valid = true;
	return 0;
}

/* Guest time stands still while the VM is stopped, here as on the way to another host. */
static void clock_state_changed(struct notifier *n, void *data)
{
	struct guest_clock *c = container_of(n, struct guest_clock, notifier);
	const struct run_state_change *change = data;
	struct kvm_clock_data d = { .clock = c->clock };
	g_autoptr(GError) err = NULL;

	if (!change->running) {
		if (clock_read(c, &err) < 0)
			log_warn("the guest's clock cannot be kept: %s", err->message);
		return;
	}
	if (c->valid && KVM_CALL(fd_of(c->vm), KVM_SET_CLOCK, &d, &err) < 0)
		log_warn("the guest's clock cannot be set to %" PRIu64 " ns: %s", c->clock,
			 err->message);
	/* Tells the guest's watchdogs that it was paused; fails where no guest clock is in use. */
	for (int i = 0; c->valid && i < c->vm->ncpus; i++)
		kvm_call(kvm_fd_of_vcpu(c->vm->cpus[i]), KVM_KVMCLOCK_CTRL, NULL,
			 "KVM_KVMCLOCK_CTRL", NULL);
	c->valid = false;
}

static int clock_collect(void *obj, GError **err)
{
	struct guest_clock *c = obj;

	/* Read when the VM stopped; it runs on in a snapshot of a running guest. */
	return c->valid ? 0 : clock_read(c, err);
}

static int clock_post_load(void *obj, int version, GError **err)
{
	((struct guest_clock *)obj)->valid = true;
	return 0;
}

static bool always(void *obj)
{
	return true;
}

static const struct state_field reliable_fields[] = {
	FIELD_BOOL(struct guest_clock, clock_is_reliable), FIELD_END
};
static const struct state_desc reliable_state = { .name = "kvmclock/clock_is_reliable",
						  .version = 1,
						  .min_version = 1,
						  .fields = reliable_fields,
						  .needed = always };
static const struct state_desc *const clock_subsections[] = { &reliable_state, NULL };
static const struct state_field clock_fields[] = { FIELD_U64(struct guest_clock, clock),
						   FIELD_END };
static const struct state_desc clock_state = {
	.name = "kvmclock",
	.version = 1,
	.min_version = 1,
	.fields = clock_fields,
	.subsections = clock_subsections,
	.collect = clock_collect,
	.post_load = clock_post_load,
};

/* ---- all of them ---- */

struct x86_chips *x86_chips_create(struct vm *vm, unsigned which, GError **err)
{
	struct x86_chips *c;

	if (!accel_is_kvm(vm->accel) || !vm->accel->irqchip) {
		error_set(err, "the interrupt controllers need accelerator kvm with "
			       "kernel-irqchip=on");
		return NULL;
	}
	if ((which & X86_CHIP_PIT) && pit_create(vm, err))
		return NULL;
	c = g_new0(struct x86_chips, 1);
	c->vm = c->pics[0].vm = c->pics[1].vm = c->ioapic.vm = c->pit.vm = c->clock.vm = vm;
	c->which = which;
	c->pics[0].chip = KVM_IRQCHIP_PIC_MASTER;
	c->pics[1].chip = KVM_IRQCHIP_PIC_SLAVE;
	c->clock.notifier.fn = clock_state_changed;
	notifier_add(&vm->state_notifiers, &c->clock.notifier);
	return c;
}

void x86_chips_destroy(struct x86_chips *c)
{
	if (!c)
		return;
	notifier_remove(&c->vm->state_notifiers, &c->clock.notifier);
	g_free(c);
}

int x86_chips_reset(struct x86_chips *c, GError **err)
{
	int ret = pic_reset(&c->pics[0], err);

	if (!ret)
		ret = pic_reset(&c->pics[1], err);
	if (!ret)
		ret = ioapic_reset(&c->ioapic, err);
	if (!ret && (c->which & X86_CHIP_PIT))
		ret = pit_reset(&c->pit, err);
	return ret;
}

int x86_chips_boot(struct x86_chips *c, GError **err)
{
	for (int i = 0; i < 2; i++) {
		c->pics[i].irq_base = i ? PIC_SLAVE_BASE : PIC_MASTER_BASE;
		c->pics[i].imr = 0xff;
		c->pics[i].init4 = 1;
		if (pic_apply(&c->pics[i], err))
			return -EINVAL;
	}
	return 0;
}

void x86_chips_register_state(struct x86_chips *c, struct state_registry *reg)
{
	state_register(reg, "kvmclock", -1, &clock_state, &c->clock);
	if (c->which & X86_CHIP_PIC) {
		state_register(reg, "i8259", 0, &pic_state, &c->pics[0]);
		state_register(reg, "i8259", 1, &pic_state, &c->pics[1]);
	}
	if (c->which & X86_CHIP_IOAPIC)
		state_register(reg, "ioapic", -1, &ioapic_state, &c->ioapic);
	if (c->which & X86_CHIP_PIT)
		state_register(reg, "i8254", -1, &pit_state, &c->pit);
}

void x86_chips_unregister_state(struct x86_chips *c, struct state_registry *reg)
{
	state_unregister(reg, &clock_state, &c->clock);
	if (c->which & X86_CHIP_PIC) {
		state_unregister(reg, &pic_state, &c->pics[0]);
		state_unregister(reg, &pic_state, &c->pics[1]);
	}
	if (c->which & X86_CHIP_IOAPIC)
		state_unregister(reg, &ioapic_state, &c->ioapic);
	if (c->which & X86_CHIP_PIT)
		state_unregister(reg, &pit_state, &c->pit);
}
