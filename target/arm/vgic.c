/* target/arm/vgic.c - KVM's GICv3: creation, and access to its registers. */
#include "target/arm/vgic.h"

#include "accel/kvm.h"
#include "util/error.h"

#include <linux/kvm.h>
#include <unistd.h>

/* Layout of KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION. */
#define REGION_COUNT_SHIFT 52

struct arm_vgic {
	int fd;
};

static int set_attr(struct arm_vgic *vgic, u32 group, u64 attr, const void *value, GError **err)
{
	struct kvm_device_attr a = { .group = group, .attr = attr, .addr = (uintptr_t)value };
	int ret = KVM_CALL(vgic->fd, KVM_SET_DEVICE_ATTR, &a, err);

	if (ret < 0)
		g_prefix_error(err, "GICv3 in the kernel, group %u, attribute 0x%" PRIx64 ": ",
			       group, attr);
	return MIN(ret, 0);
}

static int configure(struct arm_vgic *vgic, const struct arm_vgic_config *c, GError **err)
{
	u32 irqs = c->irqs;
	int ret = set_attr(vgic, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, &irqs, err);

	if (!ret)
		ret = set_attr(vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_DIST,
			       &c->dist_base, err);
	for (u64 i = 0; !ret && i < ARRAY_SIZE(c->redist) && c->redist[i].cpus; i++) {
		u64 region = (u64)c->redist[i].cpus << REGION_COUNT_SHIFT | c->redist[i].base | i;

		ret = set_attr(vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION,
			       &region, err);
	}
	if (!ret)
		ret = set_attr(vgic, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_CTRL_INIT, NULL,
			       err);
	return ret;
}

struct arm_vgic *arm_vgic_create(struct vm *vm, const struct arm_vgic_config *config, GError **err)
{
	struct kvm_create_device create = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	struct arm_vgic *vgic;

	if (KVM_CALL(kvm_fd_of_vm(vm->accel), KVM_CREATE_DEVICE, &create, err) < 0) {
		g_prefix_error(err, "GICv3 in the kernel: ");
		return NULL;
	}
	vgic = g_new0(struct arm_vgic, 1);
	vgic->fd = create.fd;
	if (configure(vgic, config, err)) {
		arm_vgic_destroy(vgic);
		return NULL;
	}
	return vgic;
}

void arm_vgic_destroy(struct arm_vgic *vgic)
{
	if (!vgic)
		return;
	close(vgic->fd);
	g_free(vgic);
}

/* The affinity as bits 63:32 of an attribute have it. */
static u64 attr_of_cpu(u64 mpidr)
{
	return (mpidr >> 32 & 0xff) << 56 | (mpidr & 0xffffff) << 32;
}

u64 arm_vgic_move(struct arm_vgic_move *m, enum arm_vgic_space space, u64 mpidr, u32 reg, u64 val)
{
	static const struct {
		u32 group;
		bool wide;
	} spaces[] = {
		[ARM_VGIC_DIST] = { KVM_DEV_ARM_VGIC_GRP_DIST_REGS, false },
		[ARM_VGIC_REDIST] = { KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, false },
		[ARM_VGIC_CPU] = { KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS, true },
		[ARM_VGIC_LEVEL] = { KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO, false },
	};
	u32 half = val;
	struct kvm_device_attr a = {
		.group = spaces[space].group,
		.attr = (space == ARM_VGIC_DIST ? 0 : attr_of_cpu(mpidr)) | reg,
		.addr = spaces[space].wide ? (uintptr_t)&val : (uintptr_t)&half,
	};

	if (m->ret)
		return val;
	if (space == ARM_VGIC_LEVEL)
		a.attr |= (u64)VGIC_LEVEL_INFO_LINE_LEVEL << KVM_DEV_ARM_VGIC_LINE_LEVEL_INFO_SHIFT;
	m->ret = m->to_kernel ? KVM_CALL(m->vgic->fd, KVM_SET_DEVICE_ATTR, &a, m->err)
			      : KVM_CALL(m->vgic->fd, KVM_GET_DEVICE_ATTR, &a, m->err);
	if (m->ret < 0)
		g_prefix_error(m->err, "GICv3 in the kernel, group %u, attribute 0x%llx: ", a.group,
			       (unsigned long long)a.attr);
	m->ret = MIN(m->ret, 0);
	return spaces[space].wide ? val : half;
}
