/* block/probe.c - what an image is: its protocol from its name, its format from its first bytes. */
#include "block/block-priv.h"

#include "util/error.h"
#include "util/fdset.h"
#include "util/keyval.h"
#include "util/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *magic;
	size_t len;
	const char *format;
} magics[] = {
	{ "QFI\xfb", 4, "qcow2" },     { "QED\0", 4, "qed" },     { "KDMV", 4, "vmdk" },
	{ "COWD", 4, "vmdk" },         { "vhdxfile", 8, "vhdx" }, { "conectix", 8, "vpc" },
	{ "LUKS\xba\xbe", 6, "luks" }, { "<<< ", 4, "vdi" },
};

const char *probe_bytes(const void *head, size_t len)
{
	for (unsigned i = 0; i < ARRAY_SIZE(magics); i++) {
		if (len >= magics[i].len && !memcmp(head, magics[i].magic, magics[i].len))
			return magics[i].format;
	}
	return NULL;
}

const char *probe_file(const char *filename)
{
	char head[16];
	ssize_t n;
	int fd = file_open(filename, O_RDONLY | O_NONBLOCK, 0);

	if (fd < 0)
		return NULL;
	n = pread(fd, head, sizeof(head), 0);
	close(fd);
	return n > 0 ? probe_bytes(head, n) : NULL;
}

static bool is_device(const char *filename)
{
	struct stat st;

	return !stat(filename, &st) && (S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode)) &&
	       !g_str_has_prefix(filename, "/dev/fdset/");
}

/* "nbd://...", "fat:DIR", "rbd:..." but not "/a:b", "./a:b". Return: the scheme or NULL. */
static char *protocol_of(const char *filename)
{
	size_t n = strspn(filename, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "+-.");

	return n > 1 && filename[n] == ':' ? g_strndup(filename, n) : NULL;
}

void probe_set_driver(JsonObject *file)
{
	const char *name = keyval_str(file, "filename");

	if (name && !json_object_has_member(file, "driver"))
		json_object_set_string_member(file, "driver",
					      is_device(name) ? "host_device" : "file");
}

int probe_set_filename(JsonObject *file, const char *text, GError **err)
{
	g_autofree char *protocol = NULL;

	if (g_str_has_prefix(text, "file:"))
		text += strlen("file:");
	protocol = protocol_of(text);
	if (protocol) {
		error_set(err,
			  "'file=%s': protocol '%s' is not supported; files and devices of "
			  "the host are",
			  text, protocol);
		return -EINVAL;
	}
	json_object_set_string_member(file, "filename", text);
	probe_set_driver(file);
	return 0;
}

const char *probe_guess(const char *filename, bool writable, GError **err)
{
	const char *found = probe_file(filename);

	if (!found && writable) {
		log_warn("'%s': no format was given and none was recognised, so it is taken as "
			 "raw and nothing that looks like an image's header may be written to its "
			 "start; format=raw lifts that",
			 filename);
	}
	if (!found)
		return "raw";
	if (!strcmp(found, "qcow2"))
		return found;
	error_set(err,
		  "'%s' is a %s image: only raw and qcow2 images are supported ('qemu-img convert "
		  "-O qcow2' makes one; format=raw takes the bytes as they are)",
		  filename, found);
	return NULL;
}
