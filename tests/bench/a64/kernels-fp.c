/*
 * tests/bench/a64/kernels-fp.c - kernels for floating point and vectors; see kernels.c.
 *
 * Vectors are GCC's generic ones where these say all, so that the host's native build does the same
 * work; else the nearest instructions of each.
 */
#ifdef __aarch64__
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#include "kernels.h"

typedef float f32x4 __attribute__((vector_size(16)));
typedef double f64x2 __attribute__((vector_size(16)));
typedef int16_t s16x8 __attribute__((vector_size(16)));
typedef uint8_t u8x16 __attribute__((vector_size(16)));

static u64 bits_of(double d)
{
	u64 v;

	__builtin_memcpy(&v, &d, sizeof(v));
	return v;
}

static double root(double v)
{
	double r;

#ifdef __aarch64__
	__asm__("fsqrt %d0, %d1" : "=w"(r) : "w"(v));
#else
	__asm__("sqrtsd %1, %0" : "=x"(r) : "x"(v));
#endif
	return r;
}

/* Scalar doubles with division and square roots. */
u64 run_nbody(u64 rounds)
{
	double pos[5][3], vel[5][3], mass[5];

	for (int i = 0; i < 5; i++) {
		mass[i] = 1.0 / (i + 1);
		for (int k = 0; k < 3; k++) {
			pos[i][k] = i * 1.5 + k * 0.7;
			vel[i][k] = 0.01 * (k - i);
		}
	}
	while (rounds--) {
		for (int i = 0; i < 5; i++) {
			for (int j = i + 1; j < 5; j++) {
				double dx = pos[i][0] - pos[j][0], dy = pos[i][1] - pos[j][1];
				double dz = pos[i][2] - pos[j][2];
				double d2 = dx * dx + dy * dy + dz * dz + 0.01;
				double mag = 0.001 / (d2 * root(d2));

				vel[i][0] -= dx * mass[j] * mag;
				vel[i][1] -= dy * mass[j] * mag;
				vel[i][2] -= dz * mass[j] * mag;
				vel[j][0] += dx * mass[i] * mag;
				vel[j][1] += dy * mass[i] * mag;
				vel[j][2] += dz * mass[i] * mag;
			}
		}
		for (int i = 0; i < 5; i++)
			for (int k = 0; k < 3; k++)
				pos[i][k] += 0.001 * vel[i][k];
	}
	return bits_of(pos[0][0]);
}

/* A chain of scalar doubles with a comparison that ends it. */
u64 run_mandel(u64 rounds)
{
	u64 sum = 0;

	while (rounds--) {
		for (int y = 0; y < 16; y++) {
			for (int x = 0; x < 16; x++) {
				double cr = x / 8.0 - 1.5, ci = y / 8.0 - 1.0, zr = 0, zi = 0;
				int n = 0;

				while (n < 100 && zr * zr + zi * zi < 4.0) {
					double t = zr * zr - zi * zi + cr;

					zi = 2 * zr * zi + ci;
					zr = t;
					n++;
				}
				sum += n;
			}
		}
	}
	return sum;
}

/* Scalar singles, with conversions to and from integers. */
u64 run_single(u64 rounds)
{
	static float wave[256];
	float v = 0.5f;
	u64 sum = 0;

	for (int i = 0; i < 256; i++)
		wave[i] = (float)(i * 37 % 256) / 256.0f;
	while (rounds--) {
		for (int i = 0; i < 256; i++) {
			float d = wave[i] - v;

			v += d * 0.25f;
			if (d < 0)
				d = -d;
			sum += (u32)(d * 1000.0f);
		}
	}
	return sum;
}

/* Multiply and add vectors of singles. */
u64 run_saxpy(u64 rounds)
{
	static f32x4 x[256], y[256];
	f32x4 a = { 0.5f, 0.25f, 0.125f, 0.75f };

	for (int i = 0; i < 256; i++) {
		x[i] = (f32x4){ i, i + 1, i + 2, i + 3 };
		y[i] = x[i] * 0.5f;
	}
	while (rounds--)
		for (int i = 0; i < 256; i++)
			y[i] = x[i] * a + y[i] * 0.5f;
	return bits_of(y[7][0] + y[9][3]);
}

/* The same of doubles. */
u64 run_daxpy(u64 rounds)
{
	static f64x2 x[256], y[256];
	f64x2 a = { 0.5, 0.25 };

	for (int i = 0; i < 256; i++) {
		x[i] = (f64x2){ i, i + 1 };
		y[i] = x[i] * 0.5;
	}
	while (rounds--)
		for (int i = 0; i < 256; i++)
			y[i] = x[i] * a + y[i] * 0.5;
	return bits_of(y[7][0] + y[9][1]);
}

/* ---- dot products of signed bytes ---- */

#define DOT_BYTES 4096

static int8_t dot_x[DOT_BYTES] __attribute__((aligned(16)));
static int8_t dot_y[DOT_BYTES] __attribute__((aligned(16)));

static void fill_dot(void)
{
	for (int i = 0; i < DOT_BYTES; i++) {
		dot_x[i] = i * 7 + (i >> 3);
		dot_y[i] = i * 5 - (i >> 4);
	}
}

#ifdef __aarch64__
/* sum += the products of two vectors, as before FEAT_DotProd: widen, then add pairs. */
static inline int32x4_t dot_step(int32x4_t sum, int8x16_t x, int8x16_t y)
{
	sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(x), vget_low_s8(y)));
	return vpadalq_s16(sum, vmull_high_s8(x, y));
}

u64 run_dot(u64 rounds)
{
	int32x4_t sum = vdupq_n_s32(0);

	fill_dot();
	while (rounds--)
		for (int i = 0; i < DOT_BYTES; i += 16)
			sum = dot_step(sum, vld1q_s8(dot_x + i), vld1q_s8(dot_y + i));
	return (u32)vaddvq_s32(sum);
}

#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+dotprod")
/* The same with SDOT. */
u64 run_sdot(u64 rounds)
{
	int32x4_t sum = vdupq_n_s32(0);

	fill_dot();
	while (rounds--)
		for (int i = 0; i < DOT_BYTES; i += 16)
			sum = vdotq_s32(sum, vld1q_s8(dot_x + i), vld1q_s8(dot_y + i));
	return (u32)vaddvq_s32(sum);
}
#pragma GCC pop_options
#else
static inline __m128i dot_half(const int8_t *x, const int8_t *y)
{
	__m128i a = _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)x));
	__m128i b = _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)y));

	return _mm_madd_epi16(a, b);
}

u64 run_dot(u64 rounds)
{
	__m128i sum = _mm_setzero_si128();

	fill_dot();
	while (rounds--) {
		for (int i = 0; i < DOT_BYTES; i += 16) {
			sum = _mm_add_epi32(sum, dot_half(dot_x + i, dot_y + i));
			sum = _mm_add_epi32(sum, dot_half(dot_x + i + 8, dot_y + i + 8));
		}
	}
	sum = _mm_add_epi32(sum, _mm_srli_si128(sum, 8));
	sum = _mm_add_epi32(sum, _mm_srli_si128(sum, 4));
	return (u32)_mm_cvtsi128_si32(sum);
}

u64 run_sdot(u64 rounds)
{
	return run_dot(rounds);
}
#endif

/* Bytes: comparisons, minima and logic, as in a string search. */
u64 run_bytes(u64 rounds)
{
	static u8x16 text[256];
	u8x16 found = { 0 }, least = found - 1;

	for (int i = 0; i < 256; i++)
		for (int k = 0; k < 16; k++)
			text[i][k] = i * 31 + k * 17;
	while (rounds--) {
		for (int i = 0; i < 256; i++) {
			u8x16 v = text[i] ^ (u8)rounds;
			u8x16 hit = (u8x16)(v == (u8)i), less = (u8x16)(v < least);

			found -= hit;
			least = (v & less) | (least & ~less);
			least += 1;
		}
	}
	return (u64)found[3] << 8 | least[5];
}

/* Halfwords: multiply, shift and add. */
u64 run_vint(u64 rounds)
{
	static s16x8 v[256];
	s16x8 sum = { 0 };

	for (int i = 0; i < 256; i++)
		for (int k = 0; k < 8; k++)
			v[i][k] = i * 13 + k * 7;
	while (rounds--)
		for (int i = 0; i < 256; i++)
			sum = (sum >> 1) + v[i] * 3 - (v[i] >> 2);
	return (uint16_t)sum[0] | (u64)(uint16_t)sum[5] << 16;
}
