/*
 * hw/nvram/fw_cfg.h - the "fw_cfg" device: named blobs for firmware and guest.
 *
 * Source: QEMU Firmware Configuration (fw_cfg) Device, its interface specification.
 */
#ifndef HW_NVRAM_FW_CFG_H
#define HW_NVRAM_FW_CFG_H

#include "hw/device.h"

#define FW_CFG_IO_TYPE  "fw_cfg_io"  /* ports 0x510 to 0x51b */
#define FW_CFG_MEM_TYPE "fw_cfg_mem" /* 24 bytes of memory at property "base" */
#define FW_CFG_IO_PORT  0x510

#define FW_CFG_FILE_NAME_MAX 55 /* bytes without the final NUL */

/* Fixed selectors; files get theirs by fw_cfg_add_file(). */
enum {
	FW_CFG_SIGNATURE = 0x00,
	FW_CFG_ID = 0x01,
	FW_CFG_UUID = 0x02,
	FW_CFG_RAM_SIZE = 0x03,
	FW_CFG_NOGRAPHIC = 0x04,
	FW_CFG_NB_CPUS = 0x05,
	FW_CFG_KERNEL_ADDR = 0x07,
	FW_CFG_KERNEL_SIZE = 0x08,
	FW_CFG_KERNEL_CMDLINE = 0x09,
	FW_CFG_INITRD_ADDR = 0x0a,
	FW_CFG_INITRD_SIZE = 0x0b,
	FW_CFG_BOOT_MENU = 0x0e,
	FW_CFG_MAX_CPUS = 0x0f,
	FW_CFG_KERNEL_ENTRY = 0x10,
	FW_CFG_KERNEL_DATA = 0x11,
	FW_CFG_INITRD_DATA = 0x12,
	FW_CFG_CMDLINE_ADDR = 0x13,
	FW_CFG_CMDLINE_SIZE = 0x14,
	FW_CFG_CMDLINE_DATA = 0x15,
	FW_CFG_SETUP_ADDR = 0x16,
	FW_CFG_SETUP_SIZE = 0x17,
	FW_CFG_SETUP_DATA = 0x18,
	FW_CFG_FILE_DIR = 0x19,
	FW_CFG_FILE_FIRST = 0x20,
};

/*
 * fw_cfg_set() - content of a fixed selector; replaces what was there.
 * @data: reference taken.
 *
 * fw_cfg_set_u16(), fw_cfg_set_u32(), fw_cfg_set_u64() - a little-endian number.
 * Context: machine lock held, dev is of one of the types above.
 */
void fw_cfg_set(struct device *dev, u16 key, GBytes *data);
void fw_cfg_set_u16(struct device *dev, u16 key, u16 val);
void fw_cfg_set_u32(struct device *dev, u16 key, u32 val);
void fw_cfg_set_u64(struct device *dev, u16 key, u64 val);

/*
 * fw_cfg_add_file() - a named blob, listed in the directory.
 * @name: 1 to FW_CFG_FILE_NAME_MAX bytes, not yet taken.
 *
 * Return: 0, or -EINVAL / -ENOSPC with @err naming the file.
 */
int fw_cfg_add_file(struct device *dev, const char *name, GBytes *data, GError **err);

/*
 * fw_cfg_add_writable() - a file that the guest may write, by DMA.
 * @data: its bytes; they stay the caller's, and change when the guest writes.
 * @written: the guest has written some of them; machine lock held.
 *
 * fw_cfg_remove_writable() - the guest finds zeroes there, and can write no more.
 * Return: as fw_cfg_add_file().
 */
int fw_cfg_add_writable(struct device *dev, const char *name, void *data, u32 bytes,
			void (*written)(void *opaque), void *opaque, GError **err);
void fw_cfg_remove_writable(struct device *dev, const char *name);

/* fw_cfg_find() - the machine's; NULL: it has none. */
struct device *fw_cfg_find(struct machine *m);

/*
 * fw_cfg_add_rom() - a file that travels in a migration: after one it is what the source had.
 * @bytes: of the file at least; zeroes follow @data.
 * @max:   bytes that it may have at a source.
 *
 * It lies in a RAM block "/rom@NAME" whose size is that of the file in whole pages; that must be
 * the same at QEMU for a stream to be taken by its receivers.
 * Return: as fw_cfg_add_file(), or -ENOMEM.
 */
int fw_cfg_add_rom(struct device *dev, const char *name, GBytes *data, u32 bytes, u32 max,
		   GError **err);

#endif
