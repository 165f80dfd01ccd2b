package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
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
