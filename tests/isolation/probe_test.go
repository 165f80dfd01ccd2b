package isolation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/view"
)

// A probe collects everything that one attacker gets to see. What the attacker sent is taken
// out before the search, so that an echo does not count as a find.
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
	for _, q := range []loci.Query{
		{Text: p.sent},
		{Text: p.sent, Mode: loci.Keyword},
		{Text: p.sent, Mode: loci.Semantic},
		{Where: where},
		{Tags: []string{p.sent}},
		{Text: "note", Where: where},
		{Kinds: []loci.Kind{loci.Kind(p.sent)}},
	} {
		r, err := m.Search(ctx, q)
		p.check("Search", r, err)
		p.checkIDs("Search", r)
	}
	for _, cursor := range append([]string{"", p.sent}, p.sc.cursor...) {
		facts, next,
			err := m.Facts(ctx, loci.FactQuery{History: true, Where: where}, loci.Page{Limit: 2, Cursor: cursor})
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
	for _, n := range []loci.Namespace{
		{"user", "victim", canary},
		{"user", p.sent},
		{p.sent},
		{},
		m.View().Namespace.Child(p.sent),
		m.View().Namespace,
	} {
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

// maskSent takes out the key that the attacker itself named.
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
			continue // the same place in another tenant: the attacker's own
		}
		if err := it.Put(ctx, n, canary, json.RawMessage(`{"taken":1}`), nil); err == nil {
			p.t.Errorf("Put into %v is accepted", n)
		}
		if err := it.Delete(ctx, n, canary); err == nil {
			p.t.Errorf("Delete in %v is accepted", n)
		}
	}
	stored, err := m.StoreFact(ctx, loci.NewFact{
		Content:  "own " + p.sent,
		Tags:     []string{"own"},
		Metadata: map[string]any{"k" + p.sent: p.sent},
	})
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
	claimed := p.sc.ids[0] // which the attacker knows from somewhere
	if p.alone {
		claimed = loci.NewID() // another tenant may use any id, and would own it
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
