/*
 * target/i386/feature-words.h - CPUID's feature bits by name, a word (leaf and register) at a time.
 */
#ifndef TARGET_I386_FEATURE_WORDS_H
#define TARGET_I386_FEATURE_WORDS_H

#include "util/base.h"

enum x86_reg { REG_EAX, REG_EBX, REG_ECX, REG_EDX };

enum x86_word {
	FEAT_1_EDX,
	FEAT_1_ECX,
	FEAT_6_EAX,
	FEAT_7_0_EBX,
	FEAT_7_0_ECX,
	FEAT_7_0_EDX,
	FEAT_7_1_EAX,
	FEAT_D_1_EAX,
	FEAT_KVM,
	FEAT_KVM_HINTS,
	FEAT_8000_0001_EDX,
	FEAT_8000_0001_ECX,
	FEAT_8000_0007_EDX,
	FEAT_8000_0008_EBX,
	FEAT_8000_000A_EDX,
	FEAT_8000_0021_EAX,
	FEAT_WORDS,
};

struct x86_word_info {
	u32 function;
	u32 index;
	enum x86_reg reg;
	const char *names[32]; /* as QEMU's -cpu spells them; NULL: no property of its own */
};

extern const struct x86_word_info x86_words[FEAT_WORDS];

/* Single bits that the code names. */
#define BIT_1_EDX_MCE                (1u << 7)
#define BIT_1_EDX_APIC               (1u << 9)
#define BIT_1_EDX_MTRR               (1u << 12)
#define BIT_1_EDX_MCA                (1u << 14)
#define BIT_1_EDX_HT                 (1u << 28)
#define BIT_1_ECX_X2APIC             (1u << 21)
#define BIT_1_ECX_TSC_DEADLINE       (1u << 24)
#define BIT_1_ECX_XSAVE              (1u << 26)
#define BIT_1_ECX_OSXSAVE            (1u << 27)
#define BIT_1_ECX_AVX                (1u << 28)
#define BIT_1_ECX_HYPERVISOR         (1u << 31)
#define BIT_6_EAX_ARAT               (1u << 2)
#define BIT_7_EBX_AVX512F            (1u << 16)
#define BIT_7_ECX_PKU                (1u << 3)
#define BIT_7_ECX_LA57               (1u << 16)
#define BIT_8000_0001_ECX_CMP_LEGACY (1u << 1)
#define BIT_8000_0001_ECX_SVM        (1u << 2)
#define BIT_8000_0007_EDX_INVTSC     (1u << 8)

/* Bits of 8000_0001 EDX that AMD repeats from leaf 1 EDX. */
#define AMD_ALIASES 0x0183f3ffu

/*
 * x86_feature_find() - word and bit of a name; "_" counts as "-", "." as "-".
 *
 * Return: false if no feature has this name.
 */
bool x86_feature_find(const char *name, enum x86_word *word, u32 *bits);

#endif
