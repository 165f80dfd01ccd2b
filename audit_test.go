package loci_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
)

// A desk is what the operations of the test below work on.
type desk struct {
	*testing.T
	clock *locitest.Clock
	e     *loci.Engine
	m     *loci.Memory // of the namespace u
	tree  *tree.Tree
	ids   map[string]loci.ID
	kept  bytes.Buffer // an export
}

func (d *desk) ok(_ any, err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *desk) fact(name, content, subject string) {
	d.Helper()
	stored, err := d.m.StoreFact(
		d.Context(),
		loci.NewFact{Content: content, Subject: subject, Predicate: map[bool]string{true: "p"}[subject != ""]},
	)
	d.ok(nil, err)
	d.ids[name] = stored.ID
}

// wrote puts checkpoints with writes: one task has two writes, and one write is sent twice.
func (d *desk) wrote(thread string, n int) {
	d.Helper()
	locitest.CheckpointHistory(d, d.m, thread, "", n, func(i int) string { return fmt.Sprintf(`{"run_id":"r%d"}`, i%2) })
	locitest.CheckpointHistory(d, d.m, thread, "in:1", 1, locitest.PlainState)
	for range 2 {
		locitest.PutWrites(d, d.m, thread, "c00", locitest.Write("more", 0, "ch", "v"), locitest.Write("more", 1, "ch", "v"), locitest.Write("more", -1, "ch", "new"))
	}
}

func (d *desk) session(id string, messages int) {
	d.Helper()
	for i := range messages {
		locitest.AppendTo(d, d.m, id, locitest.Spoken(session.MessageHuman, fmt.Sprint("message ", i)))
	}
}

// An operation does something to a store. method names the method of the library that it stands
// for; the test below fails when a method of the library is in no operation.
type operation struct {
	method string
	do     func(d *desk)
}

var factOperations = []operation{
	{"Memory.StoreFact", func(d *desk) { d.fact("note", "a note", "") }},
	{"Memory.StoreFact", func(d *desk) { d.fact("note", "a note", "") }}, // confirms
	{"Memory.StoreFact", func(d *desk) { d.fact("old", "lives in Bonn", "ann") }},
	{"Memory.StoreFact", func(d *desk) { d.fact("new", "lives in Kiel", "ann") }}, // supersedes
	{"Memory.ReviseFact", func(d *desk) {
		text := "another note"
		_, err := d.m.ReviseFact(d.Context(), d.ids["note"], loci.FactRevision{Content: &text})
		d.ok(nil, err)
	}},
	{"Memory.Confirm", func(d *desk) { d.ok(nil, d.m.Confirm(d.Context(), loci.KindFact, d.ids["note"])) }},
	{"Memory.Link", func(d *desk) { d.ok(nil, d.m.Link(d.Context(), d.ids["note"], loci.LinkSupports, d.ids["new"])) }},
	{"Memory.CountUse", func(d *desk) { d.m.CountUse(d.Context(), loci.KindFact, d.ids["note"]) }},
	{"Memory.Recall", func(d *desk) { d.ok(d.m.Recall(d.Context(), loci.RecallQuery{Topic: "note"})) }},
	{"Memory.Forget", func(d *desk) { d.ok(d.m.Forget(d.Context(), loci.KindFact, d.ids["new"])) }},
	{"Memory.Restore", func(d *desk) {
		_, err := d.m.Restore(d.Context(), loci.KindFact, d.ids["new"])
		d.ok(nil, err)
	}},
	{"Memory.Supersede", func(d *desk) {
		stored, err := d.m.Supersede(d.Context(), d.ids["new"], loci.NewFact{Content: "of another mind"})
		d.ok(nil, err)
		d.ids["new"] = stored.ID
	}},
	{"Memory.Erase", func(d *desk) { d.ok(nil, d.m.Erase(d.Context(), d.ids["old"])) }},
	{"Memory.EraseFact", func(d *desk) { d.ok(nil, d.m.EraseFact(d.Context(), d.ids["new"])) }},
	{"Memory.StoreRule", func(d *desk) {
		id, err := d.m.StoreRule(d.Context(), loci.NewRule{Content: "ask first"})
		d.ok(nil, err)
		d.ids["rule"] = id
	}},
	{"Memory.MarkHelpful", func(d *desk) { d.ok(d.m.MarkHelpful(d.Context(), d.ids["rule"])) }},
	{"Memory.MarkHarmful", func(d *desk) {
		for range 6 {
			d.ok(d.m.MarkHarmful(d.Context(), d.ids["rule"], "it went wrong"))
		}
	}},
	{"Memory.Erase", func(d *desk) { d.ok(nil, d.m.Erase(d.Context(), d.ids["rule"])) }},
	{"Memory.StoreEpisode", func(d *desk) { d.ids["episode"] = locitest.Episode(d, d.m, "home", "tea was drunk") }},
	{"Memory.ConcludeEpisode", func(d *desk) { d.ok(d.m.ConcludeEpisode(d.Context(), d.ids["episode"], loci.Failed)) }},
	{"Engine.Consolidate", func(d *desk) {
		id := locitest.Episode(d, d.m, "home", "coffee was drunk")
		f := &fakeModel{t: d.T, reply: says(`{"new_facts":[{"content":"Drinks coffee.","evidence":[%q]}]}`, id)}
		d.ok(d.e.Consolidate(d.Context(), locitest.Tenant(d, "t"), loci.ConsolidateOptions{Completer: f.completer()}))
		d.ok(nil, d.m.Erase(d.Context(), id))
	}},
}

var itemOperations = []operation{
	{"Items.Put", func(d *desk) {
		locitest.PutItem(d, d.m, loci.Namespace{"u", "x"}, "k", `{"a":1}`, nil)
		locitest.PutItem(d, d.m, loci.Namespace{"u", "x"}, "k", `{"a":2}`, nil)
		locitest.PutItem(d, d.m, loci.Namespace{"u", "y"}, "l", `{"a":1}`, nil)
	}},
	{"Items.Delete", func(d *desk) { d.ok(nil, item.Of(d.m).Delete(d.Context(), loci.Namespace{"u", "x"}, "k")) }},
}

var sessionOperations = []operation{
	{"Sessions.Create", func(d *desk) { d.ok(session.Of(d.m).Create(d.Context(), session.New{ID: "made", MaxMessages: 3})) }},
	{"Sessions.Append", func(d *desk) { d.session("made", 5) }}, // trims
	{"Sessions.Append", func(d *desk) { d.session("s", 5) }},
	{"Sessions.Update", func(d *desk) {
		metadata := json.RawMessage(`{"k":"v"}`)
		d.ok(session.Of(d.m).Update(d.Context(), "s", session.Change{Metadata: &metadata}))
	}},
	{"Sessions.Summarise", func(d *desk) {
		locitest.Talk(d, d.m, 20)
		locitest.Summarise(d, d.m, session.SummaryOptions{Completer: &locitest.Writer{}, ContextTokens: 200})
	}},
	{"Memory.Export", func(d *desk) { d.ok(d.m.Export(d.Context(), &d.kept, nil)) }},
	{"Memory.Import", func(d *desk) { // each into a place of its own, and once more
		for _, place := range []string{"copy", "copy", "trimmed", "cleared", "replaced", "single", "appended"} {
			d.ok(locitest.Bind(d, d.e, place).Import(d.Context(), bytes.NewReader(d.kept.Bytes()), nil))
		}
	}},
	{"Sessions.Pop", func(d *desk) { d.ok(session.Of(locitest.Bind(d, d.e, "trimmed")).Pop(d.Context(), "s")) }},
	{"Sessions.Trim", func(d *desk) { d.ok(session.Of(locitest.Bind(d, d.e, "trimmed")).Trim(d.Context(), "s", 1)) }},
	{"Sessions.Append", func(d *desk) {
		limit := 2
		m := locitest.Bind(d, d.e, "appended")
		d.ok(session.Of(m).Update(d.Context(), "s", session.Change{MaxMessages: &limit}))
		locitest.AppendTo(d, m, "s", locitest.Spoken(session.MessageHuman, "and one"))
	}},
	{"Sessions.Clear", func(d *desk) { d.ok(session.Of(locitest.Bind(d, d.e, "cleared")).Clear(d.Context(), "s")) }},
	{"Sessions.ClearExtent", func(d *desk) {
		talks := session.Of(locitest.Bind(d, d.e, "cleared"))
		locitest.AppendTo(d, locitest.Bind(d, d.e, "cleared"), "seen", locitest.Spoken(session.MessageHuman, "one"))
		x, err := talks.Extent(d.Context(), "seen")
		d.ok(nil, err)
		d.ok(talks.ClearExtent(d.Context(), x))
	}},
	{"Sessions.ClearAll", func(d *desk) { d.ok(session.Of(locitest.Bind(d, d.e, "cleared")).ClearAll(d.Context())) }},
	{"Sessions.Import", func(d *desk) {
		m := locitest.Bind(d, d.e, "replaced")
		for _, mode := range []session.ImportMode{session.ImportReplace, session.ImportAppend, session.ImportReplace} {
			var b bytes.Buffer
			d.ok(nil, session.Of(m).Export(d.Context(), "s", &b))
			d.ok(session.Of(m).Import(d.Context(), &b, session.Import{Mode: mode}))
		}
	}},
	{"Memory.Erase", func(d *desk) { // one message, with what it belongs to
		m := locitest.Bind(d, d.e, "single")
		filter := loci.EventFilter{Types: []loci.EventType{loci.EventImported}}
		events, _, err := m.Events(d.Context(), filter, loci.Page{})
		d.ok(nil, err)
		events = slices.DeleteFunc(events, func(e loci.Event) bool { return e.Kind != session.KindMessage })
		if len(events) == 0 {
			d.Fatal("no event tells of an imported message")
		}
		d.ok(nil, m.Erase(d.Context(), events[0].Entity))
	}},
	{
		"Memory.EraseAll",
		func(d *desk) { d.everything("single", loci.EraseQuery{Kinds: []loci.Kind{session.Kind}}) },
	},
}

var checkpointOperations = []operation{
	{"Checkpoints.Put", func(d *desk) { d.wrote("t", 4) }},
	{"Checkpoints.PutWrites", func(d *desk) {
		locitest.PutWrites(d, d.m, "never", "later", locitest.Write("a", 0, "ch", "of a checkpoint that never came"))
	}},
	{"Checkpoints.Put", func(d *desk) { // replaces a checkpoint, with another value
		in := locitest.Checkpoint("t", "", "c00", "", `{}`, locitest.GraphState{"same": "1", "step": "0"}, map[string]string{"step": "another"})
		locitest.PutCheckpoint(d, d.m, in)
	}},
	{"Checkpoints.CopyThread", func(d *desk) { d.ok(checkpoint.Of(d.m).CopyThread(d.Context(), "t", "copy")) }},
	{"Checkpoints.DeleteForRuns", func(d *desk) { d.ok(checkpoint.Of(d.m).DeleteForRuns(d.Context(), []string{"r1"})) }},
	{"Checkpoints.Prune", func(d *desk) { d.ok(checkpoint.Of(d.m).Prune(d.Context(), []string{"t"}, checkpoint.KeepLatest)) }},
	{"Checkpoints.Prune", func(d *desk) { d.ok(checkpoint.Of(d.m).Prune(d.Context(), []string{"t"}, checkpoint.DeleteAll)) }},
	{"Checkpoints.DeleteThread", func(d *desk) { d.ok(checkpoint.Of(d.m).DeleteThread(d.Context(), "copy")) }},
	{"Checkpoints.DeleteThread", func(d *desk) { d.ok(checkpoint.Of(d.m).DeleteThread(d.Context(), "never")) }},
	{"Checkpoints.Put", func(d *desk) { d.wrote("t", 2) }}, // the same thread again
	{"Checkpoints.CopyThread", func(d *desk) { // more than one change holds
		var writes []checkpoint.Write
		for i := range locitest.Unraced(5100, 50) { // under the race detector each record slows every later verification
			writes = append(writes, locitest.Write("many", i, "ch", "v"))
		}
		locitest.PutWrites(d, d.m, "t", "c00", writes...)
		d.ok(checkpoint.Of(d.m).CopyThread(d.Context(), "t", "large"))
	}},
	{"Checkpoints.PrunePart", func(d *desk) {
		d.ok(checkpoint.Of(d.m).PrunePart(d.Context(), []string{"large"}, checkpoint.KeepLatest, ""))
	}},
	{"Checkpoints.CopyThreadPart", func(d *desk) { d.ok(checkpoint.Of(d.m).CopyThreadPart(d.Context(), "large", "part", "")) }},
	{"Checkpoints.DeleteForRunsPart", func(d *desk) {
		d.ok(checkpoint.Of(d.m).DeleteForRunsPart(d.Context(), []string{"r0"}, ""))
	}},
	{"Checkpoints.DeleteThreadPart", func(d *desk) { d.ok(checkpoint.Of(d.m).DeleteThreadPart(d.Context(), "part", "")) }},
	{"Checkpoints.DeleteThread", func(d *desk) { d.ok(checkpoint.Of(d.m).DeleteThread(d.Context(), "large")) }},
	{"Checkpoints.DeleteThread", func(d *desk) { d.ok(checkpoint.Of(d.m).DeleteThread(d.Context(), "t")) }},
	{"Checkpoints.Put", func(d *desk) { d.wrote("last", 1) }},
}

var treeOperations = []operation{
	{"Tree.Write", func(d *desk) {
		for i := range 4 {
			d.ok(d.tree.Write(d.Context(), "/a/b", strings.Repeat(fmt.Sprint("line ", i, "\n"), 2000), nil))
		}
	}},
	{"Tree.WriteAll", func(d *desk) {
		d.ok(d.tree.WriteAll(d.Context(), []tree.FileContent{{Path: "/c/d", Content: "x"}, {Path: "/c/e", Content: "one\ntwo\n"}}, nil))
	}},
	{"Tree.Append", func(d *desk) { d.ok(d.tree.Append(d.Context(), "/a/b", "more")) }},
	{"Tree.Edit", func(d *desk) {
		d.ok(d.tree.Edit(d.Context(), "/a/b", "cut", func(old string) (string, error) { return old[:len(old)/2], nil }))
	}},
	{"Tree.Update", func(d *desk) { d.ok(d.tree.Update(d.Context(), "/a/b", "line", "row")) }},
	{"Tree.Insert", func(d *desk) { d.ok(d.tree.Insert(d.Context(), "/c/e", 1, "between")) }},
	{"Tree.ReplaceOnce", func(d *desk) { d.ok(d.tree.ReplaceOnce(d.Context(), "/c/e", "two", "three")) }},
	{"Tree.MakeDir", func(d *desk) { d.ok(nil, d.tree.MakeDir(d.Context(), "/f")) }},
	{"Tree.Rename", func(d *desk) { d.ok(nil, d.tree.Rename(d.Context(), "/c", "/f/c")) }},
	{"Tree.Restore", func(d *desk) {
		versions, err := d.tree.Versions(d.Context(), "/a/b")
		d.ok(nil, err)
		d.ok(d.tree.Restore(d.Context(), "/a/b", versions[len(versions)-1].Version))
	}},
	{"Memory.Import", func(d *desk) {
		var b bytes.Buffer
		d.ok(d.m.Export(d.Context(), &b, nil))
		d.ok(locitest.Bind(d, d.e, "files").Import(d.Context(), &b, nil))
	}},
	{"Tree.DeleteExtent", func(d *desk) {
		d.ok(d.tree.Append(d.Context(), "/seen/one", "text"))
		x, err := d.tree.Extent(d.Context(), "/seen")
		d.ok(nil, err)
		d.ok(d.tree.DeleteExtent(d.Context(), x))
	}},
	{"Tree.Delete", func(d *desk) { d.ok(d.tree.Delete(d.Context(), "/f")) }},
	{"Tree.Delete", func(d *desk) { d.ok(d.tree.Delete(d.Context(), "/")) }},
}

var upkeepOperations = []operation{
	{"Engine.SweepTenant", func(d *desk) {
		d.fact("fades", "will fade", "bob")
		locitest.PutItem(d, d.m, loci.Namespace{"u", "x"}, "ends", `{"a":1}`, &item.PutOptions{TTL: time.Hour})
		locitest.Episode(d, d.m, "home", "will expire")
		for range 3 {
			d.clock.Advance(200 * dayLong)
			d.ok(d.e.SweepTenant(d.Context(), locitest.Tenant(d, "t")))
		}
	}},
	{"Engine.Sweep", func(d *desk) { d.ok(d.e.Sweep(d.Context())) }},
	{"Memory.Import", func(d *desk) { // what the sweep took comes back under its id, and goes again
		d.ok(locitest.Bind(d, d.e, "copy").Import(d.Context(), bytes.NewReader(d.kept.Bytes()), nil))
		d.clock.Advance(200 * dayLong)
		d.ok(d.e.Sweep(d.Context()))
	}},
	{"Engine.Backfill", func(d *desk) { d.ok(d.e.Backfill(d.Context(), locitest.Tenant(d, "t"), nil)) }},
	{"Engine.Reindex", func(d *desk) { d.ok(d.e.Reindex(d.Context(), locitest.Tenant(d, "t"), nil)) }},
	{"Engine.RecordElevation", func(d *desk) {
		p, err := loci.NewPrincipal(locitest.Tenant(d, "t"), "root", nil, loci.ScopeAdmin, loci.ScopeElevate)
		d.ok(nil, err)
		p, err = p.Elevate(locitest.Tenant(d, "other"))
		d.ok(nil, err)
		d.ok(nil, d.e.RecordElevation(d.Context(), p, "r", "erase"))
	}},
	{"Engine.RecordRefusal", func(d *desk) {
		details := map[string]any{"operation": "save_note", "times": 3}
		d.ok(nil, d.e.RecordRefusal(d.Context(), locitest.Tenant(d, "t"), "key:1", "r", details))
	}},
	{"Memory.EraseThese", func(d *desk) {
		ids := []loci.ID{locitest.Save(d, d.m, "one"), locitest.Save(d, d.m, "another")}
		d.ok(d.m.EraseThese(d.Context(), loci.EraseQuery{All: true}, ids, nil))
	}},
	{"Memory.EraseAll", func(d *desk) {
		d.wrote("again", 2)
		d.ok(d.tree.Write(d.Context(), "/again", "x", nil))
		for _, place := range []string{"trimmed", "replaced", ""} {
			d.everything(place, loci.EraseQuery{All: true})
		}
	}},
	{"Engine.EraseTenant", func(d *desk) { // nothing is left that could accuse
		p, err := loci.NewPrincipal(locitest.Tenant(d, "t"), "root", nil, loci.ScopeDelete, loci.ScopeAdmin)
		d.ok(nil, err)
		d.ok(nil, d.e.EraseTenant(d.Context(), p))
	}},
}

// everything erases what a query selects in a place; "" is the whole tenant.
func (d *desk) everything(place string, q loci.EraseQuery) {
	d.Helper()
	m := locitest.Bind(d, d.e)
	if place != "" {
		m = locitest.Bind(d, d.e, place)
	}
	n, err := m.CountErase(d.Context(), q)
	d.ok(nil, err)
	if q.Expect = n; n == 0 {
		d.Errorf("nothing to erase in %q", place)
	}
	d.ok(m.EraseAll(d.Context(), q, nil))
}

// No operation makes the log accuse anybody: the test does every operation there is, one after
// the other, and verifies the log after each.
func TestNoOperationMakesTheLogAccuse(t *testing.T) {
	all := slices.Concat(factOperations, itemOperations, sessionOperations,
		checkpointOperations, treeOperations, upkeepOperations)
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		d := &desk{T: t, clock: locitest.NewClock(), ids: map[string]loci.ID{}}
		opts := locitest.Quiet(d.clock)
		opts.Tokenizer = locitest.WordTokens{}
		opts.Retention.EpisodeCap, opts.Retention.Revisions, opts.Embedder = 1, 1, &locitest.WordEmbedder{Name: "words"}
		d.e = locitest.NewEngine(t, s, opts)
		d.m = locitest.Bind(t, d.e, "u")
		files, err := tree.Of(d.m, "files", "")
		if err != nil {
			t.Fatal(err)
		}
		d.tree = files
		for i, op := range all {
			op.do(d)
			if i%locitest.Unraced(1, 10) != 0 && i < len(all)-1 {
				continue // under the race detector a few verifications are enough
			}
			report, err := d.e.VerifyEvents(t.Context(), locitest.Tenant(t, "t"), loci.Hash{})
			if err != nil || len(report.Problems) > 0 {
				t.Fatalf("operation %d, %s: %+v, %v", i, op.method, report, err)
			}
		}
		locitest.LogIsWhole(t, d.e, locitest.Tenant(t, "other"))
	})
}

// Every method that may write is in the table above; those that only read are here.
func TestTheTableOfOperationsIsComplete(t *testing.T) {
	have := map[string]bool{}
	for _, op := range slices.Concat(factOperations, itemOperations,
		sessionOperations, checkpointOperations, treeOperations, upkeepOperations) {
		have[op.method] = true
	}
	for _, reads := range []string{"Memory: Checkpoints Connect ConnectorText Context CountErase EraseFilter Episode Episodes Events Export ExportPart Fact Facts History Items" +
		" Links Revisions Rule Rules Search SearchMemories Sessions Stats Tree View" +
		" At Complete Count Event Features Namespace Namespaces NewID Now Records" +
		" ReviseValue SearchWhere Settings Touch Turn", // of features
		"Items: Get Namespaces Search", "Checkpoints: Fetch Get List", "Sessions: Export Extent History List Retrieve Search Session",
		"Tree: Diff Extent Files List ListPage Name Namespace Read ReadInfo ReadLines ReadVersion Search Stat Thread Totals Versions Walk",
		"Engine: ConsolidatedAt Generations Lagging Memory ModelTokensUsed PlanSweep Settings Space VerifyEvents"} {
		noun, methods, _ := strings.Cut(reads, ": ")
		for _, method := range strings.Fields(methods) {
			have[noun+"."+method] = true
		}
	}
	for prefix, value := range map[string]any{"Memory": &loci.Memory{}, "Items": &item.Handle{}, "Checkpoints": &checkpoint.Handle{},
		"Sessions": &session.Handle{}, "Tree": &tree.Tree{}, "Engine": &loci.Engine{}} {
		noun := reflect.TypeOf(value)
		for i := range noun.NumMethod() {
			if name := prefix + "." + noun.Method(i).Name; !have[name] {
				t.Errorf("%s is in no table: say what it does to the log", name)
			}
		}
	}
}

// betweenPages does something after the first page of events was read.
type betweenPages struct {
	loci.Store
	once func()
}

func (b *betweenPages) Events(
	ctx context.Context,
	t loci.Tenant,
	f loci.EventFilter,
	p loci.Page,
) ([]loci.Event, string, error) {
	events, next, err := b.Store.Events(ctx, t, f, p)
	if do := b.once; do != nil {
		b.once = nil
		do()
	}
	return events, next, err
}

// An erase while the log is being read is no fault of the log. A record that is taken away
// without an erase is one.
func TestErasesDuringAVerification(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		between := &betweenPages{Store: s}
		e := locitest.NewEngine(t, between, loci.Options{})
		m := locitest.Bind(t, e, "u")
		first := locitest.Save(t, m, "the first")
		var more loci.Change
		for range 1001 { // so that the log has two pages
			more.Events = append(
				more.Events,
				loci.Event{
					ID:     loci.NewID(),
					Type:   loci.EventUpdated,
					Kind:   loci.KindFact,
					Entity: loci.NewID(),
					At:     time.UnixMilli(1),
				},
			)
		}
		if err := s.Apply(t.Context(), locitest.Tenant(t, "t"), more); err != nil {
			t.Fatal(err)
		}
		always := func() {
			if err := m.Erase(t.Context(), first); err != nil {
				t.Error(err)
			}
			first = locitest.Save(t, m, "another")
		}
		between.once = always
		report, err := e.VerifyEvents(t.Context(), locitest.Tenant(t, "t"), loci.Hash{})
		if err != nil || len(report.Problems) > 0 || report.Emptied != 1 || report.Events != 1002 {
			t.Errorf("with an erase: %+v, %v", report, err)
		}
		between.once = func() {
			if err := s.EraseTenant(t.Context(), locitest.Tenant(t, "t")); err != nil {
				t.Error(err)
			}
			locitest.Save(t, m, "new")
		}
		report, err = e.VerifyEvents(t.Context(), locitest.Tenant(t, "t"), loci.Hash{})
		if err != nil || len(report.Problems) > 0 || report.Events != 1 {
			t.Errorf("with the tenant erased: %+v, %v", report, err)
		}
	})
}
