/*
 * tests/unit/hw/virtio/echo.h - a device that returns what it is sent, to test the queues with.
 */
#ifndef TESTS_UNIT_HW_VIRTIO_ECHO_H
#define TESTS_UNIT_HW_VIRTIO_ECHO_H

#include "hw/device.h"

#define ECHO_ID         0x1000 /* no device of the specification */
#define ECHO_QUEUE_SIZE 16     /* of queue 0; queue 1 takes as many as there can be */
#define ECHO_F_SHOUT    3      /* a device feature: letters come back in upper case */

extern const struct device_type echo_type;

#endif
