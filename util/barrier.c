/* util/barrier.c - a memory barrier that one thread runs for all. */
#include "util/barrier.h"

#include <errno.h>
#include <glib.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

void process_barrier(void)
{
	static gsize registered;

	if (g_once_init_enter(&registered)) {
		int ret = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);

		g_once_init_leave(&registered, ret ? 2 : 1);
	}
	if (registered == 1 && !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		return;
	/* Slower (it waits for a grace period of the kernel), and there since Linux 4.3. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		g_error("membarrier: %s: dirty tracking needs it", g_strerror(errno));
}
