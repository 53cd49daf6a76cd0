/* target/i386/model.c - CPU models, and the text after -cpu. */
#include "target/i386/model.h"

#include "accel/kvm.h"
#include "util/error.h"
#include "util/keyval.h"
#include "util/log.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define PHYS_BITS_DEFAULT 40

/* A model of fixed features; values as QEMU defines them for the same name. */
struct fixed_model {
	const char *name;
	const char *vendor, *model_id;
	u32 family, model, stepping, level, xlevel;
	u32 words[FEAT_WORDS];
};

static const struct fixed_model fixed_models[] = {
	{
		.name = "qemu64",
		.vendor = "AuthenticAMD",
		.model_id = "QEMU Virtual CPU version 2.5+",
		.family = 15, .model = 107, .stepping = 1,
		.level = 0xd, .xlevel = 0x8000000a,
		.words = {
			[FEAT_1_EDX] = 0x078bfbfd,
			[FEAT_1_ECX] = 0x00002001,         /* pni, cx16 */
			[FEAT_8000_0001_EDX] = 0x20100800, /* lm, nx, syscall */
			[FEAT_8000_0001_ECX] = 0x00000001, /* lahf-lm; svm is off under KVM */
		},
	},
	{
		.name = "kvm64",
		.vendor = "GenuineIntel",
		.model_id = "Common KVM processor",
		.family = 15, .model = 6, .stepping = 1,
		.level = 0xd, .xlevel = 0x80000008,
		.words = {
			[FEAT_1_EDX] = 0x078bfbff,
			[FEAT_1_ECX] = 0x00002001,
			[FEAT_8000_0001_EDX] = 0x20100800,
		},
	},
};

/* What every fixed model has besides under KVM. */
static const u32 kvm_defaults[FEAT_WORDS] = {
	[FEAT_1_ECX] = BIT_1_ECX_X2APIC,
	/* Both clocks and the stable bit, no I/O delay, async page faults, steal time, EOI. */
	[FEAT_KVM] = 0x0100007b,
};

static const char *const model_names[] = { "host", "kvm64", "max", "qemu64", NULL };

const char *const *x86_cpu_models(void)
{
	return model_names;
}

const char *x86_cpu_model_name(const struct x86_cpu_model *model)
{
	return model->name;
}

static void host_cpuid(u32 function, u32 regs[4])
{
	memset(regs, 0, 4 * sizeof(u32));
#if defined(__x86_64__)
	__get_cpuid(function, &regs[0], &regs[1], &regs[2], &regs[3]);
#endif
}

/* Vendor string: EBX, EDX, ECX of leaf 0. */
static void set_vendor(struct x86_cpu_model *m, u32 ebx, u32 ecx, u32 edx)
{
	memcpy(m->vendor, &ebx, 4);
	memcpy(m->vendor + 4, &edx, 4);
	memcpy(m->vendor + 8, &ecx, 4);
}

static void model_of_host(struct x86_cpu_model *m)
{
	u32 r[4], sig;

	m->passthrough = true;
	host_cpuid(0, r);
	set_vendor(m, r[1], r[2], r[3]);
	host_cpuid(1, r);
	sig = r[0];
	m->stepping = sig & 15;
	m->model = (sig >> 4 & 15) | (sig >> 12 & 0xf0);
	m->family = (sig >> 8 & 15) + (sig >> 20 & 255);
	for (u32 i = 0; i < 3; i++) {
		host_cpuid(0x80000002 + i, r);
		memcpy(m->model_id + 16 * i, r, 16);
	}
	host_cpuid(0x80000008, r);
	m->phys_bits = r[0] & 255 ?: PHYS_BITS_DEFAULT;
	m->level = x86_cpuid_reg(m->supported, 0, 0, REG_EAX);
	m->xlevel = x86_cpuid_reg(m->supported, 0x80000000, 0, REG_EAX);
	for (int w = 0; w < FEAT_WORDS; w++)
		m->words[w] = x86_cpuid_reg(m->supported, x86_words[w].function, x86_words[w].index,
					    x86_words[w].reg);
	m->words[FEAT_KVM_HINTS] = 0;
	m->words[FEAT_1_ECX] |= BIT_1_ECX_HYPERVISOR;
	m->words[FEAT_6_EAX] |= BIT_6_EAX_ARAT;
}

static void model_of_table(struct x86_cpu_model *m, const struct fixed_model *f)
{
	memcpy(m->vendor, f->vendor, 12);
	g_strlcpy(m->model_id, f->model_id, sizeof(m->model_id));
	m->family = f->family;
	m->model = f->model;
	m->stepping = f->stepping;
	m->level = f->level;
	m->xlevel = f->xlevel;
	m->phys_bits = PHYS_BITS_DEFAULT;
	for (int w = 0; w < FEAT_WORDS; w++)
		m->words[w] = f->words[w] | kvm_defaults[w];
	m->words[FEAT_1_ECX] |= BIT_1_ECX_HYPERVISOR;
}

/* What -cpu says beside the model's name. */
struct wishes {
	u32 plus[FEAT_WORDS], minus[FEAT_WORDS]; /* +name and -name, which win over name=value */
	u32 set[FEAT_WORDS], clear[FEAT_WORDS];
	bool check, enforce, migratable, has_migratable;
};

static int bad_value(const char *key, const char *value, const char *wanted, GError **err)
{
	error_set(err, "-cpu: %s=%s: must be %s", key, value, wanted);
	return -EINVAL;
}

static int parse_bool(const char *key, const char *value, bool *out, GError **err)
{
	if (!strcmp(value, "on") || !strcmp(value, "true") || !strcmp(value, "yes"))
		*out = true;
	else if (!strcmp(value, "off") || !strcmp(value, "false") || !strcmp(value, "no"))
		*out = false;
	else
		return bad_value(key, value, "on or off", err);
	return 0;
}

static int parse_number(const char *key, const char *value, u64 min, u64 max, u64 *out,
			GError **err)
{
	g_autofree char *wanted = NULL;
	char *end;
	u64 v = g_ascii_strtoull(value, &end, 0);

	if (g_ascii_isdigit(*value) && !*end && v >= min && v <= max) {
		*out = v;
		return 0;
	}
	wanted = g_strdup_printf("a number from %" PRIu64 " to %" PRIu64, min, max);
	return bad_value(key, value, wanted, err);
}

/* tsc-frequency, in Hz with a suffix of powers of 1000. */
static int parse_tsc(struct x86_cpu_model *m, const char *value, GError **err)
{
	char *end;
	double hz = g_ascii_strtod(value, &end);
	static const char suffixes[] = "KMG";

	for (unsigned i = 0; i < 3; i++)
		if (*end == suffixes[i] || *end == g_ascii_tolower(suffixes[i])) {
			hz *= i == 0 ? 1e3 : i == 1 ? 1e6 : 1e9;
			end++;
			break;
		}
	if (*end || hz < 1e6 || hz > 1e12)
		return bad_value("tsc-frequency", value, "a frequency in Hz, such as 2.4G", err);
	m->tsc_khz = hz / 1000;
	return 0;
}

static int set_number(struct x86_cpu_model *m, const char *key, const char *value, bool *known,
		      GError **err)
{
	const struct {
		const char *key;
		u32 *at;
		u64 min, max;
	} numbers[] = {
		{ "family", &m->family, 0, 0xf + 0xff },
		{ "model", &m->model, 0, 0xff },
		{ "stepping", &m->stepping, 0, 0xf },
		{ "level", &m->level, 1, 0x20 },
		{ "xlevel", &m->xlevel, 0x80000000, 0x80000022 },
		{ "phys-bits", &m->phys_bits, 32, 52 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++) {
		u64 v;

		if (strcmp(key, numbers[i].key))
			continue;
		*known = true;
		if (parse_number(key, value, numbers[i].min, numbers[i].max, &v, err))
			return -EINVAL;
		*numbers[i].at = v;
	}
	return 0;
}

static int set_text(struct x86_cpu_model *m, const char *key, const char *value, GError **err)
{
	if (!strcmp(key, "vendor")) {
		if (strlen(value) != 12)
			return bad_value(key, value, "12 characters", err);
		memcpy(m->vendor, value, 12);
	} else {
		memset(m->model_id, 0, sizeof(m->model_id));
		g_strlcpy(m->model_id, value, sizeof(m->model_id));
	}
	return 0;
}

static int set_host_phys_bits(struct x86_cpu_model *m, const char *value, GError **err)
{
	bool on = false;
	u32 r[4];

	if (parse_bool("host-phys-bits", value, &on, err))
		return -EINVAL;
	host_cpuid(0x80000008, r);
	m->phys_bits = on && r[0] & 255 ? r[0] & 255 : PHYS_BITS_DEFAULT;
	return 0;
}

/* A property that may only say what is the case. */
static int only_off(const char *key, const char *value, GError **err)
{
	bool on = false;

	if (parse_bool(key, value, &on, err))
		return -EINVAL;
	if (!on)
		return 0;
	error_set(err, "-cpu: %s=%s is not supported; %s=off is", key, value, key);
	return -ENOTSUP;
}

static int set_property(struct x86_cpu_model *m, struct wishes *w, const char *key,
			const char *value, GError **err)
{
	enum x86_word word;
	bool on = false, known = false;
	u32 bits;
	int ret;

	if (x86_feature_find(key, &word, &bits)) {
		if (parse_bool(key, value, &on, err))
			return -EINVAL;
		w->set[word] = on ? w->set[word] | bits : w->set[word] & ~bits;
		w->clear[word] = on ? w->clear[word] & ~bits : w->clear[word] | bits;
		return 0;
	}
	ret = set_number(m, key, value, &known, err);
	if (known)
		return ret;
	if (!strcmp(key, "vendor") || !strcmp(key, "model-id"))
		return set_text(m, key, value, err);
	if (!strcmp(key, "check"))
		return parse_bool(key, value, &w->check, err);
	if (!strcmp(key, "enforce"))
		return parse_bool(key, value, &w->enforce, err);
	if (!strcmp(key, "kvm"))
		return parse_bool(key, value, &m->expose_kvm, err);
	if (!strcmp(key, "host-phys-bits"))
		return set_host_phys_bits(m, value, err);
	if (!strcmp(key, "tsc-frequency"))
		return parse_tsc(m, value, err);
	if (!strcmp(key, "migratable")) {
		w->has_migratable = true;
		return parse_bool(key, value, &w->migratable, err);
	}
	if (!strcmp(key, "pmu") || g_str_has_prefix(key, "hv-") || !strcmp(key, "host-cache-info"))
		return only_off(key, value, err);
	error_set(err, "-cpu: there is no property '%s' (%s=%s)", key, key, value);
	return -EINVAL;
}

static int parse_item(struct x86_cpu_model *m, struct wishes *w, const char *item, GError **err)
{
	g_auto(GStrv) kv = NULL;
	enum x86_word word;
	u32 bits;

	if (*item == '+' || *item == '-') {
		if (!x86_feature_find(item + 1, &word, &bits)) {
			error_set(err, "-cpu: there is no feature '%s' (%s)", item + 1, item);
			return -EINVAL;
		}
		if (*item == '+')
			w->plus[word] |= bits;
		else
			w->minus[word] |= bits;
		return 0;
	}
	kv = g_strsplit(item, "=", 2);
	g_strdelimit(kv[0], "_", '-');
	return set_property(m, w, kv[0], kv[1] ? kv[1] : "on", err);
}

/* What the kernel can give, also where its list does not say so. */
static u32 available(const struct x86_cpu_model *m, enum x86_word w)
{
	u32 bits = x86_cpuid_reg(m->supported, x86_words[w].function, x86_words[w].index,
				 x86_words[w].reg);

	switch (w) {
	case FEAT_1_EDX: return bits | BIT_1_EDX_HT;
	case FEAT_1_ECX: return bits | BIT_1_ECX_HYPERVISOR;
	case FEAT_6_EAX: return bits | BIT_6_EAX_ARAT; /* the local APIC is KVM's */
	case FEAT_8000_0001_ECX: return bits | BIT_8000_0001_ECX_CMP_LEGACY;
	case FEAT_8000_0007_EDX:
		return bits | BIT_8000_0007_EDX_INVTSC; /* kept from migrating, not from running */
	default: return bits;
	}
}

static int filter(struct x86_cpu_model *m, const struct wishes *w, GError **err)
{
	g_autoptr(GString) missing = g_string_new(NULL);

	for (int i = 0; i < FEAT_WORDS; i++) {
		u32 want = m->words[i], have = available(m, i);

		m->unavailable[i] = want & ~have;
		m->words[i] &= have;
		for (u32 left = m->unavailable[i]; left; left &= left - 1) {
			u32 bit = __builtin_ctz(left);
			const char *name = x86_words[i].names[bit];

			g_string_append_printf(missing, "%s%s", missing->len ? ", " : "",
					       name ? name : "?");
		}
	}
	if (!missing->len)
		return 0;
	if (w->enforce) {
		error_set(err, "-cpu %s,enforce: this host cannot give: %s", m->name, missing->str);
		return -ENOTSUP;
	}
	if (w->check)
		log_warn("-cpu %s: this host cannot give: %s", m->name, missing->str);
	return 0;
}

static void apply(struct x86_cpu_model *m, const struct wishes *w)
{
	for (int i = 0; i < FEAT_WORDS; i++) {
		u32 on = w->set[i] | w->plus[i];

		m->words[i] = ((m->words[i] | on) & ~(w->clear[i] & ~w->plus[i])) & ~w->minus[i];
		/* Only what has a name can be asked for on the other side. */
		if (m->passthrough && w->migratable) {
			for (int b = 0; b < 32; b++)
				if (!x86_words[i].names[b] &&
				    !(i == FEAT_8000_0001_EDX && AMD_ALIASES >> b & 1))
					m->words[i] &= ~(1u << b);
			if (i == FEAT_8000_0007_EDX && !(on & BIT_8000_0007_EDX_INVTSC))
				m->words[i] &= ~BIT_8000_0007_EDX_INVTSC;
		}
	}
	if (!strcmp(m->vendor, "AuthenticAMD"))
		m->words[FEAT_8000_0001_EDX] = (m->words[FEAT_8000_0001_EDX] & ~AMD_ALIASES) |
					       (m->words[FEAT_1_EDX] & AMD_ALIASES);
}

static int start_model(struct x86_cpu_model *m, const char *name, GError **err)
{
	for (unsigned i = 0; i < ARRAY_SIZE(fixed_models); i++) {
		if (strcmp(fixed_models[i].name, name))
			continue;
		m->name = fixed_models[i].name;
		model_of_table(m, &fixed_models[i]);
		return 0;
	}
	if (strcmp(name, "host") && strcmp(name, "max")) {
		error_set(err, "-cpu %s: unknown model; known are host, max, qemu64 and kvm64",
			  name);
		return -EINVAL;
	}
	m->name = !strcmp(name, "host") ? "host" : "max";
	model_of_host(m);
	return 0;
}

struct x86_cpu_model *x86_cpu_model_create(struct vm *vm, const char *text,
					   const struct x86_topology *topo, GError **err)
{
	struct x86_cpu_model *m = g_new0(struct x86_cpu_model, 1);
	struct wishes w = { .check = true, .migratable = true };
	g_auto(GStrv) items = g_strsplit(text, ",", -1);

	m->topo = (struct x86_topology){ MAX(topo->sockets, 1), MAX(topo->dies, 1),
					 MAX(topo->cores, 1), MAX(topo->threads, 1) };
	m->expose_kvm = accel_is_kvm(vm->accel);
	m->supported = x86_cpuid_supported(vm, err);
	if (!m->supported || start_model(m, items[0] ? items[0] : "", err))
		goto fail;
	for (int i = 1; items[i]; i++)
		if (*items[i] && parse_item(m, &w, items[i], err))
			goto fail;
	if (w.has_migratable && !m->passthrough) {
		error_set(err, "-cpu %s: migratable belongs to the models host and max", m->name);
		goto fail;
	}
	apply(m, &w);
	/* Where nothing executes (qtest) nothing is missing. */
	if (accel_is_kvm(vm->accel) && filter(m, &w, err))
		goto fail;
	return m;
fail:
	x86_cpu_model_destroy(m);
	return NULL;
}

void x86_cpu_model_destroy(struct x86_cpu_model *m)
{
	if (!m)
		return;
	g_free(m->supported);
	g_free(m);
}

void x86_cpu_model_features(const struct x86_cpu_model *m,
			    void (*fn)(void *opaque, const char *name, bool on, bool unavailable),
			    void *opaque)
{
	for (int w = 0; w < FEAT_WORDS; w++) {
		for (int b = 0; b < 32; b++) {
			const char *name = x86_words[w].names[b];

			/* The second kvmclock follows the first. */
			if (name && !(w == FEAT_KVM && b == 3))
				fn(opaque, name, m->words[w] >> b & 1, m->unavailable[w] >> b & 1);
		}
	}
}

void x86_cpu_model_values(const struct x86_cpu_model *m,
			  void (*fn)(void *opaque, const char *name, u64 number, const char *text),
			  void *opaque)
{
	fn(opaque, "family", m->family, NULL);
	fn(opaque, "model", m->model, NULL);
	fn(opaque, "stepping", m->stepping, NULL);
	fn(opaque, "level", m->level, NULL);
	fn(opaque, "xlevel", m->xlevel, NULL);
	fn(opaque, "phys-bits", m->phys_bits, NULL);
	fn(opaque, "vendor", 0, m->vendor);
	fn(opaque, "model-id", 0, m->model_id);
}
