/*
 * target/arm/qarma5.h - the cipher of FEAT_PACQARMA5.
 */
#ifndef TARGET_ARM_QARMA5_H
#define TARGET_ARM_QARMA5_H

#include "util/base.h"

/*
 * qarma5() - encrypt one block.
 * @tweak:     the modifier of a pointer.
 * @whitening: w0, the upper half of the key; @core: k0, the lower half.
 */
u64 qarma5(u64 data, u64 tweak, u64 whitening, u64 core);

#endif
