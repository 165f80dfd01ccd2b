package store_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/store/postgres"
	"github.com/loci-memory/loci/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(mongotest.Run(ended{m})) }

// ended runs the tests and stops the server of PostgreSQL that they may have started.
type ended struct{ *testing.M }

func (m ended) Run() int { return pgtest.Run(m.M) }

var everywhere = []loci.Namespace{{}}

// fill writes a bit of everything, some of it erased.
func fill(t *testing.T, s loci.Store, tn loci.Tenant, n int) {
	t.Helper()
	at := time.UnixMilli(1_800_000_000_000).UTC()
	rows := []loci.Vectors{{Space: loci.Space{Model: "two", Dims: 2}, Rows: [][]float32{{0.6, 0.8}}}}
	var ids []loci.ID
	event := func(kind loci.EventType, id loci.ID, place loci.Namespace) loci.Event {
		return loci.Event{
			ID: loci.NewID(), Type: kind, Kind: loci.KindFact, Entity: id, Namespace: place, At: at, Actor: "tester",
			RequestID: "r", Nonce: []byte("0123456789abcdef"), Payload: json.RawMessage(`{"a":"ü"}`),
		}
	}
	for i := range n {
		id, place := loci.NewID(), loci.Namespace{"user", []string{"ada", "bob", "gone"}[i%3]}
		text := "walrus number " + id.String()
		r := loci.Record{
			ID: id, Kind: loci.KindFact, Namespace: place, Version: 1, Live: i%5 > 0,
			CreatedAt: at.Add(time.Duration(i) * time.Second),
			UpdatedAt: at, Text: text, Passages: []loci.Span{{Start: 0, End: len(text)}}, Tags: []string{"a", "b"},
			Attributes: json.RawMessage(`{"x":1}`), Body: json.RawMessage(`{"validity":"active"}`), Scope: "global", Status: "active",
			Sequence: "talk", Position: int64(i), Heading: "walrus", Uses: 0,
		}
		if i%2 == 0 {
			r.Slot, r.ExpiresAt = text, at.Add(time.Hour)
			r.Decay = loci.Decay{Confidence: 0.75, Rate: 0.125, From: at}
			r.EndsAt, r.DueAt = at.Add(48*time.Hour), at.Add(24*time.Hour)
		}
		c := loci.Change{
			Put:    []loci.Put{{Record: r, Vectors: rows}},
			Events: []loci.Event{event(loci.EventCreated, id, place)},
			Reply: &loci.Reply{
				Key: "key " + id.String(), Fingerprint: "f", Value: json.RawMessage(`{}`), Record: id, At: at,
				ExpiresAt: at.Add(time.Hour),
			},
		}
		if len(ids) > 0 && i%3 < 2 {
			c.Links = []loci.Link{{From: id, Type: loci.LinkSupports, To: ids[0], At: at}}
		}
		must(t, s.Apply(t.Context(), tn, c))
		r.Version, r.Text = 2, text+"!"
		r.Passages = []loci.Span{{Start: 0, End: len(r.Text)}}
		must(t, s.Apply(t.Context(), tn, loci.Change{
			Put:    []loci.Put{{Record: r, Revisions: 3, Vectors: rows}},
			Events: []loci.Event{event(loci.EventUpdated, id, place)},
		}))
		must(t, s.Touch(t.Context(), tn, []loci.Touch{{ID: id, At: at}}))
		ids = append(ids, id)
		if i%3 == 2 { // the place loses its name again
			must(t, s.Apply(t.Context(), tn, loci.Change{
				Erase: []loci.Erase{{ID: id, Version: 2}}, Events: []loci.Event{event(loci.EventErased, id, place)},
			}))
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// seen is everything that a store says of a tenant.
func seen(t *testing.T, s loci.Store, tn loci.Tenant) (out []any) {
	t.Helper()
	all := loci.Filter{Within: everywhere, NotLive: true}
	records, _, err := s.Records(t.Context(), tn, all, loci.Page{Limit: 1000})
	must(t, err)
	for i := range records {
		id := records[i].ID
		links, err := s.Links(t.Context(), tn, id)
		must(t, err)
		revisions, err := s.Revisions(t.Context(), tn, id)
		must(t, err)
		reply, err := s.Replied(t.Context(), tn, "key "+id.String())
		must(t, err)
		hits, err := s.Match(t.Context(), tn, loci.Probe{
			Text: "walrus", Vector: []float32{1, 0}, Space: loci.Space{Model: "two", Dims: 2},
		}, loci.Filter{Within: everywhere, IDs: []loci.ID{id}}, 5)
		must(t, err)
		out = append(out, records[i], links, revisions, reply, hits)
	}
	events, _, err := s.Events(t.Context(), tn, loci.EventFilter{Within: everywhere}, loci.Page{Limit: 1000})
	must(t, err)
	chain, err := s.Chain(t.Context(), tn)
	must(t, err)
	spaces, err := s.Spaces(t.Context(), tn)
	must(t, err)
	active, err := s.ActiveSpace(t.Context(), tn)
	must(t, err)
	places, err := s.Namespaces(t.Context(), tn, all)
	must(t, err)
	held, err := s.Held(t.Context(), tn)
	must(t, err)
	found, err := s.Check(t.Context(), tn)
	must(t, err)
	return append(out, held, events, chain, spaces, active, places, found)
}

// emptyDatabase is one with our tables.
func emptyDatabase(t testing.TB) pgtest.Database {
	t.Helper()
	d := pgtest.Shared(t).NewDatabase(t)
	_, err := store.Migrate(t.Context(), d.Owner, store.Migration{Role: d.Role})
	must(t, err)
	return d
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	_, err = conn.Exec(t.Context(), sql)
	must(t, err)
	must(t, conn.Close(t.Context()))
}

// copied copies a directory and returns the tenants that it reports.
func copied(t *testing.T, dir, to string) (names []string, reports []store.CopyReport, err error) {
	t.Helper()
	err = store.Copy(t.Context(), "sqlite:"+dir, to, nil, func(r store.CopyReport) error {
		names, reports = append(names, r.Tenant), append(reports, r)
		return nil
	})
	return names, reports, err
}

// A copy says what its source says, to the last event, and goes on living.
func TestCopyEqualsItsSource(t *testing.T) {
	dir, d := filepath.Join(t.TempDir(), "x"), emptyDatabase(t)
	source, err := sqlite.Open(dir, nil)
	must(t, err)
	defer func() { must(t, source.Close()) }()
	tenants := []loci.Tenant{locitest.Tenant(t, "a"), locitest.Tenant(t, "b")}
	for i, tn := range tenants {
		fill(t, source, tn, 20+10*i)
	}
	own := loci.SystemTenant() // no list has it, and its keys must come along
	fill(t, source, own, 2)
	names, reports, err := copied(t, dir, d.Server)
	if err != nil || !slices.Equal(names, []string{own.String(), "a", "b"}) {
		t.Fatalf("copied %q, %v", names, err)
	}
	reports = reports[1:]
	if r := reports[0]; r.Resumed || r.Rows["record"] != 14 || r.Rows["event"] != 46 {
		t.Errorf("the report is %+v", r)
	}
	target, err := postgres.Open(t.Context(), d.Server, nil)
	must(t, err)
	defer func() { must(t, target.Close()) }()
	engine := locitest.NewEngine(t, target, loci.Options{})
	if diff := cmp.Diff(seen(t, source, own), seen(t, target, own)); diff != "" {
		t.Errorf("the copy of the system's tenant differs (-source +copy):\n%s", diff)
	}
	for i, tn := range tenants {
		if diff := cmp.Diff(seen(t, source, tn), seen(t, target, tn)); diff != "" {
			t.Errorf("the copy of %v differs (-source +copy):\n%s", tn, diff)
		}
		fill(t, target, tn, 4)
		report, err := engine.VerifyEvents(t.Context(), tn, reports[i].Head)
		if err != nil || len(report.Problems) > 0 || !report.Found {
			t.Errorf("the log of a copy that went on: %+v, %v", report, err)
		}
	}
	if _, _, err := copied(t, dir, d.Server); loci.AsError(err) == nil || loci.AsError(err).Code != loci.Conflict {
		t.Errorf("a copy over a tenant that was written to: %v", err)
	}
}

// A copy that stopped anywhere goes on, and a whole one is verified again. A copy of another
// state of the source begins again.
func TestCopyGoesOn(t *testing.T) {
	dir, d := filepath.Join(t.TempDir(), "x"), emptyDatabase(t)
	source, err := sqlite.Open(dir, nil)
	must(t, err)
	defer func() { must(t, source.Close()) }()
	tn := locitest.Tenant(t, "a")
	fill(t, source, tn, 30)
	for _, table := range []string{"record", "vector", "event", "setting"} {
		execute(t, d.Super, "DROP TRIGGER IF EXISTS stop ON loci."+table)
		execute(t, d.Super, `CREATE OR REPLACE FUNCTION loci.stop() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'stopped' USING ERRCODE = '53100'; END $$`)
		when := ""
		if table == "setting" { // the last step
			when = `WHEN (convert_from(new.value, 'UTF8') LIKE '%"Done":true%')`
		}
		execute(t, d.Super, "CREATE TRIGGER stop BEFORE INSERT ON loci."+table+" FOR EACH ROW "+when+" EXECUTE FUNCTION loci.stop()")
		if names, _, err := copied(t, dir, d.Server); err == nil {
			t.Fatalf("copied %q in spite of a fault in %s", names, table)
		}
		target, err := postgres.Open(t.Context(), d.Server, nil)
		must(t, err)
		for there, err := range target.Tenants(t.Context()) {
			t.Errorf("half a copy is shown: %v, %v", there, err)
		}
		must(t, target.Close())
		execute(t, d.Super, "DROP TRIGGER stop ON loci."+table)
		if table == "vector" { // the source goes on meanwhile
			fill(t, source, tn, 3)
		}
	}
	for range 2 {
		if names, reports, err := copied(t, dir, d.Server); err != nil || len(names) != 1 || !reports[0].Resumed {
			t.Fatalf("copied %q, %+v, %v", names, reports, err)
		}
	}
	target, err := postgres.Open(t.Context(), d.Server, nil)
	must(t, err)
	defer func() { must(t, target.Close()) }()
	if diff := cmp.Diff(seen(t, source, tn), seen(t, target, tn)); diff != "" {
		t.Errorf("the copy differs (-source +copy):\n%s", diff)
	}
}

// Verifying notices whatever differs.
func TestCopiesThatDifferAreNoticed(t *testing.T) {
	dir, d := filepath.Join(t.TempDir(), "x"), emptyDatabase(t)
	source, err := sqlite.Open(dir, nil)
	must(t, err)
	defer func() { must(t, source.Close()) }()
	fill(t, source, locitest.Tenant(t, "a"), 10)
	_, _, err = copied(t, dir, d.Server)
	must(t, err)
	for _, fault := range []string{
		"UPDATE loci.record SET text = text || 'x' WHERE id = (SELECT min(id) FROM loci.record)",
		"UPDATE loci.record SET confidence = 0.5 WHERE confidence IS NOT NULL",
		"UPDATE loci.record SET live = NOT live",
		"DELETE FROM loci.revision WHERE record = (SELECT min(record) FROM loci.revision)",
		"UPDATE loci.vector SET data = data || '\\x00'",
		"UPDATE loci.link SET created_at = created_at + 1",
		"UPDATE loci.event SET payload = NULL WHERE seq = 1",
		"DELETE FROM loci.reply",
		"UPDATE loci.namespace SET kinds = ''",
		"UPDATE loci.space SET dims = 3",
		"UPDATE loci.tenant SET head = sha256(head)",
		"UPDATE loci.tenant SET active = 0",
		"INSERT INTO loci.vector SELECT tenant, sha256(record), space, data FROM loci.vector",
	} {
		execute(t, d.Super, fault)
		if _, _, err := copied(t, dir, d.Server); loci.AsError(err) == nil || loci.AsError(err).Code != loci.Conflict {
			t.Errorf("not noticed: %s: %v", fault, err)
		}
		execute(t, d.Super, "UPDATE loci.tenant SET name = NULL") // as after an erase: it is copied again
		_, _, err := copied(t, dir, d.Server)
		must(t, err)
	}
}
