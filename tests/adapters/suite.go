package adapters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
)

// Run is the test.
func Run(t *testing.T, a Adapter) {
	t.Run("conversation", func(t *testing.T) { a.conversation(t) })
	t.Run("window", func(t *testing.T) { a.window(t) })
	t.Run("writers", func(t *testing.T) { a.writers(t) })
	t.Run("users", func(t *testing.T) { a.users(t) })
	t.Run("search", func(t *testing.T) { a.search(t) })
	t.Run("mistakes", func(t *testing.T) { a.mistakes(t) })
	t.Run("failure", func(t *testing.T) { a.failure(t) })
}

func (a Adapter) history(t *testing.T, m *loci.Memory, id string, o *Options) History {
	t.Helper()
	return Must[History](t)(a.NewHistory(m, id, o))
}

var strict = &Options{Strict: true}

// conversation: what is appended in one process is read in another, and stands in the
// session as every other client reads it.
func (a Adapter) conversation(t *testing.T) {
	ctx, path := t.Context(), t.TempDir()+"/loci.db"
	said := []Message{{Role: "system", Text: "Be brief."}, {Role: "user", Text: "<b>Grüße & \"more\"</b>\n"},
		{Role: "assistant", Text: "Let me see.", Tool: "seat"}, {Role: "tool", Text: "12A"}, {Role: "assistant", Text: "12A."}}
	first := Open(t, path, nil)
	h := a.history(t, first.Of(t, "alice"), "trip", strict)
	if got := Must[[]Message](t)(h.Messages(ctx)); len(got) != 0 || h.Session() != "trip" {
		t.Errorf("session %q begins with %v", h.Session(), got)
	}
	for _, part := range [][]Message{said[:2], said[2:]} {
		if err := h.Append(ctx, part...); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	m := Open(t, path, nil).Of(t, "alice")
	if got := Must[[]Message](t)(a.history(t, m, "trip", nil).Messages(ctx)); !slices.Equal(got, said) {
		t.Errorf("came back %+v", got)
	}
	want := []string{"system Be brief.", "human " + said[1].Text, "ai Let me see.\nseat: row: 12", "tool 12A", "ai 12A."}
	var stored []string
	for _, one := range Must[session.History](t)(session.Of(m).History(ctx, "trip", session.HistoryQuery{})).Messages {
		stored = append(stored, string(one.Type)+" "+one.Text())
	}
	if !slices.Equal(stored, want) {
		t.Errorf("stored %q, want %q", stored, want)
	}
	h = a.history(t, m, "trip", strict)
	for range 2 { // what is not there is erased, too
		if err := h.Clear(ctx); err != nil || len(Must[[]Message](t)(h.Messages(ctx))) != 0 {
			t.Errorf("erased: %v", err)
		}
	}
	if _, err := session.Of(m).Session(ctx, "trip"); !errors.Is(err, loci.ErrNotFound) {
		t.Errorf("the session that was erased: %v", err)
	}
	one, other := a.history(t, m, "", nil), a.history(t, m, "", nil)
	if _, err := loci.ParseID(one.Session()); err != nil || one.Session() == other.Session() {
		t.Errorf("new sessions are %q and %q", one.Session(), other.Session())
	}
}

// window: without Last every page comes; with it no result of a tool comes first.
func (a Adapter) window(t *testing.T) {
	ctx, m := t.Context(), Open(t, "", nil).Of(t, "alice")
	all := a.history(t, m, "long", strict)
	var said []Message
	for i := range 1199 {
		said = append(said, Message{Role: "user", Text: fmt.Sprint(i)})
	}
	said = append(said, Message{Role: "assistant", Tool: "seat"}, Message{Role: "tool", Text: "12A"}, Message{Role: "assistant", Text: "Done."})
	for part := range slices.Chunk(said, 1000) {
		if err := all.Append(ctx, part...); err != nil {
			t.Fatal(err)
		}
	}
	if got := Must[[]Message](t)(all.Messages(ctx)); !slices.Equal(got, said) {
		t.Errorf("%d of %d messages", len(got), len(said))
	}
	for last, want := range map[int]int{1: 1, 2: 1, 3: 3, 1000: 1000} {
		got := Must[[]Message](t)(a.history(t, m, "long", &Options{Strict: true, Last: last}).Messages(ctx))
		if !slices.Equal(got, said[len(said)-want:]) {
			t.Errorf("the last %d are %d messages", last, len(got))
		}
	}
}

// writers: nothing that several append to one session is lost.
func (a Adapter) writers(t *testing.T) {
	const writers, each = 6, 5
	m := Open(t, "", nil).Of(t, "alice")
	var wait sync.WaitGroup
	for w := range writers {
		h := a.history(t, m, "shared", strict)
		wait.Go(func() {
			for i := range each {
				if err := h.Append(t.Context(), Message{Role: "user", Text: fmt.Sprint(w, " ", i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	got := map[string]bool{}
	for _, one := range Must[[]Message](t)(a.history(t, m, "shared", strict).Messages(t.Context())) {
		got[one.Text] = true
	}
	if len(got) != writers*each {
		t.Errorf("%d messages of %d", len(got), writers*each)
	}
}

// users: a session and a search are those of who asks, in each call.
func (a Adapter) users(t *testing.T) {
	f := Open(t, "", nil)
	for _, user := range []string{"alice", "bob"} {
		m := f.Of(t, user)
		Must[loci.Stored](t)(m.StoreFact(t.Context(), loci.NewFact{Content: "The seat of " + user + "."}))
		if err := a.history(t, m, "trip", strict).Append(t.Context(), Message{Role: "user", Text: "I am " + user + "."}); err != nil {
			t.Fatal(err)
		}
	}
	for _, user := range []string{"alice", "bob", "alice"} {
		got := Must[[]Message](t)(a.history(t, f.Of(t, user), "trip", strict).Messages(t.Context()))
		if len(got) != 1 || got[0].Text != "I am "+user+"." {
			t.Errorf("%s reads %v", user, got)
		}
		docs := Must[[]Document](t)(a.Retrieve(as(t, user), f.handle(t), loci.Query{}, strict, "seat"))
		if len(docs) != 1 || docs[0].Text != "The seat of "+user+"." {
			t.Errorf("%s finds %+v", user, docs)
		}
	}
	if a.OneMemory {
		return
	}
	var seen []Outcome
	o := &Options{
		Logger: slog.New(slog.DiscardHandler),
		Report: func(_ context.Context, o Outcome) { seen = append(seen, o) },
	}
	docs, err := a.Retrieve(t.Context(), f.handle(t), loci.Query{}, o, "seat")
	if docs == nil || len(docs) != 0 || err != nil || len(seen) != 1 || seen[0].Op != "retrieve" || seen[0].Err == nil {
		t.Errorf("nobody finds %v, %v, %+v", docs, err, seen)
	}
	if docs, err := a.Retrieve(t.Context(), f.handle(t), loci.Query{}, strict, "seat"); err == nil {
		t.Errorf("strict: nobody finds %v", docs)
	}
}

// search: documents say the same in each framework.
func (a Adapter) search(t *testing.T) {
	ctx, f := as(t, "alice"), Open(t, "", nil)
	m := f.Of(t, "alice")
	favourite := Must[loci.Stored](t)(m.StoreFact(ctx, loci.NewFact{Content: "Window.", Subject: "alice", Predicate: "favourite seat",
		Metadata: map[string]any{"year": 2024, "kind": "mine"}, Tags: []string{"travel"}}))
	Must[loci.Stored](t)(m.StoreFact(ctx, loci.NewFact{Content: "Her cat sleeps on a seat by the fire, all day and all night."}))
	Must[loci.ID](t)(m.StoreEpisode(ctx, loci.NewEpisode{Content: "She asked about a seat.", Butler: "b"}))
	find := func(q loci.Query, text string) []Document {
		t.Helper()
		return Must[[]Document](t)(a.Retrieve(ctx, f.handle(t), q, strict, text))
	}
	docs := find(loci.Query{}, "favourite seat")
	if len(docs) != 2 {
		t.Fatalf("found %+v", docs)
	}
	fact := Must[loci.Fact](t)(m.Fact(ctx, favourite.ID))
	best := docs[0]
	if best.ID != favourite.ID.String() || best.Text != "alice favourite seat: Window." || best.Kind != "fact" ||
		!best.CreatedAt.Equal(fact.CreatedAt) || !reflect.DeepEqual(best.Metadata, map[string]any{"year": 2024.0}) {
		t.Errorf("best is %+v", best)
	}
	if cat := docs[1]; !strings.HasPrefix(cat.Text, "Her cat") || best.Score > 1 || cat.Score < 0 || best.Score <= cat.Score {
		t.Errorf("scores %v of %q, %v of %q", best.Score, best.Text, cat.Score, cat.Text)
	}
	for _, c := range []struct {
		q    loci.Query
		text string
		want int
	}{
		{loci.Query{Limit: 1}, "seat", 1}, {loci.Query{Tags: []string{"travel"}}, "seat", 1},
		{loci.Query{}, " \n", 0}, {loci.Query{}, "", 0},
		{loci.Query{Kinds: []loci.Kind{loci.KindEpisode}}, "seat", 1},
		{loci.Query{Kinds: []loci.Kind{loci.KindFact, loci.KindEpisode}}, "seat", 3},
	} {
		if got := find(c.q, c.text); got == nil || len(got) != c.want {
			t.Errorf("%+v %q finds %d, want %d", c.q, c.text, len(got), c.want)
		}
	}
}

// mistakes of a program are errors, in the same words, whatever Strict says.
func (a Adapter) mistakes(t *testing.T) {
	ctx, m := t.Context(), Open(t, "", nil).Of(t, "alice")
	for _, c := range []struct {
		m    *loci.Memory
		last int
		want string
	}{{nil, 0, "memory must not be nil: get one from loci.Engine.Memory"}, {m, -1, "last is -1; it must be 0 to 1000, where 0 is all"},
		{m, 1001, "last is 1001; it must be 0 to 1000, where 0 is all"}} {
		_, err := a.NewHistory(c.m, "s", &Options{Last: c.last})
		if !errors.Is(err, loci.ErrInvalid) || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	h := a.history(t, m, "s", strict)
	err := h.Append(ctx, Message{Role: "user", Text: "fine"}, Message{})
	if !errors.Is(err, loci.ErrInvalid) || !strings.HasPrefix(err.Error(), "messages[1]: ") {
		t.Errorf("a bad message: %v", err)
	}
	if got := Must[[]Message](t)(h.Messages(ctx)); len(got) != 0 {
		t.Errorf("half of a batch was stored: %v", got)
	}
}

// failure: without Strict a query goes on when the memory fails, and the operator is
// told. An erase that did not happen is always an error.
func (a Adapter) failure(t *testing.T) {
	for _, isStrict := range []bool{false, true} {
		ctx, f := as(t, "alice"), Open(t, "", nil)
		var seen []Outcome
		var logged bytes.Buffer
		o := &Options{Strict: isStrict, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
			Report: func(_ context.Context, o Outcome) { seen = append(seen, o) }}
		h := a.history(t, f.Of(t, "alice"), "trip", o)
		err := h.Append(ctx, Message{Role: "user", Text: "a secret"})
		if err != nil || !reflect.DeepEqual(seen, []Outcome{{Op: "append", Session: "trip", Stored: true}}) {
			t.Errorf("append: %v, %+v", err, seen)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		seen = nil
		failed := h.Append(ctx, Message{Role: "user", Text: "a secret"})
		messages, unread := h.Messages(ctx)
		docs, unfound := a.Retrieve(ctx, f.handle(t), loci.Query{}, o, "a secret")
		if messages == nil && !isStrict || len(messages)+len(docs) != 0 || docs == nil && !isStrict {
			t.Errorf("strict %v: a store that is gone gives %v and %v", isStrict, messages, docs)
		}
		toldOfFailures(t, isStrict, seen, failed, unread, unfound)
		if err := h.Clear(ctx); !errors.Is(err, loci.ErrUnavailable) {
			t.Errorf("an erase that failed gives %v", err)
		}
		warnings := 3
		if isStrict {
			warnings = 0
		}
		if text := logged.String(); strings.Count(text, "level=WARN") != warnings || strings.Contains(text, "secret") {
			t.Errorf("strict %v: logged %s", isStrict, text)
		}
	}
}

// toldOfFailures looks at what an append, a load and a retrieval in a store that is gone
// return, and at what the operator was told of them.
func toldOfFailures(t *testing.T, isStrict bool, seen []Outcome, failures ...error) {
	t.Helper()
	want := []Outcome{{Op: "append", Session: "trip"}, {Op: "load", Session: "trip"}, {Op: "retrieve"}}
	for i, err := range failures {
		if isStrict != errors.Is(err, loci.ErrUnavailable) || (err == nil) == isStrict {
			t.Errorf("strict %v: %s gives %v", isStrict, want[i].Op, err)
		}
		if i < len(seen) && errors.Is(seen[i].Err, loci.ErrUnavailable) {
			seen[i].Err = nil
		} else {
			t.Errorf("strict %v: outcome %d of %+v is not that the store is gone", isStrict, i, seen)
		}
		if i < len(seen) && seen[i] != want[i] {
			t.Errorf("strict %v: told %+v, want %+v", isStrict, seen, want)
		}
	}
}
