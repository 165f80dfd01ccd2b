package mongo_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/mongo"
)

// commands are those that stores of this process sent to databases of tests.
var commands struct {
	sync.Mutex
	seen   map[string]bool // names and collections
	faults []string
	shapes map[string]bson.D // a command of each shape, unless nil
}

// atCommit, when set, is called once, before the next commit is sent.
var atCommit atomic.Pointer[func()]

// see judges a command as it is sent.
func see(e *event.CommandStartedEvent) {
	if e.CommandName == "commitTransaction" {
		if do := atCommit.Swap(nil); do != nil {
			(*do)()
		}
	}
	collection, fault := judge(e.CommandName, e.Command)
	commands.Lock()
	defer commands.Unlock()
	if commands.seen == nil {
		commands.seen = map[string]bool{}
	}
	commands.seen[e.CommandName+" "+collection] = true
	if commands.shapes != nil {
		maps.Copy(commands.shapes, queries(e.CommandName, slices.Clone(e.Command)))
	}
	if fault != "" && !slices.Contains(commands.faults, fault) {
		commands.faults = append(commands.faults, fault)
	}
}

// judge says what is wrong with a command: a query that names no tenant.
func judge(name string, command bson.Raw) (collection, fault string) {
	var filters []bson.RawValue
	look := func(v bson.RawValue, field string) {
		values, err := v.Array().Values()
		if err != nil {
			return
		}
		for _, one := range values {
			filters = append(filters, one.Document().Lookup(field))
		}
	}
	switch name {
	case "find":
		filters = append(filters, command.Lookup("filter"))
	case "findAndModify":
		filters = append(filters, command.Lookup("query"))
	case "aggregate":
		stages, err := command.Lookup("pipeline").Array().Values()
		if err != nil || len(stages) == 0 {
			return "", name + " without a stage"
		}
		filters = append(filters, stages[0].Document().Lookup("$match"))
	case "update":
		look(command.Lookup("updates"), "q")
	case "delete":
		look(command.Lookup("deletes"), "q")
	case "insert":
		documents, err := command.Lookup("documents").Array().Values()
		if err != nil {
			return "", name + " without a document"
		}
		filters = append(filters, documents...)
	default:
		return "", ""
	}
	collection = command.Lookup(name).StringValue()
	for _, filter := range filters {
		if !about(filter, collection) {
			return collection, fmt.Sprintf("%s of %s names no tenant: %s", name, collection, filter)
		}
	}
	return collection, ""
}

// about reports whether a filter or a document names one tenant. A list of all tenants, a lease
// and what holds for all of them name none.
func about(filter bson.RawValue, collection string) bool {
	d, ok := filter.DocumentOK()
	if !ok {
		return false
	}
	if v, err := d.LookupErr("t"); err == nil {
		_, key, ok := v.BinaryOK()
		return ok && len(key) == 16
	}
	_, id, ok := d.Lookup("_id").BinaryOK()
	if ok && len(id) > 16 && bytes.Equal(id[:16], make([]byte, 16)) {
		return collection == "setting" || collection == "lease"
	}
	_, err := d.LookupErr("name")
	return err == nil && collection == "tenant"
}

// TestCommandsNameTheirTenant: every query and every document names the tenant, whatever the
// store is asked. Nothing else keeps tenants apart.
func TestCommandsNameTheirTenant(t *testing.T) {
	url, opts := keptDatabase(t), (&mongo.Options{}).Shelve(1, 3, true)
	useEverything(t, openWith(t, url, opts), openWith(t, url, opts))
	commands.Lock()
	defer commands.Unlock()
	for _, fault := range commands.faults {
		t.Error(fault)
	}
	for _, want := range []string{
		"find record", "find event", "find namespace", "aggregate record", "aggregate vector", "insert record",
		"update record", "delete record", "insert event", "update event", "update link", "update reply", "delete vector",
		"insert revision", "insert change", "findAndModify tenant", "find setting", "update lease", "delete lease",
		"insert image", "find image", "update segment", "find segment", "aggregate segment", "delete segment",
	} {
		if !commands.seen[want] {
			t.Errorf("no %s was seen: that is not all there is", want)
		}
	}
	for _, filter := range []bson.D{
		{}, {{Key: "kind", Value: 1}}, {{Key: "t", Value: bson.D{{Key: "$exists", Value: true}}}}, {{Key: "name", Value: "x"}},
	} {
		raw, err := bson.Marshal(bson.D{{Key: "find", Value: "record"}, {Key: "filter", Value: filter}})
		if _, fault := judge("find", raw); err != nil || fault == "" {
			t.Errorf("%v is not noticed: %v", filter, err)
		}
	}
}

// useEverything calls every method of a store. What another server writes meanwhile is followed.
func useEverything(t *testing.T, s, beside loci.Store) {
	t.Helper()
	ctx, tn, at := t.Context(), locitest.Tenant(t, "all"), time.UnixMilli(1_800_000_000_000).UTC()
	place := loci.Namespace{"user", "ada"}
	space := loci.Space{Model: "two", Dims: 2}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	change := func(kind loci.EventType, id loci.ID) loci.Change {
		return loci.Change{Events: []loci.Event{{
			ID: loci.NewID(), Type: kind, Kind: loci.KindFact, Entity: id, Namespace: place, At: at, Actor: "tester",
			Nonce: []byte("0123456789abcdef"), Payload: json.RawMessage(`{"a":1}`),
		}}}
	}
	one, two := loci.NewID(), loci.NewID()
	vectors := []loci.Vectors{{Space: space, Rows: [][]float32{{0.6, 0.8}}}}
	record := func(id loci.ID, version int64) loci.Record {
		return loci.Record{
			ID: id, Kind: loci.KindFact, Namespace: place, Version: version, Live: true, CreatedAt: at, UpdatedAt: at,
			ExpiresAt: at.Add(time.Hour), Slot: id.String(), Text: "walrus", Passages: []loci.Span{{Start: 0, End: 6}},
		}
	}
	for _, id := range []loci.ID{one, two} {
		c := change(loci.EventCreated, id)
		c.Put = []loci.Put{{Record: record(id, 1), Vectors: vectors}}
		c.Reply = &loci.Reply{Key: id.String(), Value: json.RawMessage(`{}`), Record: id, At: at, ExpiresAt: at.Add(1)}
		must(s.Apply(ctx, tn, c))
	}
	c := change(loci.EventUpdated, one)
	c.Put = []loci.Put{{Record: record(one, 2), Revisions: 2, Vectors: vectors}}
	c.Links = []loci.Link{{From: one, Type: loci.LinkSupports, To: two, At: at}}
	must(s.Apply(ctx, tn, c))
	must(s.Touch(ctx, tn, []loci.Touch{{ID: one, At: at}}))
	must(s.Touch(ctx, tn, []loci.Touch{{ID: one, ExpiresAt: at.Add(2 * time.Hour)}}))
	ask(t, s, tn, place, space, one)
	c = change(loci.EventErased, one)
	c.Erase = []loci.Erase{{ID: one, Version: 2}}
	must(s.Apply(ctx, tn, c))
	three := loci.NewID()
	c = change(loci.EventCreated, three)
	c.Put = []loci.Put{{Record: record(three, 1), Vectors: vectors}}
	must(beside.Apply(ctx, tn, c))
	again := loci.Filter{Within: []loci.Namespace{{}}}
	if _, err := s.Match(ctx, tn, loci.Probe{Text: "walrus"}, again, 5); err != nil {
		t.Fatal(err)
	}
	other := loci.Space{Model: "three", Dims: 2}
	later := loci.Vectors{Space: other, Rows: vectors[0].Rows}
	must(s.PutVectors(ctx, tn, []loci.RecordVectors{
		{ID: two, Version: 1, Vectors: later}, {ID: three, Version: 1, Vectors: later},
	}))
	must(s.SwitchSpace(ctx, tn, space, other, 0))
	if _, err := s.DropVectors(ctx, tn, space, 10); err != nil {
		t.Fatal(err)
	}
	for range s.Due(ctx, at.Add(24*time.Hour)) {
	}
	must(s.EraseTenant(ctx, tn))
}

// ask asks everything that changes nothing.
func ask(t *testing.T, s loci.Store, tn loci.Tenant, place loci.Namespace, space loci.Space, id loci.ID) {
	t.Helper()
	ctx := t.Context()
	for _, f := range []loci.Filter{
		{Within: []loci.Namespace{{}}}, {Within: []loci.Namespace{place}, Exact: true},
		{Within: []loci.Namespace{{"user"}}, Space: space},
		{Within: []loci.Namespace{place}, Tags: []string{"x"}},
	} {
		if _, _, err := s.Records(ctx, tn, f, loci.Page{Order: loci.SlotAscending}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Count(ctx, tn, f); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Namespaces(ctx, tn, f); err != nil {
			t.Fatal(err)
		}
		if hits, err := s.Match(ctx, tn, loci.Probe{Text: "walrus", Vector: []float32{1, 0}, Space: space}, f, 5); err != nil ||
			len(hits) != 2 && f.Tags == nil {
			t.Fatalf("%d hits: %v", len(hits), err)
		}
	}
	var errs []error
	note := func(_ any, err error) { errs = append(errs, err) }
	note(s.Revisions(ctx, tn, id))
	note(s.Links(ctx, tn, id))
	note(s.Replied(ctx, tn, id.String()))
	note(s.Unembedded(ctx, tn, loci.Space{Model: "none", Dims: 2}, loci.ID{}, 5))
	note(s.Spaces(ctx, tn))
	note(s.ActiveSpace(ctx, tn))
	note(s.Chain(ctx, tn))
	note(s.Untold(ctx, tn, []loci.ID{id}))
	note(s.Check(ctx, tn))
	_, _, err := s.Events(ctx, tn, loci.EventFilter{Within: []loci.Namespace{place}}, loci.Page{})
	for _, err := range append(errs, err) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestIndexesBeginWithTheTenant: a tenant's queries then read its own part of an index, and
// collections may be sharded by it. The two indexes of tenants are about all of them.
func TestIndexesBeginWithTheTenant(t *testing.T) {
	for _, x := range mongo.Indexes() {
		if first, _, _ := strings.Cut(x, " "); !strings.HasSuffix(first, ":t") && !strings.HasPrefix(x, "tenant.") {
			t.Errorf("the index %s does not begin with the tenant", x)
		}
	}
}
