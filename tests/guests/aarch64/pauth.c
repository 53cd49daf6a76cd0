/*
 * pauth.c - test guest for arm64: signatures of pointers, with known keys.
 *
 * What it prints depends on the algorithm, which ID_AA64ISAR1_EL1 tells.
 */
#include "arm.h"

/* Keys, by the names that the assembler's base level does not have. */
#define APIAKEY_LO "S3_0_C2_C1_0"
#define APIAKEY_HI "S3_0_C2_C1_1"
#define APGAKEY_LO "S3_0_C2_C3_0"
#define APGAKEY_HI "S3_0_C2_C3_1"

static u64 pacga(u64 data, u64 modifier)
{
	register u64 x0 asm("x0") = data;
	register u64 x1 asm("x1") = modifier;

	asm volatile(".inst 0x9ac13000" : "+r"(x0) : "r"(x1)); /* pacga x0, x0, x1 */
	return x0;
}

static u64 pacia(u64 ptr, u64 modifier)
{
	register u64 x0 asm("x0") = ptr;
	register u64 x1 asm("x1") = modifier;

	asm volatile(".inst 0xdac10020" : "+r"(x0) : "r"(x1)); /* pacia x0, x1 */
	return x0;
}

static u64 autia(u64 ptr, u64 modifier)
{
	register u64 x0 asm("x0") = ptr;
	register u64 x1 asm("x1") = modifier;

	asm volatile(".inst 0xdac11020" : "+r"(x0) : "r"(x1)); /* autia x0, x1 */
	return x0;
}

void guest_main(void)
{
	u64 isar1, ptr = 0x40123450, signed_ptr;

	options_parse(arch_options);
	isar1 = mrs("id_aa64isar1_el1");
	say2("APA %lu API %lu", isar1 >> 4 & 15 ? 1 : 0, isar1 >> 8 & 15 ? 1 : 0);
	say2(" GPA %lu GPI %lu\n", isar1 >> 24 & 15, isar1 >> 28 & 15);
	msr(APGAKEY_HI, 0x84be85ce9804e94b);
	msr(APGAKEY_LO, 0xec2802d4e0a488e9);
	say("%lx\n", pacga(0xfb623599da6c8127, 0x477d469dec0b8762));
	say("%lx\n", pacga(0, 0));
	say("%lx\n", pacga(0x123456789abcdef0, 1));
	msr(APIAKEY_HI, 0x0123456789abcdef);
	msr(APIAKEY_LO, 0xfedcba9876543210);
	msr("sctlr_el1", mrs("sctlr_el1") | 1ul << 31);
	signed_ptr = pacia(ptr, 77);
	say("%lx\n", signed_ptr);
	say("right: %lu\n", (u64)(autia(signed_ptr, 77) == ptr));
	say("END\n");
	arm_power_off();
}
