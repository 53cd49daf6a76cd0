/*
 * hw/none.h - the machine "none", which every target has.
 */
#ifndef HW_NONE_H
#define HW_NONE_H

#include "hw/machine.h"

extern const struct machine_type none_machine_type;

#endif
