/* hw/arm/virt-pci.c - the machine "virt": PCI Express. There is no host bridge yet. */
#include "hw/arm/virt.h"

int virt_pci_create(struct virt *v, GError **err)
{
	return 0;
}

void virt_pci_fdt(struct virt *v, void *fdt)
{
}
