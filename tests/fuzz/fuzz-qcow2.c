/*
 * tests/fuzz/fuzz-qcow2.c - any file opened as a qcow2 image, read and written.
 *
 * The input is the file; its last bytes choose the requests as well.
 */
#include "tests/fuzz/fuzz.h"

#include "block/block.h"
#include "util/keyval.h"
#include "util/main-loop.h"

#include <sys/mman.h>
#include <unistd.h>

#define REQUESTS 24
#define CHUNK    (256 * KiB)

static void ignore(void *opaque, int ret)
{
}

static u64 pick(const u8 *data, size_t len, size_t i)
{
	return len ? data[len - 1 - i % len] : 0;
}

static void request(struct block_backend *b, u64 op, u64 offset, u64 bytes, u8 *buf)
{
	switch (op % 6) {
	case 0: block_pwrite(b, offset, buf, bytes); break;
	case 1: block_write_zeroes(b, offset, bytes, BLOCK_MAY_UNMAP, ignore, NULL); break;
	case 2: block_write_zeroes(b, offset, bytes, 0, ignore, NULL); break;
	case 3: block_discard(b, offset, bytes, ignore, NULL); break;
	case 4: block_flush(b, ignore, NULL); break;
	default: block_pread(b, offset, buf, bytes); break;
	}
	block_drain(b);
}

static void use(struct block_backend *b, const u8 *data, size_t len)
{
	g_autofree u8 *buf = g_malloc0(CHUNK);
	u64 sectors = block_size(b) / 512;

	for (size_t i = 0; sectors && i < REQUESTS; i++) {
		/* Early clusters are those that a small file has. */
		u64 first = (pick(data, len, 3 * i) << (i % 3 ? 2 : 34)) % sectors;
		u64 count = 1 + pick(data, len, 3 * i + 1) * 2;

		count = MIN(MIN(count, sectors - first), CHUNK / 512);
		request(b, pick(data, len, 3 * i + 2), first * 512, count * 512, buf);
	}
}

static void open_and_use(int fd, bool writable, const u8 *data, size_t len)
{
	g_autofree char *text = g_strdup_printf("driver=qcow2,node-name=q,backing=,discard=unmap,"
						"read-only=%s,file.driver=file,"
						"file.filename=/proc/self/fd/%d",
						writable ? "off" : "on", fd);
	const struct block_user user = { .qdev = "fuzz" };
	g_autoptr(JsonObject) o = keyval_parse(text, NULL, NULL);
	struct block_backend *b = block_node_create(o, NULL);

	if (!b)
		return;
	if (!block_attach(b, &user, writable, NULL)) {
		use(b, data, len);
		if (writable)
			block_resize(b, block_size(b) + MiB, NULL);
		block_detach(b);
	}
	block_node_remove("q", NULL);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static bool ready;
	int fd = memfd_create("image", MFD_CLOEXEC);

	if (!ready)
		main_loop_init();
	ready = true;
	if (fd >= 0 && write(fd, data, len) == len) {
		open_and_use(fd, false, data, len);
		open_and_use(fd, true, data, len);
	}
	if (fd >= 0)
		close(fd);
	return 0;
}
