/*
 * hw/block/pflash.c - parallel NOR flash, Intel/Sharp extended command set (CFI 01).
 *
 * Sources: JEDEC JESD68.01 (common flash interface), Intel 28F128J3 data sheet (commands, status).
 * Two 16-bit chips lie beside each other: the guest gives both a command in one 32-bit access, and
 * their answers come in both halves. Reads go straight to memory until a command asks for something
 * else. Programming stores the bytes as they are: firmware for virtual machines does not always
 * erase before it sets bits.
 */
#include "hw/block/pflash.h"

#include "accel/vm.h"
#include "block/block.h"
#include "hw/devices.h"
#include "hw/machine.h"
#include "memory/address-space.h"
#include "migration/state.h"
#include "util/error.h"
#include "util/log.h"

#include <xxhash.h>

#define CHIPS        2
#define WIDTH        4    /* bytes of the bank */
#define BUFFER_BYTES 2048 /* of each chip */
#define DISK_UNIT    512

enum {
	CMD_READ_ARRAY = 0xff,
	CMD_READ_ARRAY_TOO = 0x00, /* what is in cmd while the array is read */
	CMD_PROGRAM = 0x10,
	CMD_PROGRAM_TOO = 0x40,
	CMD_ERASE = 0x20,
	CMD_ERASE_TOO = 0x28,
	CMD_CLEAR_STATUS = 0x50,
	CMD_LOCK = 0x60,
	CMD_READ_STATUS = 0x70,
	CMD_READ_ID = 0x90,
	CMD_CFI_QUERY = 0x98,
	CMD_CONFIRM = 0xd0,
	CMD_SET_LOCK = 0x01,
	CMD_WRITE_BUFFER = 0xe8,
	CMD_AMD_RESET = 0xf0, /* of the other command set; drivers that probe send it */
};
enum { STATUS_READY = 0x80, STATUS_ERASE_ERROR = 0x20, STATUS_PROGRAM_ERROR = 0x10 };
enum { MAKER_ID = 0x89, CHIP_ID = 0x18 };

/* The wcycle member: which write of a command comes next. */
enum { FIRST, SECOND, BUFFER_DATA, BUFFER_CONFIRM };

struct pflash {
	struct device dev;
	struct pflash_config cfg;
	struct ramblock *block;
	struct mapping array, command; /* one of them is mapped */
	struct notifier vm_notifier;
	struct block_user user;
	bool read_only;
	bool stale_drive; /* the content came by migration and must go to the drive */
	u64 *sums; /* of each sector as it was read from a drive that has not changed since */
	u64 buffer_first, buffer_end; /* range that a buffered write has stored so far */
	u8 cfi[0x40];

	/* Migrate, under these names. */
	u8 wcycle, cmd, status;
	u64 counter; /* data still to come in a buffered write, less one */
};

static struct pflash *pflash_of(struct device *dev)
{
	return (struct pflash *)dev;
}

/* ---- what the guest reads ---- */

/* One answer of each chip. */
static u64 both(u16 answer)
{
	return (u64)answer << 16 | answer;
}

static void make_cfi(struct pflash *f)
{
	u32 blocks = f->cfg.size / f->cfg.sector, sector = f->cfg.sector / CHIPS;
	u8 *c = f->cfi;

	memcpy(c + 0x10, "QRY", 3);
	c[0x13] = 0x01; /* primary command set: Intel/Sharp extended */
	c[0x15] = 0x31; /* its table */
	c[0x1b] = 0x45; /* supply voltage, lowest and highest */
	c[0x1c] = 0x55;
	c[0x1f] = 0x07; /* times as powers of two: program, buffer, erase; then the longest */
	c[0x20] = 0x07;
	c[0x21] = 0x0a;
	c[0x23] = 0x04;
	c[0x24] = 0x04;
	c[0x25] = 0x04;
	c[0x27] = __builtin_ctzll(f->cfg.size / CHIPS);
	c[0x28] = 0x02; /* by 8 or by 16 bits */
	c[0x2a] = __builtin_ctz(BUFFER_BYTES);
	c[0x2c] = 1; /* regions of equal sectors */
	c[0x2d] = blocks - 1;
	c[0x2e] = (blocks - 1) >> 8;
	c[0x2f] = sector >> 8;
	c[0x30] = sector >> 16;
	memcpy(c + 0x31, "PRI1", 4); /* version 1.0 follows */
	c[0x35] = '0';
}

static u64 read_array(const struct pflash *f, u64 off, unsigned size)
{
	u64 value = 0;

	memcpy(&value, f->block->host + off, size);
	return GUINT64_FROM_LE(value);
}

static u64 read_id(const struct pflash *f, u64 off)
{
	switch (off / WIDTH % 0x100) {
	case 0: return both(MAKER_ID);
	case 1: return both(CHIP_ID);
	default: return 0; /* nothing is locked */
	}
}

static u64 pflash_read(void *opaque, u64 off, unsigned size)
{
	struct pflash *f = opaque;
	u64 value;

	switch (f->cmd) {
	case CMD_PROGRAM:
	case CMD_PROGRAM_TOO:
	case CMD_ERASE:
	case CMD_ERASE_TOO:
	case CMD_LOCK:
	case CMD_READ_STATUS:
	case CMD_WRITE_BUFFER: value = both(f->status); break;
	case CMD_READ_ID: value = read_id(f, off); break;
	case CMD_CFI_QUERY:
		value = off / WIDTH < sizeof(f->cfi) ? both(f->cfi[off / WIDTH]) : 0;
		break;
	default: return read_array(f, off, size);
	}
	return value >> 8 * (off % WIDTH);
}

/* ---- array mode and command mode ---- */

/*
 * Only while the array is read may the guest look at the memory itself. There are two mappings
 * because what changes inside of one goes unnoticed by those who have looked it up.
 */
static void update_mapping(struct pflash *f)
{
	struct address_space *as = f->dev.machine->vm->memory;
	bool array = f->cmd == CMD_READ_ARRAY_TOO && f->wcycle == FIRST;
	struct mapping *want = array ? &f->array : &f->command;
	struct mapping *other = array ? &f->command : &f->array;

	if (want->mapped)
		return;
	address_space_begin(as);
	if (other->mapped)
		address_space_unmap(as, other);
	address_space_map(as, want);
	address_space_commit(as);
}

static void to_array(struct pflash *f)
{
	f->wcycle = FIRST;
	f->cmd = CMD_READ_ARRAY_TOO;
}

/* ---- writing ---- */

static void save_to_drive(struct pflash *f, u64 first, u64 end)
{
	int ret;

	if (!f->cfg.drive || f->read_only || end <= first)
		return;
	g_clear_pointer(&f->sums, g_free);
	first = ROUND_DOWN(first, (u64)DISK_UNIT);
	end = ROUND_UP(end, (u64)DISK_UNIT);
	ret = block_pwrite(f->cfg.drive, first, f->block->host + first, end - first);
	if (ret)
		log_warn("%s: cannot write %" PRIu64 " bytes at %" PRIu64 " to '%s': %s",
			 f->cfg.name, end - first, first, block_name(f->cfg.drive),
			 g_strerror(-ret));
}

static void store(struct pflash *f, u64 off, u64 value, unsigned size)
{
	value = GUINT64_TO_LE(value);
	memcpy(f->block->host + off, &value, size);
	memory_mark_dirty(f->block, off, size);
}

static void program(struct pflash *f, u64 off, u64 value, unsigned size)
{
	if (f->read_only) {
		f->status |= STATUS_PROGRAM_ERROR;
	} else {
		store(f, off, value, size);
		save_to_drive(f, off, off + size);
	}
	f->status |= STATUS_READY;
	f->wcycle = FIRST;
}

static void erase(struct pflash *f, u64 off)
{
	off = ROUND_DOWN(off, (u64)f->cfg.sector);
	if (f->read_only) {
		f->status |= STATUS_ERASE_ERROR;
	} else {
		memset(f->block->host + off, 0xff, f->cfg.sector);
		memory_mark_dirty(f->block, off, f->cfg.sector);
		save_to_drive(f, off, off + f->cfg.sector);
	}
	f->status |= STATUS_READY;
}

static void start_command(struct pflash *f, u8 cmd)
{
	switch (cmd) {
	case CMD_PROGRAM:
	case CMD_PROGRAM_TOO:
	case CMD_ERASE:
	case CMD_ERASE_TOO:
	case CMD_LOCK: f->wcycle = SECOND; break;
	case CMD_WRITE_BUFFER:
		f->status |= STATUS_READY;
		f->wcycle = SECOND;
		break;
	case CMD_CLEAR_STATUS:
		f->status = STATUS_READY;
		to_array(f);
		return;
	case CMD_READ_STATUS:
	case CMD_READ_ID:
	case CMD_CFI_QUERY: break;
	case CMD_READ_ARRAY:
	case CMD_READ_ARRAY_TOO:
	case CMD_AMD_RESET: to_array(f); return;
	default:
		log_guest("%s: command 0x%02x is not known\n", f->cfg.name, cmd);
		to_array(f);
		return;
	}
	f->cmd = cmd;
}

static void second_write(struct pflash *f, u64 off, u64 value, unsigned size)
{
	u8 cmd = value;

	switch (f->cmd) {
	case CMD_PROGRAM:
	case CMD_PROGRAM_TOO: program(f, off, value, size); return;
	case CMD_WRITE_BUFFER:
		f->counter = value & 0xffff;
		f->buffer_first = f->buffer_end = 0;
		f->wcycle = BUFFER_DATA;
		if (f->counter < BUFFER_BYTES / (WIDTH / CHIPS))
			return;
		log_guest("%s: buffered write of %" PRIu64 " words\n", f->cfg.name, f->counter + 1);
		f->status |= STATUS_PROGRAM_ERROR;
		to_array(f);
		return;
	case CMD_ERASE:
	case CMD_ERASE_TOO:
		if (cmd == CMD_CONFIRM)
			erase(f, off);
		f->wcycle = FIRST;
		if (cmd == CMD_READ_ARRAY)
			to_array(f);
		return;
	default: /* locks: there are none, so that unlocking always succeeds */
		f->status |= STATUS_READY;
		f->wcycle = FIRST;
		if (cmd != CMD_CONFIRM && cmd != CMD_SET_LOCK)
			to_array(f);
	}
}

static void buffer_data(struct pflash *f, u64 off, u64 value, unsigned size)
{
	if (f->read_only) {
		f->status |= STATUS_PROGRAM_ERROR;
	} else {
		store(f, off, value, size);
		if (!f->buffer_end)
			f->buffer_first = off;
		f->buffer_first = MIN(f->buffer_first, off);
		f->buffer_end = MAX(f->buffer_end, off + size);
	}
	if (!f->counter--)
		f->wcycle = BUFFER_CONFIRM;
}

static void pflash_write(void *opaque, u64 off, u64 value, unsigned size)
{
	struct pflash *f = opaque;

	switch (f->wcycle) {
	case FIRST: start_command(f, value); break;
	case SECOND: second_write(f, off, value, size); break;
	case BUFFER_DATA: buffer_data(f, off, value, size); break;
	default:
		save_to_drive(f, f->buffer_first, f->buffer_end);
		f->status |= STATUS_READY;
		f->wcycle = FIRST;
		if ((u8)value != CMD_CONFIRM) {
			f->status |= STATUS_PROGRAM_ERROR;
			to_array(f);
		}
	}
	update_mapping(f);
}

static const struct mmio_ops pflash_ops = {
	.read = pflash_read,
	.write = pflash_write,
	.max_access = 4,
};

/* ---- life ---- */

static void pflash_reset(struct device *dev)
{
	struct pflash *f = pflash_of(dev);

	to_array(f);
	f->status = STATUS_READY;
	f->counter = 0;
	update_mapping(f);
}

static u64 sector_sum(const struct pflash *f, u64 off)
{
	return XXH3_64bits(f->block->host + off, f->cfg.sector);
}

/* The guest waits meanwhile, so what the drive has already is not written again. */
static void save_what_came(struct pflash *f)
{
	g_autofree u64 *sums = g_steal_pointer(&f->sums);

	for (u64 off = 0; off < f->cfg.size; off += f->cfg.sector)
		if (!sums || sums[off / f->cfg.sector] != sector_sum(f, off))
			save_to_drive(f, off, off + f->cfg.sector);
}

/* The other side's drive may be another file: what came is written to ours, once it is ours. */
static void vm_state_changed(struct notifier *n, void *data)
{
	struct pflash *f = container_of(n, struct pflash, vm_notifier);
	const struct run_state_change *change = data;

	if (!change->running || !f->stale_drive)
		return;
	f->stale_drive = false;
	save_what_came(f);
}

static void note_sums(struct pflash *f)
{
	if (f->read_only)
		return;
	f->sums = g_new(u64, f->cfg.size / f->cfg.sector);
	for (u64 off = 0; off < f->cfg.size; off += f->cfg.sector)
		f->sums[off / f->cfg.sector] = sector_sum(f, off);
}

static int attach_drive(struct pflash *f, GError **err)
{
	struct block_backend *b = f->cfg.drive;
	int ret;

	if (!b)
		return 0;
	if (!block_inserted(b) || block_size(b) != f->cfg.size) {
		error_set(err, "flash %s takes %" PRIu64 " bytes, '%s' has %" PRIu64, f->cfg.name,
			  f->cfg.size, block_name(b), block_inserted(b) ? block_size(b) : 0);
		return -EINVAL;
	}
	f->read_only = block_read_only(b);
	f->user = (struct block_user){ .qdev = f->cfg.name };
	ret = block_attach(b, &f->user, !f->read_only, err);
	if (ret)
		return ret;
	ret = block_pread(b, 0, f->block->host, f->cfg.size);
	if (!ret) {
		note_sums(f);
		return 0;
	}
	error_set_errno(err, -ret, "cannot read flash content from '%s'", block_name(b));
	block_detach(b);
	return ret;
}

static int pflash_realize(struct device *dev, GError **err)
{
	struct pflash *f = pflash_of(dev);
	struct vm *vm = dev->machine->vm;
	struct ram_spec spec = {
		.id = f->cfg.name, .size = f->cfg.size, .fd = -1, .flags = RAM_MIGRATABLE
	};
	int ret;

	f->block = ram_create(vm->ram, &spec, err);
	if (!f->block)
		return -ENOMEM;
	ret = attach_drive(f, err);
	if (ret) {
		ram_destroy(f->block);
		return ret;
	}
	make_cfi(f);
	f->status = STATUS_READY;
	f->array = (struct mapping){ .name = f->cfg.name,
				     .base = f->cfg.base,
				     .size = f->cfg.size,
				     .kind = MAP_ROMD,
				     .block = f->block,
				     .ops = &pflash_ops,
				     .opaque = f };
	f->command = f->array;
	f->command.kind = MAP_MMIO;
	update_mapping(f);
	f->vm_notifier.fn = vm_state_changed;
	notifier_add(&vm->state_notifiers, &f->vm_notifier);
	return 0;
}

static void pflash_unrealize(struct device *dev)
{
	struct pflash *f = pflash_of(dev);

	notifier_remove(&dev->machine->vm->state_notifiers, &f->vm_notifier);
	address_space_unmap(dev->machine->vm->memory, f->array.mapped ? &f->array : &f->command);
	if (f->cfg.drive)
		block_detach(f->cfg.drive);
	g_free(f->sums);
}

struct device *pflash_create(struct machine *m, const struct pflash_config *cfg, GError **err)
{
	struct device *dev = device_create(m, PFLASH_TYPE, NULL, err);

	if (!dev)
		return NULL;
	pflash_of(dev)->cfg = *cfg;
	if (device_realize(dev, NULL, err)) {
		device_destroy(dev);
		return NULL;
	}
	return dev;
}

void pflash_load(struct device *dev, const void *data, u64 len)
{
	g_assert(len <= pflash_of(dev)->cfg.size);
	memcpy(pflash_of(dev)->block->host, data, len);
}

bool pflash_has_drive(const struct device *dev)
{
	return ((const struct pflash *)dev)->cfg.drive;
}

/* ---- migration: QEMU's "pflash_cfi01" section, version 1 ---- */

static int pflash_post_load(void *obj, int version, GError **err)
{
	struct pflash *f = obj;

	if (f->wcycle > BUFFER_CONFIRM) {
		error_set(err, "%s: write cycle %u, there are 0 to %u", f->cfg.name, f->wcycle,
			  BUFFER_CONFIRM);
		return -EINVAL;
	}
	f->stale_drive = true;
	/* Of a buffered write that goes on, the whole sector is saved at its end. */
	f->buffer_first = f->buffer_end = 0;
	update_mapping(f);
	return 0;
}

static const struct state_field pflash_fields[] = {
	FIELD_U8(struct pflash, wcycle),
	FIELD_U8(struct pflash, cmd),
	FIELD_U8(struct pflash, status),
	FIELD_U64(struct pflash, counter),
	FIELD_END,
};

static const struct state_desc pflash_state = {
	.name = "pflash_cfi01",
	.version = 1,
	.min_version = 1,
	.fields = pflash_fields,
	.post_load = pflash_post_load,
};

static const struct device_type pflash_type = {
	.name = PFLASH_TYPE,
	.desc = "parallel NOR flash",
	.category = DEVICE_STORAGE,
	.bus = "System",
	.instance_size = sizeof(struct pflash),
	.realize = pflash_realize,
	.unrealize = pflash_unrealize,
	.reset = pflash_reset,
	.state = &pflash_state,
};

const struct device_type *const hw_block_devices[] = { &pflash_type, NULL };
