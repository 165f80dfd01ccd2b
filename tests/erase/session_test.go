package erase

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store"
)

// TestClearedSessionsLeaveNoBytes trims a session, lets one trim itself, and clears one with
// its metadata, its id and two summaries. No byte is left of what went, and what stays is still
// there.
func TestClearedSessionsLeaveNoBytes(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	s, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "tenants"), nil)
	if err != nil {
		t.Fatal(err)
	}
	lexical := embedding.NewLexical()
	engine, err := loci.New(s, &loci.Options{Features: locitest.Features(), Embedder: lexical})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := loci.NewTenant("acme")
	if err != nil {
		t.Fatal(err)
	}
	m, err := engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "u"}, Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	say := func(talk string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			raw, err := json.Marshal(map[string]any{"role": "user", "content": text, "extra": "fieldwumpus"})
			check(err)
			message, err := session.ParseMessage(raw)
			check(err)
			_, err = session.Of(m).Append(ctx, talk, []session.Message{message})
			check(err)
		}
	}
	gone := func(when string, secrets ...string) {
		t.Helper()
		var needles [][]byte
		for _, secret := range secrets {
			rows, err := lexical.Embed(ctx, []string{"user: " + secret})
			check(err)
			needles = append(needles, []byte(secret), vector.Quantize(rows[0])[4:])
		}
		if found := left(t, dir, needles); len(found) > 0 {
			t.Errorf("%s: %v", when, found)
		}
	}
	const first, second, third = "Zanzibarquux prefers the wobblefrotz at dawn.", "Finally the snorblethwaite at noon.", "Nobody met the grumplewick at dusk."
	say("trimmed", first, "An ordinary message.")
	_, err = session.Of(m).Create(ctx, session.New{ID: "short", MaxMessages: 1})
	check(err)
	say("short", second)
	_, err = session.Of(m).Create(ctx, session.New{ID: "idglimmerfax", Metadata: json.RawMessage(`{"k":"valuekrill"}`)})
	check(err)
	for i := range 12 {
		say("idglimmerfax", third, fmt.Sprintf("Message %d is about the weather, which is good for the time of the year.", i))
		_, err := session.Of(m).Summarise(ctx, "idglimmerfax", session.SummaryOptions{ContextTokens: 700})
		check(err)
	}
	shown, err := session.Of(m).Session(ctx, "idglimmerfax")
	check(err)
	if shown.Summary == nil || shown.Summary.Epoch < 2 {
		t.Fatalf("summary %+v", shown.Summary)
	}
	found := scan(t, dir, [][]byte{[]byte(first), []byte(second), []byte(third), []byte("valuekrill"), []byte("idglimmerfax")})
	if len(found) < 5 {
		t.Fatalf("before: only %v", found)
	}
	_, err = session.Of(m).Trim(ctx, "trimmed", 1)
	check(err)
	gone("after a trim", first)
	say("short", "What follows.")
	gone("after an append beyond the limit", second)
	_, err = session.Of(m).Clear(ctx, "idglimmerfax")
	check(err)
	gone("after a clear", third, "valuekrill", "idglimmerfax", "grumplewick")
	check(s.Close())
	gone("after the store closed", first, second, third, "valuekrill", "idglimmerfax")
	if found := scan(t, dir, [][]byte{[]byte("An ordinary message."), []byte("What follows.")}); len(found) < 2 {
		t.Errorf("what stays is not found: %v", found)
	}
}

// TestPoppedMessageGoesWithItsSession: the reply to a pop holds the message for the caller whose
// answer was lost, and an erase of the session takes it along.
func TestPoppedMessageGoesWithItsSession(t *testing.T) {
	const secret = "Zanzibarquux prefers the wobblefrotz at dawn."
	for name, erase := range map[string]func(ctx context.Context, m *loci.Memory) error{
		"clear": func(ctx context.Context, m *loci.Memory) error {
			_, err := session.Of(m).Clear(ctx, "talk")
			return err
		},
		"clear all": func(ctx context.Context, m *loci.Memory) error {
			_, err := session.Of(m).ClearAll(ctx)
			return err
		},
		"erase all": func(ctx context.Context, m *loci.Memory) error {
			_, err := m.EraseAll(ctx, loci.EraseQuery{All: true, Expect: 1}, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, ctx := t.TempDir(), t.Context()
			s, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "tenants"), nil)
			if err != nil {
				t.Fatal(err)
			}
			engine := locitest.NewEngine(t, s, loci.Options{})
			m := locitest.Bind(t, engine, "user", "u")
			keyed := locitest.BindView(t, engine, loci.View{Tenant: m.View().Tenant,
				Namespace: loci.Namespace{"user", "u"}, Actor: "a", IdempotencyKey: "k"})
			locitest.AppendTo(t, m, "talk", locitest.Spoken(session.MessageHuman, secret))
			for range 2 { // the second is answered with the first one's reply
				if got, err := session.Of(keyed).Pop(ctx, "talk"); err != nil || got.Message == nil ||
					got.Message.Text() != secret {
					t.Fatalf("popped %+v, %v", got, err)
				}
			}
			if found := scan(t, dir, [][]byte{[]byte(secret)}); len(found) == 0 {
				t.Fatal("the scan does not see the reply")
			}
			if err := erase(ctx, m); err != nil {
				t.Fatal(err)
			}
			if found := left(t, dir, [][]byte{[]byte(secret)}); len(found) > 0 {
				t.Errorf("still there: %v", found)
			}
			if got, err := session.Of(keyed).Pop(ctx, "talk"); loci.AsError(err).Code != loci.NotFound {
				t.Errorf("answered again: %+v, %v", got, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
