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
	"strconv"
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
	tenantsVariable  = "LOCI_TEST_TENANTS"  // how many tenants it writes to besides the shared one
	unlockedVariable = "LOCI_TEST_UNLOCKED" // it writes without the tenant's lock
)

// shared is the tenant that half of all writes go to.
const shared = "shared"

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
	tenants, err := strconv.Atoi(os.Getenv(tenantsVariable))
	var s loci.Store
	if err == nil {
		s, err = open(ctx, url)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, "!", err, errors.Unwrap(err))
		return 1
	}
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for {
				name := shared
				if rand.IntN(2) == 0 {
					name = fmt.Sprint("tenant ", rand.IntN(tenants))
				}
				line := writeSome(ctx, s, name, 1+rand.IntN(5))
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
func Write(ctx context.Context, s loci.Store, name string) string { return writeSome(ctx, s, name, 1) }

// writeSome is [Write] of so many records, in one change.
func writeSome(ctx context.Context, s loci.Store, name string, n int) string {
	t, err := loci.NewTenant(name)
	if err != nil {
		return "! " + err.Error()
	}
	ids, line := make([]loci.ID, n), make([]string, n)
	for i := range ids {
		ids[i] = loci.NewID()
		line[i] = ids[i].String()
	}
	if err := s.Apply(ctx, t, Creation(ids...)); err != nil {
		return fmt.Sprintf("! %v: %v", err, errors.Unwrap(err))
	}
	return strings.Join(line, ",") + " " + name
}

// Creation is a change that puts records, each with one word that nobody else has.
func Creation(ids ...loci.ID) (c loci.Change) {
	now := time.UnixMilli(1_800_000_000_000).UTC()
	for _, id := range ids {
		text := WordOf(id)
		r := loci.Record{
			ID: id, Kind: loci.KindFact, Namespace: loci.Namespace{"user", "ada"}, Version: 1, Live: true,
			CreatedAt: now, UpdatedAt: now, Text: text, Passages: []loci.Span{{Start: 0, End: len(text)}}, Slot: text,
		}
		c.Put = append(c.Put, loci.Put{Record: r})
		c.Events = append(c.Events, loci.Event{
			ID: loci.NewID(), Type: loci.EventCreated, Kind: r.Kind, Entity: id, Namespace: r.Namespace, At: now,
			Actor: "storm", Payload: []byte(`{}`),
		})
	}
	return c
}

// WordOf is the word of a record that [Creation] puts.
func WordOf(id loci.ID) string { return "word" + strings.ReplaceAll(id.String(), "-", "") }

// A Storm is servers that are killed at random while they write.
type Storm struct {
	URL      string
	Nodes    []loci.Store  // other servers, each of which looks for every write
	Tenants  int           // half of the writes go to so many tenants, the others to one; default 20
	Life     time.Duration // at least how long a server lives, and at most four times that; default 0.3 s
	Unlocked bool          // servers do not take the tenant's lock: that must be noticed

	// What a storm must have seen to say anything: records written to one tenant, and looks, each
	// for one record on one node.
	Writes int
	Looks  int64

	// Ended is called when nobody writes any more, before all is read.
	Ended func(t *testing.T)

	// Gaps counts the numbers of changes and events that are missing below a tenant's counters.
	Gaps func(t *testing.T, tn loci.Tenant) (changes, events int64)

	mu       sync.Mutex
	acked    map[string][]loci.ID // by tenant
	changes  int
	problems []string
	told     []chan change // by node, what it is to look for
	looks    atomic.Int64
	searches atomic.Int64 // that looked
	killed   atomic.Int64
	ended    atomic.Bool
	verified time.Duration // how long it took to look at what is there
}

// Rage lets four servers write for a while. On a slow machine it goes on until it has seen
// enough, at most twenty times as long.
func (w *Storm) Rage(t *testing.T, d time.Duration) {
	t.Helper()
	w.acked = map[string][]loci.ID{}
	if w.Tenants == 0 {
		w.Tenants = 20
	}
	if w.Life == 0 {
		w.Life = 300 * time.Millisecond
	}
	var group, lookers sync.WaitGroup
	for _, node := range w.Nodes {
		told := make(chan change, most)
		w.told = append(w.told, told)
		for range 4 {
			lookers.Go(func() { w.look(node, told) })
		}
	}
	for range 4 {
		group.Go(func() { w.keep(t) })
	}
	start, said := time.Now(), time.Now()
	for ; ; time.Sleep(50 * time.Millisecond) {
		if past := time.Since(start); past >= d && w.sawEnough() || past >= 20*d {
			break
		}
		if time.Since(said) > time.Minute {
			said = time.Now()
			t.Log(w)
		}
	}
	w.ended.Store(true)
	group.Wait()
	for _, told := range w.told {
		close(told)
	}
	lookers.Wait()
	if w.Ended != nil {
		w.Ended(t)
	}
	began := time.Now()
	w.verify(t)
	w.verified = time.Since(began)
}

// sawEnough reports whether there was enough to say something about it.
func (w *Storm) sawEnough() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked[shared]) >= w.Writes && w.looks.Load() >= w.Looks
}

// Calm fails the test for what went wrong, or where there was too little to say so.
func (w *Storm) Calm(t *testing.T) {
	t.Helper()
	for i, problem := range w.problems {
		if i < 20 {
			t.Error(problem)
		}
	}
	t.Log(w)
	if !w.sawEnough() {
		t.Error("that is too little to say anything")
	}
}

// Noticed fails the test of a control where nothing went wrong.
func (w *Storm) Noticed(t *testing.T) {
	t.Helper()
	if len(w.problems) == 0 {
		t.Errorf("nothing was noticed: %s", w)
	}
}

// String says what there was.
func (w *Storm) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := 0
	for _, ids := range w.acked {
		all += len(ids)
	}
	written := fmt.Sprintf(
		"%d servers killed, %d tenants, %d records in %d changes, %d of them in one tenant",
		w.killed.Load(), len(w.acked), all, w.changes, len(w.acked[shared]),
	)
	looked := fmt.Sprintf("%d looks on %d nodes by %d searches", w.looks.Load(), len(w.Nodes), w.searches.Load())
	said := fmt.Sprintf("%s; %s, %d problems", written, looked, len(w.problems))
	if w.verified > 0 {
		said += fmt.Sprintf("; all was read again in %v", w.verified.Round(time.Second))
	}
	if len(w.problems) > 0 {
		said += fmt.Sprintf(", the first: %.300s", w.problems[0])
	}
	return said
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
		cmd.Env = append(os.Environ(), childVariable+"="+w.URL, fmt.Sprint(tenantsVariable, "=", w.Tenants))
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
		w.killed.Add(1)
	}
}

// take notes what a server acknowledged, and tells the nodes that look for it.
func (w *Storm) take(line string) {
	list, name, ok := strings.Cut(line, " ")
	if !ok || list == "!" {
		w.problem("a server says %q", line)
		return
	}
	tn, err := loci.NewTenant(name)
	if err != nil || name != shared && !strings.HasPrefix(name, "tenant ") {
		return // cut short by the kill
	}
	var ids []loci.ID
	for text := range strings.SplitSeq(list, ",") {
		id, err := loci.ParseID(text)
		if err != nil {
			w.problem("a server says %q: %v", line, err)
			return
		}
		ids = append(ids, id)
	}
	w.mu.Lock()
	w.acked[name] = append(w.acked[name], ids...)
	w.changes++
	w.mu.Unlock()
	for _, told := range w.told {
		told <- change{tn, ids}
	}
}

// verify looks at what is there after the storm.
func (w *Storm) verify(t *testing.T) {
	t.Helper()
	node := w.Nodes[0]
	e := locitest.NewEngine(t, node, loci.Options{})
	for name, ids := range w.acked {
		tn := locitest.Tenant(t, name)
		there := There(t, node, tn)
		for _, id := range ids {
			if !there[id] {
				w.problem("%s of %s was acknowledged and is gone", id, name)
			}
		}
		var report loci.ChainReport
		err := served(func() (err error) {
			report, err = e.VerifyEvents(t.Context(), tn, loci.Hash{})
			return err
		})
		// The database may still end what a server asked for just before it was killed.
		least, most := int64(len(there)), int64(len(There(t, node, tn)))
		if err != nil || len(report.Problems) > 0 || report.Events < least || report.Events > most {
			w.problem("the log of %s: %d events of %d to %d records, %v, %v", name, report.Events, least, most, report.Problems, err)
		}
		var found []string
		if err := served(func() (err error) {
			found, err = node.Check(t.Context(), tn)
			return err
		}); err != nil || len(found) > 0 {
			w.problem("%s: %v, %v", name, found, err)
		}
		// Every number was given out once, and none is missing.
		if changes, events := w.Gaps(t, tn); changes != 0 || events != 0 {
			w.problem("%s: %d changes and %d events are missing from the counters", name, changes, events)
		}
	}
}

// served reads until nothing is in the way, for a minute: what killed servers left ends by
// itself, and a read that a busy database gave up is neither right nor wrong.
func served(read func() error) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		err := read()
		var e *loci.Error
		if !errors.As(err, &e) || e.Code != loci.Unavailable || time.Now().After(end) {
			return err
		}
	}
}

// There are the records of a tenant.
func There(t *testing.T, s loci.Store, tn loci.Tenant) map[loci.ID]bool {
	t.Helper()
	out := map[loci.ID]bool{}
	for cursor := ""; ; {
		var records []loci.Record
		var next string
		if err := served(func() (err error) {
			records, next, err = s.Records(
				t.Context(), tn, loci.Filter{Within: []loci.Namespace{{}}}, loci.Page{Limit: 1000, Cursor: cursor})
			return err
		}); err != nil {
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
