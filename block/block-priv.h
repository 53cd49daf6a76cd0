/*
 * block/block-priv.h - images, nodes and requests inside the block layer.
 */
#ifndef BLOCK_BLOCK_PRIV_H
#define BLOCK_BLOCK_PRIV_H

#include "block/block.h"
#include "block/throttle.h"
#include "util/iothread.h"
#include "util/timer.h"

#define BLOCK_SECTOR 512

struct format;
struct overlay;
struct throttle_group;

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
	bool uring;   /* requests may go to the ring */
	bool growing; /* a format above writes beyond size, which is what the file had at first */
	u64 highest;  /* growing: end of the highest write since it was loaded; atomic */
	GMutex rmw;   /* serialises writes of parts of an O_DIRECT unit */
	int in_flight;
};

/* One operation on a node or an image, as a worker sees it. */
enum io_op { IO_READ, IO_WRITE, IO_FLUSH, IO_DISCARD, IO_ZEROES };

struct io {
	enum io_op op;
	u64 offset, bytes; /* within the disk, or the image */
	const struct iovec *iov;
	int niov;
	unsigned flags; /* enum block_flags */
};

/*
 * What a format driver does for a node above its file's. Between load() and unload() the locks of
 * the file are held and what the driver remembers of it is true; without load() only what open()
 * read is known, and nothing may be done. All but io() run in the main thread with no request in
 * flight; io() runs in any thread, several at a time, and blocks.
 */
struct format_ops {
	/* @writable: the node will write. Reads all again. Return: 0 or -errno with @err. */
	int (*load)(struct format *f, bool writable, GError **err);
	/* Everything on the file; then forget it. Return: 0, or -errno with @err: still loaded. */
	int (*unload)(struct format *f, GError **err);
	/* Return: 0 or -errno. */
	int (*io)(struct format *f, const struct io *io);
	/* Everything on the file, so that nothing would be left to do if it were closed now. */
	int (*settle)(struct format *f);
	/* Return: 0, or -errno with @err: nothing changed. */
	int (*resize)(struct format *f, u64 size, GError **err);
	void (*info)(struct format *f, struct block_info *info);
	void (*close)(struct format *f); /* frees; the file may be in any state */
};

struct format {
	const struct format_ops *ops;
	struct block_backend *b;
	u64 size; /* bytes, rounded up to a sector */
	bool loaded;
};

struct block_backend {
	char *id, *node_name;
	const char *driver;            /* "raw", "qcow2", "file", "host_device", "null-co" */
	struct image *img;             /* NULL: a drive without a medium */
	struct format *fmt;            /* NULL: the bytes of the image are those of the disk */
	struct overlay *overlay;       /* snapshot=on; NULL */
	struct block_backend *child;   /* the file node of a raw or format node */
	struct block_backend *backing; /* what the format shows where it has nothing; NULL */
	struct block_backend *parent;
	u64 base;  /* raw's offset= */
	u64 limit; /* raw's size=; 0: up to the end */
	bool read_only, cdrom, own_child, own_backing, is_drive;
	bool probed; /* raw because nothing else was found: its start must not become a format's */
	bool unmap;  /* discard=unmap here; the file must say so too */
	bool write_cache;
	enum block_detect_zeroes detect_zeroes;
	char *serial;
	struct engine *engine;         /* of its I/O thread; NULL: the main thread's */
	const struct block_user *user; /* copied; NULL: none */
	char *qdev;
	enum { POLICY_REPORT, POLICY_STOP, POLICY_IGNORE, POLICY_ENOSPC } rerror, werror;
	enum block_io_status io_status;
	struct block_stats stats;
	struct throttle_group *throttle; /* NULL: no limits */
	GQueue throttled[2];             /* of struct block_req that wait: reads, writes */
	u64 last_size;                   /* told to the user last */
};

struct block_req {
	struct block_backend *b;
	struct engine *engine;
	struct image *img;
	enum io_op op;
	u64 offset, bytes; /* within the disk */
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

/* An operation on a disk: on its overlay, format or image. In any thread, blocking. Offsets were
 * checked by the caller. Return: 0 or -errno. */
int node_io(struct block_backend *b, const struct io *io);

/* ---- overlay.c ---- */
struct overlay *overlay_create(u64 size, GError **err);
void overlay_free(struct overlay *ov);
int overlay_read(struct block_backend *b, u64 offset, const struct iovec *iov, int niov);
int overlay_write(struct block_backend *b, u64 offset, const struct iovec *iov, int niov);
int overlay_zeroes(struct block_backend *b, u64 offset, u64 bytes);
/* What lies below the overlay. */
int node_base_io(struct block_backend *b, const struct io *io);

/*
 * ---- Engines. A request that is done comes back through request_done() in the thread of its
 * engine, or in the one that drains. ----
 */
struct engine {
	struct iothread *thread; /* NULL: the main thread */
	int users;               /* disks; the main thread's engine stays */
	GMutex lock;             /* guards finished */
	GQueue finished;         /* of struct block_req */
	int done_fd;             /* eventfd: finished has some */
	struct ring *ring;       /* io_uring; NULL: none, or not yet */
	bool ring_tried;
	GSource *source[2]; /* done_fd, the ring's descriptor */
};

struct engine *engine_main(void);
/* Whose requests are about to be submitted. */
struct engine *engine_of(struct block_backend *b);
/* Run what is done; if nothing is, wait until something may be. */
void engine_wait(void);

void pool_submit(struct block_req *r);
void pool_complete(struct block_req *r); /* any thread: r->ret is set */
int pool_reap(struct engine *e);         /* runs what is done; how many */

bool uring_available(void);
/* Return: whether the ring took it. */
bool uring_submit(struct block_req *r);
void uring_plug(bool plug);
void uring_submit_queued(struct engine *e); /* unless plugged */
int uring_reap(struct engine *e);
int uring_event_fd(struct engine *e); /* sets the ring up; -1: there can be none */
void uring_free(struct engine *e);

void request_done(struct block_req *r);
/* Give a request that was checked to an engine. Machine lock held. */
void request_start(struct block_req *r);

/* ---- throttle.c ---- */
/* Return: whether the request has to wait; request_start() is called when it may go. */
bool throttle_hold(struct block_req *r);
void throttle_release(struct block_backend *b); /* those that wait start now */
void throttle_leave(struct block_backend *b);   /* no limits any more */

/* ---- throttle-opts.c ---- */
/* Takes the limits out of a -drive's options. Return: 0 or -EINVAL with @err. */
int throttle_take_opts(JsonObject *o, struct block_backend *b, GError **err);

/* ---- node.c ---- */
GList *block_nodes(void); /* of struct block_backend */
struct block_backend *node_new(const char *id, const char *node_name, const char *driver);
void node_register(struct block_backend *b);
void node_destroy(struct block_backend *b);
int node_check_name(const char *node_name, GError **err);
bool block_inactive_start(void);
/* Hold what a user of the node needs: locks, an image open for writing, the format's metadata; of
 * backing files for reading. Return: 0 or -errno with @err. */
int node_require(struct block_backend *b, enum image_use want, GError **err);
void node_release(struct block_backend *b);   /* nobody uses it any more */
void node_tell_size(struct block_backend *b); /* the user, if block_size() changed */

/* ---- probe.c ---- */
/* The format that first bytes show ("qcow2", "vmdk", ...); NULL: none that is known. */
const char *probe_bytes(const void *head, size_t len);
/* The same of a file; NULL too if it cannot be read. */
const char *probe_file(const char *filename);
/* Fills the "filename" and "driver" of a file node from a text that a user or an image gives:
 * a path, "file:PATH". Return: 0, or -EINVAL with @err for other protocols. */
int probe_set_filename(JsonObject *file, const char *text, GError **err);
/* Fills "driver" from "filename", unless it is there. */
void probe_set_driver(JsonObject *file);
/* For a node without driver or format: the format of @filename; raw, if @writable, with a warning.
 * NULL with @err: a format that is not supported. */
const char *probe_guess(const char *filename, bool writable, GError **err);

/* ---- opts.c ---- */
/* @opts is consumed. */
struct block_backend *node_from_opts(JsonObject *opts, GError **err);

#endif
