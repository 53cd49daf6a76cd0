/*
 * virtio.c - virtio-mmio transport and block device for test guests.
 *
 * Source: Virtual I/O Device (VIRTIO) Version 1.1, sections 2.6 (split queues), 3.1 (start-up),
 * 4.2 (MMIO registers), 5.2 (block device).
 */
#include "virtio.h"
#include "guest.h"

enum {
	MMIO_MAGIC = 0x000,
	MMIO_VERSION = 0x004,
	MMIO_DEVICE = 0x008,
	MMIO_DEVICE_FEATURES = 0x010,
	MMIO_DEVICE_FEATURES_SEL = 0x014,
	MMIO_DRIVER_FEATURES = 0x020,
	MMIO_DRIVER_FEATURES_SEL = 0x024,
	MMIO_QUEUE_SEL = 0x030,
	MMIO_QUEUE_NUM_MAX = 0x034,
	MMIO_QUEUE_NUM = 0x038,
	MMIO_QUEUE_READY = 0x044,
	MMIO_QUEUE_NOTIFY = 0x050,
	MMIO_INTERRUPT_STATUS = 0x060,
	MMIO_INTERRUPT_ACK = 0x064,
	MMIO_STATUS = 0x070,
	MMIO_QUEUE_DESC = 0x080,
	MMIO_QUEUE_DRIVER = 0x090,
	MMIO_QUEUE_DEVICE = 0x0a0,
	MMIO_CONFIG = 0x100,
};

enum { STATUS_ACKNOWLEDGE = 1, STATUS_DRIVER = 2, STATUS_DRIVER_OK = 4, STATUS_FEATURES_OK = 8 };
enum { DESC_NEXT = 1, DESC_WRITE = 2 };
enum { BLK_IN = 0, BLK_OUT = 1 };

#define VIRTIO_MAGIC           0x74726976
#define DEVICE_BLOCK           2
#define FEATURE_VERSION_1_HIGH 1 /* bit 32 */
#define QUEUE_SIZE             4
#define TIMEOUT_NS             30000000000ULL

struct virtq_desc {
	u64 addr;
	u32 len;
	u16 flags, next;
};

struct virtq_avail {
	u16 flags, idx, ring[QUEUE_SIZE];
};

struct virtq_used {
	u16 flags, idx;
	struct {
		u32 id, len;
	} ring[QUEUE_SIZE];
};

struct blk_header {
	u32 type, reserved;
	u64 sector;
};

static struct virtq_desc desc[QUEUE_SIZE] __attribute__((aligned(16)));
static volatile struct virtq_avail avail __attribute__((aligned(2)));
static volatile struct virtq_used used __attribute__((aligned(4)));
static u64 base;

static u32 mmio_read(unsigned reg)
{
	return *(volatile u32 *)(uintptr_t)(base + reg);
}

static void mmio_write(unsigned reg, u32 val)
{
	*(volatile u32 *)(uintptr_t)(base + reg) = val;
}

static void mmio_write_addr(unsigned reg, const volatile void *addr)
{
	u64 val = (uintptr_t)addr;

	mmio_write(reg, val);
	mmio_write(reg + 4, val >> 32);
}

static void find_block_device(void)
{
	for (unsigned slot = 0; (base = arch_virtio_mmio(slot)); slot++)
		if (mmio_read(MMIO_MAGIC) == VIRTIO_MAGIC && mmio_read(MMIO_DEVICE) == DEVICE_BLOCK)
			break;
	if (!base)
		die("no virtio-mmio block device");
	if (mmio_read(MMIO_VERSION) != 2)
		die("virtio-mmio version %lu, 2 is needed (force-legacy=off)",
		    (u64)mmio_read(MMIO_VERSION));
}

static void negotiate_features(void)
{
	mmio_write(MMIO_STATUS, 0);
	mmio_write(MMIO_STATUS, STATUS_ACKNOWLEDGE);
	mmio_write(MMIO_STATUS, STATUS_ACKNOWLEDGE | STATUS_DRIVER);
	mmio_write(MMIO_DEVICE_FEATURES_SEL, 1);
	if (!(mmio_read(MMIO_DEVICE_FEATURES) & FEATURE_VERSION_1_HIGH))
		die("the block device does not offer VIRTIO_F_VERSION_1");
	mmio_write(MMIO_DRIVER_FEATURES_SEL, 0);
	mmio_write(MMIO_DRIVER_FEATURES, 0);
	mmio_write(MMIO_DRIVER_FEATURES_SEL, 1);
	mmio_write(MMIO_DRIVER_FEATURES, FEATURE_VERSION_1_HIGH);
	mmio_write(MMIO_STATUS, STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES_OK);
	if (!(mmio_read(MMIO_STATUS) & STATUS_FEATURES_OK))
		die("the block device refuses VIRTIO_F_VERSION_1 alone");
}

u64 virtio_blk_init(void)
{
	find_block_device();
	negotiate_features();
	mmio_write(MMIO_QUEUE_SEL, 0);
	if (mmio_read(MMIO_QUEUE_NUM_MAX) < QUEUE_SIZE)
		die("the block device's queue has %lu entries", (u64)mmio_read(MMIO_QUEUE_NUM_MAX));
	mmio_write(MMIO_QUEUE_NUM, QUEUE_SIZE);
	mmio_write_addr(MMIO_QUEUE_DESC, desc);
	mmio_write_addr(MMIO_QUEUE_DRIVER, &avail);
	mmio_write_addr(MMIO_QUEUE_DEVICE, &used);
	mmio_write(MMIO_QUEUE_READY, 1);
	mmio_write(MMIO_STATUS,
		   STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES_OK | STATUS_DRIVER_OK);
	return mmio_read(MMIO_CONFIG) | (u64)mmio_read(MMIO_CONFIG + 4) << 32;
}

static void set_desc(unsigned i, void *addr, u32 len, u16 flags)
{
	desc[i].addr = (uintptr_t)addr;
	desc[i].len = len;
	desc[i].flags = flags;
	desc[i].next = i + 1;
}

u8 virtio_blk_rw(bool write, u64 sector, void *buf, u32 len)
{
	static struct blk_header header;
	static volatile u8 status;
	u16 seen = used.idx;
	u64 end = now_ns() + TIMEOUT_NS;

	header.type = write ? BLK_OUT : BLK_IN;
	header.sector = sector;
	status = 0xff;
	set_desc(0, &header, sizeof(header), DESC_NEXT);
	set_desc(1, buf, len, DESC_NEXT | (write ? 0 : DESC_WRITE));
	set_desc(2, (void *)&status, 1, DESC_WRITE);
	avail.ring[avail.idx % QUEUE_SIZE] = 0;
	arch_barrier();
	avail.idx++;
	arch_barrier();
	mmio_write(MMIO_QUEUE_NOTIFY, 0);
	while (used.idx == seen) {
		poll_clock();
		arch_relax();
		if (now_ns() > end)
			die("the block device did not answer the request for sector %lu", sector);
	}
	mmio_write(MMIO_INTERRUPT_ACK, mmio_read(MMIO_INTERRUPT_STATUS));
	return status;
}
