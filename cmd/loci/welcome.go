package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/terminal"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
	"github.com/loci-memory/loci/view"
)

// welcome is what loci alone shows on a terminal: what it is, what it remembers, and
// what to do next. It makes no store that is not there.
func (a *app) welcome() error {
	a.printf("Loci %s, the memory of AI agents\n\n", buildVersion().Version)
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	where := strings.TrimPrefix(shownURL(cfg.Store), "sqlite:")
	known := ""
	if path, ok := storePath(cfg.Store); !ok || !missing(path) {
		m, err := a.memory(place{}, "", loci.ScopeRead)
		if err != nil {
			return err
		}
		totals, err := view.Totals(a.ctx, m)
		if err != nil {
			return err
		}
		where = m.View().Namespace.String() + ", " + where
		known = remembered(totals.Counts)
	}
	a.printf("%s\n%s\n\n", cmp.Or(known, "Nothing is remembered yet."), terminal.Clean(where, false))
	next := [][2]string{{`loci search "where do I like to sit"`, "find by meaning"}, {"loci list", "see what there is"}}
	if known == "" {
		next = [][2]string{{"loci demo", "see what it does, in 20 seconds"}, {`loci save "I like window seats."`, "remember something"}}
	}
	agents := [2]string{"loci setup", "connect the agents on this machine"}
	if names := a.connected(); len(names) > 0 {
		a.printf("Connected: %s.\n\n", strings.Join(names, ", "))
		agents = [2]string{"loci doctor", "check that all is well"}
	}
	next = append(next, agents)
	columns := terminalWidth(a.rawOut)
	narrow := slices.ContainsFunc(next, func(line [2]string) bool { return 2+38+len(line[1]) > columns })
	for _, line := range next {
		gap := strings.Repeat(" ", 38-len(line[0]))
		if narrow {
			gap = "\n      "
		}
		a.printf("  %s%s%s\n", a.style(bold, line[0]), gap, line[1])
	}
	a.printf("\nloci --help lists the rest.\n")
	return nil
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// remembered says how much is remembered, "" for nothing.
func remembered(counts map[loci.Kind]int64) string {
	var stored int64
	for kind, n := range counts {
		if kind != session.Kind && kind != session.KindMessage && kind != tree.KindFile {
			stored += n
		}
	}
	var parts []string
	for _, c := range []struct {
		n        int64
		one, all string
	}{
		{stored, "memory", "memories"},
		{counts[session.Kind], "conversation", "conversations"},
		{counts[session.KindMessage], "message", "messages"},
		{counts[tree.KindFile], "file", "files"},
	} {
		if c.n > 0 {
			parts = append(parts, number(c.n, c.one, c.all))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "."
}

// memories says how many memories there are.
func memories(n int64) string { return number(n, "memory", "memories") }

// number says how many there are of something: "1 file", "2 files".
func number[T int | int64](n T, one, all string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, all)
}

type demoCmd struct {
	Fast bool `help:"Do not wait between the steps."`
}

// Help is shown below the usage.
func (*demoCmd) Help() string {
	return `Runs the commands that it shows on a store of its own in the temporary directory, and deletes that store at the end. Your own
memories are not touched.`
}

// demoPause is how long a reader needs for a step.
const demoPause = 1500 * time.Millisecond

// demoIndent comes before what a command prints.
const demoIndent = "    "

// A demo runs commands as a user would and shows them with what they print.
type demo struct {
	app   *app
	env   config.Environ
	dir   string // of the store
	pause time.Duration
}

// Run shows what Loci does.
func (c *demoCmd) Run(a *app) (err error) {
	if a.json {
		return loci.Errorf(loci.Invalid, "--json: the demo is a text for people; leave the flag out")
	}
	dir, err := os.MkdirTemp("", "loci-demo-")
	if err != nil {
		return fileError(os.TempDir(), err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := &demo{app: a, dir: dir}
	if isTerminal(a.rawOut) && !c.Fast {
		d.pause = demoPause
	}
	if d.env, err = demoEnviron(a.env, dir); err != nil {
		return err
	}
	return d.show()
}

// demoEnviron is an environment in which nothing is configured but a store of its own.
func demoEnviron(env config.Environ, dir string) (own config.Environ, err error) {
	for _, variable := range env {
		if !strings.HasPrefix(variable, "LOCI_") {
			own = append(own, variable)
		}
	}
	settings := filepath.Join(dir, "loci.yaml")
	if err := os.WriteFile(settings, nil, 0o600); err != nil {
		return nil, fileError(settings, err)
	}
	return append(own, "LOCI_CONFIG="+settings, "LOCI_STORE=sqlite:"+filepath.Join(dir, "loci.db"), "LOCI_USER=you"), nil
}

// show runs the steps.
func (d *demo) show() error {
	d.say("Save what is worth knowing. Each memory gets an id.")
	seat, err := d.run("save", "I like window seats near the front.")
	if err != nil {
		return err
	}
	city, err := d.run("save", "I live in Porto.")
	if err != nil {
		return err
	}
	code, err := d.run("save", "The front door opens with 4711-0815.")
	if err != nil {
		return err
	}
	d.say("\nFind it in other words: there is no model to download, no key, no service.")
	if _, err := d.run("search", "-n", "1", "where should I sit on the plane"); err != nil {
		return err
	}
	d.say("\nCorrect it: the old words stay in its history.")
	if _, err := d.run("update", seat, "I like aisle seats near the front."); err != nil {
		return err
	}
	if _, err := d.run("history", seat); err != nil {
		return err
	}
	d.say("\nReplace what no longer holds: searches find the new, history keeps the old.")
	if _, err := d.run("supersede", city, "I live in Lisbon."); err != nil {
		return err
	}
	if _, err := d.run("search", "-n", "1", "my home town"); err != nil {
		return err
	}
	d.say("\nErase it: not a byte of it stays in the files of the store.")
	if err := d.count("4711-0815"); err != nil {
		return err
	}
	if _, err := d.run("delete", code); err != nil {
		return err
	}
	if err := d.count("4711-0815"); err != nil {
		return err
	}
	d.say("\nRead the audit log: it says what happened, and proves that nobody changed it.")
	if _, err := d.run("events", "--verify"); err != nil {
		return err
	}
	d.say("\nThis store is deleted now. To give your agents a memory like it: loci setup")
	return nil
}

// say prints a sentence about the step that follows.
func (d *demo) say(sentence string) {
	text := strings.TrimLeft(sentence, "\n") // a style that begins on the line before is lost on some screens
	d.app.printf("%s%s\n", strings.Repeat("\n", len(sentence)-len(text)), d.app.style(bold, text))
	d.flush()
}

// run runs a command, shows both and returns the end of what it printed: of an id, enough to name it.
func (d *demo) run(args ...string) (printed string, err error) {
	shown := "loci"
	for _, arg := range args {
		if strings.Contains(arg, " ") {
			arg = `"` + arg + `"`
		}
		shown += " " + arg
	}
	d.app.printf("  $ %s\n", shown)
	d.flush()
	var faults bytes.Buffer
	out, style := new(bytes.Buffer), dim
	stream := io.Writer(out)
	if isTerminal(d.app.rawOut) {
		part := &pane{columns: terminalWidth(d.app.rawOut) - len(demoIndent)}
		stream, out, style = part, &part.Buffer, "" // it has styles of its own
	}
	code := run(d.app.ctx, args, strings.NewReader(""), stream, &faults, d.env)
	if err := d.app.ctx.Err(); err != nil {
		return "", err
	}
	if code != exitOK {
		return "", loci.Errorf(loci.Internal, "%q failed: %s", shown, strings.TrimSpace(faults.String()))
	}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimRight(line, "\n")
		if style != "" {
			line = d.app.style(style, line)
		}
		d.app.printf("%s%s\n", demoIndent, line)
	}
	d.flush()
	d.wait()
	printed = strings.TrimSpace(out.String())
	return printed[max(0, len(printed)-shortDigits):], nil
}

// count shows how often a text stands in the files of the store.
func (d *demo) count(text string) error {
	times, files := 0, 0
	err := filepath.WalkDir(d.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path) //nolint:gosec // a file of the demo's own directory
		if err != nil {
			return err
		}
		times, files = times+bytes.Count(data, []byte(text)), files+1
		return nil
	})
	if err != nil {
		return fileError(d.dir, err)
	}
	d.app.printf("%s%s\n", demoIndent, d.app.style(dim, fmt.Sprintf("%q stands %s in the %s of the store",
		text, number(times, "time", "times"), number(files, "file", "files"))))
	d.flush()
	d.wait()
	return nil
}

func (d *demo) flush() { _ = d.app.out.Flush() } // run reports a failure at the end

// wait gives the reader time, unless the command is interrupted.
func (d *demo) wait() {
	select {
	case <-time.After(d.pause):
	case <-d.app.ctx.Done():
	}
}
