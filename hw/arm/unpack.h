/*
 * hw/arm/unpack.h - kernels that come compressed.
 */
#ifndef HW_ARM_UNPACK_H
#define HW_ARM_UNPACK_H

#include "util/base.h"

/*
 * kernel_unpack() - the program in a file.
 *
 * Understands gzip, and Linux's EFI images with a compressed payload ("zimg", gzip); anything else
 * is given back as it is.
 * Return: a new reference; NULL with @err.
 */
GBytes *kernel_unpack(GBytes *file, GError **err);

#endif
