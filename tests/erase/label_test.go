package erase

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/tree"
)

// names are labels of namespaces that say who or what these are about.
var names = []string{
	"customers-quorblix",
	"ada.zimblefrotz@example.com",
	"shelf-grumplewick",
	"book-snorblethwaite",
	"thread-glimmerfax",
}

// full uses every kind of memory in namespaces of these names.
func full(ctx context.Context, e *loci.Engine, tenant loci.Tenant) (err error) {
	place := loci.Namespace{names[0], names[1]}
	n := 0
	m := func() *loci.Memory { // each write with a remembered reply
		n++
		bound, bindErr := e.Memory(
			loci.View{Tenant: tenant, Namespace: place, Actor: "test", IdempotencyKey: strings.Repeat("k", n)},
		)
		if bindErr != nil {
			panic(bindErr)
		}
		return bound
	}
	check := func(failure error) {
		if err == nil {
			err = failure
		}
	}
	first, failure := m().StoreFact(ctx, loci.NewFact{Content: "The first."})
	check(failure)
	second, failure := m().StoreFact(ctx, loci.NewFact{Content: "The second.", Subject: "x", Predicate: "y"})
	check(failure)
	text := "The first, corrected."
	_, failure = m().ReviseFact(ctx, first.ID, loci.FactRevision{Content: &text})
	check(failure)
	check(m().Link(ctx, first.ID, loci.LinkSupports, second.ID))
	rule, failure := m().StoreRule(ctx, loci.NewRule{Content: "A rule."})
	check(failure)
	_, failure = m().MarkHelpful(ctx, rule)
	check(failure)
	_, failure = m().StoreEpisode(ctx, loci.NewEpisode{Content: "An episode.", Butler: "b", Session: "s"})
	check(failure)
	message, failure := session.ParseMessage([]byte(`{"role":"user","content":"A word."}`))
	check(failure)
	_, failure = session.Of(m()).Create(ctx, session.New{ID: "s"})
	check(failure)
	_, failure = session.Of(m()).Append(ctx, "s", []session.Message{message, message})
	check(failure)
	_, failure = session.Of(m()).Trim(ctx, "s", 1)
	check(failure)
	shelf := loci.Namespace{names[0], strings.ReplaceAll(names[1], ".", " "), names[2]}
	above, failure := e.Memory(loci.View{Tenant: tenant, Namespace: place[:1], Actor: "test", IdempotencyKey: "above"})
	check(failure)
	check(item.Of(above).Put(ctx, shelf, "k", json.RawMessage(`{"a":1}`), nil))
	for _, thread := range []string{"", names[4]} {
		files, failure := tree.Of(m(), names[3], thread)
		check(failure)
		_, failure = files.Append(ctx, "/a", "One line.")
		check(failure)
	}
	check(checkpoint.Of(m()).Put(ctx, checkpoint.Checkpoint{
		Thread:   names[4],
		ID:       "1",
		State:    checkpoint.Typed{Type: "json", Data: []byte(`{}`)},
		Metadata: json.RawMessage(`{}`),
	}))
	return err
}

// TestLabelsLeaveNoBytes fills namespaces whose labels name somebody, erases what is in them in
// every way there is, and reads every byte that is left: no label is among them. Other
// namespaces keep their labels; they are the control.
func TestLabelsLeaveNoBytes(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	s, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "tenants"), nil)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := loci.New(s, &loci.Options{Features: locitest.Features(), Embedder: embedding.NewLexical()})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := loci.NewTenant("acme")
	if err != nil {
		t.Fatal(err)
	}
	handle := func(labels ...string) *loci.Memory {
		m, err := engine.Memory(loci.View{Tenant: tenant, Namespace: labels, Actor: "test"})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	other := handle("kept-wumpus", "label-krill")
	if _, err := other.StoreFact(ctx, loci.NewFact{Content: "It stays."}); err != nil {
		t.Fatal(err)
	}
	var needles [][]byte
	for _, name := range append(names, strings.ReplaceAll(names[1], ".", " ")) {
		needles = append(needles, []byte(name))
	}
	for _, way := range []string{"at once", "by kind", "from the top"} {
		if err := full(ctx, engine, tenant); err != nil {
			t.Fatal(way, err)
		}
		if found := scan(t, dir, needles); len(found) < len(needles) {
			t.Fatalf("%s: before, only %v", way, found)
		}
		m := handle(names[0])
		if way == "from the top" {
			if _, err := other.StoreFact(ctx, loci.NewFact{Content: "It goes with all."}); err != nil {
				t.Fatal(err)
			}
			m = handle()
		}
		queries := []loci.EraseQuery{{All: true}}
		if way == "by kind" {
			queries = append(
				[]loci.EraseQuery{
					{Kinds: []loci.Kind{loci.KindFact, loci.KindRule}},
					{Kinds: []loci.Kind{session.Kind}},
				},
				queries...)
		}
		for _, q := range queries {
			if q.Expect, err = m.CountErase(ctx, q); err == nil {
				_, err = m.EraseAll(ctx, q, nil)
			}
			if err != nil {
				t.Fatal(way, err)
			}
		}
		if found := left(t, dir, needles); len(found) > 0 {
			t.Errorf("%s: %v", way, found)
		}
		control := scan(t, dir, [][]byte{[]byte("kept-wumpus"), []byte("label-krill")})
		if want := map[bool]int{true: 0, false: 2}[way == "from the top"]; len(control) < want ||
			want == 0 && len(control) > 0 {
			t.Errorf("%s: what stays is found as %v", way, control)
		}
		// Neither a use without a record nor a read brings anything back.
		for _, labels := range [][]string{{names[0]}, {names[0], names[1]}} {
			if _, err := handle(labels...).Search(ctx, loci.Query{Text: "first"}); err != nil {
				t.Fatal(err)
			}
			if events, _, err := handle(
				labels...).Events(ctx, loci.EventFilter{}, loci.Page{}); err != nil ||
				len(events) == 0 {
				t.Errorf("%s: a caller that knows the name reads %d events, %v", way, len(events), err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found := left(t, dir, needles); len(found) > 0 {
		t.Errorf("after the store closed: %v", found)
	}
}

// TestLabelsLeaveNoEvent does the same in every store, and reads the whole log.
func TestLabelsLeaveNoEvent(t *testing.T) {
	for _, url := range []string{"memory:", "sqlite:" + filepath.Join(t.TempDir(), "x")} {
		ctx := context.Background()
		s, err := store.Open(ctx, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		engine, err := loci.New(s, &loci.Options{Features: locitest.Features()})
		if err != nil {
			t.Fatal(err)
		}
		tenant, err := loci.NewTenant("acme")
		if err != nil {
			t.Fatal(err)
		}
		if err := full(ctx, engine, tenant); err != nil {
			t.Fatal(err)
		}
		log := func() string {
			events, _, err := s.Events(
				ctx,
				tenant,
				loci.EventFilter{Within: []loci.Namespace{{}}},
				loci.Page{Limit: 1000},
			)
			if err != nil || len(events) < 10 {
				t.Fatal(len(events), err)
			}
			data, err := json.Marshal(events)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		if !strings.Contains(log(), names[1]) {
			t.Error("the log does not name what is there")
		}
		m, err := engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{names[0]}, Actor: "test"})
		if err != nil {
			t.Fatal(err)
		}
		q := loci.EraseQuery{All: true}
		if q.Expect, err = m.CountErase(ctx, q); err == nil {
			_, err = m.EraseAll(ctx, q, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.Contains(log(), name) {
				t.Errorf("%s: the log names %s", url, name)
			}
		}
		report, err := engine.VerifyEvents(ctx, tenant, loci.Hash{})
		if err != nil || len(report.Problems) > 0 || report.Emptied == 0 {
			t.Errorf("%s: %+v, %v", url, report, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
