/*
 * migration/incoming.h - the receiving side.
 */
#ifndef MIGRATION_INCOMING_H
#define MIGRATION_INCOMING_H

#include "migration/internal.h"
#include "migration/ram-load.h"
#include "migration/wire.h"

struct incoming {
	struct migration *m;
	bool started;   /* migration_incoming() was called */
	bool autostart; /* run at the end; machine lock */
	bool exit_on_error;
	bool finished; /* completed or failed; machine lock */
	struct settings settings;

	/* Waiting for the sender; main thread. */
	int listen_fd; /* -1: none */
	guint listen_watch;
	char *unlink_path;    /* of the listening unix socket */
	JsonArray *addresses; /* socket-address; NULL: none */

	struct channel *ch;
	GThread *thread;

	/* Load thread. */
	struct state_reader r;
	struct ram_load ram;
	bool ram_begun;
	u32 ram_section;
	bool return_path;     /* opened by the sender */
	bool peer_is_ours;    /* the sender asked with PING_OWN */
	GError *config_error; /* told as soon as the sender can hear it */
};

/* incoming_load() - everything up to the end of the device states. Load thread, no locks. */
int incoming_load(struct incoming *in, GError **err);

/* incoming_destroy() - cancels and waits; machine lock not held. */
void incoming_destroy(struct incoming *in);

/* verify_answer() - the receiver's part of x-verify. verify.c */
int verify_answer(struct incoming *in, GError **err);
int verify_answer_block(struct incoming *in, const char *block, GError **err);

#endif
