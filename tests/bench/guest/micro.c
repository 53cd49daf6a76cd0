/*
 * tests/bench/guest/micro.c - the cost of single system operations (see micro.h).
 *
 * Sources: Arm DDI 0487, D8 (translation tables, TLB maintenance), D1 (exceptions), B2.7 (caches).
 */
#include "micro.h"

#define PAGES      16384ul /* 64 MiB of 4 KiB pages at VA_BASE */
#define VA_BASE    (64ul << 30)
#define POOL       0x48000000ul /* physical */
#define DESC_PAGE  0x707ul      /* page, AF, inner shareable, attribute 1 (Normal) */
#define DESC_TABLE 3ul
#define DESC_NG    (1ul << 11)
#define DESC_USER  (1ul << 6)
#define DESC_PXN   (1ul << 53)
#define UART_FR    0x09000018ul
#define RET        0xd65f03c0u
#define EXEC_PAGES 2048ul
#define POOL_BYTES (PAGES * 4096 - 8192) /* without what is used for EL0 */

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

extern char micro_vectors[], user_svc[], user_touch[], user_end[];
void micro_user(u64 pc, u64 a, u64 b);
void micro_fault(u64 class, u64 far);
u64 code_to_rewrite(void);

static u64 level2[512] __attribute__((aligned(4096)));
static u64 level3[PAGES] __attribute__((aligned(4096)));

#define MSR(reg, val) __asm__ volatile("msr " #reg ", %0" : : "r"((u64)(val)) : "memory")
#define MRS(reg)                                                                                   \
	({                                                                                         \
		u64 v_;                                                                            \
		__asm__ volatile("mrs %0, " #reg : "=r"(v_) : : "memory");                         \
		v_;                                                                                \
	})

static void flush_all(void)
{
	__asm__ volatile("dsb ishst\n\ttlbi vmalle1\n\tdsb ish\n\tisb" : : : "memory");
}

static void flush_page(u64 va)
{
	__asm__ volatile("dsb ishst\n\ttlbi vae1is, %0\n\tdsb ish"
			 :
			 : "r"(va >> 12 & 0xfffffffffff)
			 : "memory");
}

static void sync_code(void)
{
	__asm__ volatile("dsb ish\n\tic iallu\n\tdsb ish\n\tisb" : : : "memory");
}

void micro_init(void)
{
	u64 *table = (u64 *)(MRS(ttbr0_el1) & 0xfffffffff000);

	for (u64 i = 0; i < PAGES; i++)
		level3[i] = (POOL + i * 4096) | DESC_PAGE | DESC_NG | DESC_USER | DESC_PXN;
	for (u64 i = 0; i < PAGES / 512; i++)
		level2[i] = (u64)&level3[i * 512] | DESC_TABLE;
	table[VA_BASE >> 30] = (u64)level2 | DESC_TABLE;
	MSR(vbar_el1, micro_vectors);
	flush_all();
	/* the last page holds the programs for EL0 */
	for (u32 i = 0; i < (u32)(user_end - user_svc); i += 4)
		*(volatile u32 *)(POOL + (PAGES - 1) * 4096 + i) = *(u32 *)(user_svc + i);
	sync_code();
}

static u64 user_pc(const char *program)
{
	return VA_BASE + (PAGES - 1) * 4096 + (u64)(program - user_svc);
}

/* A page of the pool is touched that is not mapped: map it. */
void micro_fault(u64 class, u64 far)
{
	u64 page = (far - VA_BASE) >> 12;

	if ((class | 1) != 0x25 || page >= PAGES)
		for (;;)
			__asm__ volatile("wfi");
	level3[page] |= 1;
	__asm__ volatile("dsb ishst" : : : "memory");
}

/* ---- exceptions ---- */

static u64 run_svc(u64 rounds)
{
	micro_user(user_pc(user_svc), rounds, 0);
	return rounds;
}

static u64 run_svc_el1(u64 rounds)
{
	for (u64 i = 0; i < rounds; i++)
		__asm__ volatile("svc #0" : : : "x29", "x30", "memory");
	return rounds;
}

/* Demand paging: 64 faults, then all pages are unmapped again. */
static u64 run_fault(u64 rounds)
{
	for (u64 done = 0; done < rounds; done += 64) {
		for (u64 i = 0; i < 64; i++) {
			level3[i] &= ~1ul;
			flush_page(VA_BASE + i * 4096);
		}
		micro_user(user_pc(user_touch), 64, VA_BASE);
	}
	return rounds;
}

/* ---- registers ---- */

static u64 run_daif(u64 rounds)
{
	for (u64 i = 0; i < rounds; i++)
		__asm__ volatile("msr daifclr, #1\n\tmsr daifset, #1" : : : "memory");
	return rounds;
}

static u64 run_daif_save(u64 rounds)
{
	for (u64 i = 0; i < rounds; i++)
		__asm__ volatile("mrs x9, daif\n\tmsr daifset, #3\n\tmsr daif, x9"
				 :
				 :
				 : "x9", "memory");
	return rounds;
}

static u64 run_counter(u64 rounds)
{
	u64 last = 0;

	for (u64 i = 0; i < rounds; i++)
		last |= MRS(cntvct_el0);
	return rounds | (last & 0);
}

static u64 run_sysreg(u64 rounds)
{
	for (u64 i = 0; i < rounds; i++)
		MSR(tpidr_el1, MRS(tpidr_el1) + 1);
	return rounds;
}

static u64 run_sp_el0(u64 rounds)
{
	for (u64 i = 0; i < rounds; i++)
		MSR(sp_el0, MRS(sp_el0) + 16);
	return rounds;
}

static u64 run_ttbr(u64 rounds)
{
	u64 ttbr = MRS(ttbr0_el1);

	for (u64 i = 0; i < rounds; i++) {
		MSR(ttbr0_el1, ttbr);
		__asm__ volatile("isb");
	}
	return rounds;
}

static u64 run_pan(u64 rounds)
{
	for (u64 i = 0; i < rounds; i++)
		__asm__ volatile(".inst 0xd500419f\n\t.inst 0xd500409f" : : : "memory");
	return rounds;
}

static u64 run_dmb(u64 rounds)
{
	for (u64 i = 0; i < rounds; i++)
		__asm__ volatile("dmb ish" : : : "memory");
	return rounds;
}

static u64 run_mmio(u64 rounds)
{
	u32 seen = 0;

	for (u64 i = 0; i < rounds; i++)
		seen |= *(volatile u32 *)UART_FR;
	return rounds | (seen & 0);
}

/* ---- translation ---- */

static u64 touch(u64 rounds, u64 pages)
{
	u64 sum = 0, page = 0;

	for (u64 i = 0; i < rounds; i++) {
		sum += *(volatile u64 *)(VA_BASE + page * 4096 + (page & 63) * 64);
		page = page + 1 < pages ? page + 1 : 0;
	}
	return rounds | (sum & 0);
}

static u64 run_refill(u64 rounds)
{
	return touch(rounds, 3000);
}

static u64 run_refill_wide(u64 rounds)
{
	return touch(rounds, PAGES - 1);
}

static u64 run_refill_store(u64 rounds)
{
	u64 page = 0;

	for (u64 i = 0; i < rounds; i++) {
		*(volatile u64 *)(VA_BASE + page * 4096 + (page & 63) * 64) = i;
		page = page + 1 < PAGES - 1 ? page + 1 : 0;
	}
	return rounds;
}

/* A function in each of many pages: fetches need translations, too. */
static u64 run_refill_exec(u64 rounds)
{
	volatile u32 *code = (volatile u32 *)POOL;
	u64 page = 0;

	for (u64 i = 0; i < EXEC_PAGES; i++)
		code[i * 1024 + (i & 63) * 16] = RET;
	sync_code();
	for (u64 i = 0; i < rounds; i++) {
		((void (*)(void))(POOL + page * 4096 + (page & 63) * 64))();
		page = page + 1 < EXEC_PAGES ? page + 1 : 0;
	}
	return rounds;
}

/* Another ASID, then 64 pages: nothing need be translated anew. */
static u64 run_asid(u64 rounds)
{
	u64 ttbr = MRS(ttbr0_el1);

	for (u64 i = 0; i < rounds; i += 64) {
		MSR(ttbr0_el1, ttbr | ((i >> 6 & 1) + 1) << 48);
		__asm__ volatile("isb");
		touch(64, 64);
	}
	MSR(ttbr0_el1, ttbr);
	__asm__ volatile("isb");
	return rounds;
}

static u64 run_tlbi_all(u64 rounds)
{
	for (u64 i = 0; i < rounds; i++)
		flush_all();
	return rounds;
}

static u64 run_tlbi_page(u64 rounds)
{
	for (u64 i = 0; i < rounds; i++)
		flush_page(VA_BASE + (i & 255) * 4096);
	return rounds;
}

/* ---- code that changes ---- */

static u64 run_rewrite(u64 rounds)
{
	volatile u32 *code = (volatile u32 *)code_to_rewrite;
	u64 sum = 0;

	for (u64 i = 0; i < rounds; i++) {
		code[0] = 0xd2800000 | (u32)(i & 0xffff) << 5;
		__asm__ volatile("dc cvau, %0\n\tdsb ish\n\tic ivau, %0\n\tdsb ish\n\tisb"
				 :
				 : "r"(code)
				 : "memory");
		sum += code_to_rewrite();
	}
	return sum;
}

/* ---- code that is new: ten instructions and a branch to the next such block ---- */

static u64 run_translate(u64 rounds)
{
	static const u32 block[] = {
		0x91000421, /* add x1, x1, #1 */
		0xf9400002, /* ldr x2, [x0] */
		0xca010043, /* eor x3, x2, x1 */
		0xf9000403, /* str x3, [x0, #8] */
		0xcb020064, /* sub x4, x3, x2 */
		0xd37df085, /* lsl x5, x4, #3 */
		0xeb02003f, /* cmp x1, x2 */
		0x9a843084, /* csel x4, x4, x4, lo */
		0x8a0100a6, /* and x6, x5, x1 */
		0x14000001, /* b .+4 */
	};
	u64 blocks = POOL_BYTES / sizeof(block), data[2] = { 0 };
	volatile u32 *code = (volatile u32 *)POOL;

	if (rounds < blocks)
		blocks = rounds;
	for (u64 i = 0; i < blocks; i++)
		for (u64 k = 0; k < ARRAY_SIZE(block); k++)
			code[i * ARRAY_SIZE(block) + k] = block[k];
	code[blocks * ARRAY_SIZE(block)] = RET;
	sync_code();
	for (u64 done = 0; done < rounds; done += blocks)
		((void (*)(u64 *))POOL)(data);
	return rounds;
}

const struct kernel micro[] = {
	{ "svc", run_svc },
	{ "svc-el1", run_svc_el1 },
	{ "fault", run_fault },
	{ "daif", run_daif },
	{ "daif-save", run_daif_save },
	{ "counter", run_counter },
	{ "sysreg", run_sysreg },
	{ "sp-el0", run_sp_el0 },
	{ "ttbr", run_ttbr },
	{ "pan", run_pan },
	{ "dmb", run_dmb },
	{ "mmio", run_mmio },
	{ "refill", run_refill },
	{ "refill-wide", run_refill_wide },
	{ "refill-store", run_refill_store },
	{ "refill-exec", run_refill_exec },
	{ "asid", run_asid },
	{ "tlbi-all", run_tlbi_all },
	{ "tlbi-page", run_tlbi_page },
	{ "rewrite", run_rewrite },
	{ "translate", run_translate },
	{ NULL, NULL },
};
