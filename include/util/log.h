/*
 * util/log.h - warnings, guest-error and debug logging.
 */
#ifndef UTIL_LOG_H
#define UTIL_LOG_H

#include "util/base.h"

/* Categories of -d; names as QEMU users know them (log_categories()). */
enum log_category {
	LOG_GUEST_ERROR = 1 << 0,
	LOG_UNIMP = 1 << 1,
	LOG_IN_ASM = 1 << 2,
	LOG_OUT_ASM = 1 << 3,
	LOG_EXEC = 1 << 4,
	LOG_INT = 1 << 5,
	LOG_MMU = 1 << 6,
	LOG_CPU = 1 << 7,
	LOG_CPU_RESET = 1 << 8,
	LOG_NOCHAIN = 1 << 9, /* nothing to write: has every region looked up, for LOG_EXEC */
	LOG_TRACE = 1 << 10,
};

/*
 * log_set() - choose categories and destination.
 * @names: comma-separated names as after -d, or "help"-less; NULL: none.
 * @path:  file to write to, as after -D; NULL: standard error.
 *
 * Return: 0, or -EINVAL with @err naming the unknown category, or -errno of the open.
 * Context: main thread, start-up or monitor.
 */
int log_set(const char *names, const char *path, GError **err);

/*
 * log_set_filter() - guest addresses that categories about code are limited to, as after -dfilter:
 * FIRST..LAST, FIRST+SIZE or LAST-SIZE, comma separated.
 *
 * Return: 0, or -EINVAL with @err naming the range. Context: main thread, start-up.
 */
int log_set_filter(const char *ranges, GError **err);

/* log_wants_address() - whether code at a guest's virtual address is to be logged. */
bool log_wants_address(u64 addr);

/* log_categories_help() - a text that lists the categories, one a line. Free with g_free(). */
char *log_categories_help(void);

/* log_enabled() - whether a category is on. One load: fit for warm paths. */
extern u32 log_mask;
static inline bool log_enabled(enum log_category c)
{
	return unlikely(log_mask & c);
}

/* log_write() - write to the log if the category is on. Any thread. */
void log_write(enum log_category c, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* The guest did something its hardware's manual forbids; counted, logged under -d guest_errors. */
#define log_guest(...) log_write(LOG_GUEST_ERROR, __VA_ARGS__)
/* The guest used something that we do not emulate; logged under -d unimp. */
#define log_unimp(...) log_write(LOG_UNIMP, __VA_ARGS__)

/*
 * log_warn() - tell the user something on standard error, prefixed with the program's name.
 *
 * Context: any thread. For conditions the user should act on; not for guest errors.
 */
void log_warn(const char *fmt, ...) G_GNUC_PRINTF(1, 2);

/* log_info() - the same for what went as it was asked for. */
void log_info(const char *fmt, ...) G_GNUC_PRINTF(1, 2);

/* log_warn_once() - as log_warn(), but each call site speaks only once in a process. */
#define log_warn_once(...)                                                                         \
	do {                                                                                       \
		static gsize said_;                                                                \
		if (g_once_init_enter(&said_)) {                                                   \
			log_warn(__VA_ARGS__);                                                     \
			g_once_init_leave(&said_, 1);                                              \
		}                                                                                  \
	} while (0)

#endif
