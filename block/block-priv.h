/*
 * block/block-priv.h - images, nodes and requests inside the block layer.
 */
#ifndef BLOCK_BLOCK_PRIV_H
#define BLOCK_BLOCK_PRIV_H

#include "block/block.h"

#define BLOCK_SECTOR 512

enum image_kind { IMAGE_FILE, IMAGE_HOST_DEVICE, IMAGE_NULL };
enum image_aio { AIO_AUTO, AIO_THREADS, AIO_NATIVE, AIO_IO_URING };
enum image_use { IMAGE_UNUSED, IMAGE_READ, IMAGE_WRITE };
enum lock_mode { LOCKING_AUTO, LOCKING_ON, LOCKING_OFF };

/* Options of an open file; which node they came from does not matter any more. */
struct image_opts {
	enum image_kind kind;
	char *filename;
	bool read_only, auto_read_only, direct, no_flush, unmap, force_share;
	enum image_aio aio;
	enum lock_mode locking;
	u64 null_size;
};

/* An open file or device. Nodes share it: raw above file. Workers read it; the main thread
 * changes it only while nothing is in flight. */
struct image {
	struct image_opts o;
	int refs;
	int fd;              /* -1: null */
	bool writable;       /* fd was opened for writing */
	bool active;         /* false: another process has the image (migration) */
	enum image_use want; /* what the users need while active */
	enum image_use held;
	u64 size;       /* bytes, rounded up to a sector */
	unsigned align; /* of offset and length for O_DIRECT; 1 without it */
	unsigned mem_align;
	bool uring;              /* requests may go to the ring */
	GMutex rmw;              /* serialises writes of parts of an O_DIRECT unit */
	struct overlay *overlay; /* snapshot=on; NULL */
	int in_flight;
};

struct block_backend {
	char *id, *node_name;
	const char *driver;          /* "raw", "file", "host_device", "null-co" */
	struct image *img;           /* NULL: a drive without a medium */
	struct block_backend *child; /* raw's file node */
	struct block_backend *parent;
	u64 base;  /* raw's offset= */
	u64 limit; /* raw's size=; 0: up to the end */
	bool read_only, cdrom, own_child, is_drive;
	bool unmap; /* discard=unmap here; the file must say so too */
	bool write_cache;
	enum block_detect_zeroes detect_zeroes;
	char *serial;
	const struct block_user *user; /* copied; NULL: none */
	char *qdev;
	enum { POLICY_REPORT, POLICY_STOP, POLICY_IGNORE, POLICY_ENOSPC } rerror, werror;
	enum block_io_status io_status;
	struct block_stats stats;
	u64 last_size; /* told to the user last */
};

enum io_op { IO_READ, IO_WRITE, IO_FLUSH, IO_DISCARD, IO_ZEROES };

/* One operation on an image, as a worker sees it. */
struct io {
	enum io_op op;
	u64 offset, bytes; /* in the image */
	const struct iovec *iov;
	int niov;
	unsigned flags; /* enum block_flags */
};

struct block_req {
	struct block_backend *b;
	struct image *img;
	enum io_op op;
	u64 offset, bytes; /* in the image */
	unsigned flags;
	block_done_fn *done;
	void *opaque;
	s64 start_ns;
	bool invalid;
	int ret;
	int niov;
	struct iovec iov[];
};

/* ---- image.c ---- */
struct image *image_open(const struct image_opts *o, bool inactive, GError **err);
struct image *image_ref(struct image *img);
void image_unref(struct image *img);
void image_opts_clear(struct image_opts *o);
/* Make the file writable (auto-read-only) and hold at least @want. 0 or -errno with @err. */
int image_require(struct image *img, enum image_use want, GError **err);
/* The users need only @want from now on. */
void image_release(struct image *img, enum image_use want);
int image_activate(struct image *img, GError **err);
int image_inactivate(struct image *img, GError **err);

/* ---- lock.c ---- */
int image_lock_set(struct image *img, enum image_use want, GError **err);

/* ---- io.c: in any thread, blocking ---- */
int image_io(struct image *img, const struct io *io);

/* ---- overlay.c ---- */
struct overlay *overlay_create(u64 size, GError **err);
void overlay_free(struct overlay *ov);
int overlay_read(struct image *img, u64 offset, const struct iovec *iov, int niov);
int overlay_write(struct image *img, u64 offset, const struct iovec *iov, int niov);
int overlay_zeroes(struct image *img, u64 offset, u64 bytes);

/* ---- Engines. A request that is done comes back through request_done() in the main thread, or
 * in the one that drains. ---- */
void pool_submit(struct block_req *r);
void pool_complete(struct block_req *r); /* any thread: r->ret is set */
int pool_reap(void);                     /* runs what is done; how many */
int pool_event_fd(void);

bool uring_available(void);
/* Return: whether the ring took it. */
bool uring_submit(struct block_req *r);
void uring_plug(bool plug);
int uring_reap(void);
int uring_event_fd(void); /* -1: no ring */

void request_done(struct block_req *r);

/* ---- node.c ---- */
GList *block_nodes(void); /* of struct block_backend */
struct block_backend *node_new(const char *id, const char *node_name, const char *driver);
void node_register(struct block_backend *b);
void node_destroy(struct block_backend *b);
int node_check_name(const char *node_name, GError **err);
bool block_inactive_start(void);

/* ---- opts.c ---- */
/* @opts is consumed. */
struct block_backend *node_from_opts(JsonObject *opts, GError **err);

#endif
