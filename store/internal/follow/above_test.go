package follow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/index"
)

// The image of a group is that of the namespaces that it says it is of, and of no other plan; builds that know no groups
// take it for that of another tenant, and remove it.
func TestWhatTheImageOfAGroupIsOf(t *testing.T) {
	t.Parallel()
	key := loci.NewNameKey()
	st := &batch.State{NameKey: key, Seq: 9, Namespaces: 100}
	mark := func(at ...string) string { return hex.EncodeToString([]byte(key.Mark(at))) }
	planned := index.Joined{Mark: mark("u"), Kind: loci.KindFact, Apart: []int64{7}}
	m := newImage(key, Shard{numberOf(&planned), planned.Kind}, loci.Space{}, 9)
	m.Above, m.Apart = planned.Mark, planned.Apart
	if !m.of(st) || m.Shard.Namespace >= 0 {
		t.Errorf("an image of number %d is not that of its group", m.Shard.Namespace)
	}
	older := sha256.Sum256(fmt.Appendf(nil, "%x/%d:%s", []byte(key), m.Shard.Namespace, m.Shard.Kind))
	if m.Token == hex.EncodeToString(older[:16]) {
		t.Error("an older build takes it for one of its own")
	}
	for what, change := range map[string]func(*Image){
		"of other namespaces":      func(m *Image) { m.Above = mark("v") },
		"with others apart":        func(m *Image) { m.Apart = nil },
		"of before all was erased": func(m *Image) { m.Token = newImage(loci.NewNameKey(), m.Shard, loci.Space{}, 9).Token },
	} {
		other := *m
		if change(&other); other.of(st) {
			t.Errorf("an image %s is that of the group", what)
		}
	}
	for what, c := range map[string]struct {
		gone Gone
		held bool
	}{
		"in the group":         {Gone{Shard: Shard{3, loci.KindFact}, Mark: markOf(key, "u", "x")}, true},
		"of an unknown mark":   {Gone{Shard: Shard{3, loci.KindFact}}, true},
		"in another namespace": {Gone{Shard: Shard{3, loci.KindFact}, Mark: markOf(key, "v", "x")}, false},
		"of another kind":      {Gone{Shard: Shard{3, loci.KindRule}, Mark: markOf(key, "u", "x")}, false},
		"in one that is apart": {Gone{Shard: Shard{7, loci.KindFact}, Mark: markOf(key, "u", "y")}, false},
	} {
		if m.held(&c.gone) != c.held {
			t.Errorf("what was erased %s: held is %v", what, !c.held)
		}
	}
	plan := &Plan{Upto: 100, Groups: []index.Joined{planned}}
	plan.Sum = plan.sum(key)
	of := newImage(key, planShard, loci.Space{}, 9)
	of.Plan = plan
	p := &pending{st: st, images: []*Image{m, of}}
	if p.unplanned(m) || of.plan(st) == nil {
		t.Error("a group that is planned is not")
	}
	plan.Groups = nil
	if p.unplanned(m) || of.plan(st) != nil {
		t.Error("a plan that is damaged says that groups are planned no more")
	}
	if plan.Sum = plan.sum(key); !p.unplanned(m) {
		t.Error("a group is planned though no plan has it")
	}
	of.Seq = 10
	if of.plan(st) != nil {
		t.Error("a plan is used of a state that the database lost")
	}
}

func markOf(key loci.NameKey, at ...string) *loci.Mark {
	mark := key.Mark(at)
	return &mark
}

// That a search above groups has all that it needs says nothing of a quick one, which looks at the shards by themselves.
func TestQuickSearchesNeedMoreThanGroups(t *testing.T) {
	t.Parallel()
	x := &Index{}
	x.reset(loci.Space{}, &batch.State{}, &Search{})
	all := loci.Filter{Within: []loci.Namespace{{}}}
	x.learned[""] = true
	add := func(key index.Key, keys *index.Keys) {
		x.begin(key)
		x.touch(key)
		if keys != nil {
			keys.Add(key)
		}
	}
	for n := range 100 {
		add(index.Key{Namespace: loci.Namespace{"v", fmt.Sprint("n", n)}.Key(), Kind: loci.KindFact}, &x.known)
	}
	above := index.Key{Namespace: loci.Namespace{"u"}.Key(), Kind: loci.KindFact, Above: true}
	x.groups = []*group{{&index.Group{Key: above}, -1}}
	add(above, nil)
	x.members.Add(index.Key{Namespace: loci.Namespace{"u", "n"}.Key(), Kind: loci.KindFact})
	for range 2 {
		if !x.serves(&Search{Filter: all}) {
			t.Fatal("an index that has the group and the others does not serve a search above them")
		}
	}
	if x.serves(&Search{Filter: all, Probe: loci.Probe{Quick: true}}) {
		t.Error("an index that lacks the shards of a group serves a quick search")
	}
}

// A hit in a namespace that the database does not know, as a segment that is damaged may say, stands in the namespace
// above and is asked for once.
func TestANumberThatNoNamespaceHas(t *testing.T) {
	t.Parallel()
	x, st := &Index{}, &batch.State{}
	x.reset(loci.Space{}, st, &Search{})
	n, _, err := x.tellPlace(7)
	hits := []loci.Hit{{Namespace: n}}
	if err != nil || !isUnnamed(hits[0]) {
		t.Fatal(n, err)
	}
	asked := 0
	nobody := &noNames{st: st, asked: &asked}
	q := &Search{Read: func(_ context.Context, do func(Source) error) error { return do(nobody) }}
	if named, err := x.nameHits(q, hits, x.epoch); named || err != nil || asked != 1 {
		t.Fatal(named, asked, err)
	}
	if _, known, err := x.tellPlace(7); known || err != nil {
		t.Error(known, err)
	}
	before := x.epoch
	x.reset(loci.Space{}, st, &Search{})
	x.names[7] = loci.Namespace{"another"}.Key()
	if named, err := x.nameHits(q, hits, before); named || err != nil || !isUnnamed(hits[0]) {
		t.Errorf("a hit of before the index began again gets a name of now: %v, %v", hits[0].Namespace, err)
	}
	if named, err := x.nameHits(q, hits, x.epoch); !named || err != nil || hits[0].Namespace.String() != "another" {
		t.Error(named, err, hits[0].Namespace)
	}
}

// noNames is a database that knows no namespace.
type noNames struct {
	ImageSource
	st    *batch.State
	asked *int
}

func (n *noNames) State() (*batch.State, error) { return n.st, nil }

func (n *noNames) Named(numbers []int64, _ func(batch.Place)) error {
	*n.asked += len(numbers)
	return nil
}
