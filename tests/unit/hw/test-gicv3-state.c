/* tests/unit/hw/test-gicv3-state.c - the GICv3 goes on where it was after its state travelled. */
#include "tests/unit/hw/gic-machine.h"

#include "migration/stream.h"

static GByteArray *save(struct device *dev)
{
	struct state_writer w;
	GByteArray *bytes;

	state_writer_init(&w);
	g_assert_cmpint(state_save_nested(&w, dev->type->state, dev, NULL), ==, 0);
	bytes = g_byte_array_append(g_byte_array_new(), w.buf->data, w.buf->len);
	state_writer_finish(&w);
	return bytes;
}

static int load(struct device *dev, const GByteArray *bytes, GError **err)
{
	const struct state_desc *desc = dev->type->state;
	struct state_reader r;
	int ret;

	state_reader_init_memory(&r, bytes->data, bytes->len);
	ret = state_load_nested(&r, desc, dev, desc->version, err);
	if (!ret && desc->post_load)
		ret = desc->post_load(dev, desc->version, err);
	g_assert_true(ret || state_position(&r) == bytes->len);
	state_reader_finish(&r);
	return ret;
}

/* Bytes of the section: what QEMU 7.2 sends for as many CPUs. */
static void test_size(void)
{
	g_autoptr(GByteArray) bytes = NULL;

	gic_machine(false);
	bytes = save(gic);
	g_assert_cmpuint(bytes->len, ==, 10344 + GIC_CPUS * (272 + 35) + 44);
	gic_machine_free();
}

static void test_moves(void)
{
	g_autoptr(GByteArray) bytes = NULL, again = NULL;

	gic_machine(false);
	gic_enable();
	gic_setup_spi(1, 0xa0, false, 0);
	gic_setup_spi(2, 0x40, true, 0);
	gic_setup_spi(3, 0x40, true, 2);
	gic_setup_spi(100, 0x80, false, 3);
	arm_gicv3_set_spi(gic, 1, true);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 33);
	arm_gicv3_set_spi(gic, 2, true);
	arm_gicv3_set_spi(gic, 2, false);
	arm_gicv3_set_spi(gic, 3, true);
	arm_gicv3_set_spi(gic, 100, true);
	arm_gicv3_set_ppi(gic, 1, 27, true);
	msr(gic_cpu[0], ICC_SGI1R, 7ull << 24 | 1u << 1);
	msr(gic_cpu[3], ICC_PMR, 0x80);
	bytes = save(gic);
	gic_machine_free();

	gic_machine(false);
	g_assert_cmpint(load(gic, bytes, NULL), ==, 0);
	again = save(gic);
	g_assert_cmpmem(bytes->data, bytes->len, again->data, again->len);
	g_assert_true(irq_line(0) && irq_line(1) && irq_line(2) && !irq_line(3));
	g_assert_cmphex(mrs(gic_cpu[0], ICC_RPR), ==, 0xa0);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 34);
	msr(gic_cpu[0], ICC_EOIR1, 34);
	msr(gic_cpu[0], ICC_EOIR1, 33);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 33); /* its line is still high */
	g_assert_cmpuint(mrs(gic_cpu[1], ICC_IAR1), ==, 7);
	msr(gic_cpu[1], ICC_EOIR1, 7);
	g_assert_cmpuint(mrs(gic_cpu[1], ICC_IAR1), ==, 27);
	g_assert_cmpuint(mrs(gic_cpu[2], ICC_IAR1), ==, 35);
	msr(gic_cpu[3], ICC_PMR, 0xf0);
	g_assert_cmpuint(mrs(gic_cpu[3], ICC_IAR1), ==, 132);
	gic_machine_free();
}

/* What is wrong in the stream is told, and does no harm. */
static void test_refusals(void)
{
	g_autoptr(GByteArray) bytes = NULL;
	g_autoptr(GError) err = NULL;

	gic_machine(false);
	bytes = save(gic);
	bytes->data[3] = 0x10; /* gicd_ctlr without DS */
	g_assert_cmpint(load(gic, bytes, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "two security states"));
	bytes->data[3] = 0x53;
	memset(bytes->data + 4, 0xff, 10340); /* any value of the distributor's other fields */
	g_assert_cmpint(load(gic, bytes, NULL), ==, 0);
	g_assert_cmphex(rd(GICD + 0x420, 1), ==, 0xf8);
	g_assert_cmphex(rd32(GICD + 0x124), ==, 0);
	arm_gicv3_set_spi(gic, 255, false);
	gic_machine_free();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/gicv3-state/size", test_size);
	g_test_add_func("/gicv3-state/moves", test_moves);
	g_test_add_func("/gicv3-state/refusals", test_refusals);
	return g_test_run();
}
