/* -drive and -blockdev: what people write, what is refused and how, locks, ownership, errors. */
#include "tests/unit/block/helper.h"

#include "util/fdset.h"

char *test_dir;

static void refuse_node(char *text, const char *part)
{
	g_autoptr(GError) err = NULL;

	g_assert_null(node_try(text, &err));
	expect_error(err, part);
}

static void refuse_drive(char *text, const char *part)
{
	g_autoptr(GError) err = NULL;

	g_assert_null(drive_try(text, &err));
	expect_error(err, part);
}

static void count_nodes(struct block_backend *b, const struct block_info *info, void *n)
{
	++*(int *)n;
}

static int nodes(void)
{
	int n = 0;

	block_foreach(count_nodes, &n);
	return n;
}

static void test_refused_nodes(void)
{
	g_autofree char *path = make_image("a", 4096);
	int before = nodes();

	refuse_node(g_strdup("node-name=x"), "driver=");
	refuse_node(g_strdup("driver=vmdk,node-name=x,file=y"), "'vmdk' is not supported");
	refuse_node(g_strdup("driver=qcow2,node-name=x,file=y"), "no node 'y'");
	refuse_node(g_strdup_printf("driver=qcow2,file.driver=file,file.filename=%s", path),
		    "does not begin as one");
	refuse_node(g_strdup("driver=file,node-name=x"), "filename=");
	refuse_node(g_strdup("driver=file,filename=/nonexistent/i"), "'/nonexistent/i': No such");
	refuse_node(g_strdup_printf("driver=file,filename=%s", test_dir), "Is a directory");
	refuse_node(g_strdup_printf("driver=host_device,filename=%s", path), "driver=file");
	refuse_node(g_strdup("driver=file,filename=/dev/zero"), "driver=host_device");
	refuse_node(g_strdup_printf("driver=file,filename=%s,aio=fast", path), "aio=fast");
	refuse_node(g_strdup_printf("driver=file,filename=%s,aio=native", path), "cache=none");
	refuse_node(g_strdup_printf("driver=file,filename=%s,cache=none", path), "cache.direct");
	refuse_node(g_strdup_printf("driver=file,filename=%s,cache.frob=on", path), "frob=on");
	refuse_node(g_strdup_printf("driver=file,filename=%s,frob=1", path), "frob=1");
	refuse_node(g_strdup_printf("driver=file,filename=%s,node-name=7a", path), "7a");
	refuse_node(g_strdup_printf("driver=file,filename=%s,detect-zeroes=unmap", path),
		    "discard=unmap");
	refuse_node(g_strdup_printf("driver=file,filename=%s,force-share=on", path),
		    "read-only=on");
	refuse_node(g_strdup("driver=raw,file=nobody"), "no node 'nobody'");
	refuse_node(g_strdup("driver=raw"), "file=");
	refuse_node(
		g_strdup_printf("driver=raw,file.driver=file,file.filename=%s,offset=8192", path),
		"beyond the end");
	refuse_node(g_strdup_printf("driver=raw,file.driver=file,file.filename=%s,size=5", path),
		    "multiples of 512");
	/* Nothing is left of the refused ones. */
	g_assert_cmpint(nodes(), ==, before);
}

static void test_refused_drives(void)
{
	g_autofree char *path = make_image("a", 4096), *image = make_image("b", 4096);
	int before = nodes();

	g_assert_true(g_file_set_contents(image, "QFI\xfb\0\0\0\3", 8, NULL));
	refuse_drive(g_strdup_printf("file=%s", image), "clusters of 2^0 bytes");
	g_assert_true(g_file_set_contents(image, "KDMV\1\0\0\0", 8, NULL));
	refuse_drive(g_strdup_printf("file=%s", image), "is a vmdk image");
	refuse_drive(g_strdup_printf("file=%s,format=vmdk", image), "format=vmdk");
	refuse_drive(g_strdup_printf("file=%s,format=qcow2", image), "does not begin as one");
	refuse_drive(g_strdup_printf("file=%s,format=qcow2,offset=512", image), "does not begin");
	refuse_drive(g_strdup_printf("file=%s,if=floppy2", path), "if=floppy2");
	refuse_drive(g_strdup_printf("file=%s,cache=fast", path), "cache=fast");
	refuse_drive(g_strdup_printf("file=%s,media=tape", path), "media=tape");
	refuse_drive(g_strdup_printf("file=%s,index=1,unit=1", path), "index=");
	refuse_drive(g_strdup_printf("file=%s,if=ide,unit=2", path), "unit=2");
	refuse_drive(g_strdup_printf("file=%s,aio=native", path), "aio=native");
	refuse_drive(g_strdup_printf("file=%s,werror=maybe", path), "werror=maybe");
	refuse_drive(g_strdup_printf("file=%s,rerror=enospc", path), "rerror=enospc");
	refuse_drive(g_strdup_printf("file=%s,bps=1000,bps_rd=5", path),
		     "bps-total goes with neither");
	refuse_drive(g_strdup_printf("file=%s,copy-on-read=on", path), "copy-on-read=on");
	refuse_drive(g_strdup("file=nbd://localhost/x"), "protocol 'nbd'");
	refuse_drive(g_strdup("file=/nonexistent/d"), "/nonexistent/d");
	refuse_drive(g_strdup_printf("file=%s,id=9", path), "'9'");
	g_assert_cmpint(nodes(), ==, before);
	g_assert_null(block_drive_unclaimed());
}

static void test_drive_forms(void)
{
	g_autofree char *path = make_image("d,1", 4096), *fw = make_image("fw", 4096);
	g_autofree char *escaped = g_strdup_printf("%s/d,,1", test_dir);
	struct block_backend *b;
	struct block_drive *d;

	b = drive_ok(g_strdup_printf("file=%s,if=none,id=hd0,format=raw,serial=S1,cache=none,"
				     "file.locking=off,discard=unmap,werror=stop",
				     escaped));
	g_assert_true(block_find("hd0") == b);
	g_assert_true(block_find(block_node_name(b)) == b);
	g_assert_cmpstr(block_serial(b), ==, "S1");
	g_assert_true(block_can_discard(b));
	g_assert_true(block_write_cache(b));
	g_assert_false(block_is_cdrom(b));
	b = drive_ok(
		g_strdup_printf("driver=raw,file.driver=file,file.filename=%s,if=pflash,unit=1,"
				"readonly",
				fw));
	g_assert_cmpstr(block_id(b), ==, "pflash1");
	g_assert_true(block_read_only(b));
	g_assert_true(block_drive_get(BLOCK_IF_PFLASH, 1)->backend == b);
	b = drive_ok(g_strdup_printf("file=json:{\"driver\":\"file\",,\"filename\":\"%s\",,"
				     "\"read-only\":true},if=none,id=j,readonly=on",
				     fw));
	g_assert_cmpuint(block_size(b), ==, 4096);
	b = drive_ok(g_strdup_printf("file=%s,media=cdrom,if=ide,bus=1,unit=0", fw));
	g_assert_cmpstr(block_id(b), ==, "ide1-cd0");
	g_assert_true(block_read_only(b) && block_is_cdrom(b));
	g_assert_cmpint(block_drive_get(BLOCK_IF_IDE, 2)->index, ==, 2);
	/* The default interface; the next free index; an index that is taken. */
	b = drive_ok(g_strdup_printf("file=%s,readonly=on,cache=writethrough", fw));
	g_assert_cmpstr(block_id(b), ==, "virtio0");
	g_assert_false(block_write_cache(b));
	b = drive_ok(g_strdup_printf("file=%s,readonly=on,index=3", fw));
	g_assert_cmpstr(block_id(b), ==, "virtio3");
	b = drive_ok(g_strdup_printf("file=%s,readonly=on", fw));
	g_assert_cmpstr(block_id(b), ==, "virtio1");
	refuse_drive(g_strdup_printf("file=%s,readonly=on,index=3", fw), "index=3");
	/* A drive without a medium. */
	b = drive_ok(g_strdup("if=none,id=cd9,media=cdrom"));
	g_assert_false(block_inserted(b));
	g_assert_cmpuint(block_size(b), ==, 0);
	g_assert_cmpint(block_pread(b, 0, escaped, 1), ==, -ENOMEDIUM);

	d = block_drive_next(BLOCK_IF_VIRTIO);
	g_assert_cmpstr(block_id(d->backend), ==, "virtio0");
	d->claimed = true;
	g_assert_cmpint(block_drive_next(BLOCK_IF_VIRTIO)->index, ==, 1);
	g_assert_nonnull(block_drive_unclaimed());
}

/* As libvirt writes it: a file node that may be read-only, a format node above it. */
static void test_libvirt_pair(void)
{
	g_autofree char *path = make_image("lv", 4096);
	const struct block_user dev = { .qdev = "virtio-disk0" };
	struct block_backend *file, *raw;
	g_autoptr(GError) err = NULL;

	file = node_ok(g_strdup_printf(
		"{\"driver\":\"file\",\"filename\":\"%s\",\"node-name\":\"libvirt-1-storage\","
		"\"cache\":{\"direct\":false,\"no-flush\":false},\"auto-read-only\":true,"
		"\"discard\":\"unmap\"}",
		path));
	raw = node_ok(g_strdup("{\"node-name\":\"libvirt-1-format\",\"read-only\":false,"
			       "\"cache\":{\"direct\":false,\"no-flush\":false},\"driver\":\"raw\","
			       "\"file\":\"libvirt-1-storage\"}"));
	g_assert_cmpint(block_attach(file, &dev, true, &err), ==, -EBUSY);
	expect_error(err, "libvirt-1-format");
	g_clear_error(&err);
	g_assert_cmpint(block_attach(raw, &dev, true, &err), ==, 0);
	g_assert_cmpint(block_attach(raw, &dev, true, &err), ==, -EBUSY);
	expect_error(err, "virtio-disk0");
	g_clear_error(&err);
	g_assert_cmpint(do_write(raw, 0, "x", 1), ==, 0);
	g_assert_cmpint(block_node_remove("libvirt-1-format", &err), ==, -EBUSY);
	expect_error(err, "virtio-disk0");
	g_clear_error(&err);
	g_assert_cmpint(block_node_remove("libvirt-1-storage", &err), ==, -EBUSY);
	g_clear_error(&err);
	block_detach(raw);
	node_drop("libvirt-1-format");
	node_drop("libvirt-1-storage");
	g_assert_cmpint(block_node_remove("libvirt-1-storage", &err), ==, -ENOENT);
	expect_error(err, "libvirt-1-storage");
}

/* ---- Locks ---- */

static struct block_backend *lock_node(const char *name, const char *path, const char *more)
{
	return node_ok(g_strdup_printf("driver=file,node-name=%s,filename=%s%s", name, path, more));
}

static int try_attach(struct block_backend *b, bool writable, const char *part)
{
	const struct block_user dev = { .qdev = "dev" };
	g_autoptr(GError) err = NULL;
	int ret = block_attach(b, &dev, writable, &err);

	if (part)
		expect_error(err, part);
	return ret;
}

static void test_locks(void)
{
	g_autofree char *path = make_image("l", 4096);
	struct block_backend *a = lock_node("a", path, ""), *b = lock_node("b", path, "");
	struct block_backend *ro = lock_node("ro", path, ",read-only=on");
	struct block_backend *ro2 = lock_node("ro2", path, ",read-only=on");
	struct block_backend *off = lock_node("off", path, ",locking=off");
	struct block_backend *share = lock_node("share", path, ",force-share=on,read-only=on");

	/* One writer, or any number of readers. */
	g_assert_cmpint(try_attach(a, true, NULL), ==, 0);
	g_assert_cmpint(try_attach(b, true, path), ==, -EBUSY);
	g_assert_cmpint(try_attach(b, true, "locking=off"), ==, -EBUSY);
	g_assert_cmpint(try_attach(ro, false, "being written"), ==, -EBUSY);
	g_assert_cmpint(try_attach(off, true, NULL), ==, 0);
	g_assert_cmpint(try_attach(share, false, NULL), ==, 0);
	block_detach(a);
	g_assert_cmpint(try_attach(ro, false, NULL), ==, 0);
	g_assert_cmpint(try_attach(ro2, false, NULL), ==, 0);
	g_assert_cmpint(try_attach(a, true, "in use"), ==, -EBUSY);
	block_detach(ro);
	block_detach(ro2);
	g_assert_cmpint(try_attach(a, true, NULL), ==, 0);
	/* A -drive locks at once. */
	refuse_drive(g_strdup_printf("if=none,id=l,file=%s,format=raw", path), "in use");
	block_detach(a);
	block_detach(off);
	block_detach(share);
	node_drop("a");
	node_drop("b");
	node_drop("ro");
	node_drop("ro2");
	node_drop("off");
	node_drop("share");
}

/* The same bytes as QEMU's tools lock: "qemu-img info" style readers see our writer. */
static bool byte_locked(const char *path, int byte)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };
	int fd = open(path, O_RDWR | O_CLOEXEC);

	g_assert_cmpint(fcntl(fd, F_OFD_GETLK, &fl), ==, 0);
	close(fd);
	return fl.l_type != F_UNLCK;
}

static void test_migration(void)
{
	g_autofree char *path = make_image("m", 4096);
	struct block_backend *src, *dst;
	g_autoptr(GError) err = NULL;
	u8 buf[512] = { 7 };

	src = lock_node("src", path, "");
	g_assert_cmpint(try_attach(src, true, NULL), ==, 0);
	g_assert_true(byte_locked(path, 101) && byte_locked(path, 201));
	block_start_inactive(true);
	dst = lock_node("dst", path, "");
	g_assert_cmpint(try_attach(dst, true, NULL), ==, 0);
	g_assert_cmpint(do_write(dst, 0, buf, 512), ==, -EPERM);
	g_assert_cmpint(do_read(dst, 0, buf, 512), ==, 0);
	/* While the source runs, the destination does not get the image. */
	g_assert_cmpint(block_activate_all(&err), ==, -EBUSY);
	expect_error(err, path);
	g_clear_error(&err);
	/* The hand-over; both are in one process here, so both become inactive first. */
	g_assert_cmpint(block_inactivate_all(&err), ==, 0);
	g_assert_false(byte_locked(path, 101));
	g_assert_cmpint(do_write(src, 0, buf, 512), ==, -EPERM);
	block_detach(src);
	g_assert_cmpint(truncate(path, 8192), ==, 0);
	g_assert_cmpint(block_activate_all(&err), ==, 0);
	g_assert_cmpint(do_write(dst, 4096, buf, 512), ==, 0);
	g_assert_cmpuint(block_size(dst), ==, 8192);
	g_assert_true(byte_locked(path, 101));
	block_detach(dst);
	node_drop("src");
	node_drop("dst");
}

/* A file of the system's that we may not write is a read-only drive. */
static void test_auto_read_only(void)
{
	g_autofree char *path = make_image("sys", 4096);
	g_autofree char *opts = g_strdup_printf("if=pflash,index=7,file=%s,format=raw", path);
	g_autoptr(GError) err = NULL;
	int fd = open(path, O_RDONLY);
	struct block_backend *b;

	/* An fd set with a read-only member refuses writing to root too. */
	g_assert_cmpint(fdset_add(5, fd, NULL, &err), ==, 5);
	b = drive_ok(g_strdup("if=pflash,index=7,file=/dev/fdset/5,format=raw"));
	g_assert_true(block_read_only(b));
	g_assert_cmpint(try_attach(b, true, "read-only"), ==, -EROFS);
	g_assert_cmpint(try_attach(b, false, NULL), ==, 0);
	refuse_drive(g_strdup("if=pflash,index=8,file=/dev/fdset/5,format=raw,auto-read-only=off"),
		     "Permission denied");
}

/* ---- Errors ---- */

static int notified;

static void on_error(void *opaque, struct block_backend *b, bool is_read, int errnum,
		     enum block_error_action action)
{
	notified = errnum;
}

static void test_error_policy(void)
{
	struct block_backend *b = node_ok(g_strdup("driver=null-co,node-name=e"));
	g_autoptr(GError) err = NULL;

	block_error_notify(on_error, NULL);
	/* The defaults: enospc for writes, report for reads. */
	g_assert_cmpint(block_error(b, true, EIO), ==, BLOCK_ERROR_REPORT);
	g_assert_cmpint(notified, ==, EIO);
	g_assert_cmpint(block_error(b, false, EIO), ==, BLOCK_ERROR_REPORT);
	g_assert_cmpint(block_io_status(b), ==, BLOCK_IO_OK);
	g_assert_cmpint(block_error(b, false, ENOSPC), ==, BLOCK_ERROR_STOP);
	g_assert_cmpint(block_io_status(b), ==, BLOCK_IO_NOSPACE);
	g_assert_cmpint(block_set_error_policy(b, "stop", "ignore", &err), ==, 0);
	g_assert_cmpint(block_error(b, true, EIO), ==, BLOCK_ERROR_STOP);
	g_assert_cmpint(block_io_status(b), ==, BLOCK_IO_NOSPACE); /* the first one */
	g_assert_cmpint(block_error(b, false, ENOSPC), ==, BLOCK_ERROR_IGNORE);
	block_reset_io_status(b);
	g_assert_cmpint(block_error(b, true, EIO), ==, BLOCK_ERROR_STOP);
	g_assert_cmpint(block_io_status(b), ==, BLOCK_IO_FAILED);
	g_assert_cmpint(block_set_error_policy(b, "enospc", NULL, &err), ==, -EINVAL);
	expect_error(err, "rerror=enospc");
	node_drop("e");
}

int main(int argc, char **argv)
{
	int ret;

	g_test_init(&argc, &argv, NULL);
	test_dir = g_dir_make_tmp("block-XXXXXX", NULL);
	main_loop_init();
	g_test_add_func("/block/refused-nodes", test_refused_nodes);
	g_test_add_func("/block/refused-drives", test_refused_drives);
	g_test_add_func("/block/libvirt-pair", test_libvirt_pair);
	g_test_add_func("/block/locks", test_locks);
	g_test_add_func("/block/migration", test_migration);
	g_test_add_func("/block/error-policy", test_error_policy);
	/* These leave drives behind, which only the end of the process removes. */
	g_test_add_func("/block/drive-forms", test_drive_forms);
	g_test_add_func("/block/auto-read-only", test_auto_read_only);
	ret = g_test_run();
	g_autofree char *rm = g_strdup_printf("rm -r '%s'", test_dir);

	return g_spawn_command_line_sync(rm, NULL, NULL, NULL, NULL) ? ret : 1;
}
