/*
 * target/i386/feature-words.c - names of CPUID's feature bits.
 *
 * Sources: Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E; Linux
 * Documentation/virt/kvm/x86/cpuid.rst for KVM's own. The names are what users of -cpu and libvirt
 * write.
 */
#include "target/i386/feature-words.h"

const struct x86_word_info x86_words[FEAT_WORDS] = {
	[FEAT_1_EDX] = {
		.function = 1, .reg = REG_EDX,
		.names = { "fpu", "vme", "de", "pse", "tsc", "msr", "pae", "mce", "cx8", "apic",
			   NULL, "sep", "mtrr", "pge", "mca", "cmov", "pat", "pse36", "pn",
			   "clflush", NULL, "ds", "acpi", "mmx", "fxsr", "sse", "sse2", "ss", "ht",
			   "tm", "ia64", "pbe" },
	},
	[FEAT_1_ECX] = {
		.function = 1, .reg = REG_ECX,
		.names = { "pni", "pclmulqdq", "dtes64", "monitor", "ds-cpl", "vmx", "smx", "est",
			   "tm2", "ssse3", "cid", NULL, "fma", "cx16", "xtpr", "pdcm", NULL,
			   "pcid", "dca", "sse4.1", "sse4.2", "x2apic", "movbe", "popcnt",
			   "tsc-deadline", "aes", "xsave", NULL, "avx", "f16c", "rdrand",
			   "hypervisor" },
	},
	[FEAT_6_EAX] = { .function = 6, .reg = REG_EAX, .names = { [2] = "arat" } },
	[FEAT_7_0_EBX] = {
		.function = 7, .reg = REG_EBX,
		.names = { "fsgsbase", "tsc-adjust", "sgx", "bmi1", "hle", "avx2",
			   "fdp-excptn-only", "smep", "bmi2", "erms", "invpcid", "rtm", NULL,
			   "zero-fcs-fds", "mpx", NULL, "avx512f", "avx512dq", "rdseed", "adx",
			   "smap", "avx512ifma", "pcommit", "clflushopt", "clwb", "intel-pt",
			   "avx512pf", "avx512er", "avx512cd", "sha-ni", "avx512bw", "avx512vl" },
	},
	[FEAT_7_0_ECX] = {
		.function = 7, .reg = REG_ECX,
		.names = { NULL, "avx512vbmi", "umip", "pku", NULL, "waitpkg", "avx512vbmi2", NULL,
			   "gfni", "vaes", "vpclmulqdq", "avx512vnni", "avx512bitalg", NULL,
			   "avx512-vpopcntdq", NULL, "la57", [22] = "rdpid",
			   [24] = "bus-lock-detect", "cldemote", NULL, "movdiri", "movdir64b", NULL,
			   "sgxlc", "pks" },
	},
	[FEAT_7_0_EDX] = {
		.function = 7, .reg = REG_EDX,
		.names = { [2] = "avx512-4vnniw", "avx512-4fmaps", "fsrm",
			   [8] = "avx512-vp2intersect", [10] = "md-clear", [14] = "serialize",
			   [16] = "tsx-ldtrk", [19] = "arch-lbr", [22] = "amx-bf16", "avx512-fp16",
			   "amx-tile", "amx-int8", "spec-ctrl", "stibp", "flush-l1d",
			   "arch-capabilities", "core-capability", "ssbd" },
	},
	[FEAT_7_1_EAX] = {
		.function = 7, .index = 1, .reg = REG_EAX,
		.names = { [4] = "avx-vnni", "avx512-bf16", [10] = "fzrm", "fsrs", "fsrc",
			   [21] = "amx-fp16", [23] = "avx-ifma" },
	},
	[FEAT_D_1_EAX] = {
		.function = 0xd, .index = 1, .reg = REG_EAX,
		.names = { "xsaveopt", "xsavec", "xgetbv1", "xsaves", "xfd" },
	},
	[FEAT_KVM] = {
		.function = 0x40000001, .reg = REG_EAX,
		/* Two clocks, one name. */
		.names = { "kvmclock", "kvm-nopiodelay", "kvm-mmu", "kvmclock", "kvm-asyncpf",
			   "kvm-steal-time", "kvm-pv-eoi", "kvm-pv-unhalt", NULL,
			   "kvm-pv-tlb-flush", NULL, "kvm-pv-ipi", "kvm-poll-control",
			   "kvm-pv-sched-yield", "kvm-asyncpf-int", "kvm-msi-ext-dest-id",
			   [24] = "kvmclock-stable-bit" },
	},
	[FEAT_KVM_HINTS] = {
		.function = 0x40000001, .reg = REG_EDX,
		.names = { "kvm-hint-dedicated" },
	},
	[FEAT_8000_0001_EDX] = {
		.function = 0x80000001, .reg = REG_EDX,
		.names = { [11] = "syscall", [19] = "mp", "nx", NULL, "mmxext", [25] = "fxsr-opt",
			   "pdpe1gb", "rdtscp", NULL, "lm", "3dnowext", "3dnow" },
	},
	[FEAT_8000_0001_ECX] = {
		.function = 0x80000001, .reg = REG_ECX,
		.names = { "lahf-lm", "cmp-legacy", "svm", "extapic", "cr8legacy", "abm", "sse4a",
			   "misalignsse", "3dnowprefetch", "osvw", "ibs", "xop", "skinit", "wdt",
			   NULL, "lwp", "fma4", "tce", NULL, "nodeid-msr", NULL, "tbm", "topoext",
			   "perfctr-core", "perfctr-nb" },
	},
	[FEAT_8000_0007_EDX] = {
		.function = 0x80000007, .reg = REG_EDX, .names = { [8] = "invtsc" },
	},
	[FEAT_8000_0008_EBX] = {
		.function = 0x80000008, .reg = REG_EBX,
		.names = { "clzero", [2] = "xsaveerptr", [9] = "wbnoinvd", [12] = "ibpb",
			   [14] = "ibrs", "amd-stibp", [24] = "amd-ssbd", "virt-ssbd", "amd-no-ssb",
			   [28] = "amd-psfd" },
	},
	[FEAT_8000_000A_EDX] = {
		.function = 0x8000000a, .reg = REG_EDX,
		.names = { "npt", "lbrv", "svm-lock", "nrip-save", "tsc-scale", "vmcb-clean",
			   "flushbyasid", "decodeassists", [10] = "pause-filter",
			   [12] = "pfthreshold", "avic", [15] = "v-vmsave-vmload", "vgif",
			   [28] = "svme-addr-chk" },
	},
	[FEAT_8000_0021_EAX] = {
		.function = 0x80000021, .reg = REG_EAX,
		.names = { "no-nested-data-bp", [2] = "lfence-always-serializing",
			   [6] = "null-sel-clr-base", [8] = "auto-ibrs" },
	},
};

/* Second spellings that are in use. */
static const struct {
	const char *alias, *name;
} aliases[] = {
	{ "sse3", "pni" },      { "pclmuldq", "pclmulqdq" },
	{ "sse4-1", "sse4.1" }, { "sse4-2", "sse4.2" },
	{ "xd", "nx" },         { "ffxsr", "fxsr-opt" },
	{ "i64", "lm" },        { "sha", "sha-ni" },

};

static char *plain(const char *name)
{
	return g_strdelimit(g_strdup(name), "_.", '-');
}

bool x86_feature_find(const char *name, enum x86_word *word, u32 *bits)
{
	g_autofree char *wanted = plain(name);

	for (unsigned i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (strcmp(aliases[i].alias, wanted))
			continue;
		g_free(wanted);
		wanted = plain(aliases[i].name);
		break;
	}
	for (int w = 0; w < FEAT_WORDS; w++) {
		*bits = 0;
		for (int b = 0; b < 32; b++) {
			const char *have = x86_words[w].names[b];
			g_autofree char *p = have ? plain(have) : NULL;

			if (p && !strcmp(p, wanted))
				*bits |= 1u << b;
		}
		*word = w;
		if (*bits)
			return true;
	}
	return false;
}
