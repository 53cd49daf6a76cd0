/*
 * hw/rtc/mc146818-state.c - what of the PC's clock travels in a migration stream.
 *
 * Names, versions and order are those of QEMU's "mc146818rtc" section, version 3. The two gaps held
 * the broken-down time and timers of older versions.
 */
#include "hw/rtc/mc146818-priv.h"

#include "migration/state.h"
#include "util/error.h"

#define OLD_TIME_BYTES   28
#define OLD_TIMERS_BYTES 24

static bool reinject_needed(void *obj)
{
	return ((struct mc146818 *)obj)->irq_reinject_on_ack_count;
}

static const struct state_field reinject_fields[] = {
	FIELD_U16(struct mc146818, irq_reinject_on_ack_count),
	FIELD_END,
};
static const struct state_desc reinject_state = {
	.name = "mc146818rtc/irq_reinject_on_ack_count",
	.version = 1,
	.min_version = 1,
	.fields = reinject_fields,
	.needed = reinject_needed,
};
static const struct state_desc *const subsections[] = { &reinject_state, NULL };

static int mc146818_pre_load(void *obj, GError **err)
{
	struct mc146818 *rtc = obj;

	timer_del(&rtc->periodic_timer);
	timer_del(&rtc->update_timer);
	rtc->irq_reinject_on_ack_count = 0;
	return 0;
}

static int mc146818_post_load(void *obj, int version, GError **err)
{
	struct mc146818 *rtc = obj;

	if (rtc->cmos_index >= MC146818_CMOS_SIZE) {
		error_set(err, "mc146818rtc: index %u is outside its %d bytes", rtc->cmos_index,
			  MC146818_CMOS_SIZE);
		return -EINVAL;
	}
	rtc->irq_coalesced = 0;
	rtc->irq_reinject_on_ack_count = 0;
	mc146818_resume(rtc);
	return 0;
}

static const struct state_field mc146818_fields[] = {
	FIELD_BUFFER(struct mc146818, cmos_data),
	FIELD_U8(struct mc146818, cmos_index),
	FIELD_UNUSED(OLD_TIME_BYTES),
	FIELD_TIMER(struct mc146818, periodic_timer),
	FIELD_S64(struct mc146818, next_periodic_time),
	FIELD_UNUSED(OLD_TIMERS_BYTES),
	FIELD_U32(struct mc146818, irq_coalesced),
	FIELD_U32(struct mc146818, period),
	FIELD_U64(struct mc146818, base_rtc),
	FIELD_U64(struct mc146818, last_update),
	FIELD_S64(struct mc146818, offset),
	FIELD_TIMER(struct mc146818, update_timer),
	FIELD_U64(struct mc146818, next_alarm_time),
	FIELD_END,
};

const struct state_desc mc146818_state = {
	.name = MC146818_TYPE,
	.version = 3,
	.min_version = 3,
	.fields = mc146818_fields,
	.subsections = subsections,
	.pre_load = mc146818_pre_load,
	.post_load = mc146818_post_load,
};
