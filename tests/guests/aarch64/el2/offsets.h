/* offsets.h - members of struct vcpu (el2.h) that boot.S uses; x[31] comes first. */
#ifndef TESTS_GUESTS_AARCH64_EL2_OFFSETS_H
#define TESTS_GUESTS_AARCH64_EL2_OFFSETS_H

#define V_PC      248
#define V_PSTATE  256
#define V_SP      264
#define V_KIND    272
#define V_ESR     280
#define V_FAR     288
#define V_HPFAR   296
#define V_HOST_SP 304

#endif
