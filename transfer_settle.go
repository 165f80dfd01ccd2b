package loci

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci/internal/intake"
)

// A fate is what becomes of a draft.
type fate struct {
	id       ID      // that its own id stands for from now on
	existing bool    // a record that says the same is there
	conflict string  // what is in its way, if anything
	expired  *Record // holds its slot past its time, and goes
}

// settled are the drafts that were given a place so far.
type settled struct {
	ids   map[ID]*Record
	slots map[string]holder
	bare  map[string]bool // by namespace and kind: the store has nothing there; nil: the drafts know what is in their way
}

type holder struct {
	id ID
	r  *Record
}

func newSettled(bare map[string]bool) *settled {
	return &settled{map[ID]*Record{}, map[string]holder{}, bare}
}

// settle finds out what becomes of drafts, of which seen came before.
func (in *importer) settle(ctx context.Context, drafts []*Imported, seen *settled, now time.Time) ([]fate, error) {
	fates := make([]fate, len(drafts))
	held, err := in.m.settleIDs(ctx, drafts, fates)
	if err != nil {
		return nil, err
	}
	outcomes, err := in.outcomes(ctx, drafts)
	if err != nil {
		return nil, err
	}
	for i := range drafts {
		if o := outcomes[i]; o.Decided {
			fates[i].existing, fates[i].conflict = o.Existing, o.Conflict
			continue
		}
		if err := in.settleOne(ctx, drafts[i], held[fates[i].id], &fates[i], seen, now); err != nil {
			return nil, err
		}
	}
	return fates, nil
}

// outcomes asks the features about their drafts.
func (in *importer) outcomes(ctx context.Context, drafts []*Imported) ([]Verdict, error) {
	outcomes := make([]Verdict, len(drafts))
	for _, t := range in.ordered {
		var own []*Imported
		var at []int
		for i, d := range drafts {
			if in.takers[d.Kind] == t {
				own, at = append(own, d), append(at, i)
			}
		}
		if len(own) == 0 {
			continue
		}
		decided, err := t.Settle(ctx, own)
		if err != nil {
			return nil, err
		}
		for i, o := range decided {
			outcomes[at[i]] = o
		}
	}
	return outcomes, nil
}

// settleIDs gives each draft an id: see [intake.Asker.IDs]. It returns the records of the
// drafts' namespaces that are there under these ids.
func (m *Memory) settleIDs(ctx context.Context, drafts []*Imported, fates []fate) (map[ID]*Record, error) {
	asker := intake.Asker[ID, Record]{
		Next: func(i int, id ID) ID { return DerivedID(id, drafts[i].Namespace.Key()) },
		Present: func(ids []ID) (map[ID]*Record, error) {
			return m.present(ctx, Filter{Within: []Namespace{{}}, NotLive: true}, ids)
		},
		Own: func(i int, r *Record) bool { return r.Namespace.Equal(drafts[i].Namespace) },
	}
	own := make([]ID, len(drafts))
	for i := range drafts {
		own[i] = drafts[i].ID
	}
	ids, held, err := asker.IDs(own)
	for i, id := range ids {
		fates[i].id = id
	}
	return held, err
}

// settleOne decides about a draft whose id is settled; held is the record there is under that id.
func (in *importer) settleOne(
	ctx context.Context, d *Imported, held *Record, f *fate, seen *settled, now time.Time,
) (err error) {
	r := &d.Record
	if held == nil {
		held = seen.ids[f.id]
	}
	if held != nil {
		in.meet(f, r, "id", holder{f.id, held})
		return nil
	}
	if r.Slot != "" {
		slot := digest(r.Namespace.Key(), string(r.Kind), r.Slot)
		there, taken := seen.slots[slot]
		if !taken {
			if there, err = in.slotHolder(ctx, d, seen); err != nil {
				return err
			}
			if taken = there.r != nil; taken && there.r.Expired(now) {
				f.expired, taken = there.r, false // no read finds it, so nobody would know what is in the way
			}
		}
		d.inWay = there
		if taken {
			if in.meet(f, r, "key", there); f.existing {
				f.id = there.id
			}
			return nil
		}
		seen.slots[slot] = holder{f.id, r}
	}
	seen.ids[f.id] = r
	return nil
}

// slotHolder finds what holds the slot of a draft. That is asked once, unless others write here: the store
// refuses a change that wants a slot which was taken meanwhile. In a place without records nothing is asked.
func (in *importer) slotHolder(ctx context.Context, d *Imported, seen *settled) (holder, error) {
	if seen.bare == nil && !in.beside {
		return d.inWay, nil
	}
	if place := digest(d.Namespace.Key(), string(d.Kind)); seen.bare != nil {
		f := Filter{Within: []Namespace{d.Namespace}, Exact: true, Kinds: []Kind{d.Kind}, NotLive: true}
		if _, asked := seen.bare[place]; !asked {
			some, _, err := in.m.engine.store.Records(ctx, in.m.view.Tenant, f, Page{Limit: 1, NoText: true})
			if seen.bare[place] = len(some) == 0; err != nil {
				return holder{}, err
			}
		}
		if seen.bare[place] {
			return holder{}, nil
		}
	}
	held, err := in.m.slotHolder(ctx, &d.Record)
	if held != nil {
		return holder{held.ID, held}, err
	}
	return holder{}, err
}

// meet compares a draft with the record that is in its place.
func (in *importer) meet(f *fate, r *Record, place string, there holder) {
	if in.saysSame(r, there.r) {
		f.existing = true
		return
	}
	f.conflict = fmt.Sprintf("%s: its %s is held by %s, which says something else", r.ID, place, there.id)
}

// saysSame reports whether two records of a namespace say the same about the same.
func (in *importer) saysSame(a, b *Record) bool {
	if a.Kind != b.Kind {
		return false
	}
	if t := in.takers[a.Kind]; t != nil {
		return t.Same(a, b)
	}
	if !bytes.Equal(a.Attributes, b.Attributes) {
		return false
	}
	if a.Kind != KindFact {
		return a.Text == b.Text && a.Scope == b.Scope
	}
	x, errX := readFact(a)
	y, errY := readFact(b)
	if errX != nil || errY != nil {
		return false
	}
	return normalise(a.Text) == normalise(b.Text) && x.Subject == y.Subject && x.Predicate == y.Predicate &&
		x.Scope == y.Scope
}
