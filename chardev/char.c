/* chardev/char.c - character devices: registry, front ends, the log file. */
#include "chardev/char-priv.h"

#include "util/error.h"
#include "util/fdset.h"
#include "util/keyval.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/source.h"

#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

static GList *chardevs; /* in the order of creation */
struct chardev_hooks chardev_hooks;

static const struct chardev_type *const types[] = {
	&char_type_null, &char_type_file,   &char_type_pipe,    &char_type_fd,  &char_type_stdio,
	&char_type_pty,  &char_type_serial, &char_type_socket,  &char_type_udp, &char_type_ringbuf,
	&char_type_mux,  &char_type_vc,     &char_type_testdev,
};

/* Other spellings of types. */
static const struct {
	const char *alias, *name;
} aliases[] = { { "tty", "serial" }, { "memory", "ringbuf" }, { "console", "stdio" } };

void chardev_set_hooks(const struct chardev_hooks *hooks)
{
	chardev_hooks = *hooks;
}

/* ---- Front ends ---- */

size_t chardev_room(struct chardev *c)
{
	struct chardev_fe *fe = c->focus;

	return fe && fe->ready ? fe->ops.can_receive(fe->ops.opaque) : 0;
}

void chardev_deliver(struct chardev *c, const u8 *buf, size_t len)
{
	if (c->focus)
		c->focus->ops.receive(c->focus->ops.opaque, buf, len);
}

void chardev_fe_event(struct chardev_fe *fe, enum chardev_event event)
{
	if (fe->ready && fe->ops.event)
		fe->ops.event(fe->ops.opaque, event);
}

void chardev_event(struct chardev *c, enum chardev_event event)
{
	g_autoptr(GPtrArray) fes = g_ptr_array_copy(c->fes, NULL, NULL);

	for (guint i = 0; i < fes->len; i++) {
		/* One front end's reaction may be to detach another. */
		if (g_ptr_array_find(c->fes, fes->pdata[i], NULL))
			chardev_fe_event(fes->pdata[i], event);
	}
}

void chardev_set_open(struct chardev *c, bool open)
{
	if (c->open == open)
		return;
	g_mutex_lock(&c->lock);
	c->open = open;
	g_mutex_unlock(&c->lock);
	chardev_event(c, open ? CHARDEV_OPENED : CHARDEV_CLOSED);
}

void chardev_send_break(struct chardev *c)
{
	if (c->focus)
		chardev_fe_event(c->focus, CHARDEV_BREAK);
}

static void update_input(struct chardev *c)
{
	if (c->type->update_input)
		c->type->update_input(c);
}

/* The first turn of the main loop after the attachment, when the front end knows its handle. */
static gboolean start_fe(gpointer opaque)
{
	struct chardev_fe *fe = opaque;
	struct chardev *c = fe->c;

	source_drop(&fe->starter);
	fe->ready = true;
	if (c->open && fe->ops.event)
		fe->ops.event(fe->ops.opaque, CHARDEV_OPENED);
	/* The event may have detached it. */
	if (!g_ptr_array_find(c->fes, fe, NULL))
		return G_SOURCE_REMOVE;
	if (c->type->many_fes)
		chardev_fe_event(fe, c->focus == fe ? CHARDEV_MUX_IN : CHARDEV_MUX_OUT);
	update_input(c);
	return G_SOURCE_REMOVE;
}

struct chardev_fe *chardev_attach(struct chardev *c, const struct chardev_frontend *ops,
				  GError **err)
{
	struct chardev_fe *fe;

	if (c->fes->len && !c->type->many_fes) {
		error_set(err, "chardev '%s' is in use already; mux=on lets several share it",
			  c->id);
		return NULL;
	}
	fe = g_new0(struct chardev_fe, 1);
	fe->c = c;
	fe->ops = *ops;
	g_ptr_array_add(c->fes, fe);
	if (c->focus && !ops->background)
		chardev_fe_event(c->focus, CHARDEV_MUX_OUT);
	if (!c->focus || !ops->background)
		c->focus = fe;
	if (c->type->fe_changed)
		c->type->fe_changed(c, fe, true);
	fe->starter = source_after_ms(0, start_fe, fe);
	return fe;
}

void chardev_detach(struct chardev_fe *fe)
{
	struct chardev *c = fe->c;

	g_ptr_array_remove(c->fes, fe);
	if (c->focus == fe)
		c->focus = c->fes->len ? c->fes->pdata[0] : NULL;
	source_drop(&fe->starter);
	if (c->type->fe_changed)
		c->type->fe_changed(c, fe, false);
	if (c->focus && c->type->many_fes)
		chardev_fe_event(c->focus, CHARDEV_MUX_IN);
	update_input(c);
	g_clear_pointer(&fe->held, g_byte_array_unref);
	g_free(fe);
}

void chardev_accept_input(struct chardev_fe *fe)
{
	update_input(fe->c);
}

bool chardev_connected(const struct chardev_fe *fe)
{
	return fe->c->open;
}

int chardev_take_fds(struct chardev_fe *fe, int *fds, int max)
{
	struct chardev *c = fe->c;

	return c->type->take_fds ? c->type->take_fds(c, fds, max) : 0;
}

/* ---- Output ---- */

/* The log is a regular file as a rule; what it does not take is lost. */
static void write_log(struct chardev *c, const u8 *buf, size_t len)
{
	while (len) {
		ssize_t n = write(c->log_fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			log_warn("chardev %s: cannot write the log file: %s; logging ends", c->id,
				 g_strerror(errno));
			close(c->log_fd);
			c->log_fd = -1;
			return;
		}
		buf += n;
		len -= n;
	}
}

size_t chardev_write_locked(struct chardev *c, const u8 *buf, size_t len)
{
	if (c->log_fd >= 0)
		write_log(c, buf, len);
	return c->type->write(c, buf, len);
}

size_t chardev_write(struct chardev_fe *fe, const void *buf, size_t len)
{
	struct chardev *c = fe->c;
	size_t n;

	g_mutex_lock(&c->lock);
	n = chardev_write_locked(c, buf, len);
	g_mutex_unlock(&c->lock);
	return n;
}

size_t chardev_queued(struct chardev_fe *fe)
{
	struct chardev *c = fe->c;
	size_t n;

	g_mutex_lock(&c->lock);
	n = c->type->queued ? c->type->queued(c) : 0;
	g_mutex_unlock(&c->lock);
	return n;
}

/* ---- Making and removing ---- */

static const struct chardev_type *find_type(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (!strcmp(name, aliases[i].alias))
			name = aliases[i].name;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
		if (!strcmp(types[i]->name, name))
			return types[i];
	}
	return NULL;
}

static int open_log(struct chardev *c, JsonObject *opts, GError **err)
{
	g_autofree char *path = keyval_take_str(opts, "logfile");
	bool append = true;
	int has = keyval_take_bool(opts, "logappend", &append, err);

	if (has == -EINVAL)
		return -EINVAL;
	if (has == -ENOENT)
		append = false;
	if (!path)
		return 0;
	c->log_fd = file_open(path, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC), 0666);
	if (c->log_fd >= 0)
		return 0;
	error_set_errno(err, -c->log_fd, "cannot open log file '%s'", path);
	return c->log_fd;
}

static void chardev_free(struct chardev *c)
{
	if (c->log_fd >= 0)
		close(c->log_fd);
	g_ptr_array_unref(c->fes);
	g_mutex_clear(&c->lock);
	g_free(c->id);
	g_free(c->filename);
	g_free(c);
}

static gboolean free_later(gpointer c)
{
	chardev_free(c);
	return G_SOURCE_REMOVE;
}

static struct chardev *chardev_new(const struct chardev_type *type, const char *id)
{
	struct chardev *c = g_malloc0(type->size);

	c->type = type;
	c->id = g_strdup(id);
	c->filename = g_strdup(type->name);
	c->fes = g_ptr_array_new();
	c->log_fd = -1;
	g_mutex_init(&c->lock);
	return c;
}

static int open_type(struct chardev *c, JsonObject *opts, GError **err)
{
	g_autofree char *what = g_strdup_printf("-chardev %s", c->type->name);
	int ret = c->type->open(c, opts, err);

	if (ret) {
		if (err && *err)
			g_prefix_error(err, "chardev '%s': ", c->id);
		return ret;
	}
	ret = keyval_reject_rest(opts, what, err);
	if (ret)
		c->type->close(c);
	return ret;
}

/* @opts: consumed. */
static struct chardev *create_one(const char *id, const struct chardev_type *type, JsonObject *opts,
				  GError **err)
{
	struct chardev *c = chardev_new(type, id);

	if (open_log(c, opts, err) || open_type(c, opts, err)) {
		chardev_free(c);
		return NULL;
	}
	chardevs = g_list_append(chardevs, c);
	return c;
}

static const struct chardev_type *take_type(JsonObject *opts, GError **err)
{
	g_autofree char *name = keyval_take_str(opts, "backend");
	g_autofree char *help = NULL;
	const struct chardev_type *type;

	if (!name) {
		error_set(err, "a chardev needs its backend type");
		return NULL;
	}
	type = find_type(name);
	if (!type) {
		help = chardev_types_help();
		error_set(err, "chardev type '%s' is not supported; there are: %s", name,
			  g_strdelimit(g_strchomp(help), "\n", ' '));
	}
	return type;
}

static int check_id(const char *id, GError **err)
{
	if (!id || !g_ascii_isalpha(id[0]) ||
	    strspn(id, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-._") != strlen(id)) {
		error_set(err,
			  "chardev id '%s' must start with a letter and hold only letters, "
			  "digits, '-', '.' and '_'",
			  id ? id : "");
		return -EINVAL;
	}
	if (chardev_find(id)) {
		error_set(err, "chardev '%s' exists already", id);
		return -EEXIST;
	}
	return 0;
}

struct chardev *chardev_create(const char *id, JsonObject *opts, GError **err)
{
	g_autoptr(JsonObject) o = json_object_new();
	const struct chardev_type *type;
	struct chardev *base, *c;
	bool mux = false;

	if (check_id(id, err))
		return NULL;
	keyval_merge(o, opts);
	if (json_object_has_member(o, "id"))
		json_object_remove_member(o, "id");
	type = take_type(o, err);
	if (!type || keyval_take_bool(o, "mux", &mux, err) == -EINVAL)
		return NULL;
	if (!mux || type == &char_type_mux)
		return create_one(id, type, o, err);

	g_autofree char *base_id = g_strdup_printf("%s-base", id);

	if (check_id(base_id, err))
		return NULL;
	base = create_one(base_id, type, o, err);
	if (!base)
		return NULL;
	c = mux_create(id, base, err);
	if (!c)
		chardev_remove(base);
	return c;
}

struct chardev *mux_create(const char *id, struct chardev *base, GError **err)
{
	g_autoptr(JsonObject) o = json_object_new();

	json_object_set_string_member(o, "chardev", base->id);
	return create_one(id, &char_type_mux, o, err);
}

struct chardev *chardev_find(const char *id)
{
	for (GList *l = chardevs; l; l = l->next) {
		if (!strcmp(((struct chardev *)l->data)->id, id))
			return l->data;
	}
	return NULL;
}

void chardev_remove(struct chardev *c)
{
	assert(!c->fes->len);
	chardevs = g_list_remove(chardevs, c);
	c->type->close(c);
	/* Perhaps one of its own callbacks is the caller. */
	g_idle_add(free_later, c);
}

bool chardev_in_use(const struct chardev *c)
{
	return c->fes->len;
}

const char *chardev_id(const struct chardev *c)
{
	return c->id;
}

const char *chardev_type_name(const struct chardev *c)
{
	return c->type->name;
}

const char *chardev_filename(const struct chardev *c)
{
	return c->filename;
}

void chardev_set_filename(struct chardev *c, char *filename)
{
	g_free(c->filename);
	c->filename = filename;
}

void chardev_foreach(void (*fn)(const char *id, const char *filename, bool open, void *opaque),
		     void *opaque)
{
	for (GList *l = chardevs; l; l = l->next) {
		struct chardev *c = l->data;

		fn(c->id, c->filename, c->fes->len, opaque);
	}
}

void chardev_cleanup(void)
{
	/* A mux is younger than its base and lets go of it first. */
	while (chardevs) {
		struct chardev *c = g_list_last(chardevs)->data;

		while (c->fes->len)
			chardev_detach(c->fes->pdata[0]);
		chardevs = g_list_remove(chardevs, c);
		c->type->close(c);
		chardev_free(c);
	}
}

const char **chardev_types(void)
{
	const char **names = g_new0(const char *, ARRAY_SIZE(types) + 1);

	for (unsigned i = 0; i < ARRAY_SIZE(types); i++)
		names[i] = types[i]->name;
	return names;
}

char *chardev_types_help(void)
{
	GString *s = g_string_new(NULL);

	for (unsigned i = 0; i < ARRAY_SIZE(types); i++)
		g_string_append_printf(s, "%s\n", types[i]->name);
	return g_string_free(s, FALSE);
}
