/* system/secret.c - passwords and keys from options or files. */
#include "secret.h"

#include "util/error.h"
#include "util/keyval.h"

/* A key that is itself encrypted needs a cipher, and "keyid" and "iv". */
static int check_plain(JsonObject *opts, GError **err)
{
	const char *keyid = keyval_str(opts, "keyid");

	if (!keyid && !keyval_str(opts, "iv"))
		return 0;
	error_set(err, "secret: 'keyid=%s' is not supported: give the secret unencrypted",
		  keyid ?: "");
	return -EINVAL;
}

GBytes *secret_create(JsonObject *opts, GError **err)
{
	g_autofree char *data = keyval_take_str(opts, "data");
	g_autofree char *file = keyval_take_str(opts, "file");
	g_autofree char *format = keyval_take_str(opts, "format");
	bool base64 = format && !strcmp(format, "base64");
	g_autoptr(GError) why = NULL;
	gsize len = data ? strlen(data) : 0;
	guchar *decoded;

	if (check_plain(opts, err) || keyval_reject_rest(opts, "secret", err))
		return NULL;
	if (!data == !file) {
		error_set(err, "secret: needs one of 'data' and 'file'");
		return NULL;
	}
	if (format && !base64 && strcmp(format, "raw")) {
		error_set(err, "secret: 'format=%s': expected raw or base64", format);
		return NULL;
	}
	if (file && !g_file_get_contents(file, &data, &len, &why)) {
		error_set(err, "secret: 'file=%s': %s", file, why->message);
		return NULL;
	}
	if (!base64)
		return g_bytes_new_take(g_steal_pointer(&data), len);
	decoded = g_base64_decode(data, &len);
	return g_bytes_new_take(decoded, len);
}
