// Package isolation looks for a way from one user to another, and from one tenant
// to another, through every method of the library.
package isolation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
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
	"github.com/loci-memory/loci/view"
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
	files  []loci.ID // which are no memories: their ids lead nowhere by themselves
	cursor []string
}

func setUp(t *testing.T, s loci.Store) *scene {
	t.Helper()
	sc := &scene{log: &bytes.Buffer{}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	engine, err := loci.New(s, &loci.Options{Features: locitest.Features(), Embedder: embedding.NewLexical(), Now: func() time.Time { return at },
		Logger: slog.New(slog.NewTextHandler(sc.log, nil))})
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
		keep(open.StoreFact(t.Context(), loci.NewFact{Content: fmt.Sprint("note ", i, " ", canary), Tags: []string{canary}, Metadata: map[string]any{canary: canary}}))
		keep(open.StoreFact(t.Context(), loci.NewFact{Content: fmt.Sprint(i, " ", canary), Subject: canary, Predicate: canary}))
	}
	if _, err := open.ReviseFact(t.Context(), sc.ids[0], loci.FactRevision{Content: &[]string{canary + " revised"}[0]}); err != nil {
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
	if err := item.Of(open).Put(t.Context(), loci.Namespace{"user", "victim", canary}, canary, value, &item.PutOptions{TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := storeSession(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	for _, match := range must(open.Search(t.Context(), loci.Query{Kinds: []loci.Kind{session.Kind, session.KindMessage}})).Matches {
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
	kept := checkpoint.Checkpoint{Thread: canary, Namespace: canary, ID: canary, State: checkpoint.Typed{Type: "json", Data: []byte(canary)},
		Metadata: json.RawMessage(`{"run_id":"` + canary + `","note":"note 0 ` + canary + `"}`), Versions: map[string]string{canary: "1"},
		Values: map[string]checkpoint.Typed{canary: {Type: "json", Data: []byte(canary)}}}
	if err := checkpoint.Of(open).Put(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Of(open).PutWrites(t.Context(), canary, canary, canary, []checkpoint.Write{{Task: canary, Channel: canary, Value: kept.State}}); err != nil {
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

// A probe collects all that one attacker gets to see. What he sent himself is
// taken out before the search, so that an echo is no finding.
type probe struct {
	t    *testing.T
	sc   *scene
	m    *loci.Memory
	sent string

	alone bool // in a tenant of his own
}

func (p *probe) check(method string, reply any, err error) {
	p.t.Helper()
	data, jsonErr := json.Marshal(reply)
	if jsonErr != nil {
		p.t.Errorf("%s: reply is not JSON: %v", method, jsonErr)
	}
	seen := string(data)
	for e := err; e != nil; {
		seen += " " + e.Error()
		u, ok := e.(interface{ Unwrap() error })
		if !ok {
			break
		}
		e = u.Unwrap()
	}
	if p.sent != "" && strings.Contains(p.sent, canary) {
		return // what names the canary gets its own words back; the ids below still count
	}
	if strings.Contains(strings.ToLower(seen), canary) {
		p.t.Errorf("%s with %.40q shows %s", method, p.sent, seen)
	}
}

// checkIDs refuses any id of the victim's in a reply.
func (p *probe) checkIDs(method string, reply any) {
	p.t.Helper()
	data, err := json.Marshal(reply)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, id := range slices.Concat(p.sc.ids, p.sc.files) {
		if bytes.Contains(data, []byte(id.String())) {
			p.t.Errorf("%s with %.40q shows id %s", method, p.sent, id)
		}
	}
}

// read calls everything that reads.
func (p *probe) read(ctx context.Context) {
	m, it := p.m, item.Of(p.m)
	where, err := loci.ParseWhere(map[string]any{p.sent: p.sent})
	p.check("ParseWhere", nil, err)
	for _, q := range []loci.Query{{Text: p.sent}, {Text: p.sent, Mode: loci.Keyword}, {Text: p.sent, Mode: loci.Semantic}, {Where: where},
		{Tags: []string{p.sent}}, {Text: "note", Where: where}, {Kinds: []loci.Kind{loci.Kind(p.sent)}}} {
		r, err := m.Search(ctx, q)
		p.check("Search", r, err)
		p.checkIDs("Search", r)
	}
	for _, cursor := range append([]string{"", p.sent}, p.sc.cursor...) {
		facts, next, err := m.Facts(ctx, loci.FactQuery{History: true, Where: where}, loci.Page{Limit: 2, Cursor: cursor})
		p.check("Facts", facts, err)
		p.checkIDs("Facts", []any{facts, next})
		facts, _, err = m.Facts(ctx, loci.FactQuery{History: true}, loci.Page{Cursor: cursor})
		p.check("Facts", facts, err)
		p.checkIDs("Facts", facts)
		events, _, err := m.Events(ctx, loci.EventFilter{Within: []loci.Namespace{{}, {"user", "victim"}}}, loci.Page{Cursor: cursor})
		p.check("Events", events, err)
		p.checkIDs("Events", events)
	}
	p.readLifecycle(ctx)
	p.readSessions(ctx)
	p.readFiles(ctx)
	for _, id := range p.sc.ids {
		f, err := m.Fact(ctx, id)
		p.refused("Fact", f, err)
		revisions, err := m.Revisions(ctx, id)
		p.refused("Revisions", revisions, err)
		links, err := m.Links(ctx, id)
		p.refused("Links", links, err)
		events, _, err := m.Events(ctx, loci.EventFilter{Entity: id}, loci.Page{})
		p.check("Events", events, err)
		p.checkIDs("Events", events)
		entry, err := it.Get(ctx, m.View().Namespace, id.String(), true)
		p.check("Get", entry, err)
	}
	stats, err := m.Stats(ctx)
	p.check("Stats", stats, err)
	count, err := m.CountErase(ctx, loci.EraseQuery{Where: where, All: where.IsZero()})
	p.check("CountErase", count, err)
	var out bytes.Buffer
	_, err = m.Export(ctx, &out, nil)
	p.check("Export", out.String(), err)
	for _, n := range []loci.Namespace{{"user", "victim", canary}, {"user", p.sent}, {p.sent}, {}, m.View().Namespace.Child(p.sent), m.View().Namespace} {
		for _, key := range []string{p.sent, "canary" + "qzxv"} {
			entry, err := it.Get(ctx, n, key, true)
			if n.Equal(loci.Namespace{"user", "victim", canary}) {
				if err == nil {
					p.t.Errorf("Get reaches the victim with %.40q", p.sent)
				}
				continue // the error repeats the namespace that was asked for
			}
			p.check("Get", entry, maskSent(err))
		}
		items, err := it.Search(ctx, item.Query{Prefix: n, Text: p.sent, Where: where, Refresh: true})
		if err == nil || !n.Equal(loci.Namespace{"user", "victim", canary}) {
			p.check("Items.Search", items, err)
		}
		p.checkIDs("Items.Search", items)
	}
	namespaces, err := it.Namespaces(ctx, item.NamespaceQuery{Prefix: []string{p.sent}})
	p.check("Namespaces", namespaces, err)
	namespaces, err = it.Namespaces(ctx, item.NamespaceQuery{Prefix: []string{"*"}, Suffix: []string{"*"}})
	p.check("Namespaces", namespaces, err)
}

// readLifecycle calls what reads rules, episodes and history.
func (p *probe) readLifecycle(ctx context.Context) {
	m := p.m
	for _, scopes := range [][]string{nil, {p.sent}, {canary}} {
		rules, _, err := m.Rules(ctx, loci.RuleQuery{Scopes: scopes, History: true}, loci.Page{})
		p.check("Rules", rules, err)
		p.checkIDs("Rules", rules)
		episodes, _, err := m.Episodes(ctx, loci.EpisodeQuery{Butlers: scopes, History: true}, loci.Page{})
		p.check("Episodes", episodes, err)
		p.checkIDs("Episodes", episodes)
		facts, _, err := view.AsOf(ctx, m, view.AsOfQuery{Scopes: scopes}, loci.Page{})
		p.check("AsOf", facts, err)
		p.checkIDs("AsOf", facts)
		r, err := m.Search(ctx, loci.Query{Text: "episode rule note", Scopes: scopes})
		p.check("Search", r, err)
		p.checkIDs("Search", r)
		fading := 0.0
		q := loci.RecallQuery{Topic: "episode rule note " + p.sent, Scopes: scopes, MinConfidence: &fading, Touch: true}
		found, err := m.Recall(ctx, q)
		p.check("Recall", found, err)
		p.checkIDs("Recall", found)
		found, err = m.SearchMemories(ctx, q)
		p.check("SearchMemories", found, err)
		p.checkIDs("SearchMemories", found)
	}
	for _, agent := range []string{p.sent, canary} {
		block, err := m.Context(ctx, loci.ContextQuery{Prompt: "episode rule note", Agent: agent})
		p.check("Context", block, err)
		p.checkIDs("Context", block)
	}
	facts, _, err := view.AsOf(ctx, m, view.AsOfQuery{Subject: p.sent, Predicate: p.sent}, loci.Page{})
	p.check("AsOf", facts, err)
	for _, id := range p.sc.ids {
		for _, kind := range []loci.Kind{loci.KindFact, loci.KindRule, loci.KindEpisode} {
			m.CountUse(ctx, kind, id) // the end compares
		}
		rule, err := m.Rule(ctx, id)
		p.refused("Rule", rule, err)
		episode, err := m.Episode(ctx, id)
		p.refused("Episode", episode, err)
		chain, err := m.History(ctx, id)
		p.refused("History", chain, err)
	}
	for _, scope := range []string{"", p.sent, canary} {
		p.readView(ctx, view.Query{States: view.States, Tags: []string{scope}})
		stats, err := view.Lifecycle(ctx, m, scope)
		p.check("Lifecycle", stats, err)
	}
}

// writeLifecycle calls what changes the state of the victim's memories.
func (p *probe) writeLifecycle(ctx context.Context) {
	m := p.m
	own, err := m.StoreRule(ctx, loci.NewRule{Content: "own", Scope: p.sent})
	p.check("StoreRule", own, err)
	episode, err := m.StoreEpisode(ctx, loci.NewEpisode{Content: "own", Butler: p.sent, Session: p.sent})
	p.check("StoreEpisode", episode, err)
	for _, id := range p.sc.ids {
		for _, kind := range []loci.Kind{loci.KindFact, loci.KindRule, loci.KindEpisode} {
			if changed, err := m.Forget(ctx, kind, id); changed || err != nil {
				p.t.Errorf("Forget of the victim's %s: %v, %v", kind, changed, err)
			}
			if kind != loci.KindEpisode {
				p.refused("Confirm", nil, m.Confirm(ctx, kind, id))
			}
			restored, err := m.Restore(ctx, kind, id)
			p.refused("Restore", restored, err)
		}
		stored, err := m.Supersede(ctx, id, loci.NewFact{Content: "own"})
		p.refused("Supersede", stored, err)
		p.refused("Delete", nil, view.Delete(ctx, m, id))
		rule, err := m.MarkHelpful(ctx, id)
		p.refused("MarkHelpful", rule, err)
		rule, err = m.MarkHarmful(ctx, id, "x")
		p.refused("MarkHarmful", rule, err)
		concluded, err := m.ConcludeEpisode(ctx, id, loci.Failed)
		p.refused("ConcludeEpisode", concluded, err)
		p.refused("Link", nil, m.Link(ctx, own, loci.LinkSupports, id))
		p.refused("Link", nil, m.Link(ctx, id, loci.LinkSupports, own))
	}
}

// maskSent takes out the key that the attacker named himself.
func maskSent(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s", strings.ReplaceAll(err.Error(), fmt.Sprintf("key %q", canary), "key"))
}

func (p *probe) refused(method string, reply any, err error) {
	p.t.Helper()
	if e := loci.AsError(err); e == nil || e.Code != loci.NotFound {
		p.t.Errorf("%s of the victim's id: %v, %v", method, reply, err)
	}
}

// write calls everything that writes, and cleans up behind itself.
func (p *probe) write(ctx context.Context) {
	m, it := p.m, item.Of(p.m)
	p.writeLifecycle(ctx)
	p.writeSessions(ctx)
	p.changeFiles(ctx)
	for _, id := range p.sc.ids {
		f, err := m.ReviseFact(ctx, id, loci.FactRevision{Tags: &[]string{"taken"}})
		p.refused("ReviseFact", f, err)
		p.refused("Erase", nil, m.Erase(ctx, id))
		p.refused("EraseFact", nil, m.EraseFact(ctx, id))
		if !p.alone { // refused or without effect: the end compares
			_ = it.Delete(ctx, loci.Namespace{"user", "victim"}, id.String())
			_ = it.Put(ctx, loci.Namespace{"user", "victim"}, id.String(), json.RawMessage(`{"content":"taken"}`), nil)
		}
	}
	for _, n := range []loci.Namespace{{"user", "victim", canary}, {"user", "victim"}, {"user"}} {
		if m.View().Namespace.Contains(n) {
			continue // the same place in another tenant: his own
		}
		if err := it.Put(ctx, n, canary, json.RawMessage(`{"taken":1}`), nil); err == nil {
			p.t.Errorf("Put into %v is accepted", n)
		}
		if err := it.Delete(ctx, n, canary); err == nil {
			p.t.Errorf("Delete in %v is accepted", n)
		}
	}
	stored, err := m.StoreFact(ctx, loci.NewFact{Content: "own " + p.sent, Tags: []string{"own"}, Metadata: map[string]any{"k" + p.sent: p.sent}})
	p.check("StoreFact", stored, err)
	p.checkIDs("StoreFact", stored)
	stored, err = m.StoreFact(ctx, loci.NewFact{Content: "x", Subject: canary, Predicate: canary})
	p.check("StoreFact", stored, err)
	p.checkIDs("StoreFact", stored)
	own := p.sc.bind(p.t, m.View().Tenant.String(), m.View().Namespace, canary+"-key") // the victim's idempotency key
	again, err := own.StoreFact(ctx, loci.NewFact{Content: "keyed " + canary})
	p.checkIDs("StoreFact", again)
	if err != nil && !strings.Contains(err.Error(), "another request") {
		p.t.Errorf("the victim's key: %v", err)
	}
	claimed := p.sc.ids[0] // which he knows from somewhere
	if p.alone {
		claimed = loci.NewID() // another tenant may use any id; it would be his own
	}
	line := fmt.Sprintf(`{"type":"record","id":%q,"kind":"fact","version":1,"live":true,"created_at":"2026-01-01T00:00:00Z","namespace":["..","victim"],"text":"x","body":{"validity":"active"}}`, claimed)
	report, err := m.Import(ctx, strings.NewReader(`{"type":"header","format":"loci.export","version":1}`+"\n"+line+"\n"+`{"type":"end","records":1}`), nil)
	p.check("Import", report, err)
	n, err := m.EraseAll(ctx, loci.EraseQuery{All: true, Expect: 1 << 40}, nil)
	p.check("EraseAll", n, err)
	count, err := m.CountErase(ctx, loci.EraseQuery{All: true})
	if err == nil {
		_, err = m.EraseAll(ctx, loci.EraseQuery{All: true, Expect: count}, nil)
	}
	p.check("EraseAll", nil, err)
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
