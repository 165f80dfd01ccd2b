package main

import (
	"bytes"
	"context"
	"fmt"
	"go/scanner"
	"go/token"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A step is a command that a page prints, with the output it shows below it.
type step struct {
	command string
	shown   []string
	exit    string
}

var (
	titledForm = regexp.MustCompile("(?ms)^```\\w+ title=\"([^\"]+)\"\n(.*?)^```$")
	exitForm   = regexp.MustCompile(`\s+# ends with exit code (\d+)$`)
	uuidForm   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timeForm   = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	scoreForm  = regexp.MustCompile(`^[01]\.\d+\t`)
)

// steps reads the commands of a page's console blocks.
func steps(page string) (all []step) {
	for _, block := range fenceForm.FindAllStringSubmatch(page, -1) {
		if block[1] != "console" {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(block[2], "\n"), "\n") {
			command, is := strings.CutPrefix(line, "$ ")
			switch {
			case is:
				s := step{command: command, exit: "0"}
				if m := exitForm.FindStringSubmatch(command); m != nil {
					s.command, s.exit = strings.TrimSuffix(command, m[0]), m[1]
				}
				all = append(all, s)
			case len(all) > 0:
				all[len(all)-1].shown = append(all[len(all)-1].shown, line)
			}
		}
	}
	return all
}

// TestGuidesRun runs the commands of the pages that teach, as they are printed, one page
// after the other in a home of its own, and compares what they print. Ids, times and
// scores are other ones each time; … stands for anything.
func TestGuidesRun(t *testing.T) {
	for _, name := range guides(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".md"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			runGuide(t, strings.ReplaceAll(string(data), "\r\n", "\n"))
		})
	}
}

func guides(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(repository + "/docs/recipes/*.md")
	if err != nil || len(names) < 7 {
		t.Fatalf("%d recipes: %v", len(names), err)
	}
	return append(names, repository+"/docs/start.md")
}

func runGuide(t *testing.T, page string) {
	port := freePort(t)
	dir := t.TempDir()
	for _, m := range titledForm.FindAllStringSubmatch(page, -1) {
		path := filepath.Join(dir, filepath.FromSlash(m[1]))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(m[2], "7437", port)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := steps(page)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	sh := exec.CommandContext(ctx, "sh", "-c", guideScript(all))
	sh.Dir, sh.Env, sh.WaitDelay = dir, guideEnv(t, dir, port), 5*time.Second
	var out bytes.Buffer
	sh.Stdout, sh.Stderr = &out, &out
	if err := sh.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for i, s := range all {
		printed, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("out.%d", i)))
		if err != nil {
			t.Fatalf("%s: %v", s.command, err)
		}
		code, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("code.%d", i)))
		if err != nil || strings.TrimSpace(string(code)) != s.exit {
			t.Errorf("%s: exit code %s, not %s: %v\n%s", s.command, code, s.exit, err, printed)
		}
		if len(s.shown) > 0 && !shownForm(s.shown).Match(printed) {
			t.Errorf("%s\nprints\n%s\nand the page shows\n%s", s.command, printed, strings.Join(s.shown, "\n"))
		}
	}
}

// guideScript is one shell for all commands of a page, so that what one sets the next
// has. A server that a command leaves behind ends with the page.
func guideScript(all []step) string {
	var b strings.Builder
	b.WriteString("trap 'kill $! 2>/dev/null; wait' EXIT\n")
	for i, s := range all {
		out := fmt.Sprintf(`"$GUIDE/out.%d"`, i)
		if server, background := strings.CutSuffix(s.command, "&"); background {
			fmt.Fprintf(&b, "{ %s; } >%s 2>&1 &\nn=0; until %s >/dev/null 2>&1 || [ $n = 150 ]; do n=$((n+1)); sleep 0.2; done; true\n",
				server, out, healthOf(server))
		} else {
			fmt.Fprintf(&b, "{ %s\n} >%s 2>&1\n", s.command, out)
		}
		fmt.Fprintf(&b, "echo $? >\"$GUIDE/code.%d\"\n", i)
	}
	return b.String()
}

// healthOf is the question whether the server that a command starts is up.
func healthOf(server string) string {
	return regexp.MustCompile(`\bserve\b.*`).ReplaceAllString(server, "health")
}

func guideEnv(t *testing.T, dir, port string) []string {
	t.Helper()
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "LOCI_") || strings.HasPrefix(v, "XDG_")
	})
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	return append(env, "HOME="+home, "GUIDE="+dir, "LOCI_LISTEN=127.0.0.1:"+port)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// shownForm is what a page shows, as a pattern: ids, times and scores are any.
func shownForm(shown []string) *regexp.Regexp {
	var lines []string
	for _, line := range shown {
		line = scoreForm.ReplaceAllString(line, "SCORE\t")
		line = uuidForm.ReplaceAllString(line, "UUID")
		line = regexp.QuoteMeta(timeForm.ReplaceAllString(line, "TIME"))
		line = strings.NewReplacer("SCORE", `[01]\.\d+`, "UUID", uuidForm.String(), "TIME", timeForm.String(), "…", ".*").Replace(line)
		lines = append(lines, line)
	}
	return regexp.MustCompile(`^(?:loci_\S+\n)?` + strings.Join(lines, "\n") + `\n$`)
}

// TestGuidesHideNoCommands: what a page prints as commands is run, or is one of those
// that need a network, a checkout or a person.
func TestGuidesHideNoCommands(t *testing.T) {
	excused := regexp.MustCompile(`^(git clone |cd loci$|make build$|export PATH=|pip install |sqlite3 |chmod 600 |loci setup$)`)
	for _, name := range guides(t) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range fenceForm.FindAllStringSubmatch(string(data), -1) {
			if block[1] != "sh" {
				continue
			}
			for line := range strings.SplitSeq(strings.TrimSpace(block[2]), "\n") {
				if !excused.MatchString(line) {
					t.Errorf("%s: %q is not run: print it in a block of console", name, line)
				}
			}
		}
	}
}

// TestMessagesOfTroubleshootingExist: what the page says that you see is what the program
// says, to the letter. Each part between … stands in one string of the source.
func TestMessagesOfTroubleshootingExist(t *testing.T) {
	said := stringsOfSource(t)
	if missing := unsaid(said, "is locked by another proces"+"z"); missing == "" {
		t.Error("the test itself finds anything")
	}
	found := 0
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(documents(t)["docs/troubleshooting.md"], -1) {
		found++
		if missing := unsaid(said, row[1]); missing != "" {
			t.Errorf("docs/troubleshooting.md: `%s`: nothing says %q", row[1], missing)
		}
	}
	if found < 15 {
		t.Errorf("only %d messages were found", found)
	}
}

// unsaid is the first part of a message that no string has.
func unsaid(said []string, message string) string {
	for part := range strings.SplitSeq(message, "…") {
		part = strings.TrimSpace(part)
		if part != "" && !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, part) }) {
			return part
		}
	}
	return ""
}

// stringsOfSource are the texts in the program's source, tests and comments aside.
func stringsOfSource(t *testing.T) (all []string) {
	t.Helper()
	for name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "store/storetest/") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		var s scanner.Scanner
		set := token.NewFileSet()
		s.Init(set.AddFile(name, -1, len(data)), data, nil, 0)
		for {
			_, kind, text := s.Scan()
			if kind == token.EOF {
				break
			}
			if kind != token.STRING {
				continue
			}
			if said, err := strconv.Unquote(text); err == nil {
				all = append(all, said)
			}
		}
	}
	return all
}

// TestSiteHasEveryPage: a page that is in no part of the site is one that nobody finds,
// and the site cannot be built with a part that is not there. `make docs` builds it.
func TestSiteHasEveryPage(t *testing.T) {
	build, err := os.ReadFile(repository + "/tools/site/build.py")
	if err != nil {
		t.Fatal(err)
	}
	_, nav, _ := strings.Cut(string(build), "\nNAV = {")
	nav, _, _ = strings.Cut(nav, "\n}\n")
	all := documents(t)
	listed := regexp.MustCompile(`"([\w./-]+\.md)"`).FindAllStringSubmatch(nav, -1)
	for _, m := range listed {
		_, ours := all["docs/"+m[1]]
		_, other := all[m[1]]
		if !ours && !other && !strings.HasPrefix(m[1], "reference/") {
			t.Errorf("tools/site/build.py: there is no page %s", m[1])
		}
	}
	for name := range all {
		page, ours := strings.CutPrefix(name, "docs/")
		recipe := strings.TrimSuffix(strings.TrimPrefix(page, "recipes/"), ".md")
		if ours && !strings.HasPrefix(page, "adr/") && !strings.Contains(nav, `"`+page+`"`) &&
			(page != "recipes/"+recipe+".md" || !strings.Contains(nav, `"`+recipe+`"`)) {
			t.Errorf("tools/site/build.py: %s is in no part of the site", name)
		}
	}
	if len(listed) < 30 {
		t.Errorf("only %d pages were found", len(listed))
	}
}
