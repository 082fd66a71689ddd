/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/systemd.h"

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>

void systemd_notify(const char *state)
{
    (void)sd_notify(0, state);
}
#else
void systemd_notify(const char *state)
{
    (void)state;
}
#endif
