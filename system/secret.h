/*
 * system/secret.h - -object secret: passwords and keys that options name by an id.
 */
#ifndef SYSTEM_SECRET_H
#define SYSTEM_SECRET_H

#include "util/base.h"

#include <json-glib/json-glib.h>

/*
 * secret_create() - read a secret.
 * @opts: "data" (the text) or "file" (a path), and "format": "raw" or "base64"; taken members are
 *        removed, what is left is refused.
 *
 * Return: its bytes; NULL with @err.
 */
GBytes *secret_create(JsonObject *opts, GError **err);

#endif
