/* tests/unit/hw/test-fw-cfg.c - fw_cfg by port, by DMA and in memory; state. */
#include "tests/unit/hw/isa-machine.h"

#include "hw/nvram/fw_cfg.h"

enum { SELECT = 0x510, DATA = 0x511, DMA_HIGH = 0x514, DMA_LOW = 0x518 };

#define DESC 0x1000 /* guest address of the DMA descriptor in these tests */

struct dma {
	u32 control, length;
	u64 address;
};

static struct device *fw;

static void add_file(const char *name, const char *text)
{
	g_autoptr(GBytes) data = g_bytes_new(text, strlen(text));

	g_assert_cmpint(fw_cfg_add_file(fw, name, data, NULL), ==, 0);
}

static struct machine *fw_machine(void)
{
	struct machine *m = isa_machine(0);

	fw = isa_device(m, FW_CFG_IO_TYPE);
	add_file("opt/zebra", "stripes");
	add_file("etc/alpha", "first");
	return m;
}

static void select_key(struct machine *m, u16 key)
{
	address_space_st(m->vm->io, SELECT, key, 2);
}

static void read_port(struct machine *m, void *buf, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((u8 *)buf)[i] = in8(m, DATA);
}

static u32 run_dma(struct machine *m, u32 control, u32 length, u64 address)
{
	struct dma d = { GUINT32_TO_BE(control), GUINT32_TO_BE(length), GUINT64_TO_BE(address) };

	address_space_write(m->vm->memory, DESC, &d, sizeof(d));
	address_space_st(m->vm->io, DMA_HIGH, 0, 4);
	address_space_st(m->vm->io, DMA_LOW, GUINT32_SWAP_LE_BE((u32)DESC), 4);
	address_space_read(m->vm->memory, DESC, &d, sizeof(d));
	return GUINT32_FROM_BE(d.control);
}

static void test_fixed_items(void)
{
	struct machine *m = fw_machine();
	char sig[4];
	u64 ram;
	u32 id;

	select_key(m, FW_CFG_SIGNATURE);
	read_port(m, sig, 4);
	g_assert_cmpmem(sig, 4, "QEMU", 4);
	g_assert_cmpuint(in8(m, DATA), ==, 0); /* behind the end */
	select_key(m, FW_CFG_ID);
	read_port(m, &id, 4);
	g_assert_cmphex(GUINT32_FROM_LE(id), ==, 3);
	select_key(m, FW_CFG_RAM_SIZE);
	read_port(m, &ram, 8);
	g_assert_cmpuint(GUINT64_FROM_LE(ram), ==, 4 * MiB);
	fw_cfg_set_u16(fw, FW_CFG_NB_CPUS, 0x1234);
	select_key(m, FW_CFG_NB_CPUS);
	g_assert_cmphex(in8(m, DATA), ==, 0x34);
	g_assert_cmphex(in8(m, DATA), ==, 0x12);
	select_key(m, 0x8000);
	g_assert_cmphex(in8(m, DATA), ==, 0);
	isa_machine_free(m);
}

static void test_directory(void)
{
	struct machine *m = fw_machine();
	u8 dir[4 + 2 * 64];
	char text[8] = "";

	select_key(m, FW_CFG_FILE_DIR);
	read_port(m, dir, sizeof(dir));
	g_assert_cmpmem(dir, 4, "\0\0\0\2", 4);
	g_assert_cmpmem(dir + 4, 8, "\0\0\0\5\0\x20\0\0", 8); /* sorted by name */
	g_assert_cmpstr((char *)dir + 12, ==, "etc/alpha");
	g_assert_cmpmem(dir + 68, 8, "\0\0\0\7\0\x21\0\0", 8);
	g_assert_cmpstr((char *)dir + 76, ==, "opt/zebra");
	select_key(m, 0x21);
	read_port(m, text, 7);
	g_assert_cmpstr(text, ==, "stripes");
	isa_machine_free(m);
}

static void test_dma(void)
{
	struct machine *m = fw_machine();
	char text[12];

	g_assert_cmphex(address_space_ld(m->vm->io, DMA_HIGH, 4, NULL), ==, 0x554d4551); /* QEMU */
	g_assert_cmphex(address_space_ld(m->vm->io, DMA_LOW, 4, NULL), ==, 0x47464320);  /* CFG */

	address_space_write(m->vm->memory, 0x2000, "############", 12);
	g_assert_cmphex(run_dma(m, 0x21 << 16 | 8 | 2, 10, 0x2000), ==, 0);
	address_space_read(m->vm->memory, 0x2000, text, 12);
	g_assert_cmpmem(text, 12, "stripes\0\0\0##", 12);

	g_assert_cmphex(run_dma(m, 0x21 << 16 | 8 | 4, 3, 0), ==, 0);
	g_assert_cmphex(run_dma(m, 2, 2, 0x2000), ==, 0);
	address_space_read(m->vm->memory, 0x2000, text, 2);
	g_assert_cmpmem(text, 2, "ip", 2);

	g_assert_cmphex(run_dma(m, 0x21 << 16 | 8 | 16, 3, 0x2000), ==, 1); /* write */
	g_assert_cmphex(run_dma(m, 0x21 << 16 | 8 | 2, 4, 4 * MiB - 2), ==, 1);
	isa_machine_free(m);
}

static void test_memory_variant(void)
{
	struct machine *m = isa_machine(0);
	struct device *dev = device_create(m, FW_CFG_MEM_TYPE, NULL, NULL);
	struct address_space *as = m->vm->memory;

	g_assert_cmpint(device_set(dev, "base", "0x9020000", NULL), ==, 0);
	g_assert_cmpint(device_realize(dev, NULL, NULL), ==, 0);
	address_space_st(as, 0x9020008, GUINT16_TO_BE(FW_CFG_SIGNATURE), 2);
	g_assert_cmphex(address_space_ld(as, 0x9020000, 4, NULL), ==, 0x554d4551);
	address_space_st(as, 0x9020008, GUINT16_TO_BE(FW_CFG_SIGNATURE), 2);
	g_assert_cmphex(address_space_ld(as, 0x9020000, 1, NULL), ==, 'Q');
	g_assert_cmphex(address_space_ld(as, 0x9020000, 2, NULL), ==, 'E' | 'M' << 8);
	g_assert_cmphex(address_space_ld(as, 0x9020010, 8, NULL), ==, 0x47464320554d4551);
	isa_machine_free(m);
}

static void test_refusals(void)
{
	struct machine *m = fw_machine();
	g_autoptr(GBytes) data = g_bytes_new_static("x", 1);
	GError *err = NULL;
	char name[64];

	g_assert_cmpint(fw_cfg_add_file(fw, "opt/zebra", data, &err), ==, -EINVAL);
	g_assert_cmpstr(err->message, ==, "fw_cfg file 'opt/zebra' exists already");
	g_clear_error(&err);
	memset(name, 'n', 56);
	name[56] = 0;
	g_assert_cmpint(fw_cfg_add_file(fw, name, data, NULL), ==, -EINVAL);
	for (int i = 0; i < 30; i++) {
		g_snprintf(name, sizeof(name), "opt/f%d", i);
		g_assert_cmpint(fw_cfg_add_file(fw, name, data, NULL), ==, 0);
	}
	g_assert_cmpint(fw_cfg_add_file(fw, "opt/last", data, &err), ==, -ENOSPC);
	g_clear_error(&err);
	isa_machine_free(m);
}

static void test_user_files(void)
{
	struct fw_cfg_option *o = g_new0(struct fw_cfg_option, 1);
	struct machine *m = isa_machine(0);
	u8 dir[68];

	o->name = g_strdup("opt/mine");
	o->data = g_bytes_new("abc", 3);
	m->opt.fw_cfg = g_ptr_array_new();
	g_ptr_array_add(m->opt.fw_cfg, o);
	fw = isa_device(m, FW_CFG_IO_TYPE);
	select_key(m, FW_CFG_FILE_DIR);
	read_port(m, dir, sizeof(dir));
	g_assert_cmpstr((char *)dir + 12, ==, "opt/mine");
	isa_machine_free(m);
}

static void test_layout(void)
{
	expect_text(state_layout(device_type_find(&isa_target, FW_CFG_IO_TYPE)->state),
		    "fw_cfg v2\n"
		    "  cur_entry:uint16:2\n"
		    "  cur_offset:uint32:4\n"
		    "  SUB fw_cfg/dma v0\n"
		    "    dma_addr:uint64:8\n"
		    "  SUB fw_cfg/acpi_mr v1\n"
		    "    table_mr_size:uint64:8\n"
		    "    linker_mr_size:uint64:8\n"
		    "    rsdp_mr_size:uint64:8\n");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fw-cfg/fixed-items", test_fixed_items);
	g_test_add_func("/fw-cfg/directory", test_directory);
	g_test_add_func("/fw-cfg/dma", test_dma);
	g_test_add_func("/fw-cfg/memory-variant", test_memory_variant);
	g_test_add_func("/fw-cfg/refusals", test_refusals);
	g_test_add_func("/fw-cfg/user-files", test_user_files);
	g_test_add_func("/fw-cfg/layout", test_layout);
	return g_test_run();
}
