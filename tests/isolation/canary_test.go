// Package isolation looks for a way from one user to another, and from one tenant
// to another, through every method of the library.
package isolation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
)

// canary is in everything the victim stores. Lower case, so that it also stands in tags.
const canary = "canaryqzxv"

// payloads are what an attacker sends wherever a text is taken.
var payloads = []string{
	"", " ", "*", "%", "_", "?", "canary%", "%qzxv", "canaryqzxv",
	"' OR '1'='1", "'; DROP TABLE record; --", `" OR ""="`, "x' UNION SELECT text FROM record --", "1; SELECT * FROM record", "\\'", "NULL",
	"$ne", "$gt", `{"$ne":null}`, "$.content", "content", "[*]", "a.b.c",
	"victim", "VICTIM", "Victim", "victim/", "victim%", "victim\u200b", "vi\u0441tim", "ｖｉｃｔｉｍ", "victim ", " victim", "victim\x01",
	"user/victim", "user\x00victim", "user%2Fvictim", "user%00victim", "../victim", "..", "./../user/victim", "/", "//",
	"{user_id}", "{org_id}", "tenant:home", "tenant:*", "namespace:victim", "key:victim-key", "text NEAR canaryqzxv", "canary*", "NOT x", "AND OR",
	"e\u0301", "é", "\u202e", "😀", "\ufeff", "\r\nvictim", "\x1b[2J", "\x00", strings.Repeat("canaryqzxv ", 100), strings.Repeat("v", 300), strings.Repeat("%", 200),
}

// A scene is a victim's memory and what names things in it.
type scene struct {
	engine *loci.Engine
	log    *bytes.Buffer
	victim *loci.Memory
	ids    []loci.ID
	files  []loci.ID // they are not memories: their ids alone lead nowhere
	cursor []string
}

func setUp(t *testing.T, s loci.Store) *scene {
	t.Helper()
	sc := &scene{log: &bytes.Buffer{}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	engine, err := loci.New(s, &loci.Options{
		Features: locitest.Features(),
		Embedder: embedding.NewLexical(),
		Now:      func() time.Time { return at },
		Logger:   slog.New(slog.NewTextHandler(sc.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	sc.engine = engine
	sc.victim = sc.bind(t, "home", loci.Namespace{"user", "victim"}, canary+"-key")
	keep := func(stored loci.Stored, err error) {
		if err != nil {
			t.Fatal(err)
		}
		sc.ids = append(sc.ids, stored.ID)
	}
	open := sc.bind(t, "home", loci.Namespace{"user", "victim"}, "")
	keep(sc.victim.StoreFact(t.Context(), loci.NewFact{Content: "keyed " + canary}))
	for i := range 3 {
		keep(open.StoreFact(t.Context(), loci.NewFact{
			Content:  fmt.Sprint("note ", i, " ", canary),
			Tags:     []string{canary},
			Metadata: map[string]any{canary: canary},
		}))
		keep(open.StoreFact(t.Context(), loci.NewFact{
			Content:   fmt.Sprint(i, " ", canary),
			Subject:   canary,
			Predicate: canary,
		}))
	}
	if _, err := open.ReviseFact(t.Context(), sc.ids[0],
		loci.FactRevision{Content: &[]string{canary + " revised"}[0]}); err != nil {
		t.Fatal(err)
	}
	rule, err := open.StoreRule(t.Context(), loci.NewRule{Content: "rule " + canary, Scope: canary})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.MarkHarmful(t.Context(), rule, canary); err != nil {
		t.Fatal(err)
	}
	episode, err := open.StoreEpisode(t.Context(), loci.NewEpisode{Content: "episode " + canary, Butler: canary, Session: canary})
	if err != nil {
		t.Fatal(err)
	}
	if err := open.Link(t.Context(), rule, loci.LinkDerivedFrom, episode); err != nil {
		t.Fatal(err)
	}
	sc.ids = append(sc.ids, rule, episode)
	value := json.RawMessage(`{"` + canary + `":"` + canary + `","a":{"b":{"c":1}}}`)
	if err := item.Of(open).Put(t.Context(), loci.Namespace{"user", "victim", canary},
		canary, value, &item.PutOptions{TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := storeSession(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	for _, match := range must(
		open.Search(t.Context(), loci.Query{Kinds: []loci.Kind{session.Kind, session.KindMessage}})).Matches {
		sc.ids = append(sc.ids, match.Record.ID)
	}
	for _, thread := range []string{"", "victim"} {
		filed, err := tree.Of(open, "", thread)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"words of the file ", "more words "} {
			file, err := filed.Append(t.Context(), "/"+canary+"/"+canary, line+canary)
			if err != nil {
				t.Fatal(err)
			}
			sc.files = append(sc.files, file.ID)
		}
	}
	kept := checkpoint.Checkpoint{
		Thread:    canary,
		Namespace: canary,
		ID:        canary,
		State:     checkpoint.Typed{Type: "json", Data: []byte(canary)},
		Metadata:  json.RawMessage(`{"run_id":"` + canary + `","note":"note 0 ` + canary + `"}`),
		Versions:  map[string]string{canary: "1"},
		Values:    map[string]checkpoint.Typed{canary: {Type: "json", Data: []byte(canary)}},
	}
	if err := checkpoint.Of(open).Put(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Of(open).PutWrites(t.Context(), canary, canary, canary, []checkpoint.Write{{
		Task:    canary,
		Channel: canary,
		Value:   kept.State,
	}}); err != nil {
		t.Fatal(err)
	}
	_, next, err := open.Facts(t.Context(), loci.FactQuery{History: true}, loci.Page{Limit: 2})
	if err != nil || next == "" {
		t.Fatal(next, err)
	}
	sc.cursor = append(sc.cursor, next)
	_, next, err = open.Events(t.Context(), loci.EventFilter{}, loci.Page{Limit: 2})
	if err != nil || next == "" {
		t.Fatal(next, err)
	}
	sc.cursor = append(sc.cursor, next)
	return sc
}

func (sc *scene) bind(t *testing.T, tenant string, n loci.Namespace, key string) *loci.Memory {
	t.Helper()
	tn, err := loci.NewTenant(tenant)
	if err != nil {
		t.Fatal(err)
	}
	m, err := sc.engine.Memory(loci.View{Tenant: tn, Namespace: n, Actor: "same actor", IdempotencyKey: key})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestNoCanaryCrosses lets attackers with every payload, as another user and as
// the same user of another tenant, call everything there is.
func TestNoCanaryCrosses(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		sc := setUp(t, s)
		before := export(t, sc.victim)
		attack := func(tenant string, n loci.Namespace, sent string, write bool) {
			p := &probe{t: t, sc: sc, m: sc.bind(t, tenant, n, ""), sent: sent, alone: tenant != "home"}
			if write {
				p.write(t.Context())
			}
			p.read(t.Context())
		}
		for i, sent := range payloads {
			if !meets(t, i) {
				continue
			}
			attack("home", loci.Namespace{"user", "attacker"}, sent, true)
			attack("away", loci.Namespace{"user", "victim"}, sent, i%4 == 0)
			tn, err := loci.NewTenant("home")
			if err != nil {
				t.Fatal(err)
			}
			if n := (loci.Namespace{"user", sent}); n.Validate() == nil && sent != "victim" {
				attack("home", n, sent, i%4 == 1)
			} else if _, err := sc.engine.Memory(loci.View{Tenant: tn, Namespace: n, Actor: "x"}); err == nil && sent != "victim" {
				t.Errorf("user %q is accepted", sent)
			}
		}
		if after := export(t, sc.victim); after != before {
			t.Errorf("the victim's memory changed:\n%s\n---\n%s", before, after)
		}
		sc.unused(t)
		if strings.Contains(sc.log.String(), canary) {
			t.Errorf("the log shows content: %s", sc.log)
		}
	})
}

// unused checks that no use of the victim's memories was counted, which an export
// does not show.
func (sc *scene) unused(t *testing.T) {
	t.Helper()
	time.Sleep(100 * time.Millisecond) // uses are counted off the read path
	for _, id := range sc.ids {
		f, _ := sc.victim.Fact(t.Context(), id)
		r, _ := sc.victim.Rule(t.Context(), id)
		e, _ := sc.victim.Episode(t.Context(), id)
		if f.Uses+r.Uses+e.Uses != 0 {
			t.Errorf("a use of the victim's %s was counted", id)
		}
	}
}

// TestTheCanaryIsThere is the control: the same probe as the victim finds it.
func TestTheCanaryIsThere(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		sc := setUp(t, s)
		if n := strings.Count(export(t, sc.victim), canary); n < 20 {
			t.Errorf("the victim's export has the canary %d times", n)
		}
		r, err := sc.victim.Search(t.Context(), loci.Query{Text: "note"})
		if err != nil || len(r.Matches) == 0 {
			t.Errorf("the victim finds %d, %v", len(r.Matches), err)
		}
	})
}
