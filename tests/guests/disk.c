/*
 * disk.c - test guest that writes a virtio-mmio disk round after round and reads it back.
 *
 * Block i carries its number and the round in which it was written; the guest's own state says
 * which round that must be, so that a write lost by a migration is found in the next round.
 *
 * Options: blocks (of 4 KiB, from the start of the disk), interval (ms between rounds).
 * After each round "DISK OK round=N" is printed.
 */
#include "guest.h"
#include "virtio.h"

#define BLOCK_SIZE      4096
#define WORDS_PER_BLOCK (BLOCK_SIZE / sizeof(u64))

static u64 blocks = 16, interval = 100;
static u64 buf[WORDS_PER_BLOCK] __attribute__((aligned(4096)));

static const struct guest_option options[] = {
	{ "blocks", &blocks, NULL },
	{ "interval", &interval, NULL },
	{ NULL, NULL, NULL },
};

static u64 pattern(u64 block, u64 round, unsigned i)
{
	if (i == 0)
		return block;
	if (i == 1)
		return round;
	return (block + i) * 0x9e3779b97f4a7c15ULL ^ round * 0xc2b2ae3d27d4eb4fULL;
}

static void transfer(bool write, u64 block)
{
	u8 status = virtio_blk_rw(write, block * (BLOCK_SIZE / SECTOR_SIZE), buf, BLOCK_SIZE);

	if (status)
		die("%s of block %lu: status %lu", write ? "write" : "read", block, (u64)status);
}

static void write_block(u64 block, u64 round)
{
	for (unsigned i = 0; i < WORDS_PER_BLOCK; i++)
		buf[i] = pattern(block, round, i);
	transfer(true, block);
}

static void check_block(u64 block, u64 round)
{
	for (unsigned i = 0; i < WORDS_PER_BLOCK; i++)
		buf[i] = 0;
	transfer(false, block);
	for (unsigned i = 0; i < WORDS_PER_BLOCK; i++)
		if (buf[i] != pattern(block, round, i))
			die("block %lu word %lu of round %lu is 0x%lx", block, (u64)i, round,
			    buf[i]);
}

static void wait_ns(u64 ns)
{
	u64 start = now_ns();

	while (now_ns() - start < ns) {
		poll_clock();
		arch_relax();
	}
}

void guest_main(void)
{
	u64 sectors;

	options_parse(options);
	if (!arch_ticks_hz())
		die("the counter's frequency must be known: give tsc=KHZ");
	sectors = virtio_blk_init();
	if (!blocks || blocks > sectors / (BLOCK_SIZE / SECTOR_SIZE))
		die("blocks=%lu, the disk has %lu sectors", blocks, sectors);
	say("disk sectors=%lu blocks=%lu\n\nREADY\n", sectors, blocks);
	for (u64 round = 1;; round++) {
		for (u64 i = 0; i < blocks; i++) {
			if (round > 1)
				check_block(i, round - 1);
			write_block(i, round);
		}
		for (u64 i = 0; i < blocks; i++)
			check_block(i, round);
		say("\nDISK OK round=%lu\n", round);
		wait_ns(interval * 1000000);
	}
}
