/* util/lock.c - the one machine lock. */
#include "util/lock.h"

#include <assert.h>
#include <glib.h>

static GMutex machine_mutex;
static __thread bool held;

void machine_lock(void)
{
	assert(!held);
	g_mutex_lock(&machine_mutex);
	held = true;
}

void machine_unlock(void)
{
	assert(held);
	held = false;
	g_mutex_unlock(&machine_mutex);
}

bool machine_lock_held(void)
{
	return held;
}
