package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/internal/storm"
)

// waitFor asks until a statement says that it is so.
func waitFor(t *testing.T, at, what string) {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		var is []bool
		if query(t, at, "SELECT "+what, &is); is[0] {
			return
		}
	}
	t.Fatalf("not within a minute: %s", what)
}

// written are writes that were acknowledged, by tenant, in order.
type written struct {
	mu  sync.Mutex
	ids map[string][]loci.ID
	n   int

	refused []string // what the others were told
}

// write lets eight clients write to four tenants until a context ends; an error is a pause.
func (w *written) write(ctx context.Context, nodes []loci.Store) (wait func()) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			name := fmt.Sprint("tenant ", i%4)
			for ctx.Err() == nil {
				line := storm.Write(ctx, nodes[i%len(nodes)], name)
				text, _, _ := strings.Cut(line, " ")
				id, err := loci.ParseID(text)
				if err != nil {
					w.mu.Lock()
					w.refused = append(w.refused, line)
					w.mu.Unlock()
					time.Sleep(20 * time.Millisecond)
					continue
				}
				w.mu.Lock()
				w.ids[name] = append(w.ids[name], id)
				w.n++
				w.mu.Unlock()
			}
		})
	}
	return group.Wait
}

// until waits for so many more acknowledged writes.
func (w *written) until(t *testing.T, more int) {
	t.Helper()
	count := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.n
	}
	begin := count()
	for until := time.Now().Add(2 * time.Minute); count() < begin+more; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d of %d writes", count()-begin, more)
		}
	}
}

// failover has a standby take over from a primary that crashes while eight clients write
// through two servers, whose URL names both. Just before, the standby loses its primary. It
// returns how many writes were acknowledged, and how many of them are lost.
func failover(t *testing.T, synchronous bool) (acked, lost int) {
	t.Helper()
	primary, d := ownServer(t, pgtest.Options{Args: []string{"wal_retrieve_retry_interval=100ms"}})
	standby, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopped(t, standby)
	state := "state = 'streaming'"
	if synchronous {
		if err := primary.Relaunch(t.Context(), "synchronous_standby_names=*"); err != nil {
			t.Fatal(err)
		}
		state = "sync_state = 'sync'"
	}
	waitFor(t, d.Super, "EXISTS (SELECT 1 FROM pg_stat_replication WHERE "+state+")")

	// The standby comes first: a server that only reads is passed over.
	both := changed(t, d.Server, func(u *url.URL) {
		u.Host = standby.Address() + "," + primary.Address()
		u.RawQuery += "&target_session_attrs=read-write"
	})
	nodes := []loci.Store{openAt(t, both), openAt(t, both)}
	w := &written{ids: map[string][]loci.ID{}}
	ctx, end := context.WithTimeout(t.Context(), 3*time.Minute)
	wait := w.write(ctx, nodes)
	defer func() { end(); wait() }()
	w.until(t, 100)
	w.find(t, nodes)
	if err := standby.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, d.Super, "NOT EXISTS (SELECT 1 FROM pg_stat_replication)")
	if synchronous {
		waitFor(t, d.Super, "EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep')")
	} else {
		w.until(t, 50)
		w.find(t, nodes) // servers remember what is lost below
	}
	if err := primary.Crash(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until(t, 100)
	end()
	wait()
	return w.verify(t, nodes)
}

// find looks for the newest writes of each tenant on all servers.
func (w *written) find(t *testing.T, nodes []loci.Store) {
	t.Helper()
	w.mu.Lock()
	newest := map[string]loci.ID{}
	for name, ids := range w.ids {
		newest[name] = ids[len(ids)-1]
	}
	w.mu.Unlock()
	for name, id := range newest {
		for i, node := range nodes {
			if !found(t, node, name, id) {
				t.Errorf("server %d does not find %s of %s", i, id, name)
			}
		}
	}
}

func found(t *testing.T, s loci.Store, name string, id loci.ID) bool {
	t.Helper()
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	hits, err := s.Match(t.Context(), locitest.Tenant(t, name), loci.Probe{Text: wordOf(id)}, everywhere, 3)
	if err != nil {
		t.Error(err)
	}
	return len(hits) == 1 && hits[0].ID == id
}

// verify looks at what is there: every server finds what is there and nothing else, and the
// logs are whole.
func (w *written) verify(t *testing.T, nodes []loci.Store) (acked, lost int) {
	t.Helper()
	for name, ids := range w.ids {
		tn := locitest.Tenant(t, name)
		records := storm.There(t, nodes[0], tn)
		for _, id := range ids {
			there := records[id]
			if acked++; !there {
				lost++
			}
			for i, node := range nodes {
				if found(t, node, name, id) != there {
					t.Errorf("server %d finds %s of %s: %v; it is there: %v", i, id, name, !there, there)
				}
			}
		}
		report, err := locitest.NewEngine(t, nodes[1], loci.Options{}).VerifyEvents(t.Context(), tn, loci.Hash{})
		if err != nil || len(report.Problems) > 0 || report.Events != int64(len(records)) {
			t.Errorf("the log of %s: %d events of %d records, %v, %v", name, report.Events, len(records), report.Problems, err)
		}
		if faults, err := nodes[0].Check(t.Context(), tn); err != nil || len(faults) > 0 {
			t.Errorf("%s: %v, %v", name, faults, err)
		}
	}
	return acked, lost
}

// TestFailover: with a synchronous standby no acknowledged write is lost, and servers go on at
// the new primary by themselves.
func TestFailover(t *testing.T) {
	acked, lost := failover(t, true)
	if lost > 0 {
		t.Errorf("%d of %d acknowledged writes are lost", lost, acked)
	}
	t.Logf("%d writes", acked)
}

// TestFailoverThatLoses: a standby that is not waited for loses writes, which the test of
// failovers notices. Servers forget them, too.
func TestFailoverThatLoses(t *testing.T) {
	acked, lost := failover(t, false)
	if lost == 0 {
		t.Errorf("none of %d writes was lost", acked)
	}
	t.Logf("%d of %d writes are lost", lost, acked)
}
