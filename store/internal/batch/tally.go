package batch

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// What a tenant has of each kind, state and status in a namespace is kept: rows in a table of their own,
// and what came since in the tenant's row. A commit writes that row anyway, so it costs no statement more
// until there is too much of it: then all of it is added to the table.

// maxTally is how many bytes of counts the tenant's row takes before they go to the table.
const maxTally = 700

// A TallyKey says what a kept count is of: the records of a kind, state and status in a namespace or, with
// the number of a space, those of a kind in a namespace that have vectors in it, whatever their state.
type TallyKey struct {
	Namespace, Space int64
	Kind             loci.Kind
	Status           string
	Live             bool
}

// Amounts are what a kept count says, or how it changes.
type Amounts struct {
	Records  int64
	Searched int64 // of Records: live, and with passages
	Passages int64
	Bytes    int64 // of texts
}

func (a Amounts) plus(b Amounts) Amounts {
	return Amounts{a.Records + b.Records, a.Searched + b.Searched, a.Passages + b.Passages, a.Bytes + b.Bytes}
}

// Tallies are kept counts, or what came to them.
type Tallies map[TallyKey]Amounts

// Add adds to a count; one that says nothing is not there.
func (t Tallies) Add(key TallyKey, n Amounts) {
	if n = t[key].plus(n); n == (Amounts{}) {
		delete(t, key)
		return
	}
	t[key] = n
}

// AddAll adds counts.
func (t Tallies) AddAll(more Tallies) {
	for key, n := range more {
		t.Add(key, n)
	}
}

// Differ says how many counts differ, or are there in one of them alone.
func (t Tallies) Differ(other Tallies) (n int) {
	for key := range t {
		if t[key] != other[key] {
			n++
		}
	}
	for key := range other {
		if _, both := t[key]; !both {
			n++
		}
	}
	return n
}

// keys are those of all counts, in an order.
func (t Tallies) keys() []TallyKey {
	return slices.SortedFunc(maps.Keys(t), func(a, b TallyKey) int {
		return cmp.Or(
			cmp.Compare(a.Namespace, b.Namespace), strings.Compare(string(a.Kind), string(b.Kind)),
			strings.Compare(a.Status, b.Status), cmp.Compare(a.Space, b.Space), compareBools(a.Live, b.Live),
		)
	})
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// A NewTally is what comes to a kept count.
type NewTally struct {
	TallyKey
	Amounts
}

// What is a hash of the kind and the status, which may be longer than what an index takes.
func (k *TallyKey) What() []byte {
	return HashOf(string(binary.BigEndian.AppendUint64(nil, uint64(len(k.Kind)))) + string(k.Kind) + k.Status)
}

// Shards tells how many searchable records are counted in each shard, and the bytes of live ones.
func (t Tallies) Shards(take func(namespace int64, kind loci.Kind, records, bytes int64)) {
	for key, n := range t {
		if key.Live {
			take(key.Namespace, key.Kind, n.Searched, n.Bytes)
		}
	}
}

// list lists counts in an order.
func (t Tallies) list() (list []NewTally) {
	for _, key := range t.keys() {
		list = append(list, NewTally{key, t[key]})
	}
	return list
}

// In returns the namespaces that counts are of.
func (t Tallies) In() []int64 {
	in := map[int64]bool{}
	for key := range t {
		in[key.Namespace] = true
	}
	return slices.Sorted(maps.Keys(in))
}

// encodeTally writes counts as the tenant's row holds them, as of a change number. A server of a version
// that keeps none raises the tenant's counter alone: then they are not known.
func encodeTally(seq int64, t Tallies) []byte {
	b := binary.AppendVarint(make([]byte, 0, 16+24*len(t)), seq)
	for _, key := range t.keys() {
		b = binary.AppendVarint(b, key.Namespace)
		b = binary.AppendVarint(b, key.Space<<1|map[bool]int64{true: 1}[key.Live])
		for _, text := range [...]string{string(key.Kind), key.Status} {
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		}
		n := t[key]
		for _, amount := range [...]int64{n.Records, n.Searched, n.Passages, n.Bytes} {
			b = binary.AppendVarint(b, amount)
		}
	}
	return b
}

// EmptyTally is the [State.Tally] of a tenant to whose counts nothing came, as of a change number.
func EmptyTally(seq int64) []byte { return encodeTally(seq, nil) }

// Tallied returns the counts of the tenant's row, which come to those of the table, as of a change number.
// known: they are of that number; else they have to be counted again.
func (st *State) Tallied(seq int64) (t Tallies, known bool) {
	b := st.Tally
	next := func() int64 {
		v, n := binary.Varint(b)
		if known = known && n > 0; known {
			b = b[n:]
		}
		return v
	}
	text := func() string {
		length, n := binary.Uvarint(b)
		if known = known && n > 0 && length <= uint64(len(b)-n); !known {
			return ""
		}
		v := string(b[n : n+int(length)])
		b = b[n+int(length):]
		return v
	}
	if known = st.There && len(b) > 0; next() != seq || !known {
		return nil, false
	}
	t = Tallies{}
	for known && len(b) > 0 {
		var key TallyKey
		key.Namespace = next()
		of := next()
		key.Space, key.Live = of>>1, of&1 == 1
		key.Kind, key.Status = loci.Kind(text()), text()
		t.Add(key, Amounts{next(), next(), next(), next()})
	}
	return t, known
}

// tally counts a record in, or out.
func (b *Batch) tally(r *Held, sign int64) {
	if b.tallies == nil {
		return
	}
	n := Amounts{Records: sign, Passages: sign * r.Passages, Bytes: sign * r.Bytes}
	if r.Live && r.Passages > 0 {
		n.Searched = sign
	}
	b.tallies.Add(TallyKey{Namespace: r.Namespace, Kind: r.Kind, Status: r.Status, Live: r.Live}, n)
	for _, space := range r.Spaces {
		vectors := TallyKey{Namespace: r.Namespace, Kind: r.Kind, Space: space}
		b.tallies.Add(vectors, Amounts{Records: n.Records, Searched: n.Searched})
	}
}

// Tally adds what came to the kept counts by other ways than those of a batch.
func (b *Batch) Tally(t Tallies) {
	if b.tallies != nil {
		b.tallies.AddAll(t)
	}
}

// Unvectored notes that a record has no vectors in a space any more.
func (b *Batch) Unvectored(id loci.ID, space int64) {
	if r := b.Records[id]; r != nil {
		r.Spaces = slices.DeleteFunc(slices.Clone(r.Spaces), func(s int64) bool { return s == space })
	}
}

// CountedAgain notes that the table holds all counts as of now, with nothing pending.
func (b *Batch) CountedAgain() { b.tallied(Tallies{}) }

// Uncounted notes that nobody has counted what was done.
func (b *Batch) Uncounted() { b.Used, b.tallies, b.State.Tally = nil, nil, nil }

// tallied begins to count, with what the tenant's row says.
func (b *Batch) tallied(t Tallies) { b.tallies, b.State.Tally = t, nil }

// keepTally has the state say what the tenant's row does, or adds it to the table.
func (b *Batch) keepTally() {
	if b.tallies == nil {
		b.State.Tally = nil
		return
	}
	b.State.Tally = encodeTally(b.State.Seq, b.tallies)
	if len(b.State.Tally) > maxTally {
		b.ops.Tallies = b.tallies.list()
		b.State.Tally = encodeTally(b.State.Seq, nil)
	}
}

// Sum tells of counts that a filter selects, as far as within says so of their namespaces, what they add. space is the
// number of the filter's space; 0: it has no vectors.
func (t Tallies) Sum(
	f *loci.Filter, within func(namespace int64) bool, space int64, add func(loci.Kind, string, loci.Counts),
) {
	for _, key := range t.keys() {
		if !within(key.Namespace) || len(f.Kinds) > 0 && !slices.Contains(f.Kinds, key.Kind) {
			continue
		}
		if part, selected := t[key].Of(f, key, space); selected {
			add(key.Kind, key.Status, part)
		}
	}
}

// Of is what a count of a kind and namespace that a filter selects adds.
func (a Amounts) Of(f *loci.Filter, key TallyKey, space int64) (part loci.Counts, selected bool) {
	switch {
	case key.Space != 0: // what is not live is not searched, and lacks no vectors
		return loci.Counts{Unembedded: -a.Searched}, key.Space == space && !f.Gone
	case !f.NotLive && !key.Live, f.Gone && key.Live, len(f.Statuses) > 0 && !slices.Contains(f.Statuses, key.Status):
		return part, false
	}
	part = loci.Counts{Records: a.Records, Passages: a.Passages, Bytes: a.Bytes, Unembedded: a.Searched}
	if key.Live {
		part.Live = a.Records
	}
	return part, true
}
