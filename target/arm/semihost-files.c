/*
 * target/arm/semihost-files.c - files that a guest has open by semihosting.
 *
 * Two names are special: ":tt" is the console, and ":semihosting-features" says which extensions
 * there are. Everything else is a file of the host.
 */
#include "target/arm/semihost-files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define FEATURES_NAME ":semihosting-features"
#define CONSOLE_NAME  ":tt"
#define MODE_MAX      11
#define FILES_MAX     1024
#define INPUT_WAIT_MS 20 /* how long a vCPU waits for standard input before it looks around */

/* "SHFB", then a bit for each extension: SYS_EXIT_EXTENDED; :tt for standard output and error. */
static const u8 features[] = { 'S', 'H', 'F', 'B', 3 };

enum kind { CLOSED, HOST, CONSOLE, FEATURES };

struct file {
	enum kind kind;
	int fd;       /* HOST; of CONSOLE without a character device: 0 to 2 */
	bool reads;   /* of CONSOLE */
	u64 position; /* of FEATURES */
};

static GMutex lock;   /* guards files; no call to the host is made under it */
static GArray *files; /* of struct file; a handle is the index plus one */
static struct semihosting_console console;

static s64 insert(const struct file *f)
{
	s64 handle = -EMFILE;

	g_mutex_lock(&lock);
	for (guint i = 0; i < files->len && handle < 0; i++) {
		struct file *slot = &g_array_index(files, struct file, i);

		if (slot->kind == CLOSED) {
			*slot = *f;
			handle = i + 1;
		}
	}
	if (handle < 0 && files->len < FILES_MAX) {
		g_array_append_val(files, *f);
		handle = files->len;
	}
	g_mutex_unlock(&lock);
	return handle;
}

/* A copy of what a handle stands for; .kind CLOSED if it is none. */
static struct file lookup(s64 handle)
{
	struct file f = { .kind = CLOSED };

	g_mutex_lock(&lock);
	if (handle >= 1 && handle <= files->len)
		f = g_array_index(files, struct file, handle - 1);
	g_mutex_unlock(&lock);
	return f;
}

static void set_position(s64 handle, u64 position)
{
	g_mutex_lock(&lock);
	g_array_index(files, struct file, handle - 1).position = position;
	g_mutex_unlock(&lock);
}

static s64 result_of(ssize_t ret)
{
	return ret < 0 ? -errno : ret;
}

/* Modes come in groups of four (read, write, append): text, binary, and both with "+". */
static int open_flags(unsigned mode)
{
	static const int base[] = { 0, O_CREAT | O_TRUNC, O_CREAT | O_APPEND };
	bool update = mode & 2;

	return base[mode / 4] | (update ? O_RDWR : mode / 4 ? O_WRONLY : O_RDONLY) | O_CLOEXEC;
}

s64 semihost_open(const char *name, unsigned mode)
{
	struct file f = { .kind = HOST };
	s64 handle;

	if (mode > MODE_MAX)
		return -EINVAL;
	if (!strcmp(name, CONSOLE_NAME)) {
		f = (struct file){ .kind = CONSOLE, .fd = mode / 4, .reads = mode < 4 };
	} else if (!strcmp(name, FEATURES_NAME)) {
		if (mode > 1)
			return -EACCES;
		f.kind = FEATURES;
	} else {
		f.fd = open(name, open_flags(mode), 0644);
		if (f.fd < 0)
			return -errno;
	}
	handle = insert(&f);
	if (handle < 0 && f.kind == HOST)
		close(f.fd);
	return handle;
}

s64 semihost_close(s64 handle)
{
	struct file f = { .kind = CLOSED };

	g_mutex_lock(&lock);
	if (handle >= 1 && handle <= files->len) {
		f = g_array_index(files, struct file, handle - 1);
		g_array_index(files, struct file, handle - 1).kind = CLOSED;
	}
	g_mutex_unlock(&lock);
	if (f.kind == CLOSED)
		return -EBADF;
	return f.kind == HOST && close(f.fd) ? -errno : 0;
}

static s64 write_all(int fd, const u8 *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, buf + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return done ? (s64)done : -errno;
		done += n;
	}
	return done;
}

static s64 write_console(int fd, const void *buf, size_t len)
{
	if (!console.write)
		return write_all(fd, buf, len);
	console.write(console.opaque, buf, len);
	return len;
}

void semihost_console_write(const void *buf, size_t len)
{
	write_console(STDERR_FILENO, buf, len);
}

s64 semihost_console_read(void *buf, size_t len)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	size_t n;

	if (console.read) {
		n = console.read(console.opaque, buf, len);
		return n ? (s64)n : -EAGAIN;
	}
	if (poll(&p, 1, INPUT_WAIT_MS) <= 0)
		return -EAGAIN;
	return result_of(read(STDIN_FILENO, buf, len));
}

s64 semihost_write(s64 handle, const void *buf, size_t len)
{
	struct file f = lookup(handle);

	switch (f.kind) {
	case HOST: return write_all(f.fd, buf, len);
	case CONSOLE: return f.reads ? -EBADF : write_console(f.fd, buf, len);
	default: return -EBADF;
	}
}

static s64 read_features(s64 handle, u64 position, void *buf, size_t len)
{
	size_t n = position < sizeof(features) ? MIN(len, sizeof(features) - position) : 0;

	memcpy(buf, features + position, n);
	set_position(handle, position + n);
	return n;
}

s64 semihost_read(s64 handle, void *buf, size_t len)
{
	struct file f = lookup(handle);

	switch (f.kind) {
	case HOST: return result_of(read(f.fd, buf, len));
	case CONSOLE: return f.reads ? semihost_console_read(buf, len) : -EBADF;
	case FEATURES: return read_features(handle, f.position, buf, len);
	default: return -EBADF;
	}
}

s64 semihost_is_tty(s64 handle)
{
	struct file f = lookup(handle);

	switch (f.kind) {
	case CLOSED: return -EBADF;
	case CONSOLE: return console.write || isatty(f.fd);
	case HOST: return isatty(f.fd);
	default: return 0;
	}
}

s64 semihost_seek(s64 handle, u64 pos)
{
	struct file f = lookup(handle);

	switch (f.kind) {
	case HOST: return lseek(f.fd, pos, SEEK_SET) < 0 ? -errno : 0;
	case FEATURES:
		if (pos > sizeof(features))
			return -EINVAL;
		set_position(handle, pos);
		return 0;
	case CONSOLE: return -ESPIPE;
	default: return -EBADF;
	}
}

s64 semihost_length(s64 handle)
{
	struct file f = lookup(handle);
	struct stat st;

	switch (f.kind) {
	case HOST: return fstat(f.fd, &st) ? -errno : st.st_size;
	case FEATURES: return sizeof(features);
	case CONSOLE: return -ESPIPE;
	default: return -EBADF;
	}
}

void semihost_files_init(const struct semihosting_console *c)
{
	console = c ? *c : (struct semihosting_console){ 0 };
	files = g_array_new(FALSE, TRUE, sizeof(struct file));
}

void semihost_files_close(void)
{
	for (guint i = 0; files && i < files->len; i++)
		semihost_close(i + 1);
	g_clear_pointer(&files, g_array_unref);
}
