# SPDX-License-Identifier: Apache-2.0
"""What the integration tests are made of: servers, Sluice, clients, peers. See tests/README.md."""
