/* hw/nvram/fw_cfg.c - the fw_cfg device (QEMU Firmware Configuration Device specification). */
#include "hw/nvram/fw_cfg.h"

#include "accel/vm.h"
#include "hw/devices.h"
#include "hw/machine.h"
#include "memory/ram.h"
#include "migration/state.h"
#include "util/error.h"
#include "util/log.h"

#define FILES_MAX   32
#define FW_CFG_ROMS 3
#define ENTRIES     (FW_CFG_FILE_FIRST + FILES_MAX)
#define INVALID     0xffff /* selector of nothing */
#define ARCH_LOCAL  0x8000
#define KEY_MASK    0x3fff
#define DMA_MAGIC   0x51454d5520434647ull /* "QEMU CFG", big-endian, read from the DMA register */
#define ID_BASIC    1
#define ID_DMA      2
#define IO_PORTS    12
#define MEM_BYTES   24
#define DMA_CHUNK   4096

enum { DMA_ERROR = 1, DMA_READ = 2, DMA_SKIP = 4, DMA_SELECT = 8, DMA_WRITE = 16 };

/* Layout of the directory; big-endian. */
struct dir_entry {
	u32 size;
	u16 select;
	u16 reserved;
	char name[FW_CFG_FILE_NAME_MAX + 1];
} __attribute__((packed));
_Static_assert(sizeof(struct dir_entry) == 64, "directory entry");

/* Descriptor of a DMA transfer in guest memory; big-endian. */
struct dma_access {
	u32 control;
	u32 length;
	u64 address;
};
_Static_assert(sizeof(struct dma_access) == 16, "DMA descriptor");

/* What the guest may do to a file. */
struct writable {
	u8 *data; /* NULL: nothing */
	void (*written)(void *opaque);
	void *opaque;
};

struct fw_cfg {
	struct device dev;
	u64 base;               /* of the memory variant */
	u16 cur_entry;          /* migrated: selector */
	u32 cur_offset;         /* migrated: next byte */
	u64 dma_addr;           /* migrated: what was written to the DMA register so far */
	GBytes *entry[ENTRIES]; /* NULL: nothing */
	unsigned nfiles;
	struct dir_entry dir[FILES_MAX];
	struct ramblock *rom[FILES_MAX]; /* that a file lies in; NULL: none */
	struct writable writable[FILES_MAX];
	u64 rom_bytes[FW_CFG_ROMS]; /* migrates: sizes of such files */
	struct mapping map;
};

static struct fw_cfg *fw_cfg_of(struct device *dev)
{
	return (struct fw_cfg *)dev;
}

static GBytes *current(const struct fw_cfg *f)
{
	unsigned key = f->cur_entry & KEY_MASK;

	if (f->cur_entry == INVALID || f->cur_entry & ARCH_LOCAL || key >= ENTRIES)
		return NULL;
	return f->entry[key];
}

static void select_entry(struct fw_cfg *f, u16 key)
{
	f->cur_entry = key;
	f->cur_offset = 0;
}

static u8 read_byte(struct fw_cfg *f)
{
	gsize size = 0;
	const u8 *data = current(f) ? g_bytes_get_data(current(f), &size) : NULL;

	return f->cur_offset < size ? data[f->cur_offset++] : 0;
}

/* Bytes that were read together form a big-endian number. */
static u64 read_data(struct fw_cfg *f, unsigned size)
{
	u64 val = 0;

	while (size--)
		val = val << 8 | read_byte(f);
	return val;
}

/* ---- DMA ---- */

/* Copy @len bytes of the current item to the guest; zeroes behind its end. */
static enum mem_result dma_read(struct fw_cfg *f, u64 gpa, u64 len)
{
	static const u8 zeroes[DMA_CHUNK];
	struct address_space *as = f->dev.machine->vm->memory;
	gsize size = 0;
	const u8 *data = current(f) ? g_bytes_get_data(current(f), &size) : NULL;
	u64 n = f->cur_offset < size ? MIN(len, size - f->cur_offset) : 0;

	if (n && address_space_write(as, gpa, data + f->cur_offset, n) != MEM_OK)
		return MEM_UNMAPPED;
	f->cur_offset += n;
	for (gpa += n, len -= n; len; gpa += n, len -= n) {
		n = MIN(len, sizeof(zeroes));
		if (address_space_write(as, gpa, zeroes, n) != MEM_OK)
			return MEM_UNMAPPED;
	}
	return MEM_OK;
}

/* Copy @len bytes of the guest into the current item, which must be a file for that. */
static u32 dma_receive(struct fw_cfg *f, u64 gpa, u32 len)
{
	unsigned file = (f->cur_entry & KEY_MASK) - FW_CFG_FILE_FIRST;
	const struct writable *w = current(f) && file < FILES_MAX ? &f->writable[file] : NULL;
	gsize size = w && w->data ? g_bytes_get_size(current(f)) : 0;

	if (f->cur_offset > size || len > size - f->cur_offset)
		return DMA_ERROR;
	if (address_space_read(f->dev.machine->vm->memory, gpa, w->data + f->cur_offset, len) !=
	    MEM_OK)
		return DMA_ERROR;
	f->cur_offset += len;
	w->written(w->opaque);
	return 0;
}

static u32 dma_run(struct fw_cfg *f, u32 control, u32 length, u64 gpa)
{
	if (control & DMA_SELECT)
		select_entry(f, control >> 16);
	if (control & DMA_READ)
		return dma_read(f, gpa, length) == MEM_OK ? 0 : DMA_ERROR;
	if (control & DMA_WRITE)
		return length ? dma_receive(f, gpa, length) : 0;
	if (control & DMA_SKIP)
		f->cur_offset += MIN(length, UINT32_MAX - f->cur_offset);
	return 0;
}

static void dma_transfer(struct fw_cfg *f)
{
	struct address_space *as = f->dev.machine->vm->memory;
	u64 addr = f->dma_addr;
	struct dma_access d;
	u32 result;

	f->dma_addr = 0;
	if (address_space_read(as, addr, &d, sizeof(d)) != MEM_OK) {
		log_guest("fw_cfg: DMA descriptor at 0x%" PRIx64 " is not in memory\n", addr);
		result = DMA_ERROR;
	} else {
		result = dma_run(f, GUINT32_FROM_BE(d.control), GUINT32_FROM_BE(d.length),
				 GUINT64_FROM_BE(d.address));
	}
	result = GUINT32_TO_BE(result);
	address_space_write(as, addr, &result, sizeof(result));
}

/* The DMA register is big-endian: its first half is the upper one; the lower one starts. */
static void dma_write(struct fw_cfg *f, u64 offset, u64 val, unsigned size)
{
	if (size == 8) {
		f->dma_addr = GUINT64_SWAP_LE_BE(val);
		dma_transfer(f);
	} else if (size == 4 && !offset) {
		f->dma_addr = (u64)GUINT32_SWAP_LE_BE((u32)val) << 32;
	} else if (size == 4 && offset == 4) {
		f->dma_addr |= GUINT32_SWAP_LE_BE((u32)val);
		dma_transfer(f);
	}
}

static u64 dma_register(u64 offset, unsigned size)
{
	u64 val = 0;

	for (unsigned i = 0; i < size && offset + i < 8; i++)
		val |= (DMA_MAGIC >> (56 - 8 * (offset + i)) & 0xff) << (8 * i);
	return val;
}

/* ---- ports ---- */

static u64 io_read(void *opaque, u64 offset, unsigned size)
{
	if (offset >= 4)
		return dma_register(offset - 4, size);
	return offset == 1 && size == 1 ? read_byte(opaque) : 0;
}

static void io_write(void *opaque, u64 offset, u64 val, unsigned size)
{
	if (offset >= 4)
		dma_write(opaque, offset - 4, val, size);
	else if (!offset && size == 2)
		select_entry(opaque, val);
	/* Writing the data port had an effect only in the very first versions. */
}

static const struct mmio_ops io_ops = { .read = io_read, .write = io_write, .max_access = 4 };

/* ---- memory: data 0..7, selector 8..9, DMA 16..23 ---- */

static u64 mem_read(void *opaque, u64 offset, unsigned size)
{
	u64 val = 0;

	if (offset >= 16)
		return dma_register(offset - 16, size);
	if (offset >= 8)
		return 0;
	val = read_data(opaque, size);
	/* The register keeps the order of the bytes in the item. */
	return GUINT64_SWAP_LE_BE(val) >> (64 - 8 * size);
}

static void mem_write(void *opaque, u64 offset, u64 val, unsigned size)
{
	if (offset >= 16)
		dma_write(opaque, offset - 16, val, size);
	else if (offset == 8 && size == 2)
		select_entry(opaque, GUINT16_SWAP_LE_BE((u16)val));
}

static const struct mmio_ops mem_ops = { .read = mem_read, .write = mem_write, .max_access = 8 };

/* ---- content ---- */

static void set_entry(struct fw_cfg *f, u16 key, GBytes *data)
{
	g_clear_pointer(&f->entry[key], g_bytes_unref);
	f->entry[key] = g_bytes_ref(data);
}

void fw_cfg_set(struct device *dev, u16 key, GBytes *data)
{
	g_assert(key < FW_CFG_FILE_DIR);
	set_entry(fw_cfg_of(dev), key, data);
}

static void set_number(struct device *dev, u16 key, u64 val, unsigned size)
{
	u64 le = GUINT64_TO_LE(val);
	g_autoptr(GBytes) data = g_bytes_new(&le, size);

	fw_cfg_set(dev, key, data);
}

void fw_cfg_set_u16(struct device *dev, u16 key, u16 val)
{
	set_number(dev, key, val, 2);
}

void fw_cfg_set_u32(struct device *dev, u16 key, u32 val)
{
	set_number(dev, key, val, 4);
}

void fw_cfg_set_u64(struct device *dev, u16 key, u64 val)
{
	set_number(dev, key, val, 8);
}

static void publish_directory(struct fw_cfg *f)
{
	u32 count = GUINT32_TO_BE(f->nfiles);
	GByteArray *a = g_byte_array_new();
	g_autoptr(GBytes) data = NULL;

	g_byte_array_append(a, (const u8 *)&count, sizeof(count));
	g_byte_array_append(a, (const u8 *)f->dir, f->nfiles * sizeof(f->dir[0]));
	data = g_byte_array_free_to_bytes(a);
	set_entry(f, FW_CFG_FILE_DIR, data);
}

static int check_file(const struct fw_cfg *f, const char *name, GError **err)
{
	if (!*name || strlen(name) > FW_CFG_FILE_NAME_MAX) {
		error_set(err, "fw_cfg file name '%s' must have 1 to %d bytes", name,
			  FW_CFG_FILE_NAME_MAX);
		return -EINVAL;
	}
	for (unsigned i = 0; i < f->nfiles; i++) {
		if (!strcmp(f->dir[i].name, name)) {
			error_set(err, "fw_cfg file '%s' exists already", name);
			return -EINVAL;
		}
	}
	if (f->nfiles == FILES_MAX) {
		error_set(err, "fw_cfg has room for %d files, '%s' is one too many", FILES_MAX,
			  name);
		return -ENOSPC;
	}
	return 0;
}

/* Selectors follow the sorted names, so that they are the same however the machine was set up. */
int fw_cfg_add_file(struct device *dev, const char *name, GBytes *data, GError **err)
{
	struct fw_cfg *f = fw_cfg_of(dev);
	GBytes **file = &f->entry[FW_CFG_FILE_FIRST];
	int ret = check_file(f, name, err);
	unsigned at;

	if (ret)
		return ret;
	for (at = f->nfiles; at && strcmp(f->dir[at - 1].name, name) > 0; at--) {
		f->dir[at] = f->dir[at - 1];
		f->dir[at].select = GUINT16_TO_BE(FW_CFG_FILE_FIRST + at);
		file[at] = file[at - 1];
		f->rom[at] = f->rom[at - 1];
		f->writable[at] = f->writable[at - 1];
	}
	f->dir[at] = (struct dir_entry){
		.size = GUINT32_TO_BE(g_bytes_get_size(data)),
		.select = GUINT16_TO_BE(FW_CFG_FILE_FIRST + at),
	};
	g_strlcpy(f->dir[at].name, name, sizeof(f->dir[at].name));
	file[at] = g_bytes_ref(data);
	f->rom[at] = NULL;
	f->writable[at] = (struct writable){ 0 };
	f->nfiles++;
	publish_directory(f);
	return 0;
}

static unsigned find_file(const struct fw_cfg *f, const char *name)
{
	unsigned i = 0;

	while (strcmp(f->dir[i].name, name))
		i++;
	return i;
}

int fw_cfg_add_rom(struct device *dev, const char *name, GBytes *data, u32 bytes, u32 max,
		   GError **err)
{
	struct fw_cfg *f = fw_cfg_of(dev);
	gsize len;
	const void *content = g_bytes_get_data(data, &len);
	g_autofree char *id = g_strdup_printf("/rom@%s", name);
	u64 size = MAX(bytes, len);
	const struct ram_spec spec = {
		.id = id,
		.size = ROUND_UP(size, (u64)DIRTY_PAGE_SIZE),
		.max_size = ROUND_UP(MAX(max, size), (u64)DIRTY_PAGE_SIZE),
		.fd = -1,
		.flags = RAM_MIGRATABLE | RAM_RESIZEABLE,
	};
	struct ramblock *block = ram_create(dev->machine->vm->ram, &spec, err);
	g_autoptr(GBytes) file = NULL;
	int ret;

	if (!block)
		return -ENOMEM;
	memcpy(block->host, content, len);
	file = g_bytes_new_static(block->host, size);
	ret = fw_cfg_add_file(dev, name, file, err);
	if (ret)
		ram_destroy(block);
	else
		f->rom[find_file(f, name)] = block;
	return ret;
}

int fw_cfg_add_writable(struct device *dev, const char *name, void *data, u32 bytes,
			void (*written)(void *opaque), void *opaque, GError **err)
{
	struct fw_cfg *f = fw_cfg_of(dev);
	g_autoptr(GBytes) file = g_bytes_new_static(data, bytes);
	int ret = fw_cfg_add_file(dev, name, file, err);

	if (!ret)
		f->writable[find_file(f, name)] = (struct writable){ data, written, opaque };
	return ret;
}

void fw_cfg_remove_writable(struct device *dev, const char *name)
{
	struct fw_cfg *f = fw_cfg_of(dev);
	unsigned at = find_file(f, name);
	gsize size = g_bytes_get_size(f->entry[FW_CFG_FILE_FIRST + at]);
	g_autoptr(GBytes) zeroes = g_bytes_new_take(g_malloc0(size), size);

	f->writable[at] = (struct writable){ 0 };
	set_entry(f, FW_CFG_FILE_FIRST + at, zeroes);
}

struct device *fw_cfg_find(struct machine *m)
{
	for (GList *l = m->devices.head; l; l = l->next) {
		struct device *dev = container_of(l, struct device, link);

		if (!strcmp(dev->type->name, FW_CFG_MEM_TYPE) ||
		    !strcmp(dev->type->name, FW_CFG_IO_TYPE))
			return dev;
	}
	return NULL;
}

/* What every guest may ask for, whatever the machine. */
static void set_standard_entries(struct fw_cfg *f)
{
	const struct machine_options *o = &f->dev.machine->opt;
	g_autoptr(GBytes) signature = g_bytes_new_static("QEMU", 4);
	g_autoptr(GBytes) uuid = g_bytes_new(o->uuid, sizeof(o->uuid));
	struct device *dev = &f->dev;

	fw_cfg_set(dev, FW_CFG_SIGNATURE, signature);
	fw_cfg_set_u32(dev, FW_CFG_ID, ID_BASIC | ID_DMA);
	fw_cfg_set(dev, FW_CFG_UUID, uuid);
	fw_cfg_set_u64(dev, FW_CFG_RAM_SIZE, o->ram_size);
	fw_cfg_set_u16(dev, FW_CFG_NOGRAPHIC, !dev->machine->graphics);
	fw_cfg_set_u16(dev, FW_CFG_NB_CPUS, o->cpus);
	fw_cfg_set_u16(dev, FW_CFG_MAX_CPUS, o->max_cpus);
	publish_directory(f);
}

static int add_user_files(struct fw_cfg *f, GError **err)
{
	GPtrArray *files = f->dev.machine->opt.fw_cfg;

	for (guint i = 0; files && i < files->len; i++) {
		const struct fw_cfg_option *o = files->pdata[i];
		int ret = fw_cfg_add_file(&f->dev, o->name, o->data, err);

		if (ret)
			return ret;
	}
	return 0;
}

static void free_entries(struct fw_cfg *f)
{
	for (unsigned i = 0; i < ENTRIES; i++)
		g_clear_pointer(&f->entry[i], g_bytes_unref);
	f->nfiles = 0;
}

static int realize(struct fw_cfg *f, GError **err)
{
	int ret;

	f->cur_entry = INVALID;
	set_standard_entries(f);
	ret = add_user_files(f, err);
	if (ret)
		free_entries(f);
	return ret;
}

static int io_realize(struct device *dev, GError **err)
{
	struct fw_cfg *f = fw_cfg_of(dev);
	int ret = realize(f, err);

	if (ret)
		return ret;
	f->map = (struct mapping){ .name = "fw_cfg",
				   .base = FW_CFG_IO_PORT,
				   .size = IO_PORTS,
				   .kind = MAP_MMIO,
				   .ops = &io_ops,
				   .opaque = f };
	address_space_map(dev->machine->vm->io, &f->map);
	return 0;
}

static void io_unrealize(struct device *dev)
{
	address_space_unmap(dev->machine->vm->io, &fw_cfg_of(dev)->map);
	free_entries(fw_cfg_of(dev));
}

static int mem_realize(struct device *dev, GError **err)
{
	struct fw_cfg *f = fw_cfg_of(dev);
	int ret = realize(f, err);

	if (ret)
		return ret;
	f->map = (struct mapping){ .name = "fw_cfg",
				   .base = f->base,
				   .size = MEM_BYTES,
				   .kind = MAP_MMIO,
				   .ops = &mem_ops,
				   .opaque = f };
	address_space_map(dev->machine->vm->memory, &f->map);
	return 0;
}

static void mem_unrealize(struct device *dev)
{
	address_space_unmap(dev->machine->vm->memory, &fw_cfg_of(dev)->map);
	free_entries(fw_cfg_of(dev));
}

static void reset(struct device *dev)
{
	/* Every selector is what firmware finds first: the signature. */
	select_entry(fw_cfg_of(dev), FW_CFG_SIGNATURE);
	fw_cfg_of(dev)->dma_addr = 0;
}

/* ---- migration: QEMU's "fw_cfg" section, version 2 ---- */

static bool always(void *obj)
{
	return true;
}

static const struct state_field dma_fields[] = { FIELD_U64(struct fw_cfg, dma_addr), FIELD_END };
static const struct state_desc dma_state = {
	.name = "fw_cfg/dma",
	.fields = dma_fields,
	.needed = always,
};

/* Sizes of the files that lie in RAM blocks, in this order. */
static const char *const rom_files[FW_CFG_ROMS] = { "etc/acpi/tables", "etc/table-loader",
						    "etc/acpi/rsdp" };

static int find_rom(const struct fw_cfg *f, const char *name)
{
	for (unsigned i = 0; i < f->nfiles; i++)
		if (f->rom[i] && !strcmp(f->dir[i].name, name))
			return i;
	return -1;
}

static bool has_roms(void *obj)
{
	return find_rom(obj, rom_files[0]) >= 0;
}

static void roms_pre_save(void *obj)
{
	struct fw_cfg *f = obj;

	for (unsigned i = 0; i < FW_CFG_ROMS; i++) {
		int at = find_rom(f, rom_files[i]);

		f->rom_bytes[i] = at < 0 ? 0 : GUINT32_FROM_BE(f->dir[at].size);
	}
}

static int roms_loaded(void *obj, int version, GError **err)
{
	struct fw_cfg *f = obj;

	for (unsigned i = 0; i < FW_CFG_ROMS; i++) {
		int at = find_rom(f, rom_files[i]);
		g_autoptr(GBytes) file = NULL;

		if (at < 0 || !f->rom_bytes[i])
			continue;
		if (f->rom_bytes[i] > f->rom[at]->used_size) {
			error_set(err, "file '%s' of %" PRIu64 " bytes in a block of %" PRIu64,
				  rom_files[i], f->rom_bytes[i], f->rom[at]->used_size);
			return -EINVAL;
		}
		f->dir[at].size = GUINT32_TO_BE((u32)f->rom_bytes[i]);
		file = g_bytes_new_static(f->rom[at]->host, f->rom_bytes[i]);
		set_entry(f, FW_CFG_FILE_FIRST + at, file);
	}
	publish_directory(f);
	return 0;
}

static const struct state_field roms_fields[] = {
	{ .name = "table_mr_size",
	  .type = STATE_U64,
	  .offset = offsetof(struct fw_cfg, rom_bytes[0]),
	  .size = sizeof(u64) },
	{ .name = "linker_mr_size",
	  .type = STATE_U64,
	  .offset = offsetof(struct fw_cfg, rom_bytes[1]),
	  .size = sizeof(u64) },
	{ .name = "rsdp_mr_size",
	  .type = STATE_U64,
	  .offset = offsetof(struct fw_cfg, rom_bytes[2]),
	  .size = sizeof(u64) },
	FIELD_END,
};
static const struct state_desc roms_state = {
	.name = "fw_cfg/acpi_mr",
	.version = 1,
	.min_version = 1,
	.fields = roms_fields,
	.needed = has_roms,
	.pre_save = roms_pre_save,
	.post_load = roms_loaded,
};
static const struct state_desc *const subsections[] = { &dma_state, &roms_state, NULL };

static const struct state_field fw_cfg_fields[] = {
	FIELD_U16(struct fw_cfg, cur_entry),
	FIELD_U32(struct fw_cfg, cur_offset),
	FIELD_END,
};

static const struct state_desc fw_cfg_state = {
	.name = "fw_cfg",
	.version = 2,
	.min_version = 2,
	.fields = fw_cfg_fields,
	.subsections = subsections,
};

static const struct property mem_props[] = {
	PROP(struct fw_cfg, base, "base", U64, NULL, "guest physical address"),
	PROP_END,
};

static const struct device_type fw_cfg_io_type = {
	.name = FW_CFG_IO_TYPE,
	.desc = "firmware configuration, by port",
	.bus = "System",
	.instance_size = sizeof(struct fw_cfg),
	.realize = io_realize,
	.unrealize = io_unrealize,
	.reset = reset,
	.state = &fw_cfg_state,
};

static const struct device_type fw_cfg_mem_type = {
	.name = FW_CFG_MEM_TYPE,
	.desc = "firmware configuration, in memory",
	.bus = "System",
	.instance_size = sizeof(struct fw_cfg),
	.props = mem_props,
	.realize = mem_realize,
	.unrealize = mem_unrealize,
	.reset = reset,
	.state = &fw_cfg_state,
};

const struct device_type *const hw_nvram_devices[] = {
	&fw_cfg_io_type,
	&fw_cfg_mem_type,
	NULL,
};
