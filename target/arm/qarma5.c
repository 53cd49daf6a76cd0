/*
 * target/arm/qarma5.c - the block cipher that signs pointers (R. Avanzi, "The QARMA Block Cipher
 * Family", 2016: QARMA-64 with five rounds and sigma 1; Arm DDI 0487, ComputePAC()).
 *
 * A block is sixteen cells of four bits; cell n of this file is bits 4n+3 to 4n.
 */
#include "target/arm/qarma5.h"

#define ALPHA 0xc0ac29b7c97c50ddull

static const u64 round_constants[] = { 0, 0x13198a2e03707344, 0xa4093822299f31d0,
				       0x082efa98ec4e6c89, 0x452821e638d01377 };

static const u8 sbox[16] = { 11, 6, 8, 15, 12, 0, 9, 14, 3, 7, 4, 5, 13, 2, 1, 10 };
static const u8 sbox_inverse[16] = { 5, 14, 13, 8, 10, 11, 1, 9, 2, 6, 15, 0, 4, 12, 7, 3 };

/* Cell n of the result is cell shuffle[n] of the operand. */
static const u8 shuffle[16] = { 13, 6, 11, 0, 7, 12, 1, 10, 8, 3, 14, 5, 2, 9, 4, 15 };
static const u8 shuffle_inverse[16] = { 3, 6, 12, 9, 14, 11, 1, 4, 8, 13, 7, 2, 5, 0, 10, 15 };
/* The same for the tweak; of cells with a bit in the mask a shift register makes one step. */
static const u8 tweak_from[16] = { 4, 5, 6, 7, 11, 2, 3, 8, 12, 13, 14, 15, 0, 1, 10, 9 };
#define TWEAK_STEPPED 0xd894u

static unsigned cell(u64 v, unsigned n)
{
	return v >> 4 * n & 15;
}

static u64 substitute(u64 v, const u8 *box)
{
	u64 r = 0;

	for (unsigned n = 0; n < 16; n++)
		r |= (u64)box[cell(v, n)] << 4 * n;
	return r;
}

static u64 permute(u64 v, const u8 *from)
{
	u64 r = 0;

	for (unsigned n = 0; n < 16; n++)
		r |= (u64)cell(v, from[n]) << 4 * n;
	return r;
}

static unsigned rotate(unsigned c, unsigned n)
{
	return (c << n | c >> (4 - n)) & 15;
}

/* Each column of four cells times the circulant matrix of 0, rho, rho^2, rho: its own inverse. */
static u64 mix_columns(u64 v)
{
	u64 r = 0;

	for (unsigned n = 0; n < 16; n++)
		r |= (u64)(rotate(cell(v, (n + 4) & 15), 1) ^ rotate(cell(v, (n + 8) & 15), 2) ^
			   rotate(cell(v, (n + 12) & 15), 1))
		     << 4 * n;
	return r;
}

static u64 tweak_forward(u64 t)
{
	u64 r = 0;

	for (unsigned n = 0; n < 16; n++) {
		unsigned c = cell(t, tweak_from[n]);

		if (TWEAK_STEPPED >> n & 1)
			c = c >> 1 | ((c ^ c >> 1) & 1) << 3;
		r |= (u64)c << 4 * n;
	}
	return r;
}

static u64 tweak_backward(u64 t)
{
	u64 r = 0;

	for (unsigned n = 0; n < 16; n++) {
		unsigned c = cell(t, n);

		if (TWEAK_STEPPED >> n & 1)
			c = (c << 1 & 15) | ((c >> 3 ^ c) & 1);
		r |= (u64)c << 4 * tweak_from[n];
	}
	return r;
}

u64 qarma5(u64 data, u64 tweak, u64 whitening, u64 core)
{
	u64 second = whitening >> 1 | whitening << 63, v = data ^ whitening;

	second ^= whitening >> 63;
	for (unsigned i = 0; i < 5; i++) {
		v ^= core ^ tweak ^ round_constants[i];
		if (i)
			v = mix_columns(permute(v, shuffle));
		v = substitute(v, sbox);
		tweak = tweak_forward(tweak);
	}
	v ^= second ^ tweak;
	v = substitute(mix_columns(permute(v, shuffle)), sbox);
	v = mix_columns(permute(v, shuffle)) ^ core;
	v = substitute(permute(v, shuffle_inverse), sbox_inverse);
	v = permute(mix_columns(v), shuffle_inverse) ^ whitening ^ tweak;
	for (unsigned i = 0; i < 5; i++) {
		v = substitute(v, sbox_inverse);
		if (i < 4)
			v = permute(mix_columns(v), shuffle_inverse);
		tweak = tweak_backward(tweak);
		v ^= round_constants[4 - i] ^ core ^ tweak ^ ALPHA;
	}
	return v ^ second;
}
