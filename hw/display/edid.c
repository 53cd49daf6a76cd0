/*
 * hw/display/edid.c - the description of a monitor (VESA Enhanced EDID Standard, release A2,
 * EDID 1.4).
 */
#include "hw/display/virtio-gpu.h"

#define TIMING_AT   54 /* first of four descriptors of 18 bytes */
#define DESCRIPTOR  18
#define REFRESH_HZ  60
#define SIDE_MAX    4095 /* pixels that a detailed timing can say */
#define DOTS_PER_CM 40
#define KHZ10       10000

static void put16(u8 *at, unsigned v)
{
	at[0] = v;
	at[1] = v >> 8;
}

/* 3.10.2: the preferred mode, with blanking of an eighth each way. */
static void put_timing(u8 *d, unsigned width, unsigned height)
{
	unsigned hblank = MAX(width / 8, 64u) & ~7u, vblank = MAX(height / 32, 16u);
	u64 clock = (u64)(width + hblank) * (height + vblank) * REFRESH_HZ / KHZ10;
	unsigned width_mm = width * 10 / DOTS_PER_CM, height_mm = height * 10 / DOTS_PER_CM;

	put16(d, MIN(clock, UINT16_MAX));
	d[2] = width;
	d[3] = hblank;
	d[4] = (width >> 8) << 4 | hblank >> 8;
	d[5] = height;
	d[6] = vblank;
	d[7] = (height >> 8) << 4 | vblank >> 8;
	d[8] = hblank / 4; /* front porch, then pulse width */
	d[9] = hblank / 4;
	d[10] = 3 << 4 | 5;
	d[12] = width_mm;
	d[13] = height_mm;
	d[14] = (width_mm >> 8) << 4 | height_mm >> 8;
	d[17] = 0x18; /* digital, separate syncs */
}

/* 3.10.3: text ends with a line feed and is filled up with blanks. */
static void put_text(u8 *d, u8 tag, const char *text)
{
	size_t len = strlen(text);

	d[3] = tag;
	memset(d + 5, ' ', 13);
	memcpy(d + 5, text, len);
	if (len < 13)
		d[5 + len] = '\n';
}

void edid_make(u8 edid[EDID_BYTES], unsigned width, unsigned height)
{
	u8 sum = 0;

	memset(edid, 0, EDID_BYTES);
	memset(edid + 1, 0xff, 6);
	/* Manufacturer "TDM": five bits a letter, big-endian. */
	edid[8] = ('T' - '@') << 2 | ('D' - '@') >> 3;
	edid[9] = ('D' - '@') << 5 | ('M' - '@');
	put16(edid + 10, 1);
	edid[16] = 1;  /* week */
	edid[17] = 34; /* 2024 */
	edid[18] = 1;  /* version 1.4 */
	edid[19] = 4;
	edid[20] = 0xa5; /* digital, 8 bits a colour, DisplayPort */
	edid[21] = MIN(width / DOTS_PER_CM, 255u);
	edid[22] = MIN(height / DOTS_PER_CM, 255u);
	edid[23] = 120;  /* gamma 2.2 */
	edid[24] = 0x06; /* sRGB; the first timing is the native one */
	/* Chromaticities of sRGB, table 3.17's packing of ten-bit fractions. */
	static const u8 srgb[] = { 0xee, 0x91, 0xa3, 0x54, 0x4c, 0x99, 0x26, 0x0f, 0x50, 0x54 };

	memcpy(edid + 25, srgb, sizeof(srgb));
	memset(edid + 38, 0x01, 16); /* no standard timings */
	put_timing(edid + TIMING_AT, MIN(width, SIDE_MAX), MIN(height, SIDE_MAX));
	put_text(edid + TIMING_AT + DESCRIPTOR, 0xfc, "Tidemark");
	edid[TIMING_AT + 2 * DESCRIPTOR + 3] = 0x10; /* unused */
	edid[TIMING_AT + 3 * DESCRIPTOR + 3] = 0x10;
	for (unsigned i = 0; i < EDID_BYTES - 1; i++)
		sum += edid[i];
	edid[EDID_BYTES - 1] = -sum;
}
