package session_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// TestUpdateSession: what is given changes, and the rest stays. A change is no
// activity, and a new timeout counts from the last one.
func TestUpdateSession(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: func() time.Time { return now }}), "u")
		made, err := session.Of(m).Create(t.Context(), session.New{ID: "a", Metadata: json.RawMessage(`{"a":1}`), MaxMessages: 5})
		if err != nil {
			t.Fatal(err)
		}
		locitest.AppendTo(t, m, "a", locitest.Spoken(session.MessageHuman, "one"), locitest.Spoken(session.MessageAI, "two"))
		now = now.Add(time.Hour)
		for _, c := range []struct {
			change            session.Change
			metadata          string
			most              int
			timeout           int64
			status            session.Status
			code              loci.Code
			message           string
			eventsOfThisWrite int
		}{
			{
				change:            session.Change{Metadata: raw(`{"b": 12345678901234567890}`)},
				metadata:          `{"b":12345678901234567890}`,
				most:              5,
				status:            session.Active,
				eventsOfThisWrite: 1,
			},
			{
				change:            session.Change{MaxMessages: new(1)},
				metadata:          `{"b":12345678901234567890}`,
				most:              1,
				status:            session.Active,
				eventsOfThisWrite: 1,
			},
			{change: session.Change{MaxMessages: new(1)}, metadata: `{"b":12345678901234567890}`, most: 1, status: session.Active},
			{
				change:            session.Change{TimeoutSeconds: new(int64(60)), Metadata: raw(`null`)},
				most:              1,
				timeout:           60,
				status:            session.Expired,
				eventsOfThisWrite: 1,
			},
			{
				change:            session.Change{TimeoutSeconds: new(int64(7200))},
				most:              1,
				timeout:           7200,
				status:            session.Active,
				eventsOfThisWrite: 1,
			},
			{change: session.Change{}, code: loci.Invalid, message: "nothing to change"},
			{change: session.Change{MaxMessages: new(-1)}, code: loci.Invalid, message: "max_messages is -1"},
			{change: session.Change{TimeoutSeconds: new(int64(-1))}, code: loci.Invalid, message: "timeout_seconds is -1"},
			{change: session.Change{Metadata: raw(`[]`)}, code: loci.Invalid, message: "metadata"},
		} {
			before := updates(t, m)
			got, err := session.Of(m).Update(t.Context(), "a", c.change)
			if c.code != "" {
				if e := loci.AsError(err); e == nil || e.Code != c.code || !strings.Contains(e.Msg, c.message) {
					t.Errorf("%+v: %v", c.change, err)
				}
				continue
			}
			if err != nil || string(got.Metadata) != c.metadata || got.MaxMessages != c.most ||
				got.TimeoutSeconds != c.timeout || got.Status != c.status ||
				!got.UpdatedAt.Equal(made.UpdatedAt) || got.Messages != 2 {
				t.Errorf("%+v: %+v, %v", c.change, got, err)
			}
			if n := updates(t, m) - before; n != c.eventsOfThisWrite {
				t.Errorf("%+v: %d events", c.change, n)
			}
			if there := ofRecord(t, m, "a"); string(there.Metadata) != c.metadata || there.Status != c.status {
				t.Errorf("%+v is not stored: %+v", c.change, there)
			}
		}
		if _, err := session.Of(m).Update(t.Context(), "b",
			session.Change{MaxMessages: new(1)}); loci.AsError(err).Code != loci.NotFound {
			t.Errorf("no session: %v", err)
		}
		done := locitest.AppendTo(t, m, "a", locitest.Spoken(session.MessageHuman, "three"))
		if done.Messages != 1 || done.Trimmed != 2 {
			t.Errorf("the next append does not trim: %+v", done)
		}
	})
}

func raw(text string) *json.RawMessage { return new(json.RawMessage(text)) }

// updates counts the events of changes.
func updates(t *testing.T, m *loci.Memory) int {
	t.Helper()
	events, _, err := m.Events(t.Context(),
		loci.EventFilter{Types: []loci.EventType{loci.EventUpdated}}, loci.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return len(events)
}
