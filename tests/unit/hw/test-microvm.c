/* tests/unit/hw/test-microvm.c - memory, tables and start of the machine microvm. */
#include "tests/unit/hw/fake-machine.h"

#include "accel/kvm.h"
#include "hw/acpi/aml.h"
#include "hw/i386/layout.h"
#include "migration/state.h"
#include "target/i386/cpu.h"

#include <elf.h>
#include <glib/gstdio.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>

static const struct vm_owner owner;
static const struct machine_host host;
static char *dir;

/* ---- making machines and images ---- */

static char *file_with(const char *name, const void *data, size_t size)
{
	char *path = g_build_filename(dir, name, NULL);

	g_assert_true(g_file_set_contents(path, data, size, NULL));
	return path;
}

/* NULL if the accelerator is not there. */
static struct machine *new_machine_on(const struct accel_ops *accel, const char *props)
{
	g_autoptr(JsonObject) o = keyval_parse(props, NULL, NULL);
	struct vm *vm = fake_vm(&owner);
	g_autoptr(JsonObject) none = json_object_new();
	struct machine *m;

	if (vm_attach_accel(vm, accel, none, NULL)) {
		vm_destroy(vm);
		return NULL;
	}
	m = machine_create(&hw_target_x86_64, machine_type_find(&hw_target_x86_64, "microvm"), vm,
			   NULL, &host);
	g_assert_cmpint(machine_set_props(m, o, NULL), ==, 0);
	return m;
}

static struct machine *new_machine(const char *props)
{
	return new_machine_on(&qtest_accel_ops, props);
}

static void free_machine(struct machine *m)
{
	struct vm *vm = m->vm;

	machine_destroy(m);
	vm_destroy(vm);
}

/* Init, done and reset; the error text of whichever failed. */
static char *start(struct machine *m)
{
	GError *err = NULL;
	char *msg;

	if (!machine_init(m, &err) && !machine_done(m, &err) && !machine_reset(m, &err))
		return NULL;
	msg = g_strdup(err->message);
	g_error_free(err);
	return msg;
}

static void put16(u8 *p, u16 v)
{
	memcpy(p, &v, 2);
}

static void put32(u8 *p, u32 v)
{
	memcpy(p, &v, 4);
}

#define SETUP_BYTES (3 * 512)
#define CODE_BYTES  4096
#define INIT_SIZE   (3 * MiB)

/* A bzImage whose code is a pattern. */
static char *bzimage(u16 version, u16 xloadflags)
{
	static u8 image[SETUP_BYTES + CODE_BYTES];

	memset(image, 0, SETUP_BYTES);
	memset(image + SETUP_BYTES, 0x5a, CODE_BYTES);
	image[0x1f1] = 2;
	put16(image + 0x1fe, 0xaa55);
	image[0x201] = 0x6a;
	put32(image + 0x202, 0x53726448);
	put16(image + 0x206, version);
	image[0x211] = 1;
	put32(image + 0x22c, 0x7fffffff);
	put32(image + 0x230, 0x200000);
	image[0x234] = 1;
	put16(image + 0x236, xloadflags);
	put32(image + 0x238, 2047);
	put32(image + 0x258, 0x1000000);
	put32(image + 0x260, INIT_SIZE);
	return file_with("bzImage", image, sizeof(image));
}

/* One segment of 16 bytes in the file and 64 in memory at 1 MiB, and notes if asked for. */
static char *elf_image(bool with_note, u16 machine)
{
	struct {
		Elf64_Ehdr h;
		Elf64_Phdr p[2];
		struct {
			Elf64_Nhdr n;
			char name[4];
			u32 desc;
		} note[2];
		u8 code[16];
	} e = { 0 };

	memcpy(e.h.e_ident, ELFMAG, SELFMAG);
	e.h.e_ident[EI_CLASS] = ELFCLASS64;
	e.h.e_ident[EI_DATA] = ELFDATA2LSB;
	e.h.e_machine = machine;
	e.h.e_phoff = offsetof(__typeof__(e), p);
	e.h.e_phentsize = sizeof(Elf64_Phdr);
	e.h.e_phnum = 2;
	e.p[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
			       .p_offset = offsetof(__typeof__(e), code),
			       .p_paddr = 0x100000,
			       .p_filesz = 16,
			       .p_memsz = 64 };
	e.p[1] = (Elf64_Phdr){ .p_type = PT_NOTE,
			       .p_offset = offsetof(__typeof__(e), note),
			       .p_filesz = sizeof(e.note),
			       .p_align = 4 };
	/* Another note comes first. */
	e.note[0].n = (Elf64_Nhdr){ .n_namesz = 4, .n_descsz = 4, .n_type = 5 };
	memcpy(e.note[0].name, "GNU", 4);
	e.note[1].n = (Elf64_Nhdr){ .n_namesz = 4, .n_descsz = 4, .n_type = with_note ? 18 : 17 };
	memcpy(e.note[1].name, "Xen", 4);
	e.note[1].desc = 0x100010;
	memset(e.code, 0x77, 16);
	return file_with("kernel.elf", &e, sizeof(e));
}

static u64 ld(struct machine *m, u64 gpa, unsigned size)
{
	return address_space_ld(m->vm->memory, gpa, size, NULL);
}

static char *guest_string(struct machine *m, u64 gpa)
{
	char *s = g_malloc0(4096);

	address_space_read(m->vm->memory, gpa, s, 4095);
	return s;
}

static struct x86_env *env_of(struct machine *m)
{
	return &x86_cpu_of(m->vm->cpus[0])->env;
}

/* ---- tests ---- */

static void test_linux(void)
{
	struct machine *m = new_machine("acpi=on");
	u64 gdt_code = 0x00af9b000000ffff;

	m->opt.kernel = bzimage(0x20f, 1);
	m->opt.initrd = file_with("initrd", "ramdisk!", 8);
	m->opt.append = g_strdup("console=ttyS0 quiet");
	g_assert_null(start(m));

	g_assert_cmphex(ld(m, 0x1000000, 4), ==, 0x5a5a5a5a);
	/* Who jumps to the firmware's entry finds a triple fault: cli; lidt of zeroes; int3. */
	g_assert_cmphex(ld(m, 0xffff0, 8), ==, 0xccfffa1e010f2efa);
	g_assert_cmphex(ld(m, 0xffff8, 8), ==, 0);
	expect_text(guest_string(m, ld(m, ZERO_PAGE + 0x228, 4)), "console=ttyS0 quiet");
	g_assert_cmphex(ld(m, ZERO_PAGE + 0x1fe, 2), ==, 0xaa55);
	g_assert_cmphex(ld(m, ZERO_PAGE + 0x210, 1), ==, 0xff);
	g_assert_cmphex(ld(m, ZERO_PAGE + 0x070, 8), ==, ACPI_AREA);
	g_assert_cmphex(ld(m, ZERO_PAGE + 0x218, 4), ==, 0x7fff000); /* last page of 128 MiB */
	g_assert_cmphex(ld(m, ZERO_PAGE + 0x21c, 4), ==, 8);
	expect_text(guest_string(m, 0x7fff000), "ramdisk!");
	g_assert_cmphex(ld(m, BOOT_GDT + 0x10, 8), ==, gdt_code);
	g_assert_cmphex(ld(m, PAGE_TABLES, 8), ==, PAGE_TABLES + 0x1003);
	g_assert_cmphex(ld(m, PAGE_TABLES + 0x1018, 8), ==, PAGE_TABLES + 0x5003);
	g_assert_cmphex(ld(m, PAGE_TABLES + 0x5ff8, 8), ==, 0xffe00083);

	g_assert_cmphex(env_of(m)->eip, ==, 0x1000200);
	g_assert_cmphex(env_of(m)->regs[R_ESI], ==, ZERO_PAGE);
	g_assert_cmphex(env_of(m)->cr[0], ==, 0x80000011);
	g_assert_cmphex(env_of(m)->cr[3], ==, PAGE_TABLES);
	g_assert_cmphex(env_of(m)->efer, ==, 0x500);
	g_assert_cmphex(env_of(m)->segs[R_CS].selector, ==, 0x10);
	g_assert_true(env_of(m)->segs[R_CS].flags & DESC_L);
	free_machine(m);
}

static void test_memory_map(void)
{
	struct machine *m = new_machine("acpi=on");
	u64 e820 = ZERO_PAGE + 0x2d0;

	m->opt.ram_size = 5 * GiB;
	m->opt.kernel = bzimage(0x20f, 1);
	g_assert_null(start(m));
	g_assert_cmpuint(ld(m, ZERO_PAGE + 0x1e8, 1), ==, 6);
	g_assert_cmphex(ld(m, e820 + 8, 8), ==, EBDA); /* 0: low RAM */
	g_assert_cmphex(ld(m, e820 + 40, 8), ==, ACPI_AREA);
	g_assert_cmphex(ld(m, e820 + 56, 4), ==, 3);
	g_assert_cmphex(ld(m, e820 + 80, 8), ==, HIGH_MEMORY);
	g_assert_cmphex(ld(m, e820 + 88, 8), ==, 0xc0000000 - HIGH_MEMORY);
	g_assert_cmphex(ld(m, e820 + 100, 8), ==, ABOVE_4G);
	g_assert_cmphex(ld(m, e820 + 108, 8), ==, 2 * GiB);
	g_assert_cmphex(ld(m, e820 + 116, 4), ==, 1);

	/* The RAM behind the hole is the block's rest. */
	address_space_st(m->vm->memory, ABOVE_4G, 0x1234, 4);
	g_assert_cmphex(*(u32 *)(ram_find(m->vm->ram, "microvm.ram")->host + 3 * GiB), ==, 0x1234);
	g_assert_cmpint(address_space_st(m->vm->memory, 0xc0000000, 1, 4), ==, MEM_UNMAPPED);
	free_machine(m);
}

static void test_pvh(void)
{
	struct machine *m = new_machine("acpi=off");
	u64 map, info = PVH_START_INFO;

	m->opt.kernel = elf_image(true, EM_X86_64);
	m->opt.initrd = file_with("initrd", "ramdisk!", 8);
	m->opt.append = g_strdup("hello");
	g_assert_null(start(m));
	g_assert_cmphex(ld(m, info, 4), ==, 0x336ec578);
	g_assert_cmpuint(ld(m, info + 4, 4), ==, 1);
	g_assert_cmpuint(ld(m, info + 12, 4), ==, 1);
	g_assert_cmphex(ld(m, ld(m, info + 16, 8), 8), ==, 0x7fff000);
	g_assert_cmphex(ld(m, ld(m, info + 16, 8) + 8, 8), ==, 8);
	expect_text(guest_string(m, ld(m, info + 24, 8)), "hello");
	g_assert_cmphex(ld(m, info + 32, 8), ==, 0); /* no ACPI */
	map = ld(m, info + 40, 8);
	g_assert_cmpuint(ld(m, info + 48, 4), ==, 4);
	g_assert_cmphex(ld(m, map + 3 * 24, 8), ==, HIGH_MEMORY);
	g_assert_cmpuint(ld(m, map + 3 * 24 + 16, 4), ==, 1);

	g_assert_cmphex(ld(m, 0x10000c, 4), ==, 0x77777777);
	address_space_st(m->vm->memory, 0x100020, 0xff, 1);
	g_assert_cmpint(machine_reset(m, NULL), ==, 0);
	g_assert_cmphex(ld(m, 0x100020, 1), ==, 0); /* the tail is cleared again */

	g_assert_cmphex(env_of(m)->eip, ==, 0x100010);
	g_assert_cmphex(env_of(m)->regs[R_EBX], ==, info);
	g_assert_cmphex(env_of(m)->cr[0], ==, 0x11);
	g_assert_cmphex(env_of(m)->segs[R_CS].limit, ==, 0xffffffff);
	g_assert_true(env_of(m)->segs[R_CS].flags & DESC_B);
	free_machine(m);
}

static void expect_refusal(struct machine *m, const char *part)
{
	g_autofree char *msg = start(m);

	g_assert_nonnull(msg);
	if (!strstr(msg, part))
		g_error("'%s' not in: %s", part, msg);
	free_machine(m);
}

static void test_kernel_refusals(void)
{
	struct machine *m = new_machine("");

	m->opt.kernel = g_strdup("/nowhere/vmlinuz");
	expect_refusal(m, "could not load -kernel '/nowhere/vmlinuz'");
	m = new_machine("");
	m->opt.kernel = file_with("text", "just text", 9);
	expect_refusal(m, "is neither a Linux bzImage nor an ELF file with a PVH entry note");
	m = new_machine("");
	m->opt.kernel = elf_image(false, EM_X86_64);
	expect_refusal(m, "without a PVH entry (Xen note 18)");
	m = new_machine("");
	m->opt.kernel = elf_image(true, EM_AARCH64);
	expect_refusal(m, "is an ELF file for machine 183, not for x86");
	m = new_machine("");
	m->opt.kernel = bzimage(0x20f, 0);
	expect_refusal(m, "has boot protocol 2.15 without a 64-bit entry");
	m = new_machine("");
	m->opt.kernel = bzimage(0x20f, 1);
	m->opt.ram_size = 4 * MiB;
	expect_refusal(m, "needs 3 MiB behind address 0x200000, give more memory with -m");
	m = new_machine("");
	m->opt.kernel = bzimage(0x20f, 1);
	m->opt.append = g_strnfill(3000, 'a');
	expect_refusal(m, "has 3000 bytes, the kernel takes 2047: shorten -append");
}

static void test_option_refusals(void)
{
	struct machine *m;

	expect_refusal(new_machine("pcie=on"), "pcie=on is not available");
	expect_refusal(new_machine("ioapic2=on"), "ioapic2=on is not available");
	expect_refusal(new_machine("usb=on"), "usb=on cannot be satisfied");
	expect_refusal(new_machine("x-option-roms=on"), "x-option-roms=on is not available");
	m = new_machine("");
	m->opt.cpu_model = g_strdup("z80");
	expect_refusal(m, "z80");
	m = new_machine("");
	m->opt.max_ram_size = 1 * GiB;
	expect_refusal(m, "no memory slots");
	m = new_machine("");
	m->opt.bios = file_with("bios", "short", 5);
	expect_refusal(m, "has 5 bytes; a firmware image is a multiple of 64 KiB");
}

/* ---- ACPI ---- */

static void expect_checksum(struct machine *m, u64 at, u64 len)
{
	g_autofree u8 *t = g_malloc(len);

	address_space_read(m->vm->memory, at, t, len);
	g_assert_cmpuint(acpi_checksum(t, len), ==, 0);
}

/* Address of a table, reached from the root pointer; its checksum is checked on the way. */
static u64 find_table(struct machine *m, const char *signature)
{
	u64 xsdt = ld(m, ACPI_AREA + 24, 8), len = ld(m, xsdt + 4, 4);
	u32 want;

	memcpy(&want, signature, 4);
	expect_checksum(m, ACPI_AREA, 20);
	expect_checksum(m, ACPI_AREA, 36);
	expect_checksum(m, xsdt, len);
	for (u64 at = xsdt + 36; at < xsdt + len; at += 8) {
		u64 t = ld(m, at, 8);

		if (ld(m, t, 4) == want) {
			expect_checksum(m, t, ld(m, t + 4, 4));
			return t;
		}
	}
	g_assert_not_reached();
}

static struct machine *acpi_machine(const char *props)
{
	struct machine *m = new_machine(props);

	m->opt.kernel = elf_image(true, EM_X86_64);
	m->opt.cpus = 3;
	g_assert_cmpint(machine_init(m, NULL), ==, 0);
	g_assert_null(fake_add(m, "isa-serial", NULL));
	g_assert_null(fake_add(m, "virtio-balloon", NULL));
	g_assert_cmpint(machine_done(m, NULL), ==, 0);
	g_assert_cmpint(machine_reset(m, NULL), ==, 0);
	return m;
}

static void test_acpi(void)
{
	struct machine *m = acpi_machine("acpi=on,rtc=on");
	u64 fadt = find_table(m, "FACP"), madt = find_table(m, "APIC");
	char sig[9] = "";

	address_space_read(m->vm->memory, ACPI_AREA, sig, 8);
	g_assert_cmpstr(sig, ==, "RSD PTR ");
	g_assert_cmpuint(ld(m, fadt + 4, 4), ==, 276);
	g_assert_cmphex(ld(m, fadt + 112, 4), ==, 1 << 20 | 1 << 10);
	g_assert_cmphex(ld(m, fadt + 120, 8), ==, 0xfea00202); /* reset register */
	g_assert_cmphex(ld(m, fadt + 128, 1), ==, 0x42);
	g_assert_cmphex(ld(m, fadt + 248, 8), ==, 0xfea00200); /* sleep control */
	g_assert_cmphex(ld(m, fadt + 260, 8), ==, 0xfea00201);
	g_assert_cmphex(ld(m, fadt + 108, 1), ==, 0x32);
	g_assert_cmphex(ld(m, fadt + 40, 4), ==, ld(m, fadt + 140, 8));
	g_assert_cmphex(ld(m, madt + 36, 4), ==, 0xfee00000);
	g_assert_cmphex(ld(m, madt + 40, 4), ==, 1);
	g_assert_cmphex(ld(m, madt + 44 + 2 * 8, 4), ==, 0x02020800); /* third processor */
	g_assert_cmphex(ld(m, madt + 44 + 3 * 8 + 4, 4), ==, 0xfec00000);
	free_machine(m);

	m = acpi_machine("acpi=on,rtc=off,pic=off");
	g_assert_cmphex(ld(m, find_table(m, "FACP") + 109, 2), ==, 1 << 2 | 1 << 5);
	g_assert_cmphex(ld(m, find_table(m, "APIC") + 40, 4), ==, 0);
	free_machine(m);
}

/* Find bytes in the DSDT. */
static bool dsdt_has(const u8 *dsdt, size_t len, const void *what, size_t n)
{
	return memmem(dsdt, len, what, n);
}

static void test_dsdt(void)
{
	struct machine *m = acpi_machine("acpi=on");
	u64 at = ld(m, find_table(m, "FACP") + 140, 8), len = ld(m, at + 4, 4);
	g_autofree u8 *dsdt = g_malloc(len);
	const u8 memory[] = { 0x86, 9, 0, 1, 0, 0x0e, 0xb0, 0xfe, 0, 2, 0, 0 };
	const u8 irq[] = { 0x89, 6, 0, 9, 1, 23, 0, 0, 0 };
	const u8 com[] = { 0x0c, 0x41, 0xd0, 0x05, 0x01 }; /* PNP0501 */
	const u8 s5[] = { 8, '_', 'S', '5', '_', 0x12, 7, 4, 0x0a, 5, 0, 0, 0 };

	expect_checksum(m, at, len);
	address_space_read(m->vm->memory, at, dsdt, len);
	/* The first device is on the eighth transport, with the last of its lines. */
	g_assert_true(dsdt_has(dsdt, len, "VR07", 4));
	g_assert_false(dsdt_has(dsdt, len, "VR06", 4));
	g_assert_true(dsdt_has(dsdt, len, memory, sizeof(memory)));
	g_assert_true(dsdt_has(dsdt, len, irq, sizeof(irq)));
	g_assert_true(dsdt_has(dsdt, len, com, sizeof(com)));
	g_assert_true(dsdt_has(dsdt, len, s5, sizeof(s5)));
	free_machine(m);
}

/* ACPI's own compiler reads the table back without complaint, where it is installed. */
static void test_dsdt_disassembles(void)
{
	struct machine *m = acpi_machine("acpi=on");
	u64 at = ld(m, find_table(m, "FACP") + 140, 8), len = ld(m, at + 4, 4);
	g_autofree u8 *dsdt = g_malloc(len);
	g_autofree char *iasl = g_find_program_in_path("iasl");
	g_autofree char *path = NULL, *text = NULL, *out = NULL, *dsl = NULL;
	int status = -1;

	address_space_read(m->vm->memory, at, dsdt, len);
	free_machine(m);
	path = file_with("dsdt.aml", dsdt, len);
	if (!iasl) {
		g_test_skip("iasl is not installed");
		return;
	}
	char *argv[] = { iasl, "-d", path, NULL };

	g_assert_true(g_spawn_sync(dir, argv, NULL, 0, NULL, NULL, &out, &text, &status, NULL));
	g_assert_cmpint(status, ==, 0);
	dsl = g_build_filename(dir, "dsdt.dsl", NULL);
	g_free(g_steal_pointer(&text));
	g_assert_true(g_file_get_contents(dsl, &text, NULL, NULL));
	g_assert_nonnull(strstr(text, "Name (_HID, \"LNRO0005\")"));
	g_assert_nonnull(strstr(text, "Notify (\\_SB.PWRB, 0x80)"));
	g_assert_nonnull(strstr(text, "Local0 = ESEL"));
	g_assert_null(strstr(text, "Invalid"));
	g_remove(dsl);
}

static void test_mp_table(void)
{
	struct machine *m = acpi_machine("acpi=off,rtc=on");
	u64 table = ld(m, MP_TABLE + 4, 4), entry;
	unsigned level = 0;

	g_assert_cmphex(ld(m, MP_TABLE, 4), ==, 0x5f504d5f); /* _MP_ */
	expect_checksum(m, MP_TABLE, 16);
	g_assert_cmphex(ld(m, table, 4), ==, 0x504d4350); /* PCMP */
	expect_checksum(m, table, ld(m, table + 4, 2));
	g_assert_cmpuint(ld(m, table + 34, 2), ==, 3 + 2 + 15 + 2);
	g_assert_cmphex(ld(m, table + 44, 4), ==, 0x03140000); /* first: boot processor */
	entry = table + 44 + 3 * 20 + 8;
	g_assert_cmphex(ld(m, entry, 2), ==, 0x0302); /* IOAPIC, its id behind the processors' */
	for (entry += 8; ld(m, entry, 1) == 3; entry += 8)
		level += ld(m, entry + 2, 2) == 0xd;
	g_assert_cmpuint(level, ==, 7); /* 5 to 12 without the clock's */
	free_machine(m);
}

static void test_auto_cmdline(void)
{
	struct machine *m = new_machine("acpi=off,rtc=off");

	m->opt.kernel = bzimage(0x20f, 1);
	m->opt.append = g_strdup("quiet -- init-arg");
	g_assert_cmpint(machine_init(m, NULL), ==, 0);
	g_assert_null(fake_add(m, "virtio-balloon-device", NULL));
	g_assert_null(fake_add(m, "virtio-serial", NULL));
	g_assert_cmpint(machine_done(m, NULL), ==, 0);
	g_assert_cmpint(machine_reset(m, NULL), ==, 0);
	expect_text(guest_string(m, CMDLINE), "virtio_mmio.device=512@0xfeb00c00:11 "
					      "virtio_mmio.device=512@0xfeb00e00:12 "
					      "quiet -- init-arg");
	free_machine(m);
}

static void test_transports_fill(void)
{
	struct machine *m = new_machine("");
	struct device *dev;

	g_assert_cmpint(machine_init(m, NULL), ==, 0);
	for (int i = 0; i < 24; i++) {
		g_autofree char *want = g_strdup_printf("virtio-mmio-bus.%d", i < 8 ? 7 - i : i);

		g_assert_null(fake_add(m, "virtio-serial", &dev));
		g_assert_cmpstr(dev->on_bus->name, ==, want);
	}
	expect_text(
		fake_add(m, "virtio-serial", NULL),
		"No free 'virtio-bus' bus found for device 'virtio-serial-device': all are full");
	free_machine(m);
}

static void test_power_button(void)
{
	struct machine *m = acpi_machine("acpi=on");

	g_assert_true(machine_powerdown(m));
	g_assert_cmphex(ld(m, GED_BASE, 4), ==, 2);
	free_machine(m);
	m = acpi_machine("acpi=off");
	g_assert_false(machine_powerdown(m));
	free_machine(m);
}

static void test_bios(void)
{
	struct machine *m = new_machine("");
	static u8 image[256 * KiB];

	image[0] = 0x11;
	image[128 * KiB] = 0x22;
	image[sizeof(image) - 16] = 0xea;
	m->opt.bios = file_with("bios", image, sizeof(image));
	g_assert_null(start(m));
	g_assert_cmphex(ld(m, 0xfffc0000, 1), ==, 0x11);
	g_assert_cmphex(ld(m, 0xfffffff0, 1), ==, 0xea);
	g_assert_cmphex(ld(m, 0xe0000, 1), ==, 0x22);
	g_assert_cmphex(ld(m, 0xffff0, 1), ==, 0xea);
	address_space_st(m->vm->memory, 0xffff0, 0, 1); /* it is a ROM */
	g_assert_cmphex(ld(m, 0xffff0, 1), ==, 0xea);
	g_assert_cmphex(env_of(m)->eip, ==, 0xfff0);
	g_assert_cmphex(env_of(m)->segs[R_CS].base, ==, 0xffff0000);
	free_machine(m);
}

/* ---- what firmware is offered ---- */

static void read_selector(struct machine *m, u16 key, void *buf, size_t len)
{
	address_space_st(m->vm->io, 0x510, key, 2);
	for (size_t i = 0; i < len; i++)
		((u8 *)buf)[i] = address_space_ld(m->vm->io, 0x511, 1, NULL);
}

static u8 *read_file(struct machine *m, const char *name, size_t *len)
{
	struct {
		u32 count;
		struct {
			u32 size;
			u16 select, reserved;
			char name[56];
		} files[16];
	} dir;

	read_selector(m, 0x19, &dir, sizeof(dir));
	for (u32 i = 0; i < GUINT32_FROM_BE(dir.count); i++) {
		if (!strcmp(dir.files[i].name, name)) {
			u8 *buf = g_malloc(*len = GUINT32_FROM_BE(dir.files[i].size));

			read_selector(m, GUINT16_FROM_BE(dir.files[i].select), buf, *len);
			return buf;
		}
	}
	g_assert_not_reached();
}

/* Do what firmware does with the loader's commands; files lie at @tables_at and wherever. */
static void run_loader(const u8 *script, size_t len, u8 *tables, u8 *rsdp, u64 tables_at)
{
	for (const u8 *c = script; c < script + len; c += 128) {
		u8 *file = strcmp((const char *)c + 4, "etc/acpi/rsdp") ? tables : rsdp;
		u32 cmd, at, start, n;
		u64 v = 0;

		memcpy(&cmd, c, 4);
		if (cmd == 2) {
			memcpy(&at, c + 116, 4);
			memcpy(&v, file + at, c[120]);
			v += tables_at;
			memcpy(file + at, &v, c[120]);
		} else if (cmd == 3) {
			memcpy(&at, c + 60, 4);
			memcpy(&start, c + 64, 4);
			memcpy(&n, c + 68, 4);
			file[at] += acpi_checksum(file + start, n);
		} else {
			g_assert_cmpuint(cmd, ==, 1);
		}
	}
}

static u64 le(const u8 *p, unsigned size)
{
	u64 v = 0;

	memcpy(&v, p, size);
	return v;
}

static void test_firmware_acpi(void)
{
	const u64 at = 0x7fe0000;
	struct machine *m = new_machine("acpi=on");
	static u8 image[64 * KiB];
	size_t tables_len, rsdp_len, script_len;
	g_autofree u8 *tables = NULL, *rsdp = NULL, *script = NULL;
	const u8 *xsdt, *fadt;

	m->opt.bios = file_with("bios", image, sizeof(image));
	g_assert_null(start(m));
	tables = read_file(m, "etc/acpi/tables", &tables_len);
	rsdp = read_file(m, "etc/acpi/rsdp", &rsdp_len);
	script = read_file(m, "etc/table-loader", &script_len);
	g_assert_cmpuint(script_len % 128, ==, 0);
	run_loader(script, script_len, tables, rsdp, at);

	g_assert_cmpuint(rsdp_len, ==, 36);
	g_assert_cmpuint(acpi_checksum(rsdp, 20), ==, 0);
	g_assert_cmpuint(acpi_checksum(rsdp, 36), ==, 0);
	xsdt = tables + (le(rsdp + 24, 8) - at);
	g_assert_cmpmem(xsdt, 4, "XSDT", 4);
	g_assert_cmpuint(acpi_checksum(xsdt, le(xsdt + 4, 4)), ==, 0);
	fadt = tables + (le(xsdt + 36, 8) - at);
	g_assert_cmpmem(fadt, 4, "FACP", 4);
	g_assert_cmpuint(acpi_checksum(fadt, 276), ==, 0);
	g_assert_cmpmem(tables + (le(fadt + 140, 8) - at), 4, "DSDT", 4);
	g_assert_cmphex(le(fadt + 40, 4), ==, le(fadt + 140, 8));
	free_machine(m);
}

static void test_firmware_kernel(void)
{
	struct machine *m = new_machine("acpi=on");
	static u8 image[64 * KiB];
	size_t map_len;
	g_autofree u8 *map = NULL;
	u8 setup[SETUP_BYTES], code[4];
	char text[8];
	u32 n;

	m->opt.bios = file_with("bios", image, sizeof(image));
	m->opt.kernel = bzimage(0x20f, 1);
	m->opt.initrd = file_with("initrd", "ramdisk!", 8);
	m->opt.append = g_strdup("hello");
	g_assert_null(start(m));
	read_selector(m, 0x17, &n, 4);
	g_assert_cmpuint(n, ==, SETUP_BYTES);
	read_selector(m, 0x18, setup, SETUP_BYTES);
	g_assert_cmphex(le(setup + 0x210, 1), ==, 0xb0);
	g_assert_cmphex(le(setup + 0x218, 4), ==, 0x7fff000);
	g_assert_cmphex(le(setup + 0x228, 4), ==, 0x20000);
	read_selector(m, 0x08, &n, 4);
	g_assert_cmpuint(n, ==, CODE_BYTES);
	read_selector(m, 0x11, code, 4);
	g_assert_cmphex(code[3], ==, 0x5a);
	read_selector(m, 0x15, text, 6);
	g_assert_cmpstr(text, ==, "hello");
	map = read_file(m, "etc/e820", &map_len);
	g_assert_cmpuint(map_len, ==, 4 * 20);
	g_assert_cmphex(env_of(m)->eip, ==, 0xfff0);
	free_machine(m);
}

/*
 * A kernel that uses ACPI alone never sets up the i8259: the machine must have masked it, else the
 * timer's first tick arrives with vector 0.
 */
static void test_kvm_pic_is_masked(void)
{
	struct machine *m = new_machine_on(&kvm_accel_ops, "");
	struct kvm_irqchip chip = { .chip_id = KVM_IRQCHIP_PIC_MASTER };

	if (!m) {
		g_test_skip("no KVM here");
		return;
	}
	m->opt.cpu_model = g_strdup("host");
	m->opt.kernel = elf_image(true, EM_X86_64);
	g_assert_null(start(m));
	g_assert_cmpint(ioctl(kvm_fd_of_vm(m->vm->accel), KVM_GET_IRQCHIP, &chip), ==, 0);
	g_assert_cmphex(chip.chip.pic.imr, ==, 0xff);
	g_assert_cmphex(chip.chip.pic.irq_base, ==, 8);
	chip.chip_id = KVM_IRQCHIP_PIC_SLAVE;
	g_assert_cmpint(ioctl(kvm_fd_of_vm(m->vm->accel), KVM_GET_IRQCHIP, &chip), ==, 0);
	g_assert_cmphex(chip.chip.pic.imr, ==, 0xff);
	free_machine(m);
}

int main(int argc, char **argv)
{
	int ret;

	g_test_init(&argc, &argv, NULL);
	dir = g_dir_make_tmp("test-microvm-XXXXXX", NULL);
	g_test_add_func("/microvm/linux", test_linux);
	g_test_add_func("/microvm/memory-map", test_memory_map);
	g_test_add_func("/microvm/pvh", test_pvh);
	g_test_add_func("/microvm/kernel-refusals", test_kernel_refusals);
	g_test_add_func("/microvm/option-refusals", test_option_refusals);
	g_test_add_func("/microvm/acpi", test_acpi);
	g_test_add_func("/microvm/dsdt", test_dsdt);
	g_test_add_func("/microvm/dsdt-disassembles", test_dsdt_disassembles);
	g_test_add_func("/microvm/mp-table", test_mp_table);
	g_test_add_func("/microvm/auto-cmdline", test_auto_cmdline);
	g_test_add_func("/microvm/transports-fill", test_transports_fill);
	g_test_add_func("/microvm/power-button", test_power_button);
	g_test_add_func("/microvm/bios", test_bios);
	g_test_add_func("/microvm/firmware-acpi", test_firmware_acpi);
	g_test_add_func("/microvm/firmware-kernel", test_firmware_kernel);
	g_test_add_func("/microvm/kvm-pic-is-masked", test_kvm_pic_is_masked);
	ret = g_test_run();
	for (const char *const *f = (const char *const[]){ "bzImage", "kernel.elf", "initrd",
							   "text", "bios", "dsdt.aml", NULL };
	     *f; f++) {
		g_autofree char *path = g_build_filename(dir, *f, NULL);

		g_remove(path);
	}
	g_rmdir(dir);
	return ret;
}
