/* SPDX-License-Identifier: Apache-2.0
 *
 * May this idle backend be lent, must it be asked first, or closed? design.md, MySQL rule 9. The
 * pool asks, this answers: no lists, no sockets, no clock. Any thread.
 *
 *   quiet = now - the later of last_proof_ms and born_ms   what the server's wait_timeout counts
 *   idle  = now - idle_since_ms                            probes do not shorten it
 *   age   = now - born_ms
 * A time that lies ahead of now counts as now. Each limit is reached when the span equals it (>=).
 * A rule that is 0 or less is off, and so is the guard when wait_timeout_ms is 0.
 *
 *            0            half of the guard        guard = 80 %, rounded up     wait_timeout
 *   on idle  |--- leave ------|------ refresh -----------|-------- close ----------|
 *   on lend  |--- lend (or probe from probe_after on) ---|-------- close ----------| */
#ifndef SLUICE_HEALTH_VERDICT_H
#define SLUICE_HEALTH_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

struct liveness_rules {
    int64_t probe_after_ms;   /* quiet for so long: ask before lending */
    int64_t refresh_every_ms; /* quiet for so long: ask while idle */
    int64_t max_age_ms;       /* of a backend without max_age_jittered_ms */
    int64_t idle_timeout_ms;  /* idle for so long and surplus: close */
};

struct liveness_facts {
    uint64_t now_ms;
    uint64_t born_ms;             /* when its login succeeded, which is its first proof */
    uint64_t idle_since_ms;       /* when it was last given back */
    uint64_t last_proof_ms;       /* when it last answered anything; 0: not since its login */
    uint64_t wait_timeout_ms;     /* of its session; 0: unknown or none */
    uint64_t max_age_jittered_ms; /* its own share of max_age_ms; 0: max_age_ms itself */
    bool surplus;                 /* more are idle than min_idle */
};

enum verdict {
    VERDICT_LEND,  /* lend it; for the janitor: leave it */
    VERDICT_PROBE, /* send the probe first; for the janitor: refresh it */
    VERDICT_CLOSE,
};

/* X(ID, word for log and metric label) */
#define VERDICT_REASONS(X)                                                                         \
    X(NONE, "none")                           /* VERDICT_LEND */                                   \
    X(WAIT_TIMEOUT, "wait_timeout")           /* closed: in the last 20 % of it */                 \
    X(MAX_AGE, "max_age")                     /* closed */                                         \
    X(IDLE, "idle")                           /* closed: surplus and idle_timeout reached */       \
    X(PROBE_DUE, "probe_due")                 /* probed before lending */                          \
    X(REFRESH_DUE, "refresh_due")             /* refreshed: refresh_every reached */               \
    X(WAIT_TIMEOUT_HALF, "wait_timeout_half") /* refreshed: half of the way to the guard */

enum verdict_reason {
#define X(id, word) VERDICT_REASON_##id,
    VERDICT_REASONS(X)
#undef X
};

/* Before lending. In this order: quiet in the guard zone CLOSE (WAIT_TIMEOUT); quiet >=
 * probe_after_ms PROBE (PROBE_DUE); else LEND (NONE). Age is left to the janitor: an old backend
 * that answers serves one more time. `why` is always filled. */
enum verdict verdict_on_lend(const struct liveness_rules *rules, const struct liveness_facts *facts,
                             enum verdict_reason *why);

/* On the janitor's tick, for a backend that stays idle. In this order: CLOSE for the guard zone
 * (WAIT_TIMEOUT), for age >= max age (MAX_AGE), for idle >= idle_timeout_ms while surplus (IDLE);
 * PROBE for quiet >= refresh_every_ms (REFRESH_DUE), for quiet >= half of the guard, rounded up
 * (WAIT_TIMEOUT_HALF); else LEND (NONE). */
enum verdict verdict_on_idle(const struct liveness_rules *rules, const struct liveness_facts *facts,
                             enum verdict_reason *why);

/* For max_age_jittered_ms: 90 % to 100 % of max_age_ms by the caller's random number, so that
 * backends opened together do not close together. 0 when max_age_ms is 0 or less. */
uint64_t verdict_jitter_max_age_ms(int64_t max_age_ms, uint64_t random);

/* The word of the table above. */
const char *verdict_reason_word(enum verdict_reason reason);

#endif
