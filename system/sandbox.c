/* system/sandbox.c - the system call filter of -sandbox, with libseccomp. */
#include "sandbox.h"

#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "util/base.h"
#include "util/error.h"
#include "util/keyval.h"

/* Never needed by an emulator, whatever the options say. */
static const char *const never[] = {
	"reboot",
	"swapon",
	"swapoff",
	"syslog",
	"mount",
	"umount2",
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"pivot_root",
	"acct",
	"add_key",
	"request_key",
	"keyctl",
	"quotactl",
	"settimeofday",
	"clock_settime",
	"adjtimex",
	"clock_adjtime",
	"sethostname",
	"setdomainname",
	"ptrace",
	"process_vm_writev",
	"bpf",
	"perf_event_open",
	"open_by_handle_at",
	"move_pages",
	"migrate_pages",
	"unshare",
	"setns",
	NULL,
};
static const char *const obsolete[] = {
	"uselib",          "ustat",        "sysfs",      "_sysctl", "modify_ldt", "create_module",
	"get_kernel_syms", "query_module", "nfsservctl", "getpmsg", "putpmsg",    "afs_syscall",
	"tuxcall",         "security",     "vserver",    NULL
};
static const char *const privileges[] = { "setuid",    "setgid",    "setreuid", "setregid",
					  "setresuid", "setresgid", "setfsuid", "setfsgid",
					  "setgroups", NULL };
static const char *const spawn[] = { "fork", "vfork", "execve", "execveat", NULL };
static const char *const resources[] = { "setpriority", "sched_setparam", "sched_setscheduler",
					 "sched_setaffinity", NULL };
/* GLib tries this before it makes the threads of a pool, and goes another way if it may not. */
static const char *const tried_resources[] = { "sched_setattr", NULL };

struct policy {
	bool obsolete, privileges, no_new_privs, spawn, resources; /* true: deny */
};

/* Only async-signal-safe calls: the process ends here. */
static void on_violation(int sig, siginfo_t *info, void *context)
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, info->si_syscall);
	static const char head[] = "-sandbox: system call not allowed: ";
	ssize_t n = write(STDERR_FILENO, head, sizeof(head) - 1);

	if (name)
		n = write(STDERR_FILENO, name, strlen(name));
	n = write(STDERR_FILENO, "\n", 1);
	(void)n;
	signal(SIGSYS, SIG_DFL);
	raise(SIGSYS);
	_exit(128 + SIGSYS);
}

static int take_deny(JsonObject *o, const char *key, bool *deny, GError **err)
{
	g_autofree char *value = keyval_take_str(o, key);

	if (!value)
		return 0;
	if (strcmp(value, "allow") && strcmp(value, "deny")) {
		error_set(err, "-sandbox %s=%s: expected allow or deny", key, value);
		return -EINVAL;
	}
	*deny = !strcmp(value, "deny");
	return 0;
}

static int parse(JsonObject *o, struct policy *p, GError **err)
{
	g_autofree char *elevate = keyval_take_str(o, "elevateprivileges");

	p->obsolete = true;
	if (elevate && !strcmp(elevate, "children")) {
		p->no_new_privs = true;
	} else if (elevate && !strcmp(elevate, "deny")) {
		p->privileges = true;
	} else if (elevate && strcmp(elevate, "allow")) {
		error_set(err, "-sandbox elevateprivileges=%s: expected allow, deny or children",
			  elevate);
		return -EINVAL;
	}
	if (take_deny(o, "obsolete", &p->obsolete, err) || take_deny(o, "spawn", &p->spawn, err) ||
	    take_deny(o, "resourcecontrol", &p->resources, err))
		return -EINVAL;
	return keyval_reject_rest(o, "-sandbox", err);
}

/* @action: what becomes of a call: SCMP_ACT_TRAP ends the process, SCMP_ACT_ERRNO() only fails. */
static int deny(scmp_filter_ctx ctx, const char *const *names, u32 action)
{
	for (; *names; names++) {
		int nr = seccomp_syscall_resolve_name(*names);
		int ret;

		if (nr == __NR_SCMP_ERROR)
			continue; /* not a call of this architecture */
		ret = seccomp_rule_add(ctx, action, nr, 0);
		if (ret)
			return ret;
	}
	return 0;
}

static int install(const struct policy *p)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int ret;

	if (!ctx)
		return -ENOMEM;
	ret = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!ret)
		ret = deny(ctx, never, SCMP_ACT_TRAP);
	if (!ret && p->obsolete)
		ret = deny(ctx, obsolete, SCMP_ACT_TRAP);
	if (!ret && p->privileges)
		ret = deny(ctx, privileges, SCMP_ACT_TRAP);
	if (!ret && p->spawn)
		ret = deny(ctx, spawn, SCMP_ACT_TRAP);
	if (!ret && p->resources)
		ret = deny(ctx, resources, SCMP_ACT_TRAP);
	if (!ret && p->resources)
		ret = deny(ctx, tried_resources, SCMP_ACT_ERRNO(EPERM));
	if (!ret && p->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		ret = -errno;
	if (!ret)
		ret = seccomp_load(ctx);
	seccomp_release(ctx);
	return ret;
}

int sandbox_enter(const char *text, GError **err)
{
	JsonObject *o = keyval_parse(text, "enable", err);
	struct sigaction sa = { .sa_sigaction = on_violation, .sa_flags = SA_SIGINFO };
	struct policy p = { 0 };
	bool on = false;
	int ret;

	if (!o)
		return -EINVAL;
	ret = keyval_take_bool(o, "enable", &on, err);
	if (ret == -ENOENT)
		error_set(err, "-sandbox %s: begin with on or off", text);
	if (!ret)
		ret = parse(o, &p, err);
	json_object_unref(o);
	if (ret || !on)
		return ret;
	sigaction(SIGSYS, &sa, NULL);
	ret = install(&p);
	if (ret)
		error_set_errno(err, -ret, "-sandbox %s: cannot install the filter", text);
	return ret;
}
