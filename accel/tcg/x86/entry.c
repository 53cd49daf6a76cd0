/* accel/tcg/x86/entry.c - code made once: entry to translated code, exits, calls to C. */
#include "accel/tcg/region.h"
#include "accel/tcg/x86/host.h"

struct host_entry host_entry;

static void move_pinned(struct trans *t, unsigned op, bool volatile_only)
{
	static const u8 saved_by_callee[] = { RBX, R12, R13, R14 };

	for (unsigned g = 0; g < 32; g++) {
		bool saved = false;

		if (pinned[g] < 0)
			continue;
		for (unsigned i = 0; i < ARRAY_SIZE(saved_by_callee); i++)
			saved |= saved_by_callee[i] == pinned[g];
		if (!(volatile_only && saved))
			x_rm(t, 1, op, pinned[g], RBP, guest_disp(g));
	}
}

static const u8 host_saved[] = { RBP, RBX, R12, R13, R14, R15 };

static void make_enter(struct trans *t)
{
	host_entry.enter = (u64(*)(struct tcg_cpu *, const void *))(uintptr_t)(t->p + t->rx);
	for (unsigned i = 0; i < ARRAY_SIZE(host_saved); i++)
		x_opcode(t, 0, 0x50 | (host_saved[i] & 7), 0, 0, host_saved[i]);
	x_ri(t, 1, 5, RSP, 24); /* aligns the stack to 16 */
	x_rm(t, 1, OP_LEA, RBP, RDI, CPU_BIAS);
	x_rm(t, 1, OP_LOAD, R15, RBP, CPU_FIELD(mmu));
	x_rr(t, 1, OP_LOAD, RAX, RSI);
	move_pinned(t, OP_LOAD, false);
	x_rr(t, 0, 0xff, 4, RAX);
}

static void make_leave(struct trans *t)
{
	host_entry.leave_rax = t->p + t->rx;
	x_rr(t, 0, OP_LOAD, RCX, RAX);
	x_ri(t, 0, 4, RCX, TCG_PAGE_SIZE - 1);
	x_rm(t, 0, OP_STORE, RCX, RBP, CPU_FIELD(pc_off));
	x_ri(t, 1, 4, RAX, -(s32)TCG_PAGE_SIZE);
	x_rm(t, 1, OP_STORE, RAX, RBP, CPU_FIELD(pc_page));
	x_movi(t, RAX, 0);

	host_entry.leave = t->p + t->rx;
	move_pinned(t, OP_STORE, false);
	x_ri(t, 1, 0, RSP, 24);
	for (unsigned i = ARRAY_SIZE(host_saved); i-- > 0;)
		x_opcode(t, 0, 0x58 | (host_saved[i] & 7), 0, 0, host_saved[i]);
	x_byte(t, 0xc3);
}

static void make_calls(struct trans *t)
{
	host_entry.call_memory = t->p + t->rx;
	move_pinned(t, OP_STORE, false);
	x_ri(t, 1, 5, RSP, 8);
	x_rm(t, 1, OP_LEA, RDI, RBP, -CPU_BIAS);
	x_rr(t, 1, OP_LOAD, RSI, RCX);
	x_rr(t, 0, 0xff, 2, RAX);
	x_ri(t, 1, 0, RSP, 8);
	move_pinned(t, OP_LOAD, true);
	x_byte(t, 0xc3);

	host_entry.call_exec = t->p + t->rx;
	move_pinned(t, OP_STORE, false);
	x_ri(t, 1, 5, RSP, 8);
	x_rm(t, 1, OP_LEA, RDI, RBP, -CPU_BIAS);
	x_rr(t, 1, OP_LOAD, RSI, RDX);
	x_rr(t, 0, 0xff, 2, RAX);
	x_ri(t, 1, 0, RSP, 8);
	x_rm(t, 1, OP_LOAD, R15, RBP, CPU_FIELD(mmu));
	move_pinned(t, OP_LOAD, false);
	x_byte(t, 0xc3);
}

void host_make_entry(struct trans *t)
{
	make_enter(t);
	make_leave(t);
	make_calls(t);
}

bool host_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("lzcnt");
}

u64 host_enter(struct tcg_cpu *cpu, const void *code)
{
	return host_entry.enter(cpu, code);
}

void host_link(u8 *site, const u8 *target)
{
	__atomic_store_n((s32 *)site, (s32)(target - (site + 4)), __ATOMIC_RELEASE);
}

void host_redirect(u8 *entry, const u8 *target)
{
	s32 rel = target - (entry + 5);
	u8 bytes[8] = { 0xe9, 0, 0, 0, 0, 0x0f, 0x1f, 0x00 };
	u64 word;

	memcpy(bytes + 1, &rel, sizeof(rel));
	memcpy(&word, bytes, sizeof(word));
	__atomic_store_n((u64 *)entry, word, __ATOMIC_RELEASE);
}

bool host_is_live(const void *code)
{
	return __atomic_load_n((const u8 *)code, __ATOMIC_RELAXED) != 0xe9;
}
