/* hw/virtio/devices.c - the device types of the virtio family. */
#include "hw/virtio/devices.h"

#include "hw/devices.h"

const struct device_type *const hw_virtio_devices[] = {
	&virtio_mmio_type,
	&virtio_blk_type,
	&virtio_net_type,
	&virtio_rng_type,
	&virtio_balloon_type,
	&virtio_serial_type,
	&virtio_console_type,
	&virtio_serial_port_type,
	&virtio_gpu_type,
	&virtio_keyboard_type,
	&virtio_mouse_type,
	&virtio_tablet_type,
	NULL,
};
