/*
 * monitor/version.h - what query-version answers.
 */
#ifndef MONITOR_VERSION_H
#define MONITOR_VERSION_H

#include <glib.h>

#include "util/version.h"

#define QMP_COMPAT_VERSION                                                                         \
	G_STRINGIFY(COMPAT_MAJOR) "." G_STRINGIFY(COMPAT_MINOR) "." G_STRINGIFY(COMPAT_MICRO)
#define QMP_VERSION_JSON                                                                           \
	"{\"qemu\": {\"micro\": " G_STRINGIFY(COMPAT_MICRO) ", \"minor\": " G_STRINGIFY(           \
		COMPAT_MINOR) ", \"major\": " G_STRINGIFY(COMPAT_MAJOR) "}, \"package\": "         \
									"\"" TIDEMARK_PACKAGE      \
									"\"}"

#endif
