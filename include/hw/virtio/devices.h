/*
 * hw/virtio/devices.h - the device types of the virtio family.
 */
#ifndef HW_VIRTIO_DEVICES_H
#define HW_VIRTIO_DEVICES_H

struct device_type;

extern const struct device_type virtio_mmio_type;
extern const struct device_type virtio_blk_type; /* hw/block */
extern const struct device_type virtio_net_type; /* hw/net */
extern const struct device_type virtio_rng_type;
extern const struct device_type virtio_balloon_type;
extern const struct device_type virtio_keyboard_type; /* hw/input */
extern const struct device_type virtio_mouse_type;
extern const struct device_type virtio_tablet_type;
extern const struct device_type virtio_gpu_type;    /* hw/display */
extern const struct device_type virtio_serial_type; /* hw/char */
extern const struct device_type virtio_console_type;
extern const struct device_type virtio_serial_port_type;

#endif
