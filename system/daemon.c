/* system/daemon.c - background, pid file, user and root directory. */
#include "daemon.h"

#include "util/error.h"
#include "util/keyval.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int ready_fd = -1;
static char *pidfile;

int daemon_fork(GError **err)
{
	int fds[2];
	pid_t pid;
	char byte;

	if (pipe2(fds, O_CLOEXEC) || (pid = fork()) < 0) {
		error_set_errno(err, errno, "-daemonize: cannot fork");
		return -EAGAIN;
	}
	if (pid > 0) {
		ssize_t n;

		close(fds[1]);
		do
			n = read(fds[0], &byte, 1);
		while (n < 0 && errno == EINTR);
		_exit(n == 1 ? 0 : 1);
	}
	close(fds[0]);
	ready_fd = fds[1];
	setsid();
	return 0;
}

void daemon_ready(void)
{
	int null;

	if (ready_fd < 0)
		return;
	if (chdir("/"))
		return; /* the parent reports that we ended */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0)
		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
	while (write(ready_fd, "", 1) < 0 && errno == EINTR)
		;
	close(ready_fd);
	ready_fd = -1;
}

int pidfile_write(const char *path, GError **err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char text[32];
	int len;

	if (fd < 0) {
		error_set_errno(err, errno, "-pidfile %s: cannot open", path);
		return -EINVAL;
	}
	/* The lock lives as long as the process: a second one on the same file is refused. */
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		error_set_errno(err, errno, "-pidfile %s: another process holds it", path);
		close(fd);
		return -EBUSY;
	}
	len = g_snprintf(text, sizeof(text), "%d\n", getpid());
	if (ftruncate(fd, 0) || write(fd, text, len) != len) {
		error_set_errno(err, errno, "-pidfile %s: cannot write", path);
		close(fd);
		return -EIO;
	}
	pidfile = g_canonicalize_filename(path, NULL);
	return 0;
}

void pidfile_remove(void)
{
	if (pidfile)
		unlink(pidfile);
	g_clear_pointer(&pidfile, g_free);
}

static int change_root(const char *dir, GError **err)
{
	if (chroot(dir) || chdir("/")) {
		int e = errno;

		error_set_errno(err, e, "chroot=%s", dir);
		return -e;
	}
	return 0;
}

/* @who: a name, or UID:GID. */
static int change_user(const char *who, GError **err)
{
	struct passwd *pw = getpwnam(who);
	uid_t uid;
	gid_t gid;

	if (pw) {
		uid = pw->pw_uid;
		gid = pw->pw_gid;
	} else {
		char *colon, *end;

		uid = strtoul(who, &colon, 10);
		if (colon == who || *colon != ':') {
			error_set(err, "user=%s: no such user, and not UID:GID", who);
			return -EINVAL;
		}
		gid = strtoul(colon + 1, &end, 10);
		if (end == colon + 1 || *end) {
			error_set(err, "user=%s: no such user, and not UID:GID", who);
			return -EINVAL;
		}
	}
	if ((pw ? initgroups(who, gid) : setgroups(1, &gid)) || setgid(gid) || setuid(uid)) {
		int e = errno;

		error_set_errno(err, e, "user=%s: cannot change user", who);
		return -e;
	}
	if (uid && !setuid(0)) {
		error_set(err, "user=%s: the process could become root again", who);
		return -EPERM;
	}
	return 0;
}

static int apply_overcommit(JsonObject *o, GError **err)
{
	bool mem_lock = false, cpu_pm = false;

	if (keyval_take_bool(o, "mem-lock", &mem_lock, err) == -EINVAL ||
	    keyval_take_bool(o, "cpu-pm", &cpu_pm, err) == -EINVAL ||
	    keyval_reject_rest(o, "-overcommit", err))
		return -EINVAL;
	if (cpu_pm) {
		error_set(err, "-overcommit cpu-pm=on is not supported: leave it off");
		return -EINVAL;
	}
	if (mem_lock && mlockall(MCL_CURRENT | MCL_FUTURE)) {
		error_set_errno(err, errno, "-overcommit mem-lock=on: cannot lock memory");
		return -EINVAL;
	}
	return 0;
}

int process_confine(struct config *c, GError **err)
{
	g_autofree char *root = g_strdup(c->chroot), *user = g_strdup(c->runas);
	bool with_parent = false;

	if (c->run_with) {
		g_autofree char *r = keyval_take_str(c->run_with, "chroot");
		g_autofree char *u = keyval_take_str(c->run_with, "user");

		if (keyval_take_bool(c->run_with, "exit-with-parent", &with_parent, err) ==
			    -EINVAL ||
		    keyval_reject_rest(c->run_with, "-run-with", err))
			return -EINVAL;
		if (r) {
			g_free(root);
			root = g_steal_pointer(&r);
		}
		if (u) {
			g_free(user);
			user = g_steal_pointer(&u);
		}
	}
	if (c->overcommit && apply_overcommit(c->overcommit, err))
		return -EINVAL;
	if (root && change_root(root, err))
		return -EINVAL;
	if (user && change_user(user, err))
		return -EINVAL;
	if (with_parent) {
		if (c->daemonize) {
			error_set(err, "-run-with exit-with-parent=on does not go with -daemonize");
			return -EINVAL;
		}
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() == 1)
			raise(SIGTERM);
	}
	return 0;
}
