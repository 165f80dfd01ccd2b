package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
	"github.com/loci-memory/loci/store/storetest"
)

// The index is loaded beside the searches of others.
func TestLoading(t *testing.T) {
	storetest.RunLoading(t, func(t *testing.T) storetest.Loading {
		d, giveBack := database(t)
		t.Cleanup(giveBack)
		return storetest.Loading{Far: 1000, Open: func(
			t *testing.T, part int, reading func(string),
		) (loci.Store, func()) {
			s := openWith(t, d.Server, (&postgres.Options{}).Load(part, reading))
			return s, s.Idle
		}}
	})
}

// While the table of records cannot be read, searches of what is loaded answer; a load that
// nobody waits for ends though the database does not answer.
func TestALoadThatIsHeldByTheDatabase(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s := openWith(t, d.Server, nil)
	s.Hasty()
	tn := locitest.Tenant(t, "t")
	places := map[string]loci.ID{"warm": loci.NewID(), "cold": loci.NewID()}
	for label, id := range places {
		c := creation(id)
		c.Put[0].Record.Namespace, c.Events[0].Namespace = loci.Namespace{label}, loci.Namespace{label}
		if err := s.Apply(t.Context(), tn, c); err != nil {
			t.Fatal(err)
		}
	}
	search := func(ctx context.Context, label string) error {
		where := loci.Filter{Within: []loci.Namespace{{label}}}
		hits, err := s.Match(ctx, tn, loci.Probe{Text: wordOf(places[label])}, where, 3)
		if err == nil && len(hits) != 1 {
			t.Errorf("%s: %d hits", label, len(hits))
		}
		return err
	}
	if err := search(t.Context(), "warm"); err != nil {
		t.Fatal(err)
	}
	lock, err := pgx.Connect(t.Context(), d.Super)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close(context.WithoutCancel(t.Context()))
	if _, err := lock.Exec(t.Context(), "BEGIN; LOCK TABLE loci.record IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- search(ctx, "cold") }()
	for waits := []int64{0}; waits[0] == 0; { // the load reads the table
		waits = nil
		query(t, d.Super, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%loci.record r%'", &waits)
	}
	if err := search(t.Context(), "warm"); err != nil {
		t.Error(err)
	}
	giveUp()
	if err := <-ended; err == nil {
		t.Error("a search that gave up found something")
	}
	idle := make(chan struct{})
	go func() { s.Idle(); close(idle) }()
	select {
	case <-idle:
	case <-time.After(longest):
		t.Error("the load goes on though nobody waits")
	}
	if _, err := lock.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := search(t.Context(), "cold"); err != nil {
		t.Error(err)
	}
}

// Where processors are spared, both goroutines of a load give way, and so does the tidier of the kept index; a search
// that follows the changes of others does not. Not parallel: it counts.
func TestWhatGivesWay(t *testing.T) {
	defer cores.Spare()()
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s, other := openWith(t, d.Server, &postgres.Options{IndexCache: t.TempDir()}), openWith(t, d.Server, nil)
	tn, where := locitest.Tenant(t, "t"), loci.Filter{Within: []loci.Namespace{{}}}
	save := func() (c loci.Change) {
		c = creation(loci.NewID())
		if err := other.Apply(t.Context(), tn, c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	expect := func(what string, want int64, query string, found int) {
		t.Helper()
		before := cores.GaveWay()
		hits, err := s.Match(t.Context(), tn, loci.Probe{Text: query}, where, 3)
		if n := cores.GaveWay() - before; n != want || len(hits) != found || err != nil {
			t.Errorf("%s: %d goroutines gave way, want %d; %d hits, %v", what, n, want, len(hits), err)
		}
	}
	expect("a load", 2, wordOf(save().Put[0].Record.ID), 1)
	expect("a search that follows", 0, wordOf(save().Put[0].Record.ID), 1)
	before := cores.GaveWay()
	s.Shelf().Tidy(tn)
	for deadline := time.Now().Add(time.Minute); cores.GaveWay() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the tidier does not give way")
		}
	}
}
