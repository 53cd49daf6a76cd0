/* tests/unit/accel/guest.c - a small VM under real KVM, for tests. */
#include "tests/unit/accel/guest.h"

#include "target/i386/cpu.h"
#include "util/keyval.h"
#include "util/lock.h"
#include "util/main-loop.h"

#include <fcntl.h>
#include <unistd.h>

#define CODE_ADDR 0x1000
#define WAIT_US   (20 * 1000 * 1000)

bool guest_skip(void)
{
	int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		g_autofree char *why = g_strdup_printf("/dev/kvm: %s", g_strerror(errno));

		g_test_skip(why);
		return true;
	}
	close(fd);
	return false;
}

static u64 port_read(void *opaque, u64 offset, unsigned size)
{
	return 0x5a;
}

static void port_write(void *opaque, u64 offset, u64 value, unsigned size)
{
	struct guest *g = opaque;

	__atomic_store_n(&g->said, value, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&g->words, 1, __ATOMIC_SEQ_CST);
}

static const struct mmio_ops port_ops = { .read = port_read, .write = port_write };

static void on_shutdown(void *opaque, enum shutdown_cause cause, int exit_code)
{
	struct guest *g = opaque;

	g->shutdowns++;
	vm_stop(g->vm, RUN_STATE_SHUTDOWN);
}

static void start_code(struct vcpu *cpu)
{
	struct x86_env *env = &x86_cpu_of(cpu)->env;
	g_autoptr(GError) err = NULL;

	env->segs[R_CS].selector = 0;
	env->segs[R_CS].base = 0;
	env->eip = CODE_ADDR;
	env->regs[R_EBX] = cpu->index;
	env->mp_state = X86_MP_RUNNABLE;
	vcpu_put_state(cpu, &err);
	g_assert_no_error(err);
}

static void on_reset(void *opaque, enum shutdown_cause cause)
{
	struct guest *g = opaque;

	g->resets++;
	for (int i = 0; i < g->vm->ncpus; i++) {
		vcpu_reset(g->vm->cpus[i], NULL);
		start_code(g->vm->cpus[i]);
	}
}

static void on_powerdown(void *opaque)
{
}

static void on_stopped(void *opaque, enum run_state state)
{
	struct guest *g = opaque;

	g->stops++;
	g->stopped_as = state;
}

struct guest *guest_create(const char *props, u64 ram_bytes, int ncpus, const void *code,
			   size_t code_len)
{
	struct guest *g = g_new0(struct guest, 1);
	struct vm_owner owner = { on_shutdown, on_reset, on_powerdown, on_stopped, g };
	struct ram_spec spec = { .id = "ram", .size = ram_bytes, .fd = -1 };
	g_autoptr(GError) err = NULL;
	struct x86_topology topo = { .cores = ncpus };
	struct x86_cpu_model *model;
	JsonObject *o = keyval_parse(props, NULL, &err);

	g_assert_no_error(err);
	if (!machine_lock_held())
		machine_lock();
	g->vm = vm_create(true, &owner);
	vm_attach_accel(g->vm, &kvm_accel_ops, o, &err);
	g_assert_no_error(err);
	g_assert_cmpint(keyval_reject_rest(o, "-accel kvm", &err), ==, 0);
	json_object_unref(o);
	g->ram = ram_create(g->vm->ram, &spec, &err);
	g_assert_no_error(err);
	g->ram_map = (struct mapping){
		.name = "ram", .size = ram_bytes, .kind = MAP_RAM, .block = g->ram
	};
	address_space_map(g->vm->memory, &g->ram_map);
	g->port_map = (struct mapping){ .name = "word",
					.base = GUEST_PORT,
					.size = 8,
					.kind = MAP_MMIO,
					.ops = &port_ops,
					.opaque = g };
	address_space_map(g->vm->io, &g->port_map);
	g->word_map = g->port_map;
	g->word_map.base = GUEST_WORD_ADDR;
	g->word_map.mapped = false;
	address_space_map(g->vm->memory, &g->word_map);
	if (code_len)
		memcpy(g->ram->host + CODE_ADDR, code, code_len);
	model = x86_cpu_model_create(g->vm, "host", &topo, &err);
	g_assert_no_error(err);
	for (int i = 0; i < ncpus; i++) {
		struct vcpu *cpu = x86_cpu_create(g->vm, model, &err);

		g_assert_no_error(err);
		start_code(cpu);
	}
	x86_cpu_model_destroy(model);
	return g;
}

void guest_destroy(struct guest *g)
{
	if (vm_running(g->vm))
		vm_stop(g->vm, RUN_STATE_PAUSED);
	while (g->vm->ncpus)
		x86_cpu_destroy(g->vm->cpus[g->vm->ncpus - 1]);
	address_space_unmap(g->vm->memory, &g->ram_map);
	address_space_unmap(g->vm->memory, &g->word_map);
	address_space_unmap(g->vm->io, &g->port_map);
	vm_destroy(g->vm);
	g_free(g);
}

/* Page tables: one page each of level 4 and 3, and two of level 2 with 512 large pages each. */
#define PAGE_TABLES 0x2000
#define PTE_USER_RW 0x7
#define PTE_LARGE   0x80

static void map_memory(struct guest *g)
{
	u64 *pml4 = (u64 *)(g->ram->host + PAGE_TABLES), *pdpt = pml4 + 512, *pd = pdpt + 512;

	pml4[0] = (PAGE_TABLES + 0x1000) | PTE_USER_RW;
	pdpt[0] = (PAGE_TABLES + 0x2000) | PTE_USER_RW;
	pdpt[3] = (PAGE_TABLES + 0x3000) | PTE_USER_RW;
	for (u64 i = 0; i < 512; i++) {
		pd[i] = i * 2 * MiB | PTE_LARGE | PTE_USER_RW;
		pd[512 + i] = (3 * GiB + i * 2 * MiB) | PTE_LARGE | PTE_USER_RW;
	}
}

void guest_long_mode(struct guest *g, int i, unsigned cpl)
{
	struct vcpu *cpu = g->vm->cpus[i];
	struct x86_env *env = &x86_cpu_of(cpu)->env;
	u32 data = DESC_P | DESC_S | cpl << DESC_DPL_SHIFT | DESC_G | 3 << DESC_TYPE_SHIFT;
	g_autoptr(GError) err = NULL;

	map_memory(g);
	for (int s = 0; s < 6; s++)
		env->segs[s] =
			(struct x86_seg){ .selector = 0x20 | cpl, .limit = ~0u, .flags = data };
	env->segs[R_CS].selector = 0x28 | cpl;
	env->segs[R_CS].flags |= DESC_CODE | DESC_L;
	env->cr[0] = 0x80010033; /* paging, write protect, protection */
	env->cr[3] = PAGE_TABLES;
	env->cr[4] = 0x220; /* PAE, OSFXSR */
	env->efer = 0x500;  /* LME, LMA */
	vcpu_put_state(cpu, &err);
	g_assert_no_error(err);
}

void guest_write_loop(struct guest *g, int i, u64 start, u64 end)
{
	/* outer: mov rbx, rdi
	 * inner: mov [rbx], rax; add rbx, 0x1000; cmp rbx, rsi; jb inner
	 *        inc rax; mov [rdx], eax; jmp outer */
	static const u8 code[] = { 0x48, 0x89, 0xfb, 0x48, 0x89, 0x03, 0x48, 0x81, 0xc3,
				   0x00, 0x10, 0x00, 0x00, 0x48, 0x39, 0xf3, 0x72, 0xf1,
				   0x48, 0xff, 0xc0, 0x89, 0x02, 0xeb, 0xe7 };
	struct x86_env *env = &x86_cpu_of(g->vm->cpus[i])->env;
	g_autoptr(GError) err = NULL;

	memcpy(g->ram->host + CODE_ADDR, code, sizeof(code));
	env->eip = CODE_ADDR;
	env->regs[R_EAX] = 1;
	env->regs[R_EDI] = start;
	env->regs[R_ESI] = end;
	env->regs[R_EDX] = GUEST_WORD_ADDR;
	vcpu_put_state(g->vm->cpus[i], &err);
	g_assert_no_error(err);
}

void guest_sleep(unsigned us)
{
	machine_unlock();
	g_usleep(us);
	machine_lock();
}

void guest_wait_words(struct guest *g, u32 n)
{
	u32 from = __atomic_load_n(&g->words, __ATOMIC_SEQ_CST);
	s64 end = g_get_monotonic_time() + WAIT_US;

	while (__atomic_load_n(&g->words, __ATOMIC_SEQ_CST) - from < n) {
		g_assert_cmpint(g_get_monotonic_time(), <, end);
		guest_sleep(200);
	}
}
