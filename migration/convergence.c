/*
 * migration/convergence.c - whether the passes will end, when, and slowing the guest so that they
 * do.
 */
#include "migration/convergence.h"

#include "accel/vcpu.h"
#include "accel/vm.h"

#define WINDOW_NS         (100 * NS_PER_MS)
#define HOT_PASSES        2u /* passes over the threshold before the throttle moves */
#define LATE_PASSES       2u
#define LATE_PASS_GAIN_NS (5 * NS_PER_MS)
/* Until the first switch-over is measured: a small machine's states and the receiver's start. */
#define RESUME_GUESS_NS (2 * NS_PER_MS)

const char *verdict_name(enum verdict v)
{
	static const char *const names[] = {
		[VERDICT_STARTING] = "starting",     [VERDICT_CONVERGING] = "converging",
		[VERDICT_THROTTLING] = "throttling", [VERDICT_DIVERGING] = "will-not-converge",
		[VERDICT_CONVERGED] = "converged",
	};

	return names[v];
}

void convergence_init(struct convergence *c, const struct settings *settings, u64 device_ns)
{
	*c = (struct convergence){ 0 };
	c->window_ns = c->pass_ns = monotonic_ns();
	STAT_SET(c->eta_ms, UINT64_MAX);
	STAT_SET(c->expected_downtime_ms, settings->params.downtime_limit);
	STAT_SET(c->predicted.device_ns, device_ns);
	STAT_SET(c->predicted.resume_ns, RESUME_GUESS_NS);
}

void convergence_tick(struct convergence *c, const struct settings *settings, u64 bytes, u64 pages)
{
	s64 now = monotonic_ns(), span = now - c->window_ns;

	if (span < WINDOW_NS)
		return;
	STAT_SET(c->rate_bps, (u64)((bytes - c->window_bytes) * 8.0 * NS_PER_S / span));
	STAT_SET(c->pages_per_second, (u64)((pages - c->window_pages) * 1.0 * NS_PER_S / span));
	STAT_SET(c->bandwidth, settings->params.avail_switchover_bandwidth
				       ? settings->params.avail_switchover_bandwidth
				       : c->rate_bps / 8);
	c->window_ns = now;
	c->window_bytes = bytes;
	c->window_pages = pages;
}

/* Raises the throttle by a step, or starts it. */
static void throttle(struct convergence *c, struct vm *vm, const struct parameters *p,
		     u64 dirty_bytes, u64 threshold_bytes)
{
	u64 pct = STAT_GET(c->throttle_pct), step = p->cpu_throttle_increment;

	if (!pct) {
		pct = p->cpu_throttle_initial;
	} else {
		if (p->cpu_throttle_tailslow) {
			/* Near the top each step costs much: only as far as the excess asks. */
			u64 ideal =
				(100 - pct) * (dirty_bytes - threshold_bytes) / MAX(dirty_bytes, 1);

			step = MIN(step, MAX(ideal, 1));
		}
		pct = MIN(pct + step, p->max_cpu_throttle);
	}
	STAT_SET(c->throttle_pct, pct);
	vcpu_throttle_set(vm, pct);
}

static void judge(struct convergence *c, const struct settings *settings, u64 remaining,
		  u64 limit_bytes)
{
	double bandwidth = MAX(STAT_GET(c->bandwidth), 1), dirty = STAT_GET(c->dirty_rate);
	double ratio = dirty / bandwidth, left = remaining, seconds = 0;
	bool throttled = settings->caps[CAP_AUTO_CONVERGE] &&
			 STAT_GET(c->throttle_pct) < settings->params.max_cpu_throttle;

	if (ratio >= 0.95) {
		STAT_SET(c->verdict, throttled ? VERDICT_THROTTLING : VERDICT_DIVERGING);
		STAT_SET(c->eta_ms, UINT64_MAX);
		return;
	}
	/* Each pass takes as long as its bytes, and leaves what was written meanwhile. */
	for (unsigned i = 0; i < 64 && left > limit_bytes; i++) {
		seconds += left / bandwidth;
		left *= ratio;
	}
	STAT_SET(c->verdict, left > limit_bytes ? VERDICT_DIVERGING : VERDICT_CONVERGING);
	STAT_SET(c->eta_ms, left > limit_bytes ? UINT64_MAX : (u64)(seconds * 1000));
}

/* Bytes that fit into the downtime beside what else takes time in it. */
static u64 downtime_bytes(const struct convergence *c, const struct parameters *p)
{
	u64 limit_ns = p->downtime_limit * NS_PER_MS;
	u64 fixed = STAT_GET(c->predicted.sync_ns) + STAT_GET(c->predicted.device_ns) +
		    STAT_GET(c->predicted.resume_ns);

	/* A limit below the fixed costs cannot be kept; still let an idle guest through. */
	limit_ns = fixed < limit_ns / 2 ? limit_ns - fixed : limit_ns / 2;
	return (double)STAT_GET(c->bandwidth) * limit_ns / NS_PER_S;
}

/*
 * Whether a guest that could stop now should run for one more pass: where writes come much slower
 * than they are sent, the pass costs next to nothing and leaves a fraction of the downtime.
 */
static bool late_pass_pays(struct convergence *c)
{
	if (STAT_GET(c->predicted.ram_ns) < LATE_PASS_GAIN_NS ||
	    STAT_GET(c->dirty_rate) > STAT_GET(c->bandwidth) / 2 || c->late_passes >= LATE_PASSES)
		return false;
	c->late_passes++;
	return true;
}

bool convergence_pass(struct convergence *c, struct vm *vm, const struct settings *settings,
		      const struct ram_stats *stats, u64 bytes)
{
	const struct parameters *p = &settings->params;
	s64 now = monotonic_ns(), span = MAX(now - c->pass_ns, 1);
	u64 sent = bytes - c->pass_bytes, remaining = ram_source_remaining(stats);
	u64 threshold = sent * p->throttle_trigger_threshold / 100, limit;

	if (!STAT_GET(c->bandwidth) || p->avail_switchover_bandwidth)
		STAT_SET(c->bandwidth, p->avail_switchover_bandwidth
					       ? p->avail_switchover_bandwidth
					       : (u64)((double)sent * NS_PER_S / span));
	STAT_SET(c->predicted.sync_ns, STAT_GET(stats->last_sync_ns));
	limit = downtime_bytes(c, p);
	STAT_SET(c->predicted.ram_ns,
		 (u64)((double)remaining * NS_PER_S / MAX(STAT_GET(c->bandwidth), 1)));
	STAT_SET(c->expected_downtime_ms,
		 (STAT_GET(c->predicted.ram_ns) + STAT_GET(c->predicted.sync_ns) +
		  STAT_GET(c->predicted.device_ns) + STAT_GET(c->predicted.resume_ns)) /
			 NS_PER_MS);
	STAT_SET(c->dirty_rate, STAT_GET(stats->dirty_pages_rate) << DIRTY_PAGE_BITS);
	c->pass_ns = now;
	c->pass_bytes = bytes;

	if (remaining <= limit) {
		STAT_SET(c->verdict, VERDICT_CONVERGED);
		STAT_SET(c->eta_ms, 0);
		return !late_pass_pays(c);
	}
	c->hot_passes = remaining > threshold ? c->hot_passes + 1 : 0;
	if (settings->caps[CAP_AUTO_CONVERGE] && c->hot_passes >= HOT_PASSES) {
		c->hot_passes = 0;
		throttle(c, vm, p, remaining, threshold);
	}
	judge(c, settings, remaining, limit);
	return false;
}

void convergence_end(struct convergence *c, struct vm *vm)
{
	if (STAT_GET(c->throttle_pct))
		vcpu_throttle_set(vm, 0);
	STAT_SET(c->throttle_pct, 0);
}
