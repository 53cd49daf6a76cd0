/*
 * migration/state-field.h - what saving and loading share about one field of a table.
 */
#ifndef MIGRATION_STATE_FIELD_H
#define MIGRATION_STATE_FIELD_H

#include "migration/state.h"

bool state_field_present(const struct state_field *f, void *obj, int version);

/* state_field_is_array() - whether elements are numbered in descriptions and messages. */
static inline bool state_field_is_array(const struct state_field *f)
{
	return f->count || f->count_size;
}

/* state_field_count() - elements in use; false with @err if a counter exceeds its bound. */
bool state_field_count(const struct state_field *f, void *obj, u32 *n, GError **err);

/* state_field_base() - the first element; NULL for a pointer member that is NULL. */
void *state_field_base(const struct state_field *f, void *obj);

/* state_field_type_name() - as descriptions name it. */
const char *state_field_type_name(const struct state_field *f);

#endif
