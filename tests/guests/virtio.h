/*
 * virtio.h - a virtio-mmio block device driven by polling.
 */
#ifndef TESTS_GUESTS_VIRTIO_H
#define TESTS_GUESTS_VIRTIO_H

#include "guest.h"

#define SECTOR_SIZE 512

/*
 * virtio_blk_init() - find the first block device and set it up; ends the guest if that fails.
 *
 * Return: capacity in sectors.
 */
u64 virtio_blk_init(void);

/*
 * virtio_blk_rw() - one request, waits for its end.
 * @buf: @len bytes, a multiple of SECTOR_SIZE, at its physical address.
 *
 * Return: the device's status byte, 0 is success. No answer in 30 s ends the guest.
 */
u8 virtio_blk_rw(bool write, u64 sector, void *buf, u32 len);

#endif
