/* SPDX-License-Identifier: Apache-2.0
 *
 * sd_notify, where the build has libsystemd; the only file that sees it. */
#ifndef SLUICE_PROXY_SYSTEMD_H
#define SLUICE_PROXY_SYSTEMD_H

/* "READY=1", "STOPPING=1", ...; nothing happens without NOTIFY_SOCKET. */
void systemd_notify(const char *state);

#endif
