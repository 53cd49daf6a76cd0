/*
 * util/base.h - types and macros that every file may rely on.
 */
#ifndef UTIL_BASE_H
#define UTIL_BASE_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <glib.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define KiB ((u64)1 << 10)
#define MiB ((u64)1 << 20)
#define GiB ((u64)1 << 30)

#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL
#define NS_PER_S  1000000000LL

#define ARRAY_SIZE(a) G_N_ELEMENTS(a)

/* @align must be a power of two. */
#define ROUND_DOWN(n, align) ((n) & ~((__typeof__(n))(align)-1))
#define ROUND_UP(n, align)   ROUND_DOWN((n) + (__typeof__(n))(align)-1, align)
#define DIV_ROUND_UP(n, d)   (((n) + (d)-1) / (d))
#define IS_ALIGNED(n, align) (((n) & ((__typeof__(n))(align)-1)) == 0)
#define IS_POW2(n)           ((n) && !((n) & ((n)-1)))

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
