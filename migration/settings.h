/*
 * migration/settings.h - capabilities, parameters and global properties.
 */
#ifndef MIGRATION_SETTINGS_H
#define MIGRATION_SETTINGS_H

#include "util/base.h"

#include <json-glib/json-glib.h>

enum capability {
	CAP_XBZRLE,
	CAP_AUTO_CONVERGE,
	CAP_EVENTS,
	CAP_RETURN_PATH,
	CAP_PAUSE_BEFORE_SWITCHOVER,
	CAP_IGNORE_SHARED,
	CAP_VALIDATE_UUID,
	CAP_SWITCHOVER_ACK,
	CAP_VERIFY,
	CAP_PAGE_COUNTS,
	CAPABILITIES,
};

enum zero_page_detection { ZERO_PAGES_NONE, ZERO_PAGES_LEGACY, ZERO_PAGES_MULTIFD };

/* Plain values only: copied as a whole. */
struct parameters {
	u64 announce_initial, announce_max, announce_rounds, announce_step; /* ms; rounds */
	u64 throttle_trigger_threshold;                                     /* % */
	u64 cpu_throttle_initial, cpu_throttle_increment, max_cpu_throttle; /* % */
	bool cpu_throttle_tailslow;
	u64 max_bandwidth, avail_switchover_bandwidth; /* bytes/s; 0: no limit, not given */
	u64 downtime_limit;                            /* ms */
	u64 xbzrle_cache_size;                         /* bytes, power of two */
	u64 zero_page_detection;                       /* enum zero_page_detection */
	/* What they would change is not here: fixed (see settings.c). */
	u64 x_checkpoint_delay, multifd_channels, max_postcopy_bandwidth, multifd_compression;
	u64 multifd_zlib_level, multifd_qatzip_level, multifd_zstd_level;
	u64 x_vcpu_dirty_limit_period, vcpu_dirty_limit, mode, x_rdma_chunk_size;
	bool direct_io;
};

struct settings {
	bool caps[CAPABILITIES];
	bool return_path_off; /* switched off by name, not only never switched on */
	struct parameters params;
	/* -global migration.*; machine types choose defaults */
	bool store_global_state;
	bool send_configuration;
	bool send_section_footer;
	bool send_switchover_start;
};

void settings_init(struct settings *s);

/* Checks on a copy: @s changes only on success. Return: 0, or -EINVAL with @err. */
int settings_set_capability(struct settings *s, const char *name, bool on, GError **err);
int settings_check_capabilities(const struct settings *s, GError **err);
int settings_set_parameters(struct settings *s, JsonObject *values, GError **err);
int settings_set_global(struct settings *s, const char *name, const char *value, GError **err);

JsonArray *settings_capabilities(const struct settings *s);
JsonObject *settings_parameters(const struct settings *s);

#endif
