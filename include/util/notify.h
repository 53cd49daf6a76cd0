/*
 * util/notify.h - lists of callbacks.
 */
#ifndef UTIL_NOTIFY_H
#define UTIL_NOTIFY_H

#include "util/base.h"

struct notifier {
	void (*fn)(struct notifier *n, void *data);
	GList link;
};

/* A zeroed list is empty. */
struct notifier_list {
	GQueue queue;
};

/* notifier_add(), notifier_remove() - under the lock that guards the list (machine lock unless the
 * owner says otherwise). notifier_call() runs the callbacks in the order of their adding. */
void notifier_add(struct notifier_list *list, struct notifier *n);
void notifier_remove(struct notifier_list *list, struct notifier *n);
void notifier_call(struct notifier_list *list, void *data);

#endif
