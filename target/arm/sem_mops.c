/*
 * target/arm/sem_mops.c - FEAT_MOPS memory copy and set, option A (Arm DDI 0487, C6.1.2).
 *
 * The prologue only normalises the registers; the main instruction does all of the work, a page
 * at most between two updates of the registers, so that a fault restarts where it happened.
 */
#include "accel/tcg/mem.h"
#include "target/arm/el2.h"
#include "target/arm/mmu.h"
#include "target/arm/sem.h"

#define SIZE_MAX_FORWARD 0x7fffffffffffffffull
#define SIZE_MAX_COPY    0x007fffffffffffffull
#define ADDRESS_BITS     0x00ffffffffffffffull
#define SCTLR_MSCEN      (1ull << 33)

/* Bytes from @va to the end of its page. */
static u64 left_in_page(u64 va)
{
	return TCG_PAGE_SIZE - (va & ~TCG_PAGE_MASK);
}

/* EL2 allows the instructions below it, and EL0 needs the leave of its own control, too. Without a
 * machine around there are no controls. */
static void check_enabled(struct arm_cpu *cpu)
{
	unsigned el = cpu_el(cpu);

	if (!cpu->mmu)
		return;
	if ((el == 0 && !(cpu->sctlr_el[arm_control_el(cpu)] & SCTLR_MSCEN)) ||
	    (el < 2 && !(arm_hcrx(cpu) & HCRX_MSCEN)))
		arm_undefined(cpu);
}

/* The main and last instruction need the flags of option A: all clear. */
static void check_option(struct arm_cpu *cpu, u32 iss)
{
	if (!(cpu_nzcv(cpu) & 2))
		return;
	if (cpu_el(cpu) == 1 && cpu->has_el2 && cpu->hcrx_el2 & HCRX_MCE2)
		cpu->excp.target_el = 2;
	arm_raise(cpu, EC_MOPS, iss | 1u << 17, 0); /* WrongOption */
}

/* The options T, WT and RT: accesses with the rights of EL0, as of LDTR and STTR. */
static void begin_access(struct arm_cpu *cpu, bool unprivileged)
{
	if (unprivileged && cpu->mmu && cpu_el(cpu) && !(cpu->pstate & PSTATE_UAO))
		arm_mmu_begin_unpriv(cpu);
}

static void end_access(struct arm_cpu *cpu)
{
	if (cpu->mmu)
		arm_mmu_end_unpriv(cpu);
}

/* Host address of @va; NULL: not memory. */
static u8 *host_of(struct arm_cpu *cpu, u64 va, enum tcg_access access, bool unprivileged)
{
	u8 *host;

	begin_access(cpu, unprivileged);
	host = tcg_host(&cpu->tcg, va, 1, access);
	end_access(cpu);
	return host;
}

static void store_byte(struct arm_cpu *cpu, u64 va, u8 byte, bool unprivileged)
{
	begin_access(cpu, unprivileged);
	tcg_store(&cpu->tcg, va, byte, 1);
	end_access(cpu);
}

static u8 load_byte(struct arm_cpu *cpu, u64 va, bool unprivileged)
{
	u8 byte;

	begin_access(cpu, unprivileged);
	byte = tcg_load(&cpu->tcg, va, 1);
	end_access(cpu);
	return byte;
}

static void set_bytes(struct arm_cpu *cpu, u64 va, u8 byte, u64 n, bool unprivileged)
{
	u8 *host = host_of(cpu, va, TCG_WRITE, unprivileged);

	if (host)
		memset(host, byte, n);
	else
		for (u64 k = 0; k < n; k++)
			store_byte(cpu, va + k, byte, unprivileged);
}

void exec_SET(struct arm_cpu *cpu, const struct a64_SET *i)
{
	u64 n = cpu_x(cpu, i->rn), end = cpu_x(cpu, i->rd);
	u8 byte = cpu_x(cpu, i->rs);

	check_enabled(cpu);
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

		set_bytes(cpu, va, byte, chunk, i->t);
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
static void copy_bytes(struct arm_cpu *cpu, unsigned opts, u64 dst, u64 src, u64 n, bool backward)
{
	bool user_write = opts & 1, user_read = opts & 2;
	u8 *to = host_of(cpu, dst, TCG_WRITE, user_write);
	u8 *from = host_of(cpu, src, TCG_READ, user_read);

	for (u64 k = 0; k < n; k++) {
		u64 at = backward ? n - 1 - k : k;
		u8 byte = from ? from[at] : load_byte(cpu, src + at, user_read);

		if (to)
			to[at] = byte;
		else
			store_byte(cpu, dst + at, byte, user_write);
	}
}

void exec_CPY(struct arm_cpu *cpu, const struct a64_CPY *i)
{
	u64 dst = cpu_x(cpu, i->rd), src = cpu_x(cpu, i->rs), n = cpu_x(cpu, i->rn);

	check_enabled(cpu);
	if (i->stage == 0) {
		copy_prologue(cpu, i);
		return;
	}
	check_option(cpu, (u32)i->rd << 10 | (u32)i->rs << 5 | i->rn);
	while ((s64)n < 0) {
		u64 chunk = MIN(MIN(left_in_page(dst + n), left_in_page(src + n)), -n);

		copy_bytes(cpu, i->opts, dst + n, src + n, chunk, false);
		n += chunk;
		cpu_set_x(cpu, i->rn, n);
	}
	while ((s64)n > 0) {
		u64 d = ((dst + n - 1) & ~TCG_PAGE_MASK) + 1,
		    s = ((src + n - 1) & ~TCG_PAGE_MASK) + 1;
		u64 chunk = MIN(MIN(d, s), n);

		n -= chunk;
		copy_bytes(cpu, i->opts, dst + n, src + n, chunk, true);
		cpu_set_x(cpu, i->rn, n);
	}
}
