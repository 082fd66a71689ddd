#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Counts system calls per connect+SELECT+close and per query: forwarder, HAProxy, sluice.
# THREADS=n loads with n threads instead of one; other options are run.py's.
exec "$(dirname "$0")/run.py" --syscalls "$@"
