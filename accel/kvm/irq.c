/*
 * accel/kvm/irq.c - the in-kernel interrupt controllers: lines, routes, irqfd and ioeventfd.
 *
 * Source: Linux Documentation/virt/kvm/api.rst, KVM_CREATE_IRQCHIP to KVM_IOEVENTFD. A PC's lines 0
 * to 15 reach both the pair of i8259 and the I/O APIC, 16 to 23 the I/O APIC alone; line 0 is the
 * I/O APIC's pin 2, where a PC's firmware tables expect the timer. On arm64 line n is SPI n of a
 * GICv3, which is a device that target/arm creates.
 */
#include "accel/kvm/kvm.h"
#include "util/bitmap.h"
#include "util/error.h"
#include "util/log.h"

#if defined(__x86_64__)
#define IOAPIC_PINS 24
#define LINES       IOAPIC_PINS
#elif defined(__aarch64__)
#define FIRST_SPI 32  /* its INTID */
#define LINES     988 /* SPIs that there can be */
#endif

#if defined(__x86_64__)
static int create_chip(struct kvm_accel *kvm, GError **err)
{
	int ret = kvm_vm_ioctl(kvm, KVM_CREATE_IRQCHIP, NULL);

	if (ret < 0)
		error_set_errno(err, -ret, "KVM_CREATE_IRQCHIP");
	return ret;
}

static u32 number_of_line(unsigned gsi)
{
	return gsi;
}
#elif defined(__aarch64__)
static int create_chip(struct kvm_accel *kvm, GError **err)
{
	return 0;
}

/* Of KVM_IRQ_LINE; routes have SPIs by their line. */
static u32 number_of_line(unsigned gsi)
{
	return KVM_ARM_IRQ_TYPE_SPI << KVM_ARM_IRQ_TYPE_SHIFT | (FIRST_SPI + gsi);
}
#endif

static int commit_routes(struct kvm_accel *kvm)
{
	return kvm_vm_ioctl(kvm, KVM_SET_GSI_ROUTING, kvm->routing);
}

static struct kvm_irq_routing_entry *add_entry(struct kvm_accel *kvm, u32 gsi, u32 type)
{
	struct kvm_irq_routing_entry *e;

	kvm->routing = g_realloc(kvm->routing,
				 sizeof(*kvm->routing) + (kvm->routing->nr + 1) * sizeof(*e));
	e = &kvm->routing->entries[kvm->routing->nr++];
	*e = (struct kvm_irq_routing_entry){ .gsi = gsi, .type = type };
	bitmap_set(kvm->gsi_used, gsi, 1);
	return e;
}

#if defined(__x86_64__)
static void route_to_chip(struct kvm_accel *kvm, u32 gsi, u32 chip, u32 pin)
{
	struct kvm_irq_routing_entry *e = add_entry(kvm, gsi, KVM_IRQ_ROUTING_IRQCHIP);

	e->u.irqchip.irqchip = chip;
	e->u.irqchip.pin = pin;
}

static int route_lines(struct kvm_accel *kvm, GError **err)
{
	int ret;

	for (u32 i = 0; i < 16; i++) {
		/* Line 2 is the cascade of the two i8259; nothing drives it. */
		if (i != 2)
			route_to_chip(kvm, i,
				      i < 8 ? KVM_IRQCHIP_PIC_MASTER : KVM_IRQCHIP_PIC_SLAVE,
				      i % 8);
	}
	for (u32 i = 0; i < IOAPIC_PINS; i++) {
		if (i == 0)
			route_to_chip(kvm, 0, KVM_IRQCHIP_IOAPIC, 2);
		else if (i != 2)
			route_to_chip(kvm, i, KVM_IRQCHIP_IOAPIC, i);
	}
	ret = commit_routes(kvm);
	if (ret < 0)
		error_set_errno(err, -ret, "KVM_SET_GSI_ROUTING of %u entries", kvm->routing->nr);
	return ret;
}
#elif defined(__aarch64__)
/* The GICv3 comes with one route for each of its SPIs. */
static int route_lines(struct kvm_accel *kvm, GError **err)
{
	return 0;
}
#endif

int kvm_irq_init(struct kvm_accel *kvm, GError **err)
{
	int ret = create_chip(kvm, err);

	if (ret < 0)
		return ret;
	kvm->base.irqchip = true;
	kvm->max_gsi = MAX(kvm_check_extension(&kvm->base, KVM_CAP_IRQ_ROUTING), LINES);
	kvm->gsi_used = bitmap_new(kvm->max_gsi);
	kvm->routing = g_malloc0(sizeof(*kvm->routing));
	return route_lines(kvm, err);
}

void kvm_irq_finish(struct kvm_accel *kvm)
{
	g_free(kvm->routing);
	if (kvm->gsi_used)
		bitmap_free(kvm->gsi_used, kvm->max_gsi);
}

void kvm_gsi_set(struct accel *a, unsigned gsi, bool level)
{
	struct kvm_irq_level l = { .irq = number_of_line(gsi), .level = level };
	int ret = kvm_vm_ioctl(kvm_of(a), KVM_IRQ_LINE, &l);

	if (ret < 0)
		log_warn_once("KVM_IRQ_LINE %u: %s", gsi, g_strerror(-ret));
}

static struct kvm_msi msi_of(u64 addr, u32 data)
{
	return (struct kvm_msi){ .address_lo = addr, .address_hi = addr >> 32, .data = data };
}

int kvm_msi_send(struct accel *a, u64 addr, u32 data)
{
	struct kvm_msi msi = msi_of(addr, data);
	int ret = kvm_vm_ioctl(kvm_of(a), KVM_SIGNAL_MSI, &msi);

	/* Positive: delivered; 0: the guest has it masked. */
	return MIN(ret, 0);
}

static void set_msi(struct kvm_irq_routing_entry *e, u64 addr, u32 data)
{
	e->u.msi.address_lo = addr;
	e->u.msi.address_hi = addr >> 32;
	e->u.msi.data = data;
}

int kvm_msi_route_add(struct accel *a, u64 addr, u32 data)
{
	struct kvm_accel *kvm = kvm_of(a);
	u64 gsi = bitmap_next_clear(kvm->gsi_used, kvm->max_gsi, LINES);
	int ret;

	if (gsi == kvm->max_gsi)
		return -ENOSPC;
	set_msi(add_entry(kvm, gsi, KVM_IRQ_ROUTING_MSI), addr, data);
	ret = commit_routes(kvm);
	if (ret < 0) {
		kvm_msi_route_del(a, gsi);
		return ret;
	}
	return gsi;
}

int kvm_msi_route_change(struct accel *a, unsigned gsi, u64 addr, u32 data)
{
	struct kvm_accel *kvm = kvm_of(a);

	for (u32 i = 0; i < kvm->routing->nr; i++) {
		struct kvm_irq_routing_entry *e = &kvm->routing->entries[i];

		if (e->gsi != gsi || e->type != KVM_IRQ_ROUTING_MSI)
			continue;
		if (e->u.msi.address_lo == (u32)addr && e->u.msi.address_hi == addr >> 32 &&
		    e->u.msi.data == data)
			return 0;
		set_msi(e, addr, data);
		return commit_routes(kvm);
	}
	return -ENOENT;
}

void kvm_msi_route_del(struct accel *a, unsigned gsi)
{
	struct kvm_accel *kvm = kvm_of(a);

	for (u32 i = 0; i < kvm->routing->nr; i++) {
		struct kvm_irq_routing_entry *e = &kvm->routing->entries[i];

		if (e->gsi != gsi || e->type != KVM_IRQ_ROUTING_MSI)
			continue;
		*e = kvm->routing->entries[--kvm->routing->nr];
		bitmap_clear(kvm->gsi_used, gsi, 1);
		/* A stale route does no harm: its irqfd is gone. */
		commit_routes(kvm);
		return;
	}
}

static int irqfd(struct accel *a, unsigned gsi, int fd, u32 flags)
{
	struct kvm_irqfd f = { .fd = fd, .gsi = gsi, .flags = flags };

	return MIN(kvm_vm_ioctl(kvm_of(a), KVM_IRQFD, &f), 0);
}

int kvm_irqfd_add(struct accel *a, unsigned gsi, int fd)
{
	return irqfd(a, gsi, fd, 0);
}

int kvm_irqfd_del(struct accel *a, unsigned gsi, int fd)
{
	return irqfd(a, gsi, fd, KVM_IRQFD_FLAG_DEASSIGN);
}

static int ioeventfd(struct accel *a, const struct ioeventfd *e, u32 flags)
{
	struct kvm_ioeventfd f = {
		.datamatch = e->match,
		.addr = e->addr,
		.len = e->size,
		.fd = e->fd,
		.flags = flags | (e->any ? 0 : KVM_IOEVENTFD_FLAG_DATAMATCH) |
			 (e->port ? KVM_IOEVENTFD_FLAG_PIO : 0),
	};

	return MIN(kvm_vm_ioctl(kvm_of(a), KVM_IOEVENTFD, &f), 0);
}

int kvm_ioeventfd_add(struct accel *a, const struct ioeventfd *e)
{
	return ioeventfd(a, e, 0);
}

int kvm_ioeventfd_del(struct accel *a, const struct ioeventfd *e)
{
	return ioeventfd(a, e, KVM_IOEVENTFD_FLAG_DEASSIGN);
}
