package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A page is what its commands need before the first of them, and how those end that are to
// fail: the exit code by a part of the command. An empty page needs nothing.
type page struct {
	before string
	ends   map[string]string
}

// pages are those whose commands are run. TestGuidesRun runs those of the recipes.
var pages = map[string]page{
	"README.md":      {},
	"docs/claude.md": {},
	"docs/data.md": {before: `for n in 1 2; do loci save -m entity=Ada "Ada $n"; done`,
		ends: map[string]string{`erase --filter '{"entity":"Ada"}'`: "2"}},
	"docs/files.md": {},
	"docs/graph.md": {before: `mkdir examples; cp "$ROOT/examples/graph.json" examples/; cat >bad.json <<-'END'
		{"nodes":[{"id":"A","data":{"template":"agnet"}}],
		"edges":[{"source":"A","sourceHandle":"tools","target":"T","targetHandle":"$self"}]}
		END`,
		ends: map[string]string{"bad.json list": "2"}},
	"docs/install.md": {}, "docs/lifecycle.md": {before: `for n in 1 2 3; do loci save "trip $n"; done`}, "docs/mcp.md": {},
	"docs/memories.md": {before: `ID=$(loci save "Prefers window seats.")
		for n in 1 2 3 4 5 6 7 8 9 10 11 12; do loci save -t trip "trip $n"; done`},
	"docs/rest.md":      {before: `loci --user alice save "Prefers window seats."`},
	"docs/retrieval.md": {before: `mkdir -p bench; cp -r "$ROOT/bench/testdata" bench/`},
	"docs/search.md": {before: `cat >memory.jsonl <<-'END'
		{"type":"entity","name":"Ada","entityType":"person","observations":["Likes walruses","Lives in Oslo"]}
		{"type":"relation","from":"Ada","to":"Acme","relationType":"works at"}
		END
		loci import memory.jsonl`},
	"docs/server.md": {before: `mkdir tenants; export LOCI_STORE=sqlite:$PWD/tenants`}, "docs/sessions.md": {}, "docs/setup.md": {},
	"docs/operations.md": {},
}

// unrun are commands that are not run here, each by its beginning, and why.
var unrun = map[string]string{
	"git clone ":                "a network",
	"make ":                     "it builds or tests all of the checkout",
	"go test ":                  "it measures for minutes",
	"bin/loci import memory.":   "a file of somebody else, which the recipe of moving has",
	"bin/loci setup --remove":   "of setup.md, where something is connected",
	"sqlite3 ":                  "another program",
	"pip ":                      "a network",
	"unzip ":                    "what pip downloads",
	"ollama ":                   "another program, and a network",
	"loci --embedder ":          "a model that is downloaded",
	"loci service ":             "it changes the services of this machine",
	"helm ":                     "a cluster",
	"openssl ":                  "a release",
	"LOCI_RELEASE_KEY=":         "a release",
	"sha256sum --":              "a release",
	"mongod ":                   "a server of MongoDB",
	"mongosh ":                  "a server of MongoDB",
	"LOCI_TEST_MONGODB=":        "a server of MongoDB",
	"loci migrate ":             "a server of PostgreSQL or MongoDB",
	"loci serve --store ":       "a server of PostgreSQL or MongoDB",
	"pg_basebackup ":            "a server of PostgreSQL",
	"loci backup ":              "directories of the machine; the tests of backups have their own",
	"bin/loci bench retrieval ": "datasets that are downloaded, or minutes",
	"loci bench injection ":     "minutes",
	"curl -s https://memory.":   "a server with a name of its own",
	"npx ":                      "a network",
	"uvx ":                      "a network",
	"pipx ":                     "a network",
	"claude ":                   "another program",
	"codex ":                    "another program",
	"loci confirm 01a202b2":     "the id of an example",
}

// excuse is the beginning of a command by which it is not run; empty: it is.
func excuse(command string) string {
	for beginning := range unrun {
		if strings.HasPrefix(command, beginning) {
			return beginning
		}
	}
	return ""
}

// commandsOf are the commands that a page prints: lines of blocks of sh, and those of console
// that begin with $, with what the page shows below them. Remarks at their end are none of them.
func commandsOf(text string) (all []step) {
	remark := regexp.MustCompile(`\s{2,}# .*$`)
	for _, block := range fenceForm.FindAllStringSubmatch(text, -1) {
		if block[1] != "sh" && block[1] != "console" {
			continue
		}
		body := strings.TrimSuffix(strings.ReplaceAll(block[2], "\\\n", " "), "\n")
		first := len(all)
		for line := range strings.SplitSeq(body, "\n") {
			command, prompt := strings.CutPrefix(line, "$ ")
			switch {
			case prompt, block[1] == "sh":
				if command = remark.ReplaceAllString(command, ""); command != "" {
					all = append(all, step{command: command})
				}
			case len(all) > first:
				all[len(all)-1].shown = append(all[len(all)-1].shown, line)
			}
		}
	}
	return all
}

// TestPagesRun runs what the README and the guides print as commands, one page after the other
// in a home of its own, without a network, and compares what they print with what the page shows.
func TestPagesRun(t *testing.T) {
	program, err := exec.LookPath("loci")
	if err != nil {
		t.Fatal(err)
	}
	used, count, shown := map[string]bool{}, 0, 0
	for name, text := range documents(t) {
		if strings.HasPrefix(name, "docs/recipes/") || name == "docs/start.md" || strings.HasPrefix(name, "docs/adr/") {
			continue
		}
		guide := name == "README.md" || strings.HasPrefix(name, "docs/") || strings.HasPrefix(name, "packaging/") ||
			strings.HasPrefix(name, "plugins/")
		var commands []step
		for _, s := range commandsOf(text) {
			if reason := excuse(s.command); reason != "" {
				used[reason] = true
			} else if guide {
				commands = append(commands, s)
				shown += min(len(s.shown), 1)
			}
		}
		if len(commands) == 0 {
			continue
		}
		p, known := pages[name]
		if !known {
			t.Errorf("%s has commands, such as %q: run the page, or say why not", name, commands[0].command)
			continue
		}
		count += len(commands)
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			t.Parallel()
			p.run(t, program, commands)
		})
	}
	for beginning, why := range unrun {
		if !used[beginning] {
			t.Errorf("no page has a command that begins with %q (%s): take it off the list", beginning, why)
		}
	}
	if count < 60 || shown < 25 {
		t.Errorf("only %d commands are run, and %d show what they print", count, shown)
	}
}

func (p page) run(t *testing.T, program string, commands []step) {
	port, dir := freePort(t), t.TempDir()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "bin", "loci")); err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n{ " + p.before + "\n:; } >before 2>&1\n")
	server := regexp.MustCompile(`\bserve\b.*$`)
	for i, s := range commands {
		command := strings.ReplaceAll(s.command, "7437", port)
		command = regexp.MustCompile(` ID$`).ReplaceAllString(command, ` "$$ID"`)
		if server.MatchString(command) { // one at a time, on one port
			fmt.Fprintf(&script, "kill $SERVER 2>/dev/null; wait $SERVER 2>/dev/null\n")
			fmt.Fprintf(&script, "%s >out.%d 2>&1 </dev/null & SERVER=$!\nn=0\n", command, i)
			script.WriteString("until bin/loci health >/dev/null 2>&1 || [ $n = 150 ]; do n=$((n+1)); sleep 0.2; done\n")
			fmt.Fprintf(&script, "bin/loci health >/dev/null; echo $? >code.%d\n", i)
			continue
		}
		// What a command prints last may be a key that the next one needs.
		fmt.Fprintf(&script, "{ %s\n} >out.%d 2>&1 </dev/null; echo $? >code.%d\n", command, i, i)
		fmt.Fprintf(&script, "KEY=$(grep -o 'loci_[^ ]*' out.%d) || KEY=$OLD; OLD=$KEY\n", i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	sh := exec.CommandContext(ctx, "bash", "-c", script.String())
	sh.Dir, sh.WaitDelay = dir, 5*time.Second
	sh.Env = append(guideEnv(t, dir, port), "ROOT="+root, "TENANT=acme", "LOCI_USER=alice", "ISSUER=https://example.com", "SUB=alice")
	var out bytes.Buffer
	sh.Stdout, sh.Stderr = &out, &out
	if err := sh.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	times := map[string]int{}
	for i, s := range commands {
		printed, _ := os.ReadFile(filepath.Join(dir, fmt.Sprintf("out.%d", i)))
		code, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("code.%d", i)))
		times[s.command]++
		want := p.end(s.command, times[s.command])
		if got := strings.TrimSpace(string(code)); err != nil || got != want {
			before, _ := os.ReadFile(filepath.Join(dir, "before"))
			t.Errorf("%s: exit code %s, not %s: %v\n%s\n%s", s.command, got, want, err, printed, before)
		}
		if len(s.shown) > 0 && !pageForm(s.shown).Match(asOnPages(printed, program, dir, port)) {
			t.Errorf("%s\nprints\n%s\nand the page shows\n%s", s.command, printed, strings.Join(s.shown, "\n"))
		}
	}
}

// asOnPages is what a command printed with the names of the pages: their home, program and port.
func asOnPages(printed []byte, program, dir, port string) []byte {
	return []byte(strings.NewReplacer(filepath.Join(dir, "home"), "/home/alice", program, "/usr/local/bin/loci",
		":"+port, ":7437").Replace(string(printed)))
}

// pageForm is what a page shows, as a pattern: ids, times and hashes are any of their form, and … is anything.
func pageForm(shown []string) *regexp.Regexp {
	vary := []*regexp.Regexp{uuidForm, timeForm, regexp.MustCompile(`\b[0-9a-f]{64}\b`),
		regexp.MustCompile(`\bloci_[a-z2-7]+_`), regexp.MustCompile("…")}
	form := strings.Join(shown, "\n")
	for i, v := range vary {
		form = v.ReplaceAllString(form, fmt.Sprintf("\x00%d\x00", i))
	}
	form = regexp.QuoteMeta(form)
	vary[len(vary)-1] = regexp.MustCompile(".*")
	for i, v := range vary {
		form = strings.ReplaceAll(form, fmt.Sprintf("\x00%d\x00", i), v.String())
	}
	return regexp.MustCompile("^" + form + "\n$")
}

// end is the exit code of a command: of the longest part of it that is named, perhaps with the
// number of times that it was run. Otherwise 0.
func (p page) end(command string, times int) string {
	for part, code := range p.ends {
		part, nth, counted := strings.Cut(part, "@")
		if strings.HasSuffix(command, part) && (!counted || nth == fmt.Sprint(times)) {
			return code
		}
	}
	return "0"
}
