// Package storm is servers on one database that are killed at random while they write: what
// tests of stores in databases share.
package storm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

const (
	childVariable    = "LOCI_TEST_CHILD"    // the URL that a server of the storm works on
	unlockedVariable = "LOCI_TEST_UNLOCKED" // it writes without the tenant's lock
)

// clients is how many write in each server.
const clients = 8

// Child is what a TestMain begins with: a process that a storm started serves until it is
// killed. unlock makes writes of this process that do not take the tenant's lock.
func Child(open func(ctx context.Context, url string) (loci.Store, error), unlock func()) {
	url := os.Getenv(childVariable)
	if url == "" {
		return
	}
	if os.Getenv(unlockedVariable) != "" {
		unlock()
	}
	os.Exit(serve(url, open))
}

// serve lets clients write, half of them to one tenant, and say so once it is acknowledged.
func serve(url string, open func(ctx context.Context, url string) (loci.Store, error)) int {
	ctx := context.Background()
	s, err := open(ctx, url)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, "!", err, errors.Unwrap(err))
		return 1
	}
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for {
				name := "shared"
				if rand.IntN(2) == 0 {
					name = fmt.Sprint("tenant ", rand.IntN(20))
				}
				line := Write(ctx, s, name)
				if _, err := os.Stdout.WriteString(line + "\n"); err != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return 0
}

// Write stores a record and says so, or what went wrong, in a line.
func Write(ctx context.Context, s loci.Store, name string) string {
	t, err := loci.NewTenant(name)
	if err != nil {
		return "! " + err.Error()
	}
	id := loci.NewID()
	if err := s.Apply(ctx, t, Creation(id)); err != nil {
		return fmt.Sprintf("! %v: %v", err, errors.Unwrap(err))
	}
	return id.String() + " " + name
}

// Creation is a change that puts a record whose one word nobody else has.
func Creation(id loci.ID) loci.Change {
	now := time.UnixMilli(1_800_000_000_000).UTC()
	text := WordOf(id)
	r := loci.Record{
		ID: id, Kind: loci.KindFact, Namespace: loci.Namespace{"user", "ada"}, Version: 1, Live: true,
		CreatedAt: now, UpdatedAt: now, Text: text, Passages: []loci.Span{{Start: 0, End: len(text)}}, Slot: text,
	}
	return loci.Change{
		Put: []loci.Put{{Record: r}},
		Events: []loci.Event{{
			ID: loci.NewID(), Type: loci.EventCreated, Kind: r.Kind, Entity: id, Namespace: r.Namespace, At: now,
			Actor: "storm", Payload: []byte(`{}`),
		}},
	}
}

// WordOf is the word of a record that [Creation] puts.
func WordOf(id loci.ID) string { return "word" + strings.ReplaceAll(id.String(), "-", "") }

// A Storm is servers that are killed at random while they write.
type Storm struct {
	URL      string
	Node     loci.Store    // another server, which searches
	Every    int           // it looks for every so many-th write; default 5
	Life     time.Duration // at least how long a server lives, and at most four times that; default 0.3 s
	Unlocked bool          // servers do not take the tenant's lock: that must be noticed

	// What a storm must have seen to say anything: writes to one tenant, and searches.
	Writes   int
	Searches int64

	// Gaps counts the numbers of changes and events that are missing below a tenant's counters.
	Gaps func(t *testing.T, tn loci.Tenant) (changes, events int64)

	mu       sync.Mutex
	acked    map[string][]loci.ID // by tenant
	problems []string
	searched atomic.Int64
	ended    atomic.Bool
}

// Rage lets four servers write for a while. On a slow machine it goes on until it has seen
// enough, at most twenty times as long.
func (w *Storm) Rage(t *testing.T, d time.Duration) {
	t.Helper()
	w.acked = map[string][]loci.ID{}
	if w.Every == 0 {
		w.Every = 5
	}
	if w.Life == 0 {
		w.Life = 300 * time.Millisecond
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { w.keep(t) })
	}
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if past := time.Since(start); past >= d && w.sawEnough() || past >= 20*d {
			break
		}
	}
	w.ended.Store(true)
	group.Wait()
	w.verify(t)
}

// sawEnough reports whether there was enough to say something about it.
func (w *Storm) sawEnough() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked["shared"]) >= w.Writes && w.searched.Load() >= w.Searches
}

// Calm fails the test for what went wrong, or where there was too little to say so.
func (w *Storm) Calm(t *testing.T) {
	t.Helper()
	for i, problem := range w.problems {
		if i < 20 {
			t.Error(problem)
		}
	}
	n, s := len(w.acked["shared"]), w.searched.Load()
	if !w.sawEnough() {
		t.Errorf("only %d writes to one tenant and %d searches", n, s)
	}
	t.Logf("%d tenants, %d writes to one of them, %d searches", len(w.acked), n, s)
}

// Noticed fails the test of a build without the lock where nothing went wrong.
func (w *Storm) Noticed(t *testing.T) {
	t.Helper()
	if len(w.problems) == 0 {
		t.Errorf("%d writes without a lock, and nothing was noticed", len(w.acked["shared"]))
	}
}

func (w *Storm) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// keep keeps one server running until the storm ends: each is killed after a while.
func (w *Storm) keep(t *testing.T) {
	for !w.ended.Load() {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"="+w.URL)
		if w.Unlocked {
			cmd.Env = append(cmd.Env, unlockedVariable+"=1")
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Error(err)
			return
		}
		time.AfterFunc(w.Life+rand.N(3*w.Life), func() { _ = cmd.Process.Kill() })
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			w.take(lines.Text())
		}
		_ = cmd.Wait() // it was killed
	}
}

// take notes what a server acknowledged, and looks for some of it on another one.
func (w *Storm) take(line string) {
	id, name, ok := strings.Cut(line, " ")
	if !ok || id == "!" {
		w.problem("a server says %q", line)
		return
	}
	written, err := loci.ParseID(id)
	if err != nil {
		return // cut short by the kill
	}
	tn, err := loci.NewTenant(name)
	if err != nil || name != "shared" && !strings.HasPrefix(name, "tenant ") {
		return
	}
	w.mu.Lock()
	w.acked[name] = append(w.acked[name], written)
	n := len(w.acked[name])
	w.mu.Unlock()
	if n%w.Every != 0 {
		return
	}
	hits, err := w.Node.Match(
		context.Background(), tn, loci.Probe{Text: WordOf(written)}, loci.Filter{Within: []loci.Namespace{{}}}, 3)
	if err != nil || len(hits) != 1 || hits[0].ID != written {
		w.problem("the next search on another server finds %d of %s in %s: %v", len(hits), id, name, err)
	}
	w.searched.Add(1)
}

// verify looks at what is there after the storm.
func (w *Storm) verify(t *testing.T) {
	t.Helper()
	e := locitest.NewEngine(t, w.Node, loci.Options{})
	for name, ids := range w.acked {
		tn := locitest.Tenant(t, name)
		there := There(t, w.Node, tn)
		for _, id := range ids {
			if !there[id] {
				w.problem("%s of %s was acknowledged and is gone", id, name)
			}
		}
		report, err := e.VerifyEvents(t.Context(), tn, loci.Hash{})
		// The database may still end what a server asked for just before it was killed.
		least, most := int64(len(there)), int64(len(There(t, w.Node, tn)))
		if err != nil || len(report.Problems) > 0 || report.Events < least || report.Events > most {
			w.problem("the log of %s: %d events of %d to %d records, %v, %v", name, report.Events, least, most, report.Problems, err)
		}
		if found, err := w.Node.Check(t.Context(), tn); err != nil || len(found) > 0 {
			w.problem("%s: %v, %v", name, found, err)
		}
		// Every number was given out once, and none is missing.
		if changes, events := w.Gaps(t, tn); changes != 0 || events != 0 {
			w.problem("%s: %d changes and %d events are missing from the counters", name, changes, events)
		}
	}
}

// There are the records of a tenant.
func There(t *testing.T, s loci.Store, tn loci.Tenant) map[loci.ID]bool {
	t.Helper()
	out := map[loci.ID]bool{}
	for cursor := ""; ; {
		records, next, err := s.Records(
			t.Context(), tn, loci.Filter{Within: []loci.Namespace{{}}}, loci.Page{Limit: 1000, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			out[records[i].ID] = true
		}
		if cursor = next; cursor == "" {
			return out
		}
	}
}
