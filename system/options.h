/*
 * system/options.h - the table of command line options.
 */
#ifndef SYSTEM_OPTIONS_H
#define SYSTEM_OPTIONS_H

#include "config.h"

struct option_desc {
	const char *name;     /* without dash */
	const char *argument; /* form of the argument for the help text; NULL: takes none */
	const char *help;
	/*
	 * Takes the argument (NULL if there is none). Return: 0; 1: help was printed; -EINVAL.
	 * NULL for options that are known but not supported: @help then says what would work.
	 */
	int (*parse)(struct config *c, const struct option_desc *o, const char *arg, GError **err);
	size_t offset; /* in struct config, for the generic parsers */
};

/* The rows, ending with a NULL name; one table a topic. */
extern const struct option_desc options_machine[];
extern const struct option_desc options_host[];

/* Generic parsers, for the tables. */
int option_set_flag(struct config *c, const struct option_desc *o, const char *arg, GError **err);
int option_set_text(struct config *c, const struct option_desc *o, const char *arg, GError **err);
/* Merges key=value members into the JsonObject at the offset. */
int option_merge(struct config *c, const struct option_desc *o, const char *arg, GError **err);
/* Appends a config_item to the GPtrArray at the offset; _text keeps the argument unparsed. */
int option_append(struct config *c, const struct option_desc *o, const char *arg, GError **err);
int option_append_text(struct config *c, const struct option_desc *o, const char *arg,
		       GError **err);
/* Known to QEMU's users, without meaning here: a warning once. */
int option_no_meaning(struct config *c, const struct option_desc *o, const char *arg, GError **err);

/* option_add_item() - append an already parsed argument. */
void option_add_item(GPtrArray *to, const char *option, JsonObject *opts, const char *text);

/*
 * options_foreach() - every option that does something: its name and the keys of its argument.
 * @form: of the argument, as help shows it; NULL: it takes none.
 */
void options_foreach(void (*fn)(const char *name, const char *form, void *opaque), void *opaque);

/* options_implied_key() - what a first bare word of the option's argument means; NULL: none. */
const char *options_implied_key(const char *option);

#endif
