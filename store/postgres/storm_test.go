package postgres_test

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
	"github.com/loci-memory/loci/store/postgres"
)

const (
	childVariable    = "LOCI_TEST_CHILD"    // the URL a child of the test works on
	unlockedVariable = "LOCI_TEST_UNLOCKED" // it writes without the tenant's lock
)

// child is a server of the storm: eight clients write, half of them to one tenant, and it
// prints each write once it is acknowledged. It ends when it is killed.
func child(url string) int {
	if os.Getenv(unlockedVariable) != "" {
		postgres.Unlock()
	}
	ctx := context.Background()
	s, err := postgres.Open(ctx, url, nil)
	if err != nil {
		fmt.Println("!", err)
		return 1
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for {
				name := "shared"
				if rand.IntN(2) == 0 {
					name = fmt.Sprint("tenant ", rand.IntN(20))
				}
				line := write(ctx, s, name)
				if _, err := os.Stdout.WriteString(line + "\n"); err != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return 0
}

// write stores a record and says so, or what went wrong, in a line.
func write(ctx context.Context, s loci.Store, name string) string {
	t, err := loci.NewTenant(name)
	if err != nil {
		return "! " + err.Error()
	}
	id := loci.NewID()
	if err := s.Apply(ctx, t, creation(id)); err != nil {
		cause := errors.Unwrap(err)
		return fmt.Sprintf("! %v: %v", err, cause)
	}
	return id.String() + " " + name
}

// creation is a change that puts a record with a word that no other record has.
func creation(id loci.ID) loci.Change {
	now := time.UnixMilli(1_800_000_000_000).UTC()
	text := wordOf(id)
	r := loci.Record{
		ID:        id,
		Kind:      loci.KindFact,
		Namespace: loci.Namespace{"user", "ada"},
		Version:   1,
		Live:      true,
		CreatedAt: now,
		UpdatedAt: now,
		Text:      text,
		Passages:  []loci.Span{{Start: 0, End: len(text)}},
		Slot:      text,
	}
	return loci.Change{
		Put: []loci.Put{{Record: r}},
		Events: []loci.Event{
			{
				ID:        loci.NewID(),
				Type:      loci.EventCreated,
				Kind:      r.Kind,
				Entity:    id,
				Namespace: r.Namespace,
				At:        now,
				Actor:     "storm",
				Payload:   []byte(`{}`),
			},
		},
	}
}

func wordOf(id loci.ID) string { return "word" + strings.ReplaceAll(id.String(), "-", "") }

// A storm is servers that are killed at random while they write.
type storm struct {
	url      string
	unlocked bool
	node     loci.Store // another server, which searches

	mu       sync.Mutex
	acked    map[string][]loci.ID // by tenant
	problems []string
	searched atomic.Int64
	ended    atomic.Bool
}

func (w *storm) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// serve keeps one server running until the storm ends: each is killed after a while.
func (w *storm) serve(t *testing.T) {
	for !w.ended.Load() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"="+w.url)
		if w.unlocked {
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
		time.AfterFunc(time.Duration(300+rand.IntN(900))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			w.take(t, lines.Text())
		}
		_ = cmd.Wait() // it was killed
	}
}

// take notes what a server acknowledged, and looks for some of it on another one.
func (w *storm) take(t *testing.T, line string) {
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
	if n%5 != 0 {
		return
	}
	hits, err := w.node.Match(
		context.Background(),
		tn,
		loci.Probe{Text: wordOf(written)},
		loci.Filter{Within: []loci.Namespace{{}}},
		3,
	)
	if err != nil || len(hits) != 1 || hits[0].ID != written {
		w.problem("the next search on another server finds %d of %s in %s: %v", len(hits), id, name, err)
	}
	w.searched.Add(1)
}

// verify looks at what is there after the storm.
func (w *storm) verify(t *testing.T, super string) {
	e := locitest.NewEngine(t, w.node, loci.Options{})
	for name, ids := range w.acked {
		tn := locitest.Tenant(t, name)
		there := map[loci.ID]bool{}
		for cursor := ""; ; {
			records, next, err := w.node.Records(
				t.Context(),
				tn,
				loci.Filter{Within: []loci.Namespace{{}}},
				loci.Page{Limit: 1000, Cursor: cursor},
			)
			if err != nil {
				t.Fatal(err)
			}
			for i := range records {
				there[records[i].ID] = true
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		for _, id := range ids {
			if !there[id] {
				w.problem("%s of %s was acknowledged and is gone", id, name)
			}
		}
		report, err := e.VerifyEvents(t.Context(), tn, loci.Hash{})
		if err != nil || len(report.Problems) > 0 || report.Events != int64(len(there)) {
			w.problem(
				"the log of %s: %d events of %d records, %v, %v",
				name,
				report.Events,
				len(there),
				report.Problems,
				err,
			)
		}
		if found, err := w.node.Check(t.Context(), tn); err != nil || len(found) > 0 {
			w.problem("%s: %v, %v", name, found, err)
		}
		// Every number was given out once, and none is missing.
		key := fmt.Sprintf("'\\x%x'::bytea", postgres.KeyOf(tn))
		var gaps []int64
		query(
			t,
			super,
			`SELECT (SELECT seq FROM loci.tenant WHERE tenant = `+key+`) - count(DISTINCT seq) FROM loci.change WHERE tenant = `+key+`
			UNION ALL SELECT (SELECT events FROM loci.tenant WHERE tenant = `+key+`) - count(*) FROM loci.event WHERE tenant = `+key,
			&gaps,
		)
		if gaps[0] != 0 || gaps[1] != 0 {
			w.problem("%s: %d changes and %d events are missing from the counters", name, gaps[0], gaps[1])
		}
	}
}

// rage lets four servers write for a while.
func rage(t *testing.T, d time.Duration, unlocked bool) *storm {
	base, giveBack := database(t)
	t.Cleanup(giveBack)
	w := &storm{url: base.Server, unlocked: unlocked, node: openAt(t, base.Server), acked: map[string][]loci.ID{}}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { w.serve(t) })
	}
	time.Sleep(d)
	w.ended.Store(true)
	group.Wait()
	w.verify(t, base.Super)
	return w
}

// Four servers are killed at random while 32 clients write to one tenant and to twenty: no
// acknowledged write is lost, counters have no gap, chains verify, and the next search on
// another server finds each write.
func TestServersThatAreKilledLoseNothing(t *testing.T) {
	d := 5 * time.Second
	if os.Getenv("LOCI_LONG") != "" {
		d = 10 * time.Minute
	}
	w := rage(t, d, false)
	for i, problem := range w.problems {
		if i < 20 {
			t.Error(problem)
		}
	}
	if n := len(w.acked["shared"]); n < 100 || w.searched.Load() < 20 {
		t.Errorf("only %d writes to one tenant and %d searches", n, w.searched.Load())
	}
	t.Logf("%d tenants, %d writes to one of them, %d searches", len(w.acked), len(w.acked["shared"]), w.searched.Load())
}

// The storm notices a build that does not lock the tenant's row.
func TestStormNoticesAMissingLock(t *testing.T) {
	if w := rage(t, 2*time.Second, true); len(w.problems) == 0 {
		t.Errorf("%d writes without a lock, and nothing was noticed", len(w.acked["shared"]))
	}
}
