/* system/qmp/net.c - commands about networks. */
#include "qapi/gen/net.h"

#include "net/net.h"
#include "util/error.h"

void qmp_set_link(struct machine *m, const struct qapi_set_link_args *args, GError **err)
{
	net_set_link(args->name, args->up, err);
}

void qmp_netdev_add(struct machine *m, JsonObject *args, GError **err)
{
	net_netdev_create(args, err);
}

void qmp_netdev_del(struct machine *m, const struct qapi_netdev_del_args *args, GError **err)
{
	net_netdev_remove(args->id, err);
}

static struct qapi_human_readable_text *text_result(char *text)
{
	struct qapi_human_readable_text *r = g_new0(struct qapi_human_readable_text, 1);

	r->human_readable_text = text;
	return r;
}

struct qapi_human_readable_text *qmp_x_query_network(struct machine *m, GError **err)
{
	return text_result(net_info_text());
}

struct qapi_human_readable_text *qmp_x_query_usernet(struct machine *m, GError **err)
{
	return text_result(net_usernet_text());
}
