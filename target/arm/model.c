/*
 * target/arm/model.c - CPU models and their properties.
 *
 * A model has the identity of the real CPU, and of its features those that are implemented here;
 * the ID registers tell just these. Sources: the models' Technical Reference Manuals (Arm DDI 0500,
 * 0488, 100095, 100798, 100616), identification registers.
 */
#include "target/arm/model.h"

#include "accel/vm.h"
#include "target/arm.h"
#include "target/arm/cpu-features.h"
#include "target/arm/engine_props.h"
#include "target/arm/kvm.h"
#include "target/arm/pmu.h"
#include "util/error.h"

#define F(name) ((u64)1 << ARM_FEAT_##name)

/* Armv8.0 with the optional parts that all of the models have. */
#define V8_0 (F(FP) | F(CRC32) | F(AES) | F(PMULL) | F(SHA1) | F(SHA256))
/* Armv8.2, as Cortex-A76 and Neoverse N1 have it. */
#define V8_2                                                                                       \
	(V8_0 | F(LSE) | F(RDM) | F(PAN) | F(UAO) | F(DPB) | F(HAFDBS) | F(HPDS) | F(VMID16) |     \
	 F(FP16) | F(DOTPROD) | F(RCPC) | F(SSBS) | F(TGRAN16))

struct base_model {
	const char *name;
	const char *compatible;
	u32 midr;
	u8 pa_range;    /* ID_AA64MMFR0_EL1.PARange */
	u8 pmu_version; /* ID_AA64DFR0_EL1.PMUVer */
	u16 pmu_id;     /* PMCR_EL0.IMP and IDCODE */
	u64 features;
};

static const struct base_model base_models[] = {
	{ "cortex-a53", "arm,cortex-a53", 0x410fd034, 2, ARM_PMU_V3, 0x4103, V8_0 },
	{ "cortex-a57", "arm,cortex-a57", 0x411fd070, 4, ARM_PMU_V3, 0x4101, V8_0 },
	{ "cortex-a72", "arm,cortex-a72", 0x410fd083, 4, ARM_PMU_V3, 0x4102, V8_0 },
	{ "cortex-a76", "arm,cortex-a76", 0x414fd0b1, 2, ARM_PMU_V3P1, 0x410b, V8_2 },
	{ "neoverse-n1", "arm,neoverse-n1", 0x414fd0c1, 5, ARM_PMU_V3P1, 0x410c, V8_2 },
	/* Software's own: implementer 0, everything that is there. Guests take it for an A57. */
	{ "max", "arm,cortex-a57", 0x000f0510, PARANGE_52, ARM_PMU_V3P5, 0x4101, 0 },
};

static const char *const names[] = { "cortex-a53", "cortex-a57",  "cortex-a72", "cortex-a76",
#ifdef ARM_KVM
				     "host",
#endif
				     "max",        "neoverse-n1", NULL };

/* Under KVM: identity and features are those of the host's CPU, as KVM shows them. */
static const struct base_model kvm_models[] = {
	{ "host", "arm,arm-v8", 0, 0, 0, 0, F(FP) },
	{ "max", "arm,arm-v8", 0, 0, 0, 0, F(FP) },
};

struct arm_cpu_model {
	const struct base_model *base;
	bool kvm; /* one of kvm_models */
	u64 features;
	bool pauth, qarma5, pmu, lpa2;
	bool impdef_asked, qarma5_asked;   /* pauth-impdef=on, pauth-qarma5=on */
	struct arm_engines_config engines; /* none unless the model is max */
};

/* A property of -cpu. */
struct cpu_prop {
	const char *name;
	bool max_only;      /* of the model max; others do not have it */
	bool kvm;           /* there is one under KVM, too */
	bool value;         /* what it is, if it cannot be changed */
	const char *refuse; /* why it cannot; NULL: it can */
};

static const struct cpu_prop cpu_props[] = {
	{ "aarch64", false, true, true,
	  "a CPU without AArch64 state needs AArch32, which is not there" },
	{ "lpa2", true, false, true, NULL },
	{ "pauth", true, true, true, NULL },
	{ "pauth-impdef", true, false, true, NULL },
	{ "pauth-qarma3", true, false, false, "the algorithm QARMA3 is not there" },
	{ "pauth-qarma5", true, false, false, NULL },
	{ "pmu", false, true, true, NULL },
	{ "sme", true, true, false, "SME is not there" },
	{ "sve", true, true, false, "SVE is not there" },
};

const char *const *arm_cpu_models(void)
{
	return names;
}

const char *arm_cpu_model_name(const struct arm_cpu_model *model)
{
	return model->base->name;
}

const char *arm_cpu_model_compatible(const struct arm_cpu_model *model)
{
	return model->base->compatible;
}

/* Has the engines and all features of the CPUs that are emulated. */
static bool is_max(const struct arm_cpu_model *m)
{
	return !m->kvm && !strcmp(m->base->name, "max");
}

static const struct cpu_prop *find_prop(const struct arm_cpu_model *m, const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(cpu_props); i++)
		if (!strcmp(cpu_props[i].name, name) &&
		    (m->kvm ? cpu_props[i].kvm : is_max(m) || !cpu_props[i].max_only))
			return &cpu_props[i];
	return NULL;
}

static bool prop_value(const struct arm_cpu_model *m, const struct cpu_prop *p)
{
	if (p->refuse)
		return p->value;
	if (!strcmp(p->name, "pauth"))
		return m->pauth;
	if (!strcmp(p->name, "pmu"))
		return m->pmu;
	if (!strcmp(p->name, "lpa2"))
		return m->lpa2;
	return m->pauth && m->qarma5 == !strcmp(p->name, "pauth-qarma5");
}

static int parse_bool(const char *text, bool *out)
{
	static const char *const yes[] = { "on", "yes", "true", "y", NULL };
	static const char *const no[] = { "off", "no", "false", "n", NULL };

	*out = g_strv_contains(yes, text);
	return *out || g_strv_contains(no, text) ? 0 : -EINVAL;
}

static int unknown_prop(const struct arm_cpu_model *m, const char *name, GError **err)
{
	g_autoptr(GString) known = g_string_new(NULL);

	for (unsigned i = 0; i < ARRAY_SIZE(cpu_props); i++)
		if (find_prop(m, cpu_props[i].name))
			g_string_append_printf(known, "%s%s", known->len ? ", " : "",
					       cpu_props[i].name);
	if (is_max(m))
		arm_engine_props_names(known);
	error_set(err, "-cpu %s: property '%s' not found, the model has %s", m->base->name, name,
		  known->str);
	return -EINVAL;
}

/* Each of the two algorithms of FEAT_PAuth on means the other one off. */
static void set_value(struct arm_cpu_model *m, const struct cpu_prop *p, bool value)
{
	if (!strcmp(p->name, "pmu")) {
		m->pmu = value;
	} else if (!strcmp(p->name, "lpa2")) {
		m->lpa2 = value;
	} else if (!strcmp(p->name, "pauth")) {
		m->pauth = value;
	} else if (!strcmp(p->name, "pauth-impdef")) {
		m->impdef_asked = value;
		m->qarma5 = !value;
	} else {
		m->qarma5_asked = value;
		m->qarma5 = value;
	}
}

static int set_prop(struct arm_cpu_model *m, const char *name, const char *text, GError **err)
{
	const struct cpu_prop *p = find_prop(m, name);
	bool value;
	int ret;

	/* sve128, sme256, ...: vector lengths. */
	if (!p && is_max(m) && (g_str_has_prefix(name, "sve") || g_str_has_prefix(name, "sme")) &&
	    g_ascii_isdigit(name[3]))
		p = find_prop(m, g_str_has_prefix(name, "sve") ? "sve" : "sme");
	if (!p && is_max(m)) {
		ret = arm_engine_prop_set(&m->engines, name, text, err);
		if (ret != -ENOENT) {
			if (ret)
				g_prefix_error(err, "-cpu %s: ", m->base->name);
			return ret;
		}
	}
	if (!p)
		return unknown_prop(m, name, err);
	if (parse_bool(text, &value)) {
		error_set(err, "-cpu %s: '%s=%s' is neither on nor off", m->base->name, name, text);
		return -EINVAL;
	}
	if (!p->refuse) {
		set_value(m, p, value);
		return 0;
	}
	if (value == p->value)
		return 0;
	error_set(err, "-cpu %s: %s=%s is not available: %s; leave it out", m->base->name, name,
		  text, p->refuse);
	return -ENOTSUP;
}

/* "+name", "-name" or "name=value". */
static int parse_item(struct arm_cpu_model *m, const char *item, GError **err)
{
	const char *eq = strchr(item, '=');
	g_autofree char *name = NULL;

	if (*item == '+' || *item == '-')
		return set_prop(m, item + 1, *item == '+' ? "on" : "off", err);
	if (!eq) {
		error_set(err, "-cpu %s: expected name=value instead of '%s'", m->base->name, item);
		return -EINVAL;
	}
	name = g_strndup(item, eq - item);
	return set_prop(m, name, eq + 1, err);
}

static const struct base_model *find_kvm_model(const char *name, GError **err)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kvm_models); i++)
		if (!strcmp(kvm_models[i].name, name))
			return &kvm_models[i];
	error_set(
		err,
		"-cpu %s: accelerator kvm runs guests on the host's own CPU; use -cpu host or max",
		name);
	return NULL;
}

static const struct base_model *find_model(const char *name, GError **err)
{
	g_autofree char *known = g_strjoinv(", ", (char **)names);

	for (unsigned i = 0; i < ARRAY_SIZE(base_models); i++)
		if (!strcmp(base_models[i].name, name))
			return &base_models[i];
	if (!strcmp(name, "host"))
		error_set(err,
			  "-cpu host: it needs accelerator kvm on an arm64 host; use -cpu max");
	else
		error_set(err, "-cpu %s: unknown model; known are %s", name, known);
	return NULL;
}

struct arm_cpu_model *arm_cpu_model_create(struct vm *vm, const char *text, bool qarma5,
					   GError **err)
{
	g_auto(GStrv) items = g_strsplit(text, ",", -1);
	const char *name = items[0] ? items[0] : "";
	bool kvm = arm_kvm_used(vm);
	const struct base_model *base = kvm ? find_kvm_model(name, err) : find_model(name, err);
	struct arm_cpu_model *m;

	if (!base)
		return NULL;
	m = g_new0(struct arm_cpu_model, 1);
	m->base = base;
	m->kvm = kvm;
	m->features = is_max(m) ? arm_features_max() : base->features;
	if (kvm && arm_kvm_has_pauth(vm))
		m->features |= F(PAUTH);
	m->pauth = m->features & F(PAUTH);
	m->pmu = !kvm;
	m->lpa2 = m->features & F(LPA2);
	m->qarma5 = qarma5;
	if (is_max(m))
		arm_engine_props_init(&m->engines);
	for (int i = 1; items[i]; i++) {
		if (*items[i] && parse_item(m, items[i], err)) {
			arm_cpu_model_destroy(m);
			return NULL;
		}
	}
	if (kvm && m->pmu) {
		error_set(err,
			  "-cpu %s: pmu=on is not available: performance monitors are not there "
			  "with KVM; leave it out",
			  m->base->name);
		arm_cpu_model_destroy(m);
		return NULL;
	}
	if (m->impdef_asked && m->qarma5_asked) {
		error_set(err,
			  "-cpu %s: pauth-impdef=on and pauth-qarma5=on exclude each other; leave "
			  "one out",
			  m->base->name);
		arm_cpu_model_destroy(m);
		return NULL;
	}
	if (kvm && m->pauth && !(m->features & F(PAUTH))) {
		error_set(err,
			  "-cpu %s: pauth=on is not available: the host's CPU or kernel has "
			  "no pointer authentication for guests; leave it out",
			  base->name);
		arm_cpu_model_destroy(m);
		return NULL;
	}
	if (!m->lpa2)
		m->features &= ~F(LPA2);
	if (!m->pauth)
		m->features &= ~F(PAUTH);
	else if (m->qarma5)
		m->features |= F(QARMA5);
	return m;
}

void arm_cpu_model_destroy(struct arm_cpu_model *m)
{
	g_free(m);
}

void arm_cpu_model_props(const struct arm_cpu_model *m,
			 void (*fn)(void *opaque, const char *name, bool on), void *opaque)
{
	for (unsigned i = 0; i < ARRAY_SIZE(cpu_props); i++)
		if (find_prop(m, cpu_props[i].name))
			fn(opaque, cpu_props[i].name, prop_value(m, &cpu_props[i]));
	if (is_max(m))
		arm_engine_props_bools(&m->engines, fn, opaque);
}

const struct arm_engines_config *arm_cpu_model_engines(const struct arm_cpu_model *m)
{
	return &m->engines;
}

bool arm_cpu_model_has_pmu(const struct arm_cpu_model *m)
{
	return m->pmu;
}

void arm_cpu_model_apply(const struct arm_cpu_model *m, struct arm_cpu *cpu)
{
	cpu->features = m->features;
	if (cpu->has_el2 && m->engines.hdbss)
		cpu->features |= F(HDBSS);
	if (cpu->has_el2 && m->engines.hacdbs)
		cpu->features |= F(HACDBS);
	cpu->midr = m->base->midr;
	cpu->pa_range = m->base->pa_range;
	cpu->pmu_version = m->pmu ? m->base->pmu_version : 0;
	cpu->pmu_id = m->base->pmu_id;
}
