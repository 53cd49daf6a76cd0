/*
 * target/arm/state-foreign.c - registers of QEMU's CPU models that do not exist here.
 *
 * Read from streams of fresh machines virt-7.2 and virt-11.1 of the emulators of these versions.
 */
#include "target/arm/state-foreign.h"

#include "target/arm/sysreg.h"

#define A64(op0, op1, crn, crm, op2) (ARM_WIRE_A64 | SYSREG(op0, op1, crn, crm, op2))
#define A32(low)                     (ARM_WIRE_A32 | (low))
#define A32D(low)                    (ARM_WIRE_A32_D | (low))

enum { A53 = 1, A57 = 2, A72 = 4, A76 = 8, N1 = 16, MODELS = 5 };
enum { V8_0_MODELS = A53 | A57 | A72, V8_2_MODELS = A76 | N1, ALL_MODELS = 31 };
enum { OLD = 1, NEW = 2, BOTH = 3 }; /* lists */

static const u32 midr[MODELS] = { 0x410fd034, 0x411fd070, 0x410fd083, 0x414fd0b1, 0x414fd0c1 };

/* Those that are not zero at reset, by model. */
static const struct {
	u64 index;
	u8 lists, models;
	u64 value[MODELS];
} values[] = {
	{ A32(0x200e0000), BOTH, V8_0_MODELS, { 0x3516d000, 0x3516d000, 0x3516d000, 0x0, 0x0 } },
	{ A32(0x200e0884), BOTH, ALL_MODELS, { 0xa, 0xa, 0xa, 0xa, 0xa } },
	{ A32(0x200e3801), BOTH, ALL_MODELS, { 0x1, 0x2, 0x2, 0x0, 0x0 } },
	{ A32(0x200e3802), BOTH, V8_0_MODELS, { 0x110f13, 0x1110f13, 0x1110f13, 0x0, 0x0 } },
	{ A32(0x200f0001),
	  BOTH,
	  ALL_MODELS,
	  { 0x84448004, 0x8444c004, 0x8444c004, 0x8444c004, 0x8444c004 } },
	{ A32(0x200f0006), NEW, ALL_MODELS, { 0x100, 0x0, 0x0, 0x0, 0x0 } },
	{ A32(0x200f0009),
	  BOTH,
	  ALL_MODELS,
	  { 0xa200023, 0xa200023, 0xa200023, 0x82000023, 0x82000023 } },
	{ A32(0x200f0080), BOTH, ALL_MODELS, { 0x131, 0x131, 0x131, 0x10010131, 0x10010131 } },
	{ A32(0x200f0082),
	  OLD,
	  ALL_MODELS,
	  { 0x3010006, 0x3010006, 0x3010006, 0x4010008, 0x4010008 } },
	{ A32(0x200f0082),
	  NEW,
	  ALL_MODELS,
	  { 0x3000006, 0x3000006, 0x3000006, 0x4000008, 0x4000008 } },
	{ A32(0x200f0084),
	  BOTH,
	  ALL_MODELS,
	  { 0x10101105, 0x10101105, 0x10201105, 0x10201105, 0x10201105 } },
	{ A32(0x200f0085),
	  BOTH,
	  ALL_MODELS,
	  { 0x40000000, 0x40000000, 0x40000000, 0x40000000, 0x40000000 } },
	{ A32(0x200f0086),
	  BOTH,
	  ALL_MODELS,
	  { 0x1260000, 0x1260000, 0x1260000, 0x1260000, 0x1260000 } },
	{ A32(0x200f0087),
	  BOTH,
	  ALL_MODELS,
	  { 0x2102211, 0x2102211, 0x2102211, 0x2122211, 0x2122211 } },
	{ A32(0x200f0100),
	  BOTH,
	  ALL_MODELS,
	  { 0x2101110, 0x2101110, 0x2101110, 0x2101110, 0x2101110 } },
	{ A32(0x200f0101),
	  BOTH,
	  ALL_MODELS,
	  { 0x13112111, 0x13112111, 0x13112111, 0x13112111, 0x13112111 } },
	{ A32(0x200f0102),
	  BOTH,
	  ALL_MODELS,
	  { 0x21232042, 0x21232042, 0x21232042, 0x21232042, 0x21232042 } },
	{ A32(0x200f0103),
	  BOTH,
	  ALL_MODELS,
	  { 0x1112131, 0x1112131, 0x1112131, 0x1112131, 0x1112131 } },
	{ A32(0x200f0104), BOTH, ALL_MODELS, { 0x11142, 0x11142, 0x11142, 0x10142, 0x10142 } },
	{ A32(0x200f0105), BOTH, ALL_MODELS, { 0x11121, 0x11121, 0x11121, 0x1011121, 0x1011121 } },
	{ A32(0x200f0106), BOTH, ALL_MODELS, { 0x0, 0x0, 0x0, 0x21110, 0x21110 } },
	{ A32(0x200f0107), BOTH, ALL_MODELS, { 0x0, 0x0, 0x0, 0x10, 0x10 } },
	{ A32(0x200f0184), BOTH, ALL_MODELS, { 0x0, 0x0, 0x0, 0x11, 0x11 } },
	{ A32(0x200f0882), BOTH, ALL_MODELS, { 0xc00, 0xc00, 0xc00, 0xc00, 0xc00 } },
	{ A32(0x200f4e06), BOTH, ALL_MODELS, { 0x20001, 0x20001, 0x20001, 0x20001, 0x20001 } },
	{ A32(0x200f4e07), BOTH, ALL_MODELS, { 0x0, 0x0, 0x0, 0x18, 0x18 } },
	{ A32(0x200f6002), NEW, ALL_MODELS, { 0x1, 0x1, 0x1, 0x1, 0x1 } },
	{ A32(0x200f7988),
	  BOTH,
	  ALL_MODELS,
	  { 0x8000000, 0x8000000, 0x8000000, 0x8000000, 0x8000000 } },
	{ A64(3, 0, 0, 0, 6), NEW, ALL_MODELS, { 0x100, 0x0, 0x0, 0x0, 0x0 } },
	{ A64(3, 0, 0, 1, 0), BOTH, ALL_MODELS, { 0x131, 0x131, 0x131, 0x10010131, 0x10010131 } },
	{ A64(3, 0, 0, 1, 2),
	  OLD,
	  ALL_MODELS,
	  { 0x3010006, 0x3010006, 0x3010006, 0x4010008, 0x4010008 } },
	{ A64(3, 0, 0, 1, 2),
	  NEW,
	  ALL_MODELS,
	  { 0x3000006, 0x3000006, 0x3000006, 0x4000008, 0x4000008 } },
	{ A64(3, 0, 0, 1, 4),
	  BOTH,
	  ALL_MODELS,
	  { 0x10101105, 0x10101105, 0x10201105, 0x10201105, 0x10201105 } },
	{ A64(3, 0, 0, 1, 5),
	  BOTH,
	  ALL_MODELS,
	  { 0x40000000, 0x40000000, 0x40000000, 0x40000000, 0x40000000 } },
	{ A64(3, 0, 0, 1, 6),
	  BOTH,
	  ALL_MODELS,
	  { 0x1260000, 0x1260000, 0x1260000, 0x1260000, 0x1260000 } },
	{ A64(3, 0, 0, 1, 7),
	  BOTH,
	  ALL_MODELS,
	  { 0x2102211, 0x2102211, 0x2102211, 0x2122211, 0x2122211 } },
	{ A64(3, 0, 0, 2, 0),
	  BOTH,
	  ALL_MODELS,
	  { 0x2101110, 0x2101110, 0x2101110, 0x2101110, 0x2101110 } },
	{ A64(3, 0, 0, 2, 1),
	  BOTH,
	  ALL_MODELS,
	  { 0x13112111, 0x13112111, 0x13112111, 0x13112111, 0x13112111 } },
	{ A64(3, 0, 0, 2, 2),
	  BOTH,
	  ALL_MODELS,
	  { 0x21232042, 0x21232042, 0x21232042, 0x21232042, 0x21232042 } },
	{ A64(3, 0, 0, 2, 3),
	  BOTH,
	  ALL_MODELS,
	  { 0x1112131, 0x1112131, 0x1112131, 0x1112131, 0x1112131 } },
	{ A64(3, 0, 0, 2, 4), BOTH, ALL_MODELS, { 0x11142, 0x11142, 0x11142, 0x10142, 0x10142 } },
	{ A64(3, 0, 0, 2, 5),
	  BOTH,
	  ALL_MODELS,
	  { 0x11121, 0x11121, 0x11121, 0x1011121, 0x1011121 } },
	{ A64(3, 0, 0, 2, 6), BOTH, ALL_MODELS, { 0x0, 0x0, 0x0, 0x21110, 0x21110 } },
	{ A64(3, 0, 0, 2, 7), BOTH, ALL_MODELS, { 0x0, 0x0, 0x0, 0x10, 0x10 } },
	{ A64(3, 0, 0, 3, 0),
	  BOTH,
	  ALL_MODELS,
	  { 0x10110222, 0x10110222, 0x10110222, 0x10110222, 0x10110222 } },
	{ A64(3, 0, 0, 3, 1),
	  BOTH,
	  ALL_MODELS,
	  { 0x12111111, 0x12111111, 0x12111111, 0x13211111, 0x13211111 } },
	{ A64(3, 0, 0, 3, 2), BOTH, ALL_MODELS, { 0x43, 0x43, 0x43, 0x43, 0x43 } },
	{ A64(3, 0, 0, 3, 4), BOTH, ALL_MODELS, { 0x0, 0x0, 0x0, 0x11, 0x11 } },
	{ A64(3, 0, 0, 6, 0),
	  OLD,
	  ALL_MODELS,
	  { 0x11120, 0x11120, 0x11120, 0x100010211120, 0x100010211120 } },
	{ A64(3, 0, 12, 0, 2), NEW, ALL_MODELS, { 0x1, 0x1, 0x1, 0x1, 0x1 } },
	{ A64(3, 0, 15, 0, 0), NEW, N1, { 0x0, 0x0, 0x0, 0x0, 0x4 } },
	{ A64(3, 0, 15, 1, 4), NEW, N1, { 0x0, 0x0, 0x0, 0x0, 0x961563010 } },
	{ A64(3, 1, 0, 0, 1),
	  BOTH,
	  ALL_MODELS,
	  { 0xa200023, 0xa200023, 0xa200023, 0x82000023, 0x82000023 } },
	{ A64(3, 1, 15, 3, 0),
	  BOTH,
	  ALL_MODELS,
	  { 0x8000000, 0x8000000, 0x8000000, 0x8000000, 0x8000000 } },
	{ A64(3, 3, 0, 0, 1),
	  BOTH,
	  ALL_MODELS,
	  { 0x84448004, 0x8444c004, 0x8444c004, 0x8444c004, 0x8444c004 } },
	{ A64(3, 3, 9, 12, 0),
	  BOTH,
	  ALL_MODELS,
	  { 0x41033000, 0x41013000, 0x41023000, 0x410b3000, 0x410c3000 } },
	{ A64(3, 3, 9, 12, 6), BOTH, ALL_MODELS, { 0x20001, 0x20001, 0x20001, 0x20001, 0x20001 } },
	{ A64(3, 3, 9, 12, 7), BOTH, ALL_MODELS, { 0x0, 0x0, 0x0, 0x18, 0x18 } },
};

/* Those that are zero. */
static const u64 zero_both_all_models[] = {
	A32(0xf6800),         A32(0xf6801),         A32(0x200e0004),      A32(0x200e0005),
	A32(0x200e0006),      A32(0x200e0007),      A32(0x200e0038),      A32(0x200e0084),
	A32(0x200e0085),      A32(0x200e0086),      A32(0x200e0087),      A32(0x200e0102),
	A32(0x200e0104),      A32(0x200e0105),      A32(0x200e0106),      A32(0x200e0107),
	A32(0x200e0184),      A32(0x200e0185),      A32(0x200e0186),      A32(0x200e0187),
	A32(0x200e0204),      A32(0x200e0205),      A32(0x200e0284),      A32(0x200e0285),
	A32(0x200e0800),      A32(0x200e0838),      A32(0x200e0984),      A32(0x200e1000),
	A32(0x200e1038),      A32(0x200e3800),      A32(0x200f0002),      A32(0x200f0003),
	A32(0x200f000f),      A32(0x200f0083),      A32(0x200f0180),      A32(0x200f0181),
	A32(0x200f0182),      A32(0x200f0183),      A32(0x200f0185),      A32(0x200f0186),
	A32(0x200f0187),      A32(0x200f0200),      A32(0x200f0280),      A32(0x200f0300),
	A32(0x200f0380),      A32(0x200f0400),      A32(0x200f0480),      A32(0x200f0500),
	A32(0x200f0580),      A32(0x200f0600),      A32(0x200f0680),      A32(0x200f0700),
	A32(0x200f0780),      A32(0x200f0801),      A32(0x200f0802),      A32(0x200f0821),
	A32(0x200f1800),      A32(0x200f2801),      A32(0x200f2880),      A32(0x200f2881),
	A32(0x200f3000),      A32(0x200f3001),      A32(0x200f3002),      A32(0x200f4e03),
	A32(0x200f4f00),      A32(0x200f5100),      A32(0x200f5101),      A32(0x200f5180),
	A32(0x200f5181),      A32(0x200f6800),      A32(0x200f6801),      A32(0x200f6802),
	A32(0x200f6803),      A32(0x200f6804),      A32(0x200f7080),      A32D(0x200e0080),
	A32D(0x200e0100),     A64(2, 0, 1, 0, 0),   A64(2, 0, 1, 3, 4),   A64(2, 3, 0, 1, 0),
	A64(3, 0, 0, 1, 3),   A64(3, 0, 0, 3, 3),   A64(3, 0, 0, 3, 5),   A64(3, 0, 0, 3, 6),
	A64(3, 0, 0, 3, 7),   A64(3, 0, 1, 0, 1),   A64(3, 0, 5, 1, 0),   A64(3, 0, 5, 1, 1),
	A64(3, 0, 9, 14, 1),  A64(3, 0, 10, 3, 0),  A64(3, 0, 12, 0, 1),  A64(3, 1, 0, 0, 7),
	A64(3, 3, 4, 4, 0),   A64(3, 3, 4, 4, 1),   A64(3, 3, 9, 12, 1),  A64(3, 3, 9, 12, 5),
	A64(3, 3, 9, 13, 0),  A64(3, 3, 14, 8, 0),  A64(3, 3, 14, 8, 1),  A64(3, 3, 14, 8, 2),
	A64(3, 3, 14, 8, 3),  A64(3, 3, 14, 8, 4),  A64(3, 3, 14, 8, 5),  A64(3, 3, 14, 12, 0),
	A64(3, 3, 14, 12, 1), A64(3, 3, 14, 12, 2), A64(3, 3, 14, 12, 3), A64(3, 3, 14, 12, 4),
	A64(3, 3, 14, 12, 5), A64(3, 3, 14, 15, 7), A64(3, 4, 1, 0, 1),   A64(3, 6, 1, 0, 1),
	A64(3, 6, 1, 3, 1),   A64(3, 6, 10, 2, 0),  A64(3, 7, 14, 2, 1),  A64(3, 7, 14, 2, 2),
};

static const u64 zero_both_v8_0_models[] = {
	A32(0x200f480a),     A32(0x200f480b),     A32(0x200f7808),     A32D(0x200f0780),
	A32D(0x200f0788),    A32D(0x200f0790),    A32D(0x200f0798),    A64(3, 1, 11, 0, 2),
	A64(3, 1, 11, 0, 3), A64(3, 1, 15, 0, 0), A64(3, 1, 15, 2, 0), A64(3, 1, 15, 2, 1),
	A64(3, 1, 15, 2, 2), A64(3, 1, 15, 2, 3),
};

static const u64 zero_both_v8_2_models[] = {
	A32(0x200f0803),     A32(0x200f0823),     A32(0x200f2923),     A32(0x200f2980),
	A32(0x200f4f04),     A32(0x200f4f05),     A32(0x200f6081),     A32(0x200f60a1),
	A64(3, 0, 5, 3, 0),  A64(3, 0, 10, 4, 0), A64(3, 0, 10, 4, 1), A64(3, 0, 10, 4, 2),
	A64(3, 0, 10, 4, 3), A64(3, 0, 10, 4, 7), A64(3, 0, 12, 1, 1), A64(3, 4, 5, 2, 3),
	A64(3, 4, 12, 1, 1), A64(3, 4, 13, 0, 1),
};

static const u64 zero_new_all_models[] = {
	A32(0x200e0002),    A32(0x200e0100),    A32(0x200e0182),    A32(0x200e0280),
	A32(0x200e0302),    A32(0x200e0380),    A32(0x200e3c86),    A32(0x200f6001),
	A64(2, 0, 0, 0, 2), A64(2, 0, 0, 2, 0), A64(2, 0, 0, 3, 2), A64(2, 0, 0, 6, 2),
	A64(2, 0, 7, 9, 6), A64(2, 3, 0, 4, 0), A64(2, 3, 0, 5, 0),
};

static const u64 zero_new_n1[] = {
	A64(3, 0, 15, 1, 0), A64(3, 0, 15, 1, 1), A64(3, 0, 15, 1, 2), A64(3, 0, 15, 2, 0),
	A64(3, 0, 15, 2, 1), A64(3, 0, 15, 2, 2), A64(3, 0, 15, 2, 7), A64(3, 0, 15, 7, 0),
	A64(3, 4, 15, 7, 0), A64(3, 4, 15, 7, 1), A64(3, 5, 15, 7, 0), A64(3, 6, 15, 7, 0),
	A64(3, 6, 15, 8, 0), A64(3, 6, 15, 8, 1), A64(3, 6, 15, 8, 2), A64(3, 6, 15, 8, 3),
};

static const u64 zero_new_v8_0_models[] = {
	A64(2, 4, 0, 7, 0),
	A64(3, 4, 3, 0, 0),
	A64(3, 4, 5, 0, 1),
};

static const u64 zero_old_all_models[] = {
	A32(0x200f0006),    A32(0x200f3a00),    A64(3, 0, 0, 0, 6),
	A64(3, 4, 3, 0, 0), A64(3, 4, 5, 0, 1),
};

#define LIST(lists, models, name)                                                                  \
	{                                                                                          \
		lists, models, ARRAY_SIZE(name), name                                              \
	}

static const struct {
	u8 lists, models;
	unsigned n;
	const u64 *index;
} zeroes[] = {
	LIST(BOTH, ALL_MODELS, zero_both_all_models),
	LIST(BOTH, V8_0_MODELS, zero_both_v8_0_models),
	LIST(BOTH, V8_2_MODELS, zero_both_v8_2_models),
	LIST(NEW, ALL_MODELS, zero_new_all_models),
	LIST(NEW, N1, zero_new_n1),
	LIST(NEW, V8_0_MODELS, zero_new_v8_0_models),
	LIST(OLD, ALL_MODELS, zero_old_all_models),
};

static int model_of(const struct arm_cpu *cpu)
{
	for (int i = 0; i < MODELS; i++)
		if (midr[i] == cpu->midr)
			return i;
	return -1;
}

/* L2CTLR_EL1, in both views, counts the CPUs. */
static u64 zero_or_cpus(u64 index, unsigned cpus)
{
	bool counts = index == A64(3, 1, 11, 0, 2) || index == A32(0x200f480a);

	return counts ? (u64)(cpus - 1) << 24 : 0;
}

void arm_foreign_sysregs(const struct arm_cpu *cpu, unsigned cpus, bool old_list,
			 void (*fn)(void *opaque, u64 index, u64 value), void *opaque)
{
	int model = model_of(cpu);
	u8 list = old_list ? OLD : NEW;

	if (model < 0)
		return;
	for (unsigned i = 0; i < ARRAY_SIZE(values); i++)
		if (values[i].lists & list && values[i].models >> model & 1)
			fn(opaque, values[i].index, values[i].value[model]);
	for (unsigned i = 0; i < ARRAY_SIZE(zeroes); i++)
		for (unsigned k = 0;
		     zeroes[i].lists & list && zeroes[i].models >> model & 1 && k < zeroes[i].n;
		     k++)
			fn(opaque, zeroes[i].index[k], zero_or_cpus(zeroes[i].index[k], cpus));
}
