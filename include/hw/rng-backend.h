/*
 * hw/rng-backend.h - sources of randomness: -object rng-builtin and rng-random.
 */
#ifndef HW_RNG_BACKEND_H
#define HW_RNG_BACKEND_H

#include "util/base.h"

#include <json-glib/json-glib.h>

struct rng_backend;

/* rng_backend_is_type() - whether @type names one. */
bool rng_backend_is_type(const char *type);

/*
 * rng_backend_create() - make a source.
 * @type: "rng-builtin" (the host kernel's generator), or "rng-random" (a device or pipe).
 * @opts: rng-random: filename, default /dev/urandom. Taken members are removed, what is left is
 *        refused.
 *
 * Return: the source; NULL with @err naming option or path and errno.
 */
struct rng_backend *rng_backend_create(const char *type, JsonObject *opts, GError **err);
void rng_backend_destroy(struct rng_backend *b);

/*
 * rng_backend_read() - take bytes that are there now.
 *
 * Return: bytes, > 0; -EAGAIN: none yet, ask again later; another -errno: the source failed.
 * Context: machine lock held; never blocks.
 */
ssize_t rng_backend_read(struct rng_backend *b, void *buf, size_t len);

#endif
