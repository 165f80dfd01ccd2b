package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/loci-memory/loci"
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
	next := [][2]string{{"loci search where do I like to sit", "find by meaning"}, {"loci list", "see what there is"}}
	if known == "" {
		next = [][2]string{{"loci demo", "see what it does, in 20 seconds"}, {`loci save "I like window seats."`, "remember something"}}
	}
	for _, line := range append(next, [2]string{"loci setup", "connect the agents on this machine"}) {
		a.printf("  %s%s  %s\n", a.style(bold, line[0]), strings.Repeat(" ", 36-len(line[0])), line[1])
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
