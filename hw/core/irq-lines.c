/* hw/core/irq-lines.c - devices' outputs wired to the machine's interrupt controller. */
#include "hw/core/core.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "memory/address-space.h"

/* One source of a line; its index is the number that the irq passes to set(). */
struct irq_source {
	struct irq *irq; /* NULL: free */
	unsigned line;
	bool high;
};

GArray *irq_sources_create(void)
{
	return g_array_new(FALSE, TRUE, sizeof(struct irq_source));
}

static bool line_is_high(const GArray *sources, unsigned line)
{
	for (guint i = 0; i < sources->len; i++) {
		const struct irq_source *s = &g_array_index(sources, struct irq_source, i);

		if (s->irq && s->line == line && s->high)
			return true;
	}
	return false;
}

static void source_set(void *opaque, int n, int level)
{
	struct machine *m = opaque;
	struct irq_source *s = &g_array_index(m->irq_sources, struct irq_source, n);
	bool before, after;

	if (s->high == !!level)
		return;
	before = line_is_high(m->irq_sources, s->line);
	s->high = level;
	after = line_is_high(m->irq_sources, s->line);
	if (before != after)
		m->type->irq_set(m, s->line, after);
}

void machine_connect_irq(struct machine *m, struct irq *irq, unsigned line)
{
	struct irq_source source = { .irq = irq, .line = line };
	guint i;

	assert(m->type->irq_set);
	for (i = 0; i < m->irq_sources->len; i++)
		if (!g_array_index(m->irq_sources, struct irq_source, i).irq)
			break;
	if (i == m->irq_sources->len)
		g_array_append_val(m->irq_sources, source);
	else
		g_array_index(m->irq_sources, struct irq_source, i) = source;
	irq->set = source_set;
	irq->opaque = m;
	irq->n = i;
	irq->level = 0;
}

void machine_send_msi(struct machine *m, u16 requester, u64 addr, u32 data)
{
	if (m->type->send_msi)
		m->type->send_msi(m, requester, addr, data);
	else
		address_space_st(m->vm->memory, addr, data, 4);
}

void machine_disconnect_irq(struct machine *m, struct irq *irq)
{
	if (irq->set != source_set)
		return;
	irq_set(irq, 0);
	g_array_index(m->irq_sources, struct irq_source, irq->n).irq = NULL;
	irq->set = NULL;
}
