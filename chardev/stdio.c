/*
 * chardev/stdio.c - standard input and output; a terminal is put into raw mode.
 *
 * The terminal's settings come back at exit, at a suspend and when a signal ends the process:
 * see termios(3), and "Suspending" in signal(7) for why SIGTSTP needs a handler.
 */
#include "chardev/char-priv.h"

#include "util/error.h"
#include "util/keyval.h"

#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

struct char_stdio {
	struct chardev c;
	struct char_stream stream;
};

/* There is one standard input, and signal handlers need to find its state. */
static struct {
	bool in_use;
	bool is_tty;
	volatile sig_atomic_t raw;
	struct termios old, wanted;
} tty;

static const int end_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS };

static struct char_stdio *stdio_of(struct chardev *c)
{
	return container_of(c, struct char_stdio, c);
}

/* In the background the terminal belongs to somebody else, and changing it would stop us. */
static bool in_foreground(void)
{
	return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* Both are async-signal-safe. */
static void tty_restore(void)
{
	if (tty.raw && in_foreground())
		tcsetattr(STDIN_FILENO, TCSANOW, &tty.old);
	tty.raw = 0;
}

static void tty_set_raw(void)
{
	if (!tty.in_use || !tty.is_tty || !in_foreground())
		return;
	tcsetattr(STDIN_FILENO, TCSANOW, &tty.wanted);
	tty.raw = 1;
}

static void on_end_signal(int sig)
{
	tty_restore();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void on_suspend(int sig)
{
	int errnum = errno;

	tty_restore();
	/* The default action of SIGTSTP, without giving up the handler. */
	raise(SIGSTOP);
	errno = errnum;
}

static void on_continue(int sig)
{
	int errnum = errno;

	tty_set_raw();
	errno = errnum;
}

static void install(int sig, void (*handler)(int), int flags)
{
	struct sigaction now, sa = { .sa_handler = handler, .sa_flags = SA_RESTART | flags };

	/* Somebody who handles the signal ends the process in order, which restores too. */
	if (!sigaction(sig, NULL, &now) && now.sa_handler == SIG_DFL)
		sigaction(sig, &sa, NULL);
}

static void install_handlers(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	atexit(tty_restore);
	for (unsigned i = 0; i < ARRAY_SIZE(end_signals); i++)
		install(end_signals[i], on_end_signal, SA_NODEFER);
	install(SIGTSTP, on_suspend, 0);
	install(SIGCONT, on_continue, 0);
}

static void tty_prepare(bool signals)
{
	tty.is_tty = !tcgetattr(STDIN_FILENO, &tty.old);
	if (!tty.is_tty)
		return;
	tty.wanted = tty.old;
	tty.wanted.c_iflag &= ~(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
	tty.wanted.c_lflag &= ~(ECHO | ECHONL | ICANON | IEXTEN);
	if (!signals)
		tty.wanted.c_lflag &= ~ISIG;
	tty.wanted.c_cflag = (tty.wanted.c_cflag & ~(CSIZE | PARENB)) | CS8;
	tty.wanted.c_cc[VMIN] = 1;
	tty.wanted.c_cc[VTIME] = 0;
	install_handlers();
	tty_set_raw();
}

static int stdio_open(struct chardev *c, JsonObject *opts, GError **err)
{
	struct char_stream *s = &stdio_of(c)->stream;
	bool signals = !chardev_hooks.stdio_no_signal;

	if (keyval_take_bool(opts, "signal", &signals, err) == -EINVAL)
		return -EINVAL;
	if (tty.in_use) {
		error_set(err, "standard input is used by another chardev already; mux=on lets "
			       "several front ends share one");
		return -EBUSY;
	}
	tty.in_use = true;
	tty_prepare(signals);
	char_stream_init(s, c);
	s->ask_first = s->keep_open = true;
	char_stream_start(s, STDIN_FILENO, STDOUT_FILENO);
	c->open = true;
	return 0;
}

static void stdio_close(struct chardev *c)
{
	struct char_stream *s = &stdio_of(c)->stream;

	char_stream_flush(s, 1000);
	char_stream_stop(s);
	tty_restore();
	tty.in_use = false;
}

static size_t stdio_write(struct chardev *c, const u8 *buf, size_t len)
{
	return char_stream_write(&stdio_of(c)->stream, buf, len);
}

static size_t stdio_queued(struct chardev *c)
{
	return char_stream_queued(&stdio_of(c)->stream);
}

static void stdio_update_input(struct chardev *c)
{
	char_stream_update_input(&stdio_of(c)->stream);
}

const struct chardev_type char_type_stdio = {
	.name = "stdio",
	.size = sizeof(struct char_stdio),
	.open = stdio_open,
	.close = stdio_close,
	.write = stdio_write,
	.queued = stdio_queued,
	.update_input = stdio_update_input,
};
