/* The stdio chardev on a terminal: raw mode, and who gets the terminal back in which way. */
#include "tests/unit/chardev/helper.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* What the process on the terminal does: echo lines in brackets, end on 'q', abort on 'a'. */
struct echo {
	struct chardev_fe *fe;
};

static size_t echo_room(void *opaque)
{
	return 1;
}

static void echo_receive(void *opaque, const u8 *buf, size_t len)
{
	struct echo *e = opaque;
	char text[8];

	if (buf[0] == 'q')
		exit(0);
	g_snprintf(text, sizeof(text), "[%02x]", buf[0]);
	chardev_write(e->fe, text, strlen(text));
}

static void child(bool orderly)
{
	struct echo e;
	const struct chardev_frontend fe = {
		.can_receive = echo_room,
		.receive = echo_receive,
		.opaque = &e,
	};

	main_loop_init();
	e.fe = chardev_attach(make_ok("c", orderly ? "stdio,signal=off" : "stdio"), &fe, NULL);
	chardev_write(e.fe, "ready", 5);
	main_loop_run();
}

struct terminal {
	int fd;    /* the user's side */
	int slave; /* kept open, so that settings stay to be looked at */
	pid_t pid;
};

static void expect(struct terminal *t, const char *want)
{
	g_autoptr(GString) got = g_string_new(NULL);

	while (got->len < strlen(want)) {
		char c;

		g_assert_cmpint(read(t->fd, &c, 1), ==, 1);
		g_string_append_c(got, c);
	}
	g_assert_cmpstr(got->str, ==, want);
}

static tcflag_t lflag(struct terminal *t)
{
	struct termios tio;

	g_assert_cmpint(tcgetattr(t->slave, &tio), ==, 0);
	return tio.c_lflag;
}

static void start(struct terminal *t, bool orderly)
{
	char name[64];

	t->pid = forkpty(&t->fd, name, NULL, NULL);
	if (!t->pid)
		child(orderly);
	t->slave = open(name, O_RDWR | O_NOCTTY);
	expect(t, "ready");
	g_assert_cmpuint(lflag(t) & (ICANON | ECHO), ==, 0);
}

static void type(struct terminal *t, const char *text)
{
	g_assert_cmpint(write(t->fd, text, strlen(text)), ==, strlen(text));
}

static int finish(struct terminal *t)
{
	int status;

	g_assert_cmpint(waitpid(t->pid, &status, 0), ==, t->pid);
	g_assert_cmpuint(lflag(t) & (ICANON | ECHO), ==, ICANON | ECHO);
	close(t->fd);
	close(t->slave);
	return status;
}

static void test_exit(void)
{
	struct terminal t;

	start(&t, true);
	type(&t, "\003\r"); /* Ctrl-C and Return arrive as they are */
	expect(&t, "[03][0d]");
	type(&t, "q");
	g_assert_cmpint(finish(&t), ==, 0);
}

static void test_interrupt(void)
{
	struct terminal t;
	int status;

	start(&t, false);
	type(&t, "\003");
	status = finish(&t);
	g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

static void test_terminate(void)
{
	struct terminal t;
	int status;

	start(&t, true);
	kill(t.pid, SIGTERM);
	status = finish(&t);
	g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void test_suspend(void)
{
	struct terminal t;
	int status;

	start(&t, true);
	kill(t.pid, SIGTSTP);
	g_assert_cmpint(waitpid(t.pid, &status, WUNTRACED), ==, t.pid);
	g_assert_true(WIFSTOPPED(status));
	g_assert_cmpuint(lflag(&t) & (ICANON | ECHO), ==, ICANON | ECHO);
	kill(t.pid, SIGCONT);
	for (int i = 0; i < 10000 && lflag(&t) & ICANON; i++)
		g_usleep(1000);
	g_assert_cmpuint(lflag(&t) & (ICANON | ECHO), ==, 0);
	type(&t, "xq");
	expect(&t, "[78]");
	g_assert_cmpint(finish(&t), ==, 0);
}

static void test_second_is_refused(void)
{
	struct chardev *c;

	main_loop_init();
	c = make_ok("first", "stdio");
	expect_refused("stdio", "mux=on");
	chardev_remove(c);
	c = make_ok("again", "stdio");
	chardev_remove(c);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/stdio/exit", test_exit);
	g_test_add_func("/stdio/interrupt", test_interrupt);
	g_test_add_func("/stdio/terminate", test_terminate);
	g_test_add_func("/stdio/suspend", test_suspend);
	g_test_add_func("/stdio/second-is-refused", test_second_is_refused);
	return g_test_run();
}
