/*
 * hw/virtio/virtio-mmio.h - virtio transport over a window of guest memory.
 */
#ifndef HW_VIRTIO_VIRTIO_MMIO_H
#define HW_VIRTIO_VIRTIO_MMIO_H

#include "hw/device.h"

#define VIRTIO_MMIO_TYPE "virtio-mmio"
#define VIRTIO_MMIO_SIZE 0x200 /* bytes of the window */

/*
 * virtio_mmio_create() - one slot: a transport that offers a bus for one virtio device.
 * @base: guest physical address of the window.
 * @line: interrupt line of the machine; edge or level triggered.
 *
 * Return: the realized device, owned by the machine; NULL with @err.
 * Context: machine's init().
 */
struct device *virtio_mmio_create(struct machine *m, u64 base, unsigned line, GError **err);

#endif
