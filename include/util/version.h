/*
 * util/version.h - who we are, and whose interfaces we offer.
 */
#ifndef UTIL_VERSION_H
#define UTIL_VERSION_H

/* The QEMU version that we are compatible with. Scripts parse three numbers out of --version, and
 * management tools switch on those of query-version. */
#define COMPAT_MAJOR 11
#define COMPAT_MINOR 1
#define COMPAT_MICRO 3

/* Our own name and version: the "package" of query-version. */
#define TIDEMARK_VERSION "0.1.0"
#define TIDEMARK_PACKAGE "tidemark " TIDEMARK_VERSION

#endif
