/*
 * qapi/event.h - events on their way to the monitors.
 */
#ifndef QAPI_EVENT_H
#define QAPI_EVENT_H

#include "qapi/type.h"

struct qapi_event {
	const char *name;
	const struct qapi_type *data; /* OBJECT, or NULL for an event without data */
	u32 rate_limit_ms;            /* 0: every occurrence is delivered */
	const char *rate_limit_by;    /* string member that tells sources apart, or NULL */
};

/* What takes events; the monitor server is one. */
struct qapi_event_sink {
	/*
	 * @data: NULL or the event's data, borrowed.
	 * Context: any thread; must not block.
	 */
	void (*emit)(struct qapi_event_sink *sink, const struct qapi_event *event,
		     JsonObject *data);
};

/*
 * qapi_event_emit() - convert the data of an event and hand it to the sink.
 * @sink: NULL drops the event (a machine without monitors).
 * @data: struct of event->data; borrowed.
 *
 * Context: any thread.
 */
void qapi_event_emit(struct qapi_event_sink *sink, const struct qapi_event *event,
		     const void *data);

#endif
