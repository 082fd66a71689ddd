/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/breaks.h"

#ifdef SLUICE_BREAK
#include <stdlib.h>
#include <string.h>

static const char *const rule_names[] = {
#define X(id, name) name,
    RULES(X)
#undef X
};

static enum rule rule_broken = RULES_COUNT; /* none */

bool broken(enum rule r)
{
    return r == rule_broken;
}

bool breaks_begin(void)
{
    const char *name = getenv("SLUICE_BREAK_RULE");
    if (!name)
        return true;
    rule_broken = 0;
    while (rule_broken < RULES_COUNT && strcmp(rule_names[rule_broken], name) != 0)
        rule_broken++;
    (void)unsetenv("SLUICE_BREAK_RULE");
    return rule_broken < RULES_COUNT;
}

void breaks_list(FILE *out)
{
    for (int r = 0; r < RULES_COUNT; r++)
        (void)fprintf(out, "rule %s\n", rule_names[r]);
}
#endif
