/* util/notify.c - lists of callbacks. */
#include "util/notify.h"

void notifier_add(struct notifier_list *list, struct notifier *n)
{
	n->link.data = n;
	g_queue_push_tail_link(&list->queue, &n->link);
}

void notifier_remove(struct notifier_list *list, struct notifier *n)
{
	g_queue_unlink(&list->queue, &n->link);
}

void notifier_call(struct notifier_list *list, void *data)
{
	GList *next;

	/* A callback may remove itself. */
	for (GList *l = list->queue.head; l; l = next) {
		struct notifier *n = l->data;

		next = l->next;
		n->fn(n, data);
	}
}
