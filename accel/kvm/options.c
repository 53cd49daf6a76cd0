/* accel/kvm/options.c - properties of -accel kvm, and those of -machine that concern it. */
#include "accel/kvm/kvm.h"
#include "util/bitmap.h"
#include "util/error.h"
#include "util/keyval.h"

/* As QEMU and libvirt know them. */
#define RING_ENTRIES_MIN     1024
#define RING_ENTRIES_MAX     65536
#define RING_ENTRIES_DEFAULT 4096

const char kvm_props_help[] =
	"device=PATH             KVM device node, or /dev/fdset/N (default: /dev/kvm)\n"
	"dirty-log-batch=PAGES   pages re-protected by one call, a multiple of 64; or auto\n"
	"dirty-log-protect=MODE  legacy, manual, manual-initially-set or auto\n"
	"dirty-ring-size=N       entries of each vCPU's dirty ring: 0 (no ring) or a power of\n"
	"                        two from 1024 to 65536\n"
	"dirty-tracking=WHAT     log, ring or auto (ring if dirty-ring-size is given)\n"
	"kernel-irqchip=on       interrupt controllers in the kernel\n"
	"notify-vmexit=disable   no exit when a guest blocks interrupts for long\n";

static const char *const mode_names[] = {
	[KVM_DIRTY_LEGACY] = "legacy",
	[KVM_DIRTY_MANUAL] = "manual",
	[KVM_DIRTY_MANUAL_INITIALLY_SET] = "manual-initially-set",
	[KVM_DIRTY_RING] = "ring",
};

const char *kvm_dirty_mode_name(enum kvm_dirty_mode mode)
{
	return mode_names[mode];
}

static int parse_protect(struct kvm_options *opt, JsonObject *props, GError **err)
{
	char *text = keyval_take_str(props, "dirty-log-protect");
	int ret = 0;

	opt->dirty_mode_auto = !text || !strcmp(text, "auto");
	if (!opt->dirty_mode_auto) {
		int m = KVM_DIRTY_LEGACY;

		while (m < KVM_DIRTY_RING && strcmp(text, mode_names[m]))
			m++;
		opt->dirty_mode = m;
		if (m == KVM_DIRTY_RING) {
			error_set(err,
				  "dirty-log-protect=%s: must be legacy, manual, "
				  "manual-initially-set or auto",
				  text);
			ret = -EINVAL;
		}
	}
	g_free(text);
	return ret;
}

static int parse_batch(struct kvm_options *opt, JsonObject *props, GError **err)
{
	char *text = keyval_take_str(props, "dirty-log-batch");
	guint64 pages = 0;
	int ret = 0;

	if (text && strcmp(text, "auto") &&
	    (!g_ascii_string_to_unsigned(text, 10, BITS_PER_WORD, 1u << 30, &pages, NULL) ||
	     !IS_ALIGNED(pages, BITS_PER_WORD))) {
		error_set(err, "dirty-log-batch=%s: must be auto or a multiple of %d pages", text,
			  BITS_PER_WORD);
		ret = -EINVAL;
	}
	opt->batch_pages = pages;
	g_free(text);
	return ret;
}

/* dirty-ring-size and dirty-tracking together decide whether there is a ring. */
static int parse_ring(struct kvm_options *opt, JsonObject *props, GError **err)
{
	char *what;
	int ret = keyval_take_u64(props, "dirty-ring-size", &opt->ring_entries, err);

	if (ret && ret != -ENOENT)
		return ret;
	if (opt->ring_entries &&
	    (!IS_POW2(opt->ring_entries) || opt->ring_entries < RING_ENTRIES_MIN ||
	     opt->ring_entries > RING_ENTRIES_MAX)) {
		error_set(err,
			  "dirty-ring-size=%" PRIu64 ": must be 0 or a power of two from %d to %d",
			  opt->ring_entries, RING_ENTRIES_MIN, RING_ENTRIES_MAX);
		return -EINVAL;
	}
	what = keyval_take_str(props, "dirty-tracking");
	ret = 0;
	if (what && !strcmp(what, "ring")) {
		if (!opt->ring_entries)
			opt->ring_entries = RING_ENTRIES_DEFAULT;
	} else if (what && !strcmp(what, "log")) {
		if (opt->ring_entries) {
			error_set(err, "dirty-tracking=log contradicts dirty-ring-size=%" PRIu64,
				  opt->ring_entries);
			ret = -EINVAL;
		}
	} else if (what && strcmp(what, "auto")) {
		error_set(err, "dirty-tracking=%s: must be log, ring or auto", what);
		ret = -EINVAL;
	}
	if (!ret && opt->ring_entries && !opt->dirty_mode_auto) {
		error_set(err,
			  "dirty-log-protect=%s contradicts the dirty ring "
			  "(dirty-ring-size=%" PRIu64 ")",
			  mode_names[opt->dirty_mode], opt->ring_entries);
		ret = -EINVAL;
	}
	g_free(what);
	return ret;
}

/* A property of which only one value works; anything else is refused by name. */
static int take_only(JsonObject *props, const char *key, const char *works, GError **err)
{
	char *text = keyval_take_str(props, key);
	int ret = 0;

	if (text && strcmp(text, works)) {
		error_set(err, "%s=%s is not supported by accelerator kvm; %s=%s is", key, text,
			  key, works);
		ret = -ENOTSUP;
	}
	g_free(text);
	return ret;
}

int kvm_options_parse(struct kvm_options *opt, JsonObject *props, GError **err)
{
	static const char *const refused[] = {
		"eager-split-size",    "honor-guest-pat",       "kvm-shadow-mem", "notify-window",
		"xen-evtchn-max-pirq", "xen-gnttab-max-frames", "xen-version",
	};

	opt->device = keyval_take_str(props, "device");
	for (unsigned i = 0; i < ARRAY_SIZE(refused); i++) {
		if (json_object_has_member(props, refused[i])) {
			error_set(err, "%s=%s is not supported by accelerator kvm", refused[i],
				  keyval_str(props, refused[i]));
			return -ENOTSUP;
		}
	}
	if (take_only(props, "kernel-irqchip", "on", err) ||
	    take_only(props, "notify-vmexit", "disable", err))
		return -ENOTSUP;
	if (parse_protect(opt, props, err) || parse_batch(opt, props, err) ||
	    parse_ring(opt, props, err))
		return -EINVAL;
	return 0;
}

void kvm_options_finish(struct kvm_options *opt)
{
	g_free(opt->device);
}
