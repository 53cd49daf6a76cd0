/*
 * tests/fuzz/fuzz-incoming.c - any byte stream as an incoming migration.
 *
 * The machine has what streams address: two RAM blocks, one of them resizeable, and a device with
 * counted fields and a subsection. The stream is read from memory.
 */
#include "fuzz.h"
#include "pair.h"

#include "migration/incoming.h"
#include "util/lock.h"
#include "util/main-loop.h"

#include <sys/socket.h>
#include <unistd.h>

#define INPUT_MAX (32 * KiB)

static struct fake_vm *vm;

static void set_up(void)
{
	static const struct fake_vm_spec spec = { .ram_bytes = 1 * MiB };

	main_loop_init();
	vm = fake_vm_create(&spec);
	vm->rom->flags |= RAM_RESIZEABLE;
	machine_unlock();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct incoming in = { 0 };
	GError *err = NULL;
	int ends[2];

	/* Answers on the return path are never read and must fit the socket's buffer. */
	if (len > INPUT_MAX)
		return 0;
	if (!vm)
		set_up();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 0;
	in.m = vm->m;
	in.ch = channel_create();
	channel_adopt_socket(in.ch, ends[0]);
	settings_init(&in.settings);
	state_reader_init_memory(&in.r, data, len);
	ram_load_init(&in.ram, vm->vm, &in.settings);
	if (incoming_load(&in, &err))
		g_assert_nonnull(err);
	g_clear_error(&err);
	g_clear_error(&in.config_error);
	ram_load_finish(&in.ram);
	state_reader_finish(&in.r);
	channel_destroy(in.ch);
	close(ends[1]);
	return 0;
}
