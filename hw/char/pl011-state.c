/*
 * hw/char/pl011-state.c - what of a PL011 needs more than a table of fields in a migration stream.
 */
#include "hw/char/pl011-priv.h"

#include "util/error.h"

int pl011_check_state(struct pl011 *s, GError **err)
{
	if (s->read_pos < 0 || s->read_pos >= PL011_FIFO || s->read_count < 0 ||
	    s->read_count > PL011_FIFO) {
		error_set(err, "FIFO position %d, count %d, the FIFO has %d entries", s->read_pos,
			  s->read_count, PL011_FIFO);
		return -EINVAL;
	}
	if (s->lcr & PL011_LCR_FEN)
		return 0;
	/* Without FIFO the one character lies first; others may have put it elsewhere. */
	s->read_fifo[0] = s->read_fifo[s->read_pos];
	s->read_pos = 0;
	s->read_count = MIN(s->read_count, 1);
	return 0;
}

static bool always(void *obj)
{
	return true;
}

static const struct state_field clk_fields[] = {
	{ .name = "period",
	  .type = STATE_U64,
	  .offset = offsetof(struct pl011, clk_period),
	  .size = sizeof(u64) },
	FIELD_END,
};

static const struct state_desc clk_state = {
	.name = "clock",
	.fields = clk_fields,
};

static const struct state_field clock_fields[] = {
	{ .name = "clk", .type = STATE_STRUCT, .size = sizeof(struct pl011), .desc = &clk_state },
	FIELD_END,
};

const struct state_desc pl011_clock_state = {
	.name = "pl011/clock",
	.version = 1,
	.min_version = 1,
	.fields = clock_fields,
	.needed = always,
};
