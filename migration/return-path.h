/*
 * migration/return-path.h - what the receiver tells the sender while the stream flows.
 */
#ifndef MIGRATION_RETURN_PATH_H
#define MIGRATION_RETURN_PATH_H

#include "migration/channel.h"
#include "migration/wire.h"

struct migration;

/* Filled by its own thread; guarded by the migration's lock, changes are signalled there. */
struct return_path {
	struct migration *m;
	struct channel *ch;
	GThread *thread;
	bool open;
	bool ended;       /* no more messages */
	bool shut;        /* the receiver is done */
	u32 shut_status;  /* 0: all well */
	s64 shut_ns;      /* when it came */
	bool pong;        /* it has answered a ping: the way back works */
	bool pong_own;    /* the receiver answered PING_OWN ... */
	GString *hello;   /* ... after this description if it is of our kind */
	char *peer_error; /* the receiver's own words */
	bool switchover_ack;
	GArray *block_hashes; /* of struct block_hash, until verify_done */
	GArray *page_hashes;  /* of u64 */
	bool verify_done;
};

struct block_hash {
	char block[256];
	u64 npages;
	u64 hash;
};

void return_path_start(struct return_path *rp, struct migration *m, struct channel *ch);
/* return_path_stop() - the channel has ended or is cancelled; waits for the thread. */
void return_path_stop(struct return_path *rp);

/*
 * return_path_wait() - until *@flag, or the end of the return path, or @timeout_ms (-1: none).
 *
 * Return: *@flag. Lock not held.
 */
bool return_path_wait(struct return_path *rp, const bool *flag, int timeout_ms);

/* return_path_error() - the receiver's words or status as @err if it reported a failure. */
bool return_path_error(struct return_path *rp, GError **err);

/*
 * return_path_send() - for the receiver: one message. @len: at most 65535.
 */
int return_path_send(struct channel *ch, enum return_message type, const void *data, size_t len,
		     GError **err);

#endif
