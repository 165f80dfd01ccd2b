package index

import (
	"reflect"

	"github.com/loci-memory/loci"
)

// What a part of a shard takes, in bytes, with what maps and the allocator add. Slices
// that grow have a tenth of spare room on average.
var (
	entryBytes   = int64(reflect.TypeFor[entry]().Size())*11/10 + 96 // its place in the map by id, and short texts
	passageBytes = int64(reflect.TypeFor[passage]().Size())*11/10 + 16
	wordBytes    = int64(reflect.TypeFor[word]().Size())*11/10 + 64 // in the map of spellings, with its mark
)

const (
	tokenBytes    = 4
	postingBytes  = 10
	packedBytes   = 4
	termBytes     = 112 // its name, list and place in the map
	memberBytes   = 36
	sequenceBytes = 48
)

// bytes is about how much memory a shard takes.
func (s *shard) bytes() int64 {
	n := int64(len(s.entries))*entryBytes + int64(len(s.passages))*passageBytes +
		int64(s.vocabulary.len())*wordBytes + int64(s.listed.len())*termBytes +
		int64(s.tokens)*tokenBytes + int64(s.posted)*postingBytes + int64(s.texts+s.attributes)
	if s.matrix != nil {
		n += int64(s.matrix.Len()) * int64(s.space.Dims+8) * 11 / 10
	}
	if len(s.sequences) > 0 {
		n += int64(len(s.entries))*memberBytes + int64(len(s.sequences))*96
	}
	for _, m := range s.segments {
		n += m.bytes()
	}
	return n
}

// A Heaped keeper of a segment says how many of its bytes lie on the heap.
type Heaped interface{ HeapBytes() int64 }

// bytes is about how much of the heap a segment takes; what it maps is the system's to keep
// in memory or not.
func (m *mapped) bytes() int64 {
	n := int64(len(m.dead))*8 + int64(len(m.numbers))*sequenceBytes + int64(m.gone)*64
	if len(m.Passages) >= notedFrom {
		n += int64(len(m.Passages)) * keptPacked * packedBytes // the most that searches may keep
	}
	if k, ok := m.keeper.(Heaped); ok {
		n += k.HeapBytes()
	}
	return n
}

// Bytes is about how much memory the index takes.
func (x *Index) Bytes() int64 { return x.size + x.gatherings.bytes.Load() }

// change makes a change of a shard and counts what it does to the size.
func (x *Index) change(s *shard, do func()) {
	x.gatherings.changes(s)
	before := s.bytes()
	do()
	x.size += s.bytes() - before
}

// Detach takes a shard out, as an index of its own.
func (x *Index) Detach(key Key) *Index {
	one := New(x.space)
	if s := x.shards[key]; s != nil {
		x.DropShard(key)
		one.take(key, s)
	}
	return one
}

// Adopt takes over the shards of another index of the same space, which is empty then.
func (x *Index) Adopt(o *Index) {
	for key, s := range o.shards {
		x.DropShard(key)
		x.take(key, s)
	}
	*o = *New(o.space)
}

func (x *Index) take(key Key, s *shard) {
	x.shards[key] = s
	x.size += s.bytes()
	x.enter(key, s)
}

// keptText is how much of a record's text an entry keeps.
func keptText(r *loci.Record) int { return len(r.Text) + len(r.Heading) }
