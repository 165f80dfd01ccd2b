#!/usr/bin/env bash
# Tests what needs programs of the system: a PostgreSQL that speaks TLS, and PgBouncer.
#
# Needs go, and the two. PostgreSQL is installed where apt-get can; PgBouncer is fetched by the
# tests and not installed, so that no service starts.
set -euo pipefail
cd "$(dirname "$0")/../.."
installed=
for program in /usr/lib/postgresql/*/bin/postgres /usr/pgsql-*/bin/postgres /opt/homebrew/opt/postgresql@*/bin/postgres; do
	[ ! -x "$program" ] || installed=$program
done
if [ -z "$installed" ]; then
	echo "installing postgresql" >&2
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql; } >/dev/null ||
		{ echo "missing: PostgreSQL 15 or newer (apt-get install postgresql)" >&2; exit 1; }
fi
if ! command -v pgbouncer >/dev/null && command -v apt-get >/dev/null && ! apt-cache show pgbouncer >/dev/null 2>&1; then
	apt-get update -qq >/dev/null || echo "apt-get update failed; is there a network, and may you run it?" >&2
fi
go vet -tags system ./store/postgres
exec go test -vet=off -tags system -timeout 10m -count 1 -run 'TLS|Pooler' ./store/postgres
