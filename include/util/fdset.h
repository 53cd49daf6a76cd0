/*
 * util/fdset.h - descriptors that the user handed over: fd sets and named ones.
 *
 * A set (-add-fd, QMP add-fd) is opened by the path /dev/fdset/N; a named descriptor (QMP getfd)
 * is taken by whoever is given its name. Source: QEMU's manual (-add-fd) and QMP reference.
 */
#ifndef UTIL_FDSET_H
#define UTIL_FDSET_H

#include "util/base.h"

/*
 * fdset_add() - put a descriptor into a set.
 * @set:    number of the set; negative: the lowest unused one.
 * @fd:     from now on owned by the set; becomes close-on-exec.
 * @opaque: user's remark; may be NULL.
 *
 * Return: the number of the set, or -errno with @err (@fd stays the caller's).
 * Context: machine lock held, as for all functions here.
 */
s64 fdset_add(s64 set, int fd, const char *opaque, GError **err);

/* fdset_remove() - drop one descriptor of a set, or all of them (@fd -1). What was opened from
 * the set stays open. Return: 0, or -ENOENT with @err. */
int fdset_remove(s64 set, int fd, GError **err);

/* fdset_foreach() - for query-fdsets, by ascending set. */
void fdset_foreach(void (*fn)(s64 set, int fd, const char *opaque, void *arg), void *arg);

/*
 * file_open() - open(2), close-on-exec, that understands /dev/fdset/N.
 * @flags: of a set, the member whose access mode fits is duplicated; other flags are as they are.
 *
 * Return: a descriptor of the caller's, or -errno (-ENOENT no such set, -EACCES no fitting member).
 */
int file_open(const char *path, int flags, mode_t mode);

/* fd_named_add() - getfd; replaces (closes) an earlier descriptor of that name. */
int fd_named_add(const char *name, int fd, GError **err);
/* fd_named_remove() - closefd. -ENOENT with @err. */
int fd_named_remove(const char *name, GError **err);

/*
 * fd_take() - the descriptor that an option "fd=TEXT" means: a number inherited from our parent,
 * or a name given by getfd, which is then forgotten.
 *
 * Return: the descriptor, close-on-exec and the caller's; -errno with @err.
 */
int fd_take(const char *text, GError **err);

#endif
