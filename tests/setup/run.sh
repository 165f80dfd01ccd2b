#!/usr/bin/env bash
# Connects the real Claude Code and Codex to bin/loci by `loci setup`, asks them whether
# they reach it, and takes the entry out again.
#
# Needs go and node >= 20 with npm. What it installs (640 MB) is pinned and goes to
# node_modules beside this file.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
root=$(cd ../.. && pwd)

for tool in go node npm; do
	command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done
if ! cmp -s package-lock.json node_modules/.installed; then
	npm ci --silent --no-audit --no-fund && cp package-lock.json node_modules/.installed
fi

# Codex refuses a home below the directory for temporary files.
work=$(mktemp -d "$here/.home.XXXXXX")
trap 'rm -rf "$work"' EXIT
(cd "$root" && CGO_ENABLED=0 go build -o "$work/loci" ./cmd/loci)
export HOME=$work/home PATH=$here/node_modules/.bin:$PATH
unset XDG_CONFIG_HOME XDG_DATA_HOME CODEX_HOME CLAUDE_CONFIG_DIR
mkdir -p "$HOME/.codex"
printf '# mine\nmodel = "o" # best\n' >"$HOME/.codex/config.toml"
loci=$work/loci

# says TEXT COMMAND...: the command succeeds and prints the text.
says() {
	local text=$1 out
	shift
	out=$(timeout 120 "$@" 2>&1) || { echo "FAIL $*: exit $?"; echo "$out"; exit 1; }
	grep -qF -- "$text" <<<"$out" || { echo "FAIL $* does not say \"$text\":"; echo "$out"; exit 1; }
	echo "ok $* says \"$text\""
}

says "claude-code	not connected" "$loci" setup
says "claude mcp add --scope user loci" "$loci" setup --all --dry-run
says "Claude Code: connected" "$loci" setup --all --user "ada b"
says "Connected" claude mcp list
says "mcp --user ada b" codex mcp list
says "# best" cat "$HOME/.codex/config.toml"
says "Claude Code: nothing to do" "$loci" setup --all --user "ada b"
says "Codex: no longer connected" "$loci" setup --all --remove
says "No MCP servers configured" claude mcp list
says "No MCP servers configured" codex mcp list

# The same by way of the files, as on a machine where the programs are not on PATH.
(
	PATH=$(dirname "$(command -v node)"):/usr/bin:/bin
	export PATH
	says "Claude Code: connected" "$loci" setup claude-code codex
)
says "Connected" claude mcp list
says "loci" codex mcp list
cp "$HOME/.codex/config.toml" "$work/with.toml"
(
	PATH=$(dirname "$(command -v node)"):/usr/bin:/bin
	export PATH
	says "Codex: no longer connected" "$loci" setup claude-code codex --remove
)
says "No MCP servers configured" codex mcp list

# The plugin, from the folder as it is: its server connects, its skills and its hook are there.
export PATH=$work:$PATH
says "Validation passed" claude plugin validate --strict "$root"
says "Validation passed" claude plugin validate --strict "$root/plugins/loci"
says "added marketplace" claude plugin marketplace add "$root"
says "installed plugin" claude plugin install loci@loci
says "Skills (2)" claude plugin details loci
says "Hooks (1)" claude plugin details loci
says "loci mcp - ✔ Connected" claude mcp list
says "Added marketplace" codex plugin marketplace add "$root"
says "Added plugin" codex plugin add loci@loci
says "installed, enabled" codex plugin list
says "loci  loci" codex mcp list
echo passed
