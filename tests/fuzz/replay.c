/*
 * tests/fuzz/replay.c - runs a fuzz target without a fuzzer: over stored inputs, and over simple
 * mutations of them that are the same each time.
 *
 * usage: fuzz-NAME [-mutations=N] FILE...
 */
#include <stdio.h>

#include "tests/fuzz/fuzz.h"

static void mutate(GRand *rand, GByteArray *data)
{
	guint at = data->len ? g_rand_int_range(rand, 0, data->len) : 0;
	u8 byte = g_rand_int_range(rand, 0, 256);

	switch (g_rand_int_range(rand, 0, 5)) {
	case 0: /* replace */
		if (data->len)
			data->data[at] = byte;
		break;
	case 1: /* flip one bit */
		if (data->len)
			data->data[at] ^= 1 << (byte & 7);
		break;
	case 2: /* insert at the end, or cut */ g_byte_array_append(data, &byte, 1); break;
	case 3: g_byte_array_set_size(data, at); break;
	case 4: { /* repeat a piece */
		guint n = MIN(byte, data->len - at);
		g_autofree u8 *piece = g_memdup2(data->data + at, n);

		if (n)
			g_byte_array_append(data, piece, n);
		break;
	}
	}
}

static void run_mutations(const char *bytes, gsize len, int count)
{
	GRand *rand = g_rand_new_with_seed(len);

	for (int i = 0; i < count; i++) {
		g_autoptr(GByteArray) data = g_byte_array_new();

		g_byte_array_append(data, (const u8 *)bytes, len);
		for (int n = g_rand_int_range(rand, 1, 9); n; n--)
			mutate(rand, data);
		LLVMFuzzerTestOneInput(data->data, data->len);
	}
	g_rand_free(rand);
}

int main(int argc, char **argv)
{
	int mutations = 0;

	for (int i = 1; i < argc; i++) {
		g_autofree char *bytes = NULL;
		g_autoptr(GError) error = NULL;
		gsize len;

		if (g_str_has_prefix(argv[i], "-mutations=")) {
			mutations = g_ascii_strtoll(strchr(argv[i], '=') + 1, NULL, 10);
			continue;
		}
		if (!g_file_get_contents(argv[i], &bytes, &len, &error)) {
			fprintf(stderr, "%s\n", error->message);
			return 1;
		}
		LLVMFuzzerTestOneInput((const u8 *)bytes, len);
		run_mutations(bytes, len, mutations);
	}
	return 0;
}
