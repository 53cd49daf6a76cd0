/*
 * block/block.h - disk images on the host's side: opening, asynchronous requests, statistics.
 *
 * A node is an open image (-blockdev, or the image of a -drive); it has a node name and at most
 * one user (a device). Option names and values: QEMU's manual (invocation, -drive and -blockdev)
 * and the BlockdevOptions, BlockInfo and BlockDeviceStats types of its QMP reference.
 * Unless a function says otherwise: main thread or a vCPU thread, machine lock held.
 */
#ifndef BLOCK_BLOCK_H
#define BLOCK_BLOCK_H

#include "util/base.h"

#include <json-glib/json-glib.h>
#include <sys/uio.h>

struct block_backend;
struct iothread;

/* ---- Requests ---------------------------------------------------------------------------- */

/* Runs in the main thread, or in the I/O thread that the disk was given to, with the machine lock
 * held, never before the submitting call returned.
 * @ret: 0, or -errno (a short file reads as zeroes; beyond the device's end is -EIO). */
typedef void block_done_fn(void *opaque, int ret);

enum block_flags {
	BLOCK_FUA = 1 << 0,       /* write, write-zeroes: on stable storage when done */
	BLOCK_MAY_UNMAP = 1 << 1, /* write-zeroes: may give the space back */
};

/* A piece of a disk and where its bytes are. */
struct block_span {
	u64 offset;              /* bytes; any alignment (O_DIRECT images bounce what the host
				  * cannot take) */
	const struct iovec *iov; /* copied; the memory it names stays valid until done */
	int niov;
};

/*
 * block_readv(), block_writev() - start a transfer.
 * @flags: BLOCK_FUA or 0.
 *
 * Errors of any kind reach @done: -EIO out of range, -EROFS, -EPERM a write while
 * inactive, -ENOMEDIUM.
 */
void block_readv(struct block_backend *b, const struct block_span *span, block_done_fn *done,
		 void *opaque);
void block_writev(struct block_backend *b, const struct block_span *span, unsigned flags,
		  block_done_fn *done, void *opaque);

/* block_flush() - what was done before is on stable storage (nothing to do: cache.no-flush). */
void block_flush(struct block_backend *b, block_done_fn *done, void *opaque);

/* block_discard() - give space back if the image was opened with discard=unmap; the content is
 * then undefined. Otherwise done at once with 0. */
void block_discard(struct block_backend *b, u64 offset, u64 bytes, block_done_fn *done,
		   void *opaque);
void block_write_zeroes(struct block_backend *b, u64 offset, u64 bytes, unsigned flags,
			block_done_fn *done, void *opaque);

/*
 * block_plug(), block_unplug() - requests between them may reach the host in one system call.
 * Pairs nest; none is left open when the machine lock is dropped.
 */
void block_plug(void);
void block_unplug(void);

/*
 * block_pread(), block_pwrite() - the same at once, for start-up, flash and FDC-like devices.
 *
 * Return: 0 or -errno. May block for the host's disk.
 */
int block_pread(struct block_backend *b, u64 offset, void *buf, size_t len);
int block_pwrite(struct block_backend *b, u64 offset, const void *buf, size_t len);

/* block_drain(), block_drain_all() - return when no request is in flight; their done functions
 * have run, in the calling thread. Other main loop sources do not run meanwhile. */
void block_drain(struct block_backend *b);
void block_drain_all(void);

/* block_flush_all() - drain and flush every writable image. Return: 0 or the first -errno. */
int block_flush_all(void);

/* ---- What a device asks about its disk --------------------------------------------------- */

u64 block_size(
	const struct block_backend *b); /* bytes, rounded up to 512; the rest reads as zeroes */
bool block_inserted(const struct block_backend *b); /* false: a drive without a medium */
bool block_read_only(const struct block_backend *b);
bool block_is_cdrom(const struct block_backend *b);      /* media=cdrom */
const char *block_serial(const struct block_backend *b); /* -drive serial=; NULL */
bool block_can_discard(const struct block_backend *b);
/* Whether writes count as done before a flush: the default of the device's write-cache. */
bool block_write_cache(const struct block_backend *b);
void block_set_write_cache(struct block_backend *b, bool on);
unsigned block_logical_size(const struct block_backend *b); /* host's O_DIRECT unit, >= 512 */

/* ---- Lookup and ownership ----------------------------------------------------------------- */

/* block_name() - the id, or the node name where there is none: for messages. */
const char *block_name(const struct block_backend *b);
/* block_find() - by -drive id or node name; NULL if unknown. */
struct block_backend *block_find(const char *name);
const char *block_id(const struct block_backend *b); /* -drive id; "" for -blockdev */
const char *block_node_name(const struct block_backend *b);

/* What the block layer tells the device. Members may be NULL. Machine lock held. */
struct block_user {
	const char *qdev;              /* id or QOM path of the device, for query-block */
	void (*resized)(void *opaque); /* block_size() changed */
	void *opaque;
};

/*
 * block_attach() - give the image to a device.
 * @writable: the device will write.
 *
 * Return: 0; -EBUSY with @err if another device or node has it, -EROFS if @writable and read-only.
 */
int block_attach(struct block_backend *b, const struct block_user *user, bool writable,
		 GError **err);
void block_detach(struct block_backend *b); /* drains */

/* block_set_iothread() - where requests of the disk are submitted and completed from now on. NULL:
 * in the main thread. Drains. Until then the thread cannot be removed. */
void block_set_iothread(struct block_backend *b, struct iothread *thread);

/* block_qdev() - block_user.qdev of the device that has the image; "" if none has. */
const char *block_qdev(const struct block_backend *b);

/* ---- Errors ------------------------------------------------------------------------------- */

enum block_error_action { BLOCK_ERROR_IGNORE, BLOCK_ERROR_REPORT, BLOCK_ERROR_STOP };
enum block_io_status { BLOCK_IO_OK, BLOCK_IO_FAILED, BLOCK_IO_NOSPACE };

/*
 * block_error() - a request of the device failed: what werror/rerror say about it.
 * @errnum: positive.
 *
 * Counts, notifies block_error_notify()'s function, sets the I/O status. On STOP the device keeps
 * the request and repeats it when the VM runs again; the caller stops the VM.
 */
enum block_error_action block_error(struct block_backend *b, bool is_read, int errnum);

/* -device's werror=/rerror= override those of -drive: "ignore", "report", "stop", "enospc",
 * "auto". Return 0 or -EINVAL with @err. */
int block_set_error_policy(struct block_backend *b, const char *rerror, const char *werror,
			   GError **err);

/* For the BLOCK_IO_ERROR event; set once by the process, NULL: nobody listens. */
typedef void block_error_fn(void *opaque, struct block_backend *b, bool is_read, int errnum,
			    enum block_error_action action);
void block_error_notify(block_error_fn *fn, void *opaque);
enum block_io_status block_io_status(const struct block_backend *b);
void block_reset_io_status(struct block_backend *b); /* the VM runs again */

/* ---- Statistics --------------------------------------------------------------------------- */

enum block_op { BLOCK_OP_READ, BLOCK_OP_WRITE, BLOCK_OP_FLUSH, BLOCK_OP_UNMAP, BLOCK_OPS };

struct block_stats {
	u64 bytes[BLOCK_OPS];
	u64 operations[BLOCK_OPS];
	u64 failed[BLOCK_OPS];
	u64 invalid[BLOCK_OPS]; /* refused before they reached the host */
	u64 total_time_ns[BLOCK_OPS];
	u64 wr_highest_offset; /* bytes: end of the highest write */
	s64 last_access_ns;    /* CLOCK_TYPE_REALTIME; 0: never */
};
void block_get_stats(const struct block_backend *b, struct block_stats *s);

/* ---- Making and removing ------------------------------------------------------------------ */

/*
 * block_node_create() - from -blockdev or blockdev-add; an inline "file" member makes a second
 * node. Formats: raw, qcow2 (with another for an inline or implied "backing"). Protocols:
 * file, host_device, null-co.
 *
 * Return: the node, NULL with @err.
 */
struct block_backend *block_node_create(JsonObject *opts, GError **err);

/* block_node_remove() - blockdev-del. Return 0, -ENOENT or -EBUSY with @err. */
int block_node_remove(const char *node_name, GError **err);

enum block_interface {
	BLOCK_IF_NONE,
	BLOCK_IF_IDE,
	BLOCK_IF_SCSI,
	BLOCK_IF_FLOPPY,
	BLOCK_IF_PFLASH,
	BLOCK_IF_MTD,
	BLOCK_IF_SD,
	BLOCK_IF_VIRTIO,
	BLOCK_IFS
};
const char *block_interface_name(enum block_interface t); /* "none", "ide", ... */

/* A -drive: where the machine is to plug it. */
struct block_drive {
	struct block_backend *backend;
	enum block_interface interface;
	int index;     /* given or the next free one of its interface */
	int bus, unit; /* -1: not given */
	bool cdrom;
	bool claimed; /* a machine or device took it */
};

/*
 * block_drive_create() - from -drive (and -hda, -cdrom, -pflash, which are spellings of it).
 * @opts:       as parsed; "file" is the implied key nowhere.
 * @default_if: the machine's, where if= is not given.
 * @snapshot:   -snapshot was given.
 *
 * Return: the drive, in the list; NULL with @err.
 */
struct block_drive *block_drive_create(JsonObject *opts, enum block_interface default_if,
				       bool snapshot, GError **err);

/* block_drive_get() - the drive with that interface and index; NULL. */
struct block_drive *block_drive_get(enum block_interface t, int index);
/* block_drive_next() - the first not claimed one of the interface, lowest index first; NULL. */
struct block_drive *block_drive_next(enum block_interface t);
/* block_drive_unclaimed() - some drive other than if=none that nobody took; NULL: all taken. */
struct block_drive *block_drive_unclaimed(void);

/*
 * block_resize() - give the disk another size: block_resize of QMP.
 * @size: bytes.
 *
 * Raw images in files grow and shrink, qcow2 images grow; the device is told.
 * Return: 0, or -errno with @err (nothing changed).
 */
int block_resize(struct block_backend *b, u64 size, GError **err);

/* ---- Migration ---------------------------------------------------------------------------- */

/*
 * block_inactivate_all() - hand the images over: drain, flush, give the locks back. From then on
 * writes fail with -EPERM. Return: 0, or -errno with @err (the images stay active).
 */
int block_inactivate_all(GError **err);

/* block_activate_all() - take the locks and the present sizes of images. No effect on active ones.
 * Return: 0, or -errno with @err naming the image whose lock another process holds. */
int block_activate_all(GError **err);

/* block_start_inactive() - images opened from now on stay inactive until block_activate_all():
 * -incoming. */
void block_start_inactive(bool inactive);

/* ---- Queries ------------------------------------------------------------------------------ */

enum block_detect_zeroes { BLOCK_ZEROES_OFF, BLOCK_ZEROES_ON, BLOCK_ZEROES_UNMAP };

struct block_info {
	const char *id, *node_name, *qdev; /* "" or NULL where there is none */
	const char *driver, *filename;     /* NULL: no medium */
	const char *child;                 /* node name of the node below; NULL */
	struct block_backend *backing;     /* what shows where a format has nothing; NULL */
	/* What an image of a format says of itself; NULL or 0: nothing. */
	const char *backing_name, *backing_format;
	u64 cluster_size;
	bool dirty; /* qcow2: refcounts may be wrong */
	u64 size;
	bool read_only, active, cdrom, no_flush, direct, write_cache, attached, snapshot;
	bool is_child; /* below another node */
	enum block_io_status io_status;
	enum block_detect_zeroes detect_zeroes;
};
void block_get_info(struct block_backend *b, struct block_info *info);
void block_foreach(void (*fn)(struct block_backend *b, const struct block_info *info, void *opaque),
		   void *opaque);

#endif
