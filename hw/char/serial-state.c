/*
 * hw/char/serial-state.c - what of a 16550A travels in a migration stream.
 *
 * Names, versions and order are those of QEMU's "serial" section, version 3.
 */
#include "hw/char/serial-priv.h"

#include "migration/state.h"
#include "util/error.h"

enum { IER_THRI = 0x02, IIR_THRI = 0x02, IIR_ID = 0x0f, FCR_KEPT = 0xc9 };

#define UNKNOWN -1 /* value of thr_ipending when its subsection did not come */

static bool thr_ipending_needed(void *obj)
{
	struct serial *s = obj;

	return (s->ier & IER_THRI) && s->thr_ipending != ((s->iir & IIR_ID) == IIR_THRI);
}

static bool tsr_needed(void *obj)
{
	return ((struct serial *)obj)->tsr_retry;
}

static bool recv_fifo_needed(void *obj)
{
	return ((struct serial *)obj)->recv_fifo.num;
}

static bool xmit_fifo_needed(void *obj)
{
	return ((struct serial *)obj)->xmit_fifo.num;
}

static bool timeout_timer_needed(void *obj)
{
	return timer_pending(&((struct serial *)obj)->fifo_timeout_timer);
}

static bool timeout_ipending_needed(void *obj)
{
	return ((struct serial *)obj)->timeout_ipending;
}

static bool poll_needed(void *obj)
{
	return ((struct serial *)obj)->poll_msl >= 0;
}

static const struct state_field fifo_fields[] = {
	FIELD_BUFFER(struct serial_fifo, data),
	FIELD_U32(struct serial_fifo, head),
	FIELD_U32(struct serial_fifo, num),
	FIELD_END,
};
static const struct state_desc fifo_state = {
	.name = "Fifo8",
	.version = 1,
	.min_version = 1,
	.fields = fifo_fields,
};

#define SUBSECTION(id, sname, check)                                                               \
	static const struct state_desc id##_state = {                                              \
		.name = "serial/" sname,                                                           \
		.version = 1,                                                                      \
		.min_version = 1,                                                                  \
		.fields = id##_fields,                                                             \
		.needed = check,                                                                   \
	}

static const struct state_field thr_ipending_fields[] = {
	FIELD_S32(struct serial, thr_ipending),
	FIELD_END,
};
SUBSECTION(thr_ipending, "thr_ipending", thr_ipending_needed);

static const struct state_field tsr_fields[] = {
	FIELD_U32(struct serial, tsr_retry),
	FIELD_U8(struct serial, thr),
	FIELD_U8(struct serial, tsr),
	FIELD_END,
};
SUBSECTION(tsr, "tsr", tsr_needed);

static const struct state_field recv_fifo_fields[] = {
	FIELD_STRUCT(struct serial, recv_fifo, fifo_state),
	FIELD_END,
};
SUBSECTION(recv_fifo, "recv_fifo", recv_fifo_needed);

static const struct state_field xmit_fifo_fields[] = {
	FIELD_STRUCT(struct serial, xmit_fifo, fifo_state),
	FIELD_END,
};
SUBSECTION(xmit_fifo, "xmit_fifo", xmit_fifo_needed);

static const struct state_field timeout_timer_fields[] = {
	FIELD_TIMER(struct serial, fifo_timeout_timer),
	FIELD_END,
};
SUBSECTION(timeout_timer, "fifo_timeout_timer", timeout_timer_needed);

static const struct state_field timeout_ipending_fields[] = {
	FIELD_S32(struct serial, timeout_ipending),
	FIELD_END,
};
SUBSECTION(timeout_ipending, "timeout_ipending", timeout_ipending_needed);

static const struct state_field poll_fields[] = {
	FIELD_S32(struct serial, poll_msl),
	FIELD_S64(struct serial, modem_status_poll),
	FIELD_END,
};
SUBSECTION(poll, "poll", poll_needed);

static const struct state_desc *const subsections[] = {
	&thr_ipending_state,  &tsr_state,
	&recv_fifo_state,     &xmit_fifo_state,
	&timeout_timer_state, &timeout_ipending_state,
	&poll_state,          NULL,
};

/* What a subsection would have set; subsections are absent in the idle state. */
static int serial_pre_load(void *obj, GError **err)
{
	struct serial *s = obj;

	s->thr_ipending = UNKNOWN;
	s->timeout_ipending = 0;
	s->tsr_retry = 0;
	s->poll_msl = -1;
	s->recv_fifo.head = s->recv_fifo.num = 0;
	s->xmit_fifo.head = s->xmit_fifo.num = 0;
	timer_del(&s->fifo_timeout_timer);
	timer_del(&s->retry_timer);
	return 0;
}

static bool fifo_is_sane(const struct serial_fifo *f)
{
	return f->head < SERIAL_FIFO_SIZE && f->num <= SERIAL_FIFO_SIZE;
}

static int serial_post_load(void *obj, int version, GError **err)
{
	struct serial *s = obj;

	if (!fifo_is_sane(&s->recv_fifo) || !fifo_is_sane(&s->xmit_fifo)) {
		error_set(err,
			  "serial: fifo indices out of range: receive head %u num %u, "
			  "transmit head %u num %u, size is %u",
			  s->recv_fifo.head, s->recv_fifo.num, s->xmit_fifo.head, s->xmit_fifo.num,
			  SERIAL_FIFO_SIZE);
		return -EINVAL;
	}
	if (version < 3)
		s->fcr = 0;
	s->fcr &= FCR_KEPT;
	s->poll_msl = -1;
	if (s->thr_ipending == UNKNOWN)
		s->thr_ipending = (s->iir & IIR_ID) == IIR_THRI;
	if (s->recv_fifo.num && !s->timeout_ipending && !timer_pending(&s->fifo_timeout_timer))
		serial_arm_rx_timeout(s);
	if (s->tsr_retry || s->xmit_fifo.num)
		serial_transmit(s);
	serial_update_irq(s);
	return 0;
}

static const struct state_field serial_fields[] = {
	FIELD_U16(struct serial, divider),
	FIELD_U8(struct serial, rbr),
	FIELD_U8(struct serial, ier),
	FIELD_U8(struct serial, iir),
	FIELD_U8(struct serial, lcr),
	FIELD_U8(struct serial, mcr),
	FIELD_U8(struct serial, lsr),
	FIELD_U8(struct serial, msr),
	FIELD_U8(struct serial, scr),
	{ .name = "fcr_vmstate",
	  .type = STATE_U8,
	  .offset = offsetof(struct serial, fcr),
	  .size = 1,
	  .since = 3 },
	FIELD_END,
};

const struct state_desc serial_state = {
	.name = "serial",
	.version = 3,
	.min_version = 2,
	.fields = serial_fields,
	.subsections = subsections,
	.pre_load = serial_pre_load,
	.post_load = serial_post_load,
};
