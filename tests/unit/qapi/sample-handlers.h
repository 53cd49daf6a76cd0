/*
 * tests/unit/qapi/sample-handlers.h - what the handlers of the sample schema leave behind.
 */
#ifndef TESTS_UNIT_QAPI_SAMPLE_HANDLERS_H
#define TESTS_UNIT_QAPI_SAMPLE_HANDLERS_H

#include "qapi/command.h"

struct sample_state {
	int count;
	bool woken;
	unsigned checked_members;
};

extern struct sample_state sample_state;
extern const struct qapi_interface sample_interface; /* sample.json and control.json */

#endif
