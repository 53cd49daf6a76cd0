/*
 * monitor/version.h - what we say we are: QEMU's version that we are compatible with, and our own.
 */
#ifndef MONITOR_VERSION_H
#define MONITOR_VERSION_H

#define QMP_COMPAT_VERSION "11.1.3"
#define QMP_VERSION_JSON                                                                           \
	"{\"qemu\": {\"micro\": 3, \"minor\": 1, \"major\": 11}, "                                 \
	"\"package\": \"tidemark " TIDEMARK_VERSION "\"}"

#endif
