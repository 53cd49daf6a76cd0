/* hw/arm/virt-intc.c - the machine "virt": interrupts. There is no controller yet. */
#include "hw/arm/virt.h"

int virt_intc_create(struct virt *v, GError **err)
{
	return 0;
}

void virt_intc_destroy(struct virt *v)
{
}

/* @spi: as in the device tree. Machine lock held. */
void virt_intc_set(struct virt *v, unsigned spi, bool level)
{
}

void virt_intc_fdt(struct virt *v, void *fdt)
{
}
