/*
 * testdev.h - where the test device is, private to the library.
 */
#ifndef TESTS_GUESTS_TESTDEV_H
#define TESTS_GUESTS_TESTDEV_H

#include "guest.h"

extern u64 testdev_base;

#endif
