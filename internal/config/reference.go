package config

import (
	"fmt"
	"io"
	"strings"

	"github.com/loci-memory/loci/tool"
)

const referenceHead = `# Configuration

Generated from the program by ` + "`go generate ./cmd/loci`" + `: do not edit.

A setting is taken from a flag, else from the environment, else from one YAML file, else it has its default. The file is
that of ` + "`--config FILE`" + `, else of ` + "`LOCI_CONFIG`" + `, else ` + "`loci/loci.yaml`" + ` in the user's configuration directory
(` + "`$XDG_CONFIG_HOME` or `~/.config`" + ` on Linux) if it is there. A file in the working directory is not read: that may be
a project of somebody else, who must not choose whose memory is used.

Everything that is wrong is reported at once, in a file with its line and column: unknown names, values of the wrong
type, names that are set twice. The exit code is then 2.

In the environment, lists are separated by commas. An empty variable counts as not set, except for prefixes of texts, where it
says that there is none, and for the identity (tenant, user, org, agent, thread, session), where it is refused.

The file, the environment and the flags are read in this order. Each overrides what those before it set. There is one exception:
if one names an organisation, the user, agent, thread and session of those before it no longer count; if one names a user, their
thread and session no longer count.

A key is never in the configuration itself: it comes from an environment variable or a file that the configuration names.

`

const referenceTools = `
## Tools

An entry of ` + "`tools`" + ` is the name of a family (%s) or a mapping. At most %d entries are allowed:

| name | meaning |
|---|---|
`

const referenceIssuers = `
## Issuers

An entry of ` + "`auth.issuers`" + ` is an authorization server ([how tokens are checked](server.md#tokens-of-an-authorization-server)):

| name | meaning |
|---|---|
`

const referenceClaims = `
A tenant, user, organisation, agent or scope that comes from a claim is a mapping:

| name | meaning |
|---|---|
`

const referenceExample = `
## Example

` + "```yaml" + `
store: sqlite:/var/lib/loci/loci.db
user: alice
scopes: [read, write, delete]
embedder: builtin
tools:
  - notes
  - tool: search_memory
    name: search_team
    namespace: [org, "{org_id}"]
    response_format: content_and_artifact
retrieval:
  vector_weight: 0.6
  chunk_size: 800
limits:
  max_content: 65536
timeouts:
  read: 5s
idempotency_ttl: 48h
log:
  level: info
` + "```" + `

## Where the default store is

The data directory is ` + "`$XDG_DATA_HOME` or `~/.local/share`" + ` on Linux, ` + "`~/Library/Application Support`" + ` on macOS and
` + "`%LocalAppData%`" + ` on Windows. Its directory ` + "`loci`" + ` is made for the user alone (mode 0700).
`

// WriteReference writes the reference of all settings, in Markdown.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString(referenceHead)
	b.WriteString("## Settings\n\n| in the file | environment | flag | form | default | meaning |\n" +
		"|---|---|---|---|---|---|\n")
	for i := range settings {
		s := &settings[i]
		flag, def, help := "", s.Default, s.Help
		if s.Flag != "" {
			flag = "`--" + s.Flag + "`"
		}
		if def == "" {
			def = "none"
		}
		if len(s.Values) > 0 {
			help += " One of `" + strings.Join(s.Values, "`, `") + "`."
			if s.Form == List {
				help = strings.Replace(help, " One of ", " Any of ", 1)
			}
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s | %s |\n", s.Key, s.Env(), flag, s.Form, def, help)
	}
	fmt.Fprintf(&b, referenceTools, strings.Join(familyNames(), ", "), tool.MaxEntries)
	for _, t := range toolKeys {
		fmt.Fprintf(&b, "| `%s` | %s |\n", t.key, t.help)
	}
	b.WriteString(referenceIssuers)
	for _, k := range issuerKeys {
		fmt.Fprintf(&b, "| `%s` | %s |\n", k.key, k.help)
	}
	b.WriteString(referenceClaims)
	for _, k := range claimKeys {
		fmt.Fprintf(&b, "| `%s` | %s |\n", k.key, k.help)
	}
	b.WriteString(referenceExample)
	_, err := io.WriteString(w, b.String())
	return err
}
