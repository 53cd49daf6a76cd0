/*
 * target/arm/sem_mops.c - FEAT_MOPS memory copy and set, option A (Arm DDI 0487, C6.1.2).
 *
 * The prologue only normalises the registers; the main instruction does all of the work, a page
 * at most between two updates of the registers, so that a fault restarts where it happened.
 */
#include "accel/tcg/mem.h"
#include "target/arm/sem.h"

#define SIZE_MAX_FORWARD 0x7fffffffffffffffull
#define SIZE_MAX_COPY    0x007fffffffffffffull
#define ADDRESS_BITS     0x00ffffffffffffffull

/* Bytes from @va to the end of its page. */
static u64 left_in_page(u64 va)
{
	return TCG_PAGE_SIZE - (va & ~TCG_PAGE_MASK);
}

/* The main and last instruction need the flags of option A: all clear. */
static void check_option(struct arm_cpu *cpu, u32 iss)
{
	if (cpu_nzcv(cpu) & 2)
		arm_raise(cpu, EC_MOPS, iss | 1u << 17, 0); /* WrongOption */
}

static void set_bytes(struct arm_cpu *cpu, u64 va, u8 byte, u64 n)
{
	u8 *host = tcg_host(&cpu->tcg, va, 1, TCG_WRITE);

	if (host)
		memset(host, byte, n);
	else
		for (u64 k = 0; k < n; k++)
			tcg_store(&cpu->tcg, va + k, byte, 1);
}

void exec_SET(struct arm_cpu *cpu, const struct a64_SET *i)
{
	u64 n = cpu_x(cpu, i->rn), end = cpu_x(cpu, i->rd);
	u8 byte = cpu_x(cpu, i->rs);

	if (i->stage == 0) {
		if (n > SIZE_MAX_FORWARD)
			n = SIZE_MAX_FORWARD;
		cpu_set_x(cpu, i->rd, end + n);
		cpu_set_x(cpu, i->rn, -n);
		cpu_set_nzcv(cpu, 0);
		return;
	}
	check_option(cpu, 1u << 24 | (u32)i->rd << 10 | (u32)i->rn << 5 | i->rs);
	while ((s64)n < 0) {
		u64 va = end + n;
		u64 chunk = MIN(left_in_page(va), -n);

		set_bytes(cpu, va, byte, chunk);
		n += chunk;
		cpu_set_x(cpu, i->rn, n);
	}
}

static void copy_prologue(struct arm_cpu *cpu, const struct a64_CPY *i)
{
	u64 dst = cpu_x(cpu, i->rd), src = cpu_x(cpu, i->rs), n = cpu_x(cpu, i->rn);
	u64 d = dst & ADDRESS_BITS, s = src & ADDRESS_BITS;
	bool backward;

	if (i->any)
		n = MIN(n, SIZE_MAX_COPY);
	else
		n = MIN(n, SIZE_MAX_FORWARD);
	backward = i->any && s < d && s + n > d;
	if (!backward) {
		cpu_set_x(cpu, i->rd, dst + n);
		cpu_set_x(cpu, i->rs, src + n);
		n = -n;
	}
	cpu_set_x(cpu, i->rn, n);
	cpu_set_nzcv(cpu, 0);
}

/* Copy @n bytes that cross no page at either end; overlap is as if byte by byte, upwards or
 * downwards. */
static void copy_bytes(struct arm_cpu *cpu, u64 dst, u64 src, u64 n, bool backward)
{
	u8 *from, *to;

	to = tcg_host(&cpu->tcg, dst, 1, TCG_WRITE);
	from = tcg_host(&cpu->tcg, src, 1, TCG_READ);
	for (u64 k = 0; k < n; k++) {
		u64 at = backward ? n - 1 - k : k;
		u8 byte = from ? from[at] : tcg_load(&cpu->tcg, src + at, 1);

		if (to)
			to[at] = byte;
		else
			tcg_store(&cpu->tcg, dst + at, byte, 1);
	}
}

void exec_CPY(struct arm_cpu *cpu, const struct a64_CPY *i)
{
	u64 dst = cpu_x(cpu, i->rd), src = cpu_x(cpu, i->rs), n = cpu_x(cpu, i->rn);

	if (i->stage == 0) {
		copy_prologue(cpu, i);
		return;
	}
	check_option(cpu, (u32)i->rd << 10 | (u32)i->rs << 5 | i->rn);
	while ((s64)n < 0) {
		u64 chunk = MIN(MIN(left_in_page(dst + n), left_in_page(src + n)), -n);

		copy_bytes(cpu, dst + n, src + n, chunk, false);
		n += chunk;
		cpu_set_x(cpu, i->rn, n);
	}
	while ((s64)n > 0) {
		u64 d = ((dst + n - 1) & ~TCG_PAGE_MASK) + 1,
		    s = ((src + n - 1) & ~TCG_PAGE_MASK) + 1;
		u64 chunk = MIN(MIN(d, s), n);

		n -= chunk;
		copy_bytes(cpu, dst + n, src + n, chunk, true);
		cpu_set_x(cpu, i->rn, n);
	}
}
