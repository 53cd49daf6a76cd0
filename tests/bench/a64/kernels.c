/*
 * tests/bench/a64/kernels.c - small programs that each stress one cost of a binary translator.
 */
#include "kernels.h"

static u32 table[256];
static u8 buffer[1 << 20];
static u32 numbers[1 << 16];
static u64 words[1 << 17];

static u32 random_state = 12345;

u32 random32(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state;
}

/* Dependent table look-ups. */
static u64 run_crc(u64 rounds)
{
	u32 crc = ~0u;

	for (u32 i = 0; i < 256; i++) {
		u32 c = i;

		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
		table[i] = c;
	}
	for (u32 i = 0; i < 65536; i++)
		buffer[i] = random32() >> 24;
	while (rounds--)
		for (u32 i = 0; i < 65536; i++)
			crc = table[(crc ^ buffer[i]) & 255] ^ crc >> 8;
	return crc;
}

static u32 rotate(u32 v, int n)
{
	return v >> n | v << (32 - n);
}

/* Arithmetic in many registers: a compression function in the manner of SHA-256. */
static u64 run_sha(u64 rounds)
{
	u32 s[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	u32 w[64];

	while (rounds--) {
		u32 a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];

		for (int i = 0; i < 16; i++)
			w[i] = random32();
		for (int i = 16; i < 64; i++)
			w[i] = w[i - 16] + w[i - 7] +
			       (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) +
			       (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
		for (int i = 0; i < 64; i++) {
			u32 t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
				 ((e & f) ^ (~e & g)) + w[i] + 0x428a2f98;
			u32 t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
				 ((a & b) ^ (a & c) ^ (b & c));

			h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
		}
		s[0] += a, s[1] += b, s[2] += c, s[3] += d;
		s[4] += e, s[5] += f, s[6] += g, s[7] += h;
	}
	return (u64)s[0] << 32 | s[7];
}

static void quicksort(u32 *v, long lo, long hi)
{
	while (lo < hi) {
		u32 pivot = v[(lo + hi) / 2];
		long i = lo, j = hi;

		while (i <= j) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i <= j) {
				u32 t = v[i];

				v[i++] = v[j];
				v[j--] = t;
			}
		}
		quicksort(v, lo, j);
		lo = i;
	}
}

/* Unpredictable branches and loads. */
static u64 run_sort(u64 rounds)
{
	u64 sum = 0;

	while (rounds--) {
		for (u32 i = 0; i < 1 << 16; i++)
			numbers[i] = random32();
		quicksort(numbers, 0, (1 << 16) - 1);
		sum += numbers[1000];
	}
	return sum;
}

static __attribute__((noinline, noipa)) u64 fib(u64 n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* Calls, returns and the stack. */
static u64 run_fib(u64 rounds)
{
	u64 sum = 0;

	while (rounds--)
		sum += fib(22);
	return sum;
}

static __attribute__((noinline, noipa)) u64 op_add(u64 v)
{
	return v + 3;
}

static __attribute__((noinline, noipa)) u64 op_xor(u64 v)
{
	return v ^ 0x5555;
}

static __attribute__((noinline, noipa)) u64 op_mul(u64 v)
{
	return v * 5;
}

static __attribute__((noinline, noipa)) u64 op_rot(u64 v)
{
	return v << 7 | v >> 57;
}

/* Calls through pointers. */
static u64 run_ind(u64 rounds)
{
	u64 (*volatile ops[4])(u64) = { op_add, op_xor, op_mul, op_rot };
	u64 v = 1;

	while (rounds--)
		for (int i = 0; i < 10000; i++)
			v = ops[(v ^ i) & 3](v);
	return v;
}

/* A stream of loads and stores. */
static u64 run_copy(u64 rounds)
{
	u64 half = sizeof(words) / 16;

	for (u64 i = 0; i < half; i++)
		words[i] = random32();
	while (rounds--) {
		for (u64 i = 0; i < half; i++)
			words[half + i] = words[i] + rounds;
	}
	return words[half + 77];
}

/* Dependent loads, one in each page. */
static u64 run_chase(u64 rounds)
{
	u64 pages = sizeof(buffer) / 4096, at = 0;

	for (u64 i = 0; i < pages; i++)
		*(u64 *)(buffer + i * 4096) = (i * 89 + 1) % pages * 4096;
	while (rounds--)
		for (u64 i = 0; i < 100000; i++)
			at = *(u64 *)(buffer + at);
	return at;
}

const struct kernel kernels[] = {
	{ "crc", run_crc },       { "sha", run_sha },           { "sort", run_sort },
	{ "fib", run_fib },       { "ind", run_ind },           { "copy", run_copy },
	{ "chase", run_chase },   { "mix", run_mix },           { "interp", run_interp },
	{ "memory", run_memory }, { "bytewise", run_bytewise }, { "chase-big", run_chase_big },
	{ "lse", run_lse },       { "llsc", run_llsc },         { "nbody", run_nbody },
	{ "mandel", run_mandel }, { "single", run_single },     { "saxpy", run_saxpy },
	{ "daxpy", run_daxpy },   { "dot", run_dot },           { "sdot", run_sdot },
	{ "bytes", run_bytes },   { "vint", run_vint },         { NULL, NULL },
};

int text_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}
