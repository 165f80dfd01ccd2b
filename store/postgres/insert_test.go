package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/postgres"
)

// TestRowsKeepWhatTheyHave: an INSERT leaves out columns that all of its rows lack. What only one record has of those that
// share a statement is written, wherever it stands.
func TestRowsKeepWhatTheyHave(t *testing.T) {
	s, reference := open(t), loci.Store(memory.Open())
	at := time.UnixMilli(1_900_000_000_000).UTC()
	for name, have := range map[string]func(r *loci.Record){
		"nothing":    func(*loci.Record) {},
		"expiry":     func(r *loci.Record) { r.ExpiresAt = at },
		"use":        func(r *loci.Record) { r.Uses, r.UsedAt = 3, at },
		"end":        func(r *loci.Record) { r.EndsAt = at },
		"due":        func(r *loci.Record) { r.DueAt = at },
		"sequence":   func(r *loci.Record) { r.Sequence = "talk" },
		"position":   func(r *loci.Record) { r.Sequence, r.Position = "talk", 7 },
		"confidence": func(r *loci.Record) { r.Decay = loci.Decay{Confidence: 0.5} },
		"decay":      func(r *loci.Record) { r.Decay = loci.Decay{Confidence: 1, Rate: 0.25, From: at} },
		"heading":    func(r *loci.Record) { r.Heading = "Ada likes" },
		"scope":      func(r *loci.Record) { r.Scope = "global" },
		"status":     func(r *loci.Record) { r.Status = "active" },
		"tags":       func(r *loci.Record) { r.Tags = []string{"a", "b"} },
		"attributes": func(r *loci.Record) { r.Attributes = []byte(`{"a": 1}`) },
		"body":       func(r *loci.Record) { r.Body = []byte(`{"b": 2}`) },
		"no slot":    func(r *loci.Record) { r.Slot = "" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, which := range []int{0, 3, 6} { // of seven, which go into statements for 4, 2 and 1
				tn := locitest.Tenant(t, fmt.Sprint(name, which))
				changes := make([]loci.Change, 7)
				for i := range changes {
					changes[i] = creation(loci.NewID())
					changes[i].Put[0].Record.Slot += fmt.Sprint(i)
				}
				have(&changes[which].Put[0].Record)
				for i, err := range postgres.ApplyTogether(s, tn, changes...) {
					if fault := reference.Apply(t.Context(), tn, changes[i]); err != nil || fault != nil {
						t.Fatal(err, fault)
					}
				}
				all := func(s loci.Store) []loci.Record {
					everywhere := loci.Filter{Within: []loci.Namespace{{}}}
					records, _, err := s.Records(t.Context(), tn, everywhere, loci.Page{})
					if err != nil || len(records) != len(changes) {
						t.Fatalf("%d records, %v", len(records), err)
					}
					return records
				}
				if diff := cmp.Diff(all(reference), all(s)); diff != "" {
					t.Errorf("what record %d has (-is given +is read):\n%s", which, diff)
				}
			}
		})
	}
}

// TestColumnsThatAreLeftOutAreNull: what an INSERT leaves out has no value of its own in the table.
func TestColumnsThatAreLeftOutAreNull(t *testing.T) {
	d, giveBack := database(t)
	defer giveBack()
	var null []string
	query(t, d.Super, `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = 'loci' AND is_nullable = 'YES' AND column_default IS NULL`, &null)
	spare := postgres.Spare()
	for _, column := range spare {
		if !slices.Contains(null, column) {
			t.Errorf("an INSERT leaves %s out, which is something without it", column)
		}
	}
	if len(spare) == 0 {
		t.Error("no INSERT leaves anything out")
	}
}

// TestRowsOfATransactionShareItsCounter: the rows that a transaction adds to the list of changes have one parameter
// for the counter, which the database takes in once, and each row has that counter.
func TestRowsOfATransactionShareItsCounter(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s, tn := openAt(t, d.Server), locitest.Tenant(t, "counter")
	if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
		t.Fatal(err)
	}
	var parameters []int
	postgres.Observe(func(sql string, args []any) {
		if seen.LoadOrStore(sql, args); strings.HasPrefix(sql, "INSERT INTO loci.change ") {
			parameters = append(parameters, len(args))
		}
	})
	t.Cleanup(func() { postgres.Observe(watch) })
	c := creation(loci.NewID())
	for range 3 {
		one := creation(loci.NewID())
		c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
	}
	if err := s.Apply(t.Context(), tn, c); err != nil {
		t.Fatal(err)
	}
	if want := []int{2 + 4*4}; !slices.Equal(parameters, want) { // tenant, counter; id, namespace, gone and kind of each
		t.Errorf("the rows have %d parameters, not %d", parameters, want)
	}
	var counts []int64
	query(t, d.Super, "SELECT count(*) FROM loci.change GROUP BY seq ORDER BY seq", &counts)
	if !slices.Equal(counts, []int64{1, 4}) {
		t.Errorf("the counters of two transactions are those of %d changes", counts)
	}
}
