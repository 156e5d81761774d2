//! Nothing but tests: see `tests/`. They need the feature `servers` and what `scripts/setup-test-servers.sh` installs.
