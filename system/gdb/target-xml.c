/* system/gdb/target-xml.c - the target description made from a register table. */
#include "gdb/internal.h"

static void add_register(GString *xml, const struct debug_reg *r)
{
	g_string_append_printf(xml, "<reg name=\"%s\" bitsize=\"%u\"", r->name, r->bits);
	if (r->type)
		g_string_append_printf(xml, " type=\"%s\"", r->type);
	if (r->group)
		g_string_append_printf(xml, " group=\"%s\"", r->group);
	g_string_append(xml, "/>");
}

char *gdb_target_xml(const struct cpu_debug_ops *ops)
{
	GString *xml = g_string_new("<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM "
				    "\"gdb-target.dtd\"><target version=\"1.0\">");

	g_string_append_printf(xml, "<architecture>%s</architecture>", ops->arch);
	for (unsigned i = 0; i < ops->nfeatures; i++) {
		const struct debug_feature *f = &ops->features[i];

		g_string_append_printf(xml, "<feature name=\"%s\">%s", f->name,
				       f->types ? f->types : "");
		for (unsigned n = 0; n < f->nregs; n++)
			add_register(xml, &f->regs[n]);
		g_string_append(xml, "</feature>");
	}
	g_string_append(xml, "</target>");
	return g_string_free(xml, FALSE);
}

unsigned gdb_register_size(const struct cpu_debug_ops *ops, unsigned n)
{
	for (unsigned i = 0; i < ops->nfeatures; i++) {
		if (n < ops->features[i].nregs)
			return ops->features[i].regs[n].bits / 8;
		n -= ops->features[i].nregs;
	}
	return 0;
}
