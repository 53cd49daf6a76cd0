/* tests/bench/a64/kernels-int.c - more integer kernels; see kernels.c. */
#include "kernels.h"

/* ---- lists, a matrix and an automaton ---- */

struct node {
	struct node *next;
	u32 key;
};

static struct node *merge(struct node *a, struct node *b)
{
	struct node head, *last = &head;

	while (a && b) {
		struct node **less = a->key <= b->key ? &a : &b;

		last->next = *less;
		last = *less;
		*less = last->next;
	}
	last->next = a ? a : b;
	return head.next;
}

static struct node *sort_list(struct node *list, unsigned n)
{
	struct node *half = list, *rest;

	if (n < 2)
		return list;
	for (unsigned i = 1; i < n / 2; i++)
		half = half->next;
	rest = half->next;
	half->next = NULL;
	return merge(sort_list(list, n / 2), sort_list(rest, n - n / 2));
}

static u32 multiply_matrices(void)
{
	static short a[12][12], b[12][12];
	u32 sum = 0;

	for (int i = 0; i < 12; i++) {
		for (int k = 0; k < 12; k++) {
			a[i][k] = i * 3 - k;
			b[i][k] = k * 5 + i;
		}
	}
	for (int i = 0; i < 12; i++) {
		for (int k = 0; k < 12; k++) {
			int v = 0;

			for (int j = 0; j < 12; j++)
				v += a[i][j] * b[j][k];
			sum = (sum << 1 | sum >> 31) ^ (u32)v;
		}
	}
	return sum;
}

/* Counts numbers in a text: digits, signs, points and exponents. */
static u32 scan_text(const char *text)
{
	enum { START, SIGN, NUMBER, POINT, BAD } state = START;
	u32 found = 0;

	for (; *text; text++) {
		int digit = *text >= '0' && *text <= '9';

		if (*text == ' ') {
			found += state == NUMBER || state == POINT;
			state = START;
			continue;
		}
		switch (state) {
		case START: state = digit ? NUMBER : *text == '-' ? SIGN : BAD; break;
		case SIGN: state = digit ? NUMBER : BAD; break;
		case NUMBER: state = digit ? NUMBER : *text == '.' ? POINT : BAD; break;
		case POINT: state = digit ? POINT : BAD; break;
		default: break;
		}
	}
	return found;
}

u64 run_mix(u64 rounds)
{
	static struct node nodes[200];
	u64 sum = 0;

	while (rounds--) {
		struct node *list = NULL;

		for (unsigned i = 0; i < 200; i++) {
			nodes[i].key = random32() >> 16;
			nodes[i].next = list;
			list = &nodes[i];
		}
		for (list = sort_list(list, 200); list; list = list->next)
			sum = sum * 31 + list->key;
		sum += multiply_matrices();
		sum += scan_text("12 -7 3.14 x -0.5 99 1.2.3 -- 42 7 8.25 -1 word 1000 -3.0 ");
	}
	return sum;
}

/* ---- an interpreter: indirect jumps that are hard to predict ---- */

u64 run_interp(u64 rounds)
{
	static u8 program[4096];
	static const void *const code[] = { &&op_add, &&op_xor,  &&op_shift, &&op_mul,
					    &&op_sub, &&op_swap, &&op_load,  &&op_end };
	u64 a = 1, b = 2, sum = 0;

	for (unsigned i = 0; i < sizeof(program) - 1; i++)
		program[i] = random32() >> 24 & 7 ? (random32() >> 24) % 7 : 6;
	program[sizeof(program) - 1] = 7;
	while (rounds--) {
		const u8 *pc = program;

		goto *code[*pc++];
	op_add:
		a += b;
		goto *code[*pc++];
	op_xor:
		a ^= b << 3;
		goto *code[*pc++];
	op_shift:
		a = a << 5 | a >> 59;
		goto *code[*pc++];
	op_mul:
		b = b * 5 + 1;
		goto *code[*pc++];
	op_sub:
		b -= a;
		goto *code[*pc++];
	op_swap : {
		u64 t = a;

		a = b;
		b = t;
		goto *code[*pc++];
	}
	op_load:
		a += program[b & 1023];
		goto *code[*pc++];
	op_end:
		sum += a;
	}
	return sum;
}

/* ---- memory ---- */

static u64 block[2][4096];

/* Copies and fills of all sizes, as a C library does them without vectors. */
u64 run_memory(u64 rounds)
{
	u64 sum = 0;

	while (rounds--) {
		for (unsigned size = 8; size <= sizeof(block[0]) / 8; size *= 2) {
			volatile u64 *to = block[1], *from = block[0];

			for (unsigned i = 0; i < size; i += 4) {
				u64 a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];

				to[i] = a;
				to[i + 1] = b;
				to[i + 2] = c;
				to[i + 3] = d;
			}
			for (unsigned i = 0; i < size; i += 2) {
				from[i] = size;
				from[i + 1] = size;
			}
			sum += to[size / 2];
		}
	}
	return sum;
}

/* Bytes one by one. */
u64 run_bytewise(u64 rounds)
{
	u8 *bytes = (u8 *)block;
	u32 sum = 1;

	while (rounds--) {
		for (unsigned i = 0; i < 8192; i++) {
			u8 v = bytes[i];

			v = (u8)(v * 3 + (sum & 7));
			bytes[i] = v;
			sum += v ^ (v >> 3);
		}
	}
	return sum;
}

#define BIG_SIZE (64u << 20)
static u8 big[BIG_SIZE] __attribute__((aligned(4096)));

/* Dependent loads all over 64 MiB. */
u64 run_chase_big(u64 rounds)
{
	const u64 lines = BIG_SIZE / 4096;
	u64 at = 0;

	for (u64 i = 0; i < lines; i++)
		*(u64 *)(big + i * 4096 + i % 61 * 64) = (i * 6007 + 1) % lines;
	while (rounds--)
		for (u64 i = 0; i < 10000; i++)
			at = *(u64 *)(big + at * 4096 + at % 61 * 64);
	return at;
}

/* ---- atomics ---- */

static u64 counter;

u64 run_lse(u64 rounds)
{
	counter = 0;
	while (rounds--) {
		for (int i = 0; i < 1000; i++) {
#ifdef __aarch64__
			u64 one = 1, old;

			__asm__ volatile(".arch_extension lse\n\tldaddal %1, %0, [%2]"
					 : "=r"(old)
					 : "r"(one), "r"(&counter)
					 : "memory");
#else
			__atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
#endif
		}
	}
	return counter;
}

u64 run_llsc(u64 rounds)
{
	counter = 0;
	while (rounds--) {
		for (int i = 0; i < 1000; i++) {
#ifdef __aarch64__
			u64 val;
			u32 failed;

			__asm__ volatile("1:\tldaxr %0, [%2]\n\tadd %0, %0, #1\n"
					 "\tstlxr %w1, %0, [%2]\n\tcbnz %w1, 1b"
					 : "=&r"(val), "=&r"(failed)
					 : "r"(&counter)
					 : "memory");
#else
			__atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
#endif
		}
	}
	return counter;
}
