/*
 * migration/registry.h - the sections of a machine, and saving and loading one of them.
 */
#ifndef MIGRATION_REGISTRY_H
#define MIGRATION_REGISTRY_H

#include "migration/stream.h"

struct state_entry {
	char *idstr;
	int instance_id;
	const struct state_desc *desc;
	void *obj;
	u32 section_id; /* ours, when we send; a receiver takes the sender's number */
};

struct state_registry {
	GPtrArray *entries; /* of struct state_entry *, in the order of sending */
	u32 next_section_id;
};

/* state_registry_find() - entry by name and instance; NULL if there is none. */
struct state_entry *state_registry_find(const struct state_registry *reg, const char *idstr,
					u32 instance_id);

/*
 * state_save_object() - the fields and subsections of one object.
 * @json: description to append to, an object body ("vmsd_name":...); NULL: none wanted.
 */
int state_save_object(struct state_writer *w, const struct state_desc *desc, void *obj,
		      GString *json, GError **err);

/*
 * state_load_object() - decode an object, then apply it (timers, post_load()).
 * @version: as the stream says.
 *
 * Return: 0, or -EINVAL with @err naming the field, what was expected and what was there.
 */
int state_load_object(struct state_reader *r, const struct state_desc *desc, void *obj, int version,
		      GError **err);

/*
 * state_save_entry() - one SECTION_FULL element with its header and @footer.
 * @json: array body of the description; NULL: none.
 *
 * Return: 0, or -errno with @err naming the section. An entry that is not needed writes nothing.
 */
int state_save_entry(struct state_writer *w, struct state_entry *e, bool footer, GString *json,
		     GError **err);

/*
 * state_load_entry() - payload and footer of a section whose header has been read.
 * @section_id: the sender's number; the footer must repeat it.
 */
int state_load_entry(struct state_reader *r, struct state_entry *e, u32 version, u32 section_id,
		     bool footer, GError **err);

/* state_check_footer() - the footer element of section @section_id comes next. */
int state_check_footer(struct state_reader *r, u32 section_id, GError **err);

/* state_json_string() - append @text as a JSON string. */
void state_json_string(GString *json, const char *text);

#endif
