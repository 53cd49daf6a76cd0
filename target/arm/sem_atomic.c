/* target/arm/sem_atomic.c - exclusives and FEAT_LSE atomics (Arm DDI 0487, B2.12, C6.2). */
#include "accel/tcg/mem.h"
#include "target/arm/sem.h"
#include "target/arm/sem_mem.h"

static u64 size_mask(unsigned size)
{
	return size == 8 ? ~(u64)0 : ((u64)1 << (size * 8)) - 1;
}

/* Compare and swap of @size bytes at @host. Return: the old value. */
static u64 host_cas(void *host, u64 old, u64 new, unsigned size)
{
	switch (size) {
	case 1: return __sync_val_compare_and_swap((u8 *)host, (u8)old, (u8) new);
	case 2: return __sync_val_compare_and_swap((u16 *)host, (u16)old, (u16) new);
	case 4: return __sync_val_compare_and_swap((u32 *)host, (u32)old, (u32) new);
	default: return __sync_val_compare_and_swap((u64 *)host, old, new);
	}
}

/* The same for 16 aligned bytes; @old receives what was there. Return: true if swapped. */
#ifdef __x86_64__
__attribute__((target("cx16")))
#endif
static bool
host_cas16(void *host, u64 old[2], const u64 new[2])
{
	unsigned __int128 expect = (unsigned __int128)old[1] << 64 | old[0];
	unsigned __int128 want = (unsigned __int128)new[1] << 64 | new[0];
	unsigned __int128 was =
		__sync_val_compare_and_swap((unsigned __int128 *)host, expect, want);

	old[0] = was;
	old[1] = was >> 64;
	return was == expect;
}

/* Memory that is not RAM cannot be reached atomically: compare and store in two steps. */
static u64 guest_cas(struct arm_cpu *cpu, u64 va, u64 old, u64 new, unsigned size)
{
	void *host;
	u64 was;

	if (((va ^ (va + size - 1)) & TCG_PAGE_MASK) == 0) {
		host = tcg_host(&cpu->tcg, va, size, TCG_WRITE);
		if (host)
			return host_cas(host, old, new, size);
	}
	was = tcg_load(&cpu->tcg, va, size);
	tcg_store(&cpu->tcg, va, was == (old & size_mask(size)) ? new : was, size);
	return was;
}

static void load_exclusive(struct arm_cpu *cpu, u64 va, unsigned size, bool pair)
{
	unsigned total = pair ? 2 * size : size;

	check_atomic_align(cpu, va, total, false);
	if (pair && size == 4) { /* one access of 8 bytes */
		cpu->tcg.excl_val[0] = tcg_load(&cpu->tcg, va, 8);
	} else {
		cpu->tcg.excl_val[0] = tcg_load(&cpu->tcg, va, size);
		cpu->tcg.excl_val[1] = pair ? tcg_load(&cpu->tcg, va + size, size) : 0;
	}
	cpu->tcg.excl_addr = va;
	cpu->tcg.excl_size = total;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* Return: 0 stored, 1 the monitor was open or the memory had changed. */
static unsigned store_exclusive(struct arm_cpu *cpu, u64 va, unsigned size, const u64 val[2])
{
	bool armed = cpu->tcg.excl_addr == va && cpu->tcg.excl_size == size;

	check_atomic_align(cpu, va, size, true);
	if (!armed) {
		cpu->tcg.excl_addr = ~(u64)0;
		return 1;
	}
	if (size == 16) {
		void *host = tcg_host(&cpu->tcg, va, 16, TCG_WRITE);

		cpu->tcg.excl_addr = ~(u64)0;
		return !host || !host_cas16(host, cpu->tcg.excl_val, val);
	}
	armed = guest_cas(cpu, va, cpu->tcg.excl_val[0], val[0], size) == cpu->tcg.excl_val[0];
	cpu->tcg.excl_addr = ~(u64)0;
	return !armed;
}

void exec_LDSTX(struct arm_cpu *cpu, const struct a64_LDSTX *i)
{
	u64 va = cpu_xsp(cpu, i->rn);
	unsigned size = 1u << i->size;

	if (i->l) {
		load_exclusive(cpu, va, size, false);
		cpu_set_x(cpu, i->rt, cpu->tcg.excl_val[0]);
	} else {
		u64 val[2] = { cpu_x(cpu, i->rt) & size_mask(size), 0 };

		cpu_set_x(cpu, i->rs, store_exclusive(cpu, va, size, val));
	}
}

void exec_LDSTXP(struct arm_cpu *cpu, const struct a64_LDSTXP *i)
{
	u64 va = cpu_xsp(cpu, i->rn);
	unsigned size = i->sz ? 8 : 4;
	u64 val[2] = { cpu_x(cpu, i->rt), cpu_x(cpu, i->rt2) };

	if (i->l) {
		load_exclusive(cpu, va, size, true);
		val[0] = cpu->tcg.excl_val[0];
		val[1] = i->sz ? cpu->tcg.excl_val[1] : val[0] >> 32;
		cpu_set_x(cpu, i->rt, i->sz ? val[0] : (u32)val[0]);
		cpu_set_x(cpu, i->rt2, val[1]);
		return;
	}
	if (!i->sz)
		val[0] = (u32)val[0] | val[1] << 32;
	cpu_set_x(cpu, i->rs, store_exclusive(cpu, va, 2 * size, val));
}

void exec_CAS(struct arm_cpu *cpu, const struct a64_CAS *i)
{
	u64 va = cpu_xsp(cpu, i->rn);
	unsigned size = 1u << i->size;

	check_atomic_align(cpu, va, size, true);
	cpu_set_x(cpu, i->rs, guest_cas(cpu, va, cpu_x(cpu, i->rs), cpu_x(cpu, i->rt), size));
}

void exec_CASP(struct arm_cpu *cpu, const struct a64_CASP *i)
{
	u64 va = cpu_xsp(cpu, i->rn);
	u64 old[2] = { cpu_x(cpu, i->rs), cpu_x(cpu, i->rs + 1) };
	u64 new[2] = { cpu_x(cpu, i->rt), cpu_x(cpu, i->rt + 1) };
	void *host;

	check_atomic_align(cpu, va, i->sz ? 16 : 8, true);
	if (!i->sz) {
		u64 was = guest_cas(cpu, va, (u32)old[0] | old[1] << 32,
				    (u32) new[0] | new[1] << 32, 8);

		cpu_set_x(cpu, i->rs, (u32)was);
		cpu_set_x(cpu, i->rs + 1, was >> 32);
		return;
	}
	host = tcg_host(&cpu->tcg, va, 16, TCG_WRITE);
	if (!host) /* unsupported exclusive or atomic access (DFSC 0x35) */
		arm_raise(cpu, EC_DABORT, 0x35 | 1u << 6, va);
	host_cas16(host, old, new);
	cpu_set_x(cpu, i->rs, old[0]);
	cpu_set_x(cpu, i->rs + 1, old[1]);
}

static u64 atomic_result(unsigned opc, u64 old, u64 val, unsigned size)
{
	unsigned unused = 64 - size * 8;
	s64 a = (s64)(old << unused), b = (s64)(val << unused);

	switch (opc) {
	case 0: return old + val;
	case 1: return old & ~val;
	case 2: return old ^ val;
	case 3: return old | val;
	case 4: return a > b ? old : val;
	case 5: return a < b ? old : val;
	case 6: return (u64)a > (u64)b ? old : val;
	default: return (u64)a < (u64)b ? old : val;
	}
}

void exec_ATOMIC(struct arm_cpu *cpu, const struct a64_ATOMIC *i)
{
	u64 va = cpu_xsp(cpu, i->rn);
	unsigned size = 1u << i->size;
	u64 val = cpu_x(cpu, i->rs) & size_mask(size);
	u64 old, was;

	check_atomic_align(cpu, va, size, true);
	if (((va ^ (va + size - 1)) & TCG_PAGE_MASK) == 0)
		tcg_host(&cpu->tcg, va, size, TCG_WRITE); /* a write fault even if the read fails */
	was = tcg_load(&cpu->tcg, va, size);
	do {
		old = was;
		was = guest_cas(cpu, va, old, i->o3 ? val : atomic_result(i->opc, old, val, size),
				size);
	} while (was != old);
	cpu_set_x(cpu, i->rt, old);
}
