/*
 * target/arm/engine_props.h - properties of -cpu that are about the dirty-state engines.
 */
#ifndef TARGET_ARM_ENGINE_PROPS_H
#define TARGET_ARM_ENGINE_PROPS_H

#include "target/arm/engines.h"

/* arm_engine_props_init() - what a CPU of the model max has if nothing is said. */
void arm_engine_props_init(struct arm_engines_config *c);

/*
 * arm_engine_prop_set() - one "name=value".
 *
 * Return: 0; -ENOENT without @err if there is no such property; -EINVAL with @err.
 */
int arm_engine_prop_set(struct arm_engines_config *c, const char *name, const char *text,
			GError **err);

/* arm_engine_props_names() - append them to a list, with ", " between; arm_engine_props_bools() -
 * call @fn for those that are on or off. */
void arm_engine_props_names(GString *list);
void arm_engine_props_bools(const struct arm_engines_config *c,
			    void (*fn)(void *opaque, const char *name, bool on), void *opaque);

#endif
