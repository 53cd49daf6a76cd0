/* sec4.c - tests of FEAT_HACDBS (docs/hdbss-hacdbs.md). */
#include "el2.h"

const struct test tests_4[] = {
	{ NULL, NULL },
};

const struct test tests_shared[] = {
	{ NULL, NULL },
};
