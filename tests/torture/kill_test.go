// Package torture ends processes in the middle of their work and checks what is left.
package torture

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store"
)

var cycles = flag.Int("cycles", 200, "how often the writing process is killed")

// The test binary is its own child: with this variable set it writes to the store
// it names until it is killed.
const childEnv = "LOCI_TORTURE_STORE"

// earlyEnv makes the child acknowledge before the write is done: the broken build
// that the harness must notice.
const earlyEnv = "LOCI_TORTURE_ACKNOWLEDGE_EARLY"

func TestMain(m *testing.M) {
	if url, from := os.Getenv(childEnv), os.Getenv(sessionEnv); url != "" && from != "" {
		if err := sessionChild(url, from); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if url := os.Getenv(childEnv); url != "" && os.Getenv(nounsEnv) != "" {
		if err := nounsChild(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if url := os.Getenv(childEnv); url != "" {
		if err := child(url, os.Getenv(earlyEnv) != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

func openMemory(url string) (loci.Store, *loci.Memory, error) {
	s, err := store.Open(context.Background(), url, nil)
	if err != nil {
		return nil, nil, err
	}
	e, err := loci.New(s, &loci.Options{Features: locitest.Features(), Embedder: embedding.NewLexical()})
	if err != nil {
		return nil, nil, err
	}
	tenant, err := loci.NewTenant("default")
	if err != nil {
		return nil, nil, err
	}
	m, err := e.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "u"}, Actor: "child"})
	return s, m, err
}

// child writes with four workers. Before each step it prints what it is about to
// do ("? verb id n"), afterwards that it is done ("! verb id n").
func child(url string, early bool) error {
	_, m, err := openMemory(url)
	if err != nil {
		return err
	}
	var out sync.Mutex
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	failed := make(chan error, 4)
	for worker := range 4 {
		go func() { failed <- work(m, worker, early, say) }()
	}
	return <-failed
}

func work(m *loci.Memory, worker int, early bool, say func(string, ...any)) error {
	ctx := context.Background()
	var own []loci.ID
	for n := 0; ; n++ {
		name := fmt.Sprintf("p%d-w%d-n%d", os.Getpid(), worker, n)
		verb, id := "save", loci.ID{}
		if len(own) > 2 && !early {
			switch rand.IntN(4) {
			case 0:
				verb, id = "update", own[rand.IntN(len(own))]
			case 1:
				verb, id, own = "delete", own[0], own[1:]
			}
		}
		say("? %s %s %s", verb, id, name)
		if early {
			say("! %s %s %s", verb, id, name)
		}
		var err error
		text := content(name)
		switch verb {
		case "save":
			var stored loci.Stored
			if stored, err = m.StoreFact(ctx, loci.NewFact{Content: text}); err == nil {
				id = stored.ID
				own = append(own, id)
			}
		case "update":
			_, err = m.ReviseFact(ctx, id, loci.FactRevision{Content: &text})
		case "delete":
			err = m.EraseFact(ctx, id)
		}
		if err != nil {
			return err
		}
		if !early {
			say("! %s %s %s", verb, id, name)
		}
	}
}

// content is what a note of a name says: long enough to spill over a page, so
// that half a note would be noticed.
func content(name string) string {
	return name + " begins. " + strings.Repeat("It goes on about "+name+". ", 40) + name + " ends."
}

// state is what the parent knows of a note: the names of what it may say now, and
// whether it may be gone.
type state struct {
	says map[string]bool
	gone bool // it may be gone
	here bool // it may be there
}

// ledger is what was acknowledged, and what was under way when the child died.
type ledger struct {
	notes map[loci.ID]*state
	saved map[string]bool // names acknowledged as saved, for the early child, which knows no id yet

	named  map[loci.ID][]string // what each note ever said
	erased []string             // what notes said whose deletion was acknowledged
	later  bool                 // the child is killed after it has done something
}

func (l *ledger) take(line string) error {
	var mark, verb, idText, name string
	if _, err := fmt.Sscanf(line, "%s %s %s %s", &mark, &verb, &idText, &name); err != nil {
		return fmt.Errorf("child said %q: %w", line, err)
	}
	id, err := loci.ParseID(idText)
	if err != nil {
		return err
	}
	if id.IsZero() {
		if mark == "!" && verb == "save" {
			l.saved[name] = true
		}
		return nil
	}
	if l.notes[id] == nil {
		l.notes[id] = &state{says: map[string]bool{}}
	}
	s := l.notes[id]
	if verb != "delete" && l.named != nil {
		l.named[id] = append(l.named[id], name)
	} else if mark == "!" {
		l.erased = append(l.erased, l.named[id]...)
	}
	switch {
	case mark == "?" && verb == "update":
		s.says[name] = true
	case mark == "?" && verb == "delete":
		s.gone = true
	case mark == "!" && verb == "delete":
		*s = state{says: map[string]bool{}, gone: true}
	case mark == "!":
		*s = state{says: map[string]bool{name: true}, here: true}
	}
	return nil
}

// verify compares the store with the ledger.
func (l *ledger) verify(m *loci.Memory) (lost []string, err error) {
	ctx := context.Background()
	for id, s := range l.notes {
		f, err := m.Fact(ctx, id)
		switch {
		case errors.Is(err, loci.ErrNotFound):
			if !s.gone {
				lost = append(lost, fmt.Sprintf("note %s was acknowledged and is gone", id))
			}
			continue
		case err != nil:
			return lost, err
		case !s.here:
			lost = append(lost, fmt.Sprintf("note %s was deleted and is back", id))
			continue
		}
		name, _, _ := strings.Cut(f.Content, " ")
		if !s.says[name] || f.Content != content(name) {
			lost = append(lost, fmt.Sprintf("note %s says %q; acknowledged was %v", id, name, s.says))
		}
	}
	for name := range l.saved {
		result, err := m.Search(ctx, loci.Query{Text: name, Mode: loci.Keyword, Limit: 1})
		if err != nil {
			return lost, err
		}
		if len(result.Matches) == 0 || !strings.HasPrefix(result.Matches[0].Record.Text, name+" ") {
			lost = append(lost, "note "+name+" was acknowledged and is not found")
		}
	}
	return lost, nil
}

// logIsWhole requires that the audit log accuses nobody, whenever the writer was killed.
func logIsWhole(t *testing.T, s loci.Store) {
	t.Helper()
	e, err := loci.New(s, &loci.Options{Features: locitest.Features()})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := loci.NewTenant("default")
	if err != nil {
		t.Fatal(err)
	}
	report, err := e.VerifyEvents(t.Context(), tenant, loci.Hash{})
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("the log of a healthy store: %+v, %v", report, err)
	}
}

// cycle runs a child, kills it after a while and takes down what it said.
func cycle(t *testing.T, url string, early bool, l *ledger) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+url)
	if early {
		cmd.Env = append(cmd.Env, earlyEnv+"=1")
	}
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(pipe)
	var timer *time.Timer
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break // a line that was cut short does not count
		}
		if err != nil {
			t.Fatal(err)
		}
		if timer == nil && (!l.later || strings.HasPrefix(line, "! delete")) { // the first word: from now on, any moment
			timer = time.AfterFunc(rand.N(60*time.Millisecond), func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		}
		if err := l.take(strings.TrimSpace(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child was not killed: %v", err)
	}
}

func run(t *testing.T, dir string, n int, early bool) (lost []string) {
	url := "sqlite:" + filepath.Join(dir, "loci.db")
	for i := range n {
		l := &ledger{notes: map[loci.ID]*state{}, saved: map[string]bool{}}
		cycle(t, url, early, l)
		s, m, err := openMemory(url)
		if err != nil {
			t.Fatal(err)
		}
		missing, err := l.verify(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range missing {
			lost = append(lost, fmt.Sprintf("cycle %d: %s", i, m))
		}
		logIsWhole(t, s)
		if i%20 == 0 || i == n-1 {
			findings, err := s.Check(context.Background(), m.View().Tenant)
			if err != nil || len(findings) > 0 {
				t.Errorf("cycle %d: check: %v %v", i, findings, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if early && len(lost) > 0 {
			return lost
		}
	}
	return lost
}

// TestKillLosesNoAcknowledgedWrite kills a writing process again and again, at any moment from
// its first write on. Acknowledged writes are there, whole; a write that was not acknowledged
// is there whole or not at all.
func TestKillLosesNoAcknowledgedWrite(t *testing.T) {
	for _, loss := range run(t, t.TempDir(), *cycles, false) {
		t.Error(loss)
	}
}

// TestKillNoticesEarlyAcknowledgement runs the same harness on a child that
// acknowledges before it commits: it must be caught.
func TestKillNoticesEarlyAcknowledgement(t *testing.T) {
	if lost := run(t, t.TempDir(), max(*cycles, 50), true); len(lost) == 0 {
		t.Error("a child that acknowledges before it commits was not caught")
	}
}
