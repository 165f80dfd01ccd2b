package batch

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// Ops are what is to be written together: first the rows of namespaces and spaces, then all
// erases, freed slots and updates, then what is new. Nothing in it is about the same record,
// slot or key twice, except for updates, which stand in their order.
type Ops struct {
	Places    []Place
	Spaces    []NewSpace
	Erased    []loci.ID
	Freed     []loci.ID // records that let go of their slot for another one
	Updates   []Update
	Records   []NewRecord
	Revisions []NewRevision
	Vectors   []NewVector
	Links     []NewLink // one that is there already stays
	Expired   int64     // replies up to this time go, if there is a new one
	Replies   []NewReply
	Events    []NewEvent
	Tallies   []NewTally // what comes to kept counts

	places []*Place // those of Places, which may change until they are written
}

// A NewSpace is a vector space with its number.
type NewSpace struct {
	N     int64
	Space loci.Space
}

// An Update is the next state of a record that is there, or, without one, uses that are
// counted or an expiry time that moves.
type Update struct {
	Put  *loci.Put
	Slot string // hash of that of Put

	IDs               []loci.ID
	ExpiresAt, UsedAt time.Time // zero: not this
}

// A NewRecord is a record that was not there, with the number of its place.
type NewRecord struct {
	*loci.Record
	Place int64
	Hash  string // of its slot
}

// A NewRevision is an earlier state of a record.
type NewRevision struct {
	Record loci.ID
	*loci.Revision
}

// A NewVector holds the vectors of a record in a space, as bytes.
type NewVector struct {
	Record loci.ID
	Space  int64
	Data   []byte
}

// A NewLink is a link with the change counter at which it was made.
type NewLink struct {
	loci.Link
	Seq int64
}

// A NewReply is the remembered reply to a request, with the hash of its key.
type NewReply struct {
	*loci.Reply
	Hash []byte
}

// SurelyExpired is the time up to which replies have expired for all that are new: where nobody
// looked for a reply, one of them must not remove what is still the answer to another.
func (o *Ops) SurelyExpired() (at int64) {
	at = o.Expired
	for i := range o.Replies {
		at = min(at, o.Replies[i].At.UnixMilli())
	}
	return at
}

// A NewEvent is an event with the number of its place.
type NewEvent struct {
	loci.Event
	Place int64
}

// A mention tells a record, a slot or a key of a reply: an id, or a hash.
type mention [sha256.Size]byte

func mentionOf[T string | loci.ID](key T) (m mention) {
	for i := range min(len(key), len(m)) {
		m[i] = key[i]
	}
	return m
}

// separate makes sure that what a change is about is not written in one go with what an
// earlier job did to the same: inside of one, all erases come first, then updates, then what
// is new.
func (b *Batch) separate(c *loci.Change, slots []string) {
	keys := make([]mention, 0, 3*(len(c.Put)+len(c.Erase))+len(c.Events))
	id := func(id loci.ID) { keys = append(keys, mentionOf(id)) }
	slot := func(hash string) {
		if hash != "" {
			keys = append(keys, mentionOf(hash))
		}
	}
	for _, e := range c.Erase {
		id(e.ID)
		if old := b.Records[e.ID]; old != nil {
			slot(old.Slot)
		}
	}
	for i := range c.Put {
		r := &c.Put[i].Record
		id(r.ID)
		slot(slots[i])
		if old := b.Records[r.ID]; old != nil {
			slot(old.Slot)
		}
	}
	for i := range c.Events {
		id(c.Events[i].Entity)
	}
	for _, l := range c.Links {
		id(l.From)
		id(l.To)
	}
	if c.Reply != nil {
		id(c.Reply.Record)
		slot(string(HashOf(c.Reply.Key)))
	}
	b.touch(keys...)
}

// touch begins again where one of some keys was met before.
func (b *Batch) touch(keys ...mention) {
	for _, key := range keys {
		if b.touched[key] {
			b.Flush()
			break
		}
	}
	for _, key := range keys {
		b.touched[key] = true
	}
}

// Flush hands over what is pending.
func (b *Batch) Flush() {
	for _, w := range b.ops.places {
		row := *w
		if row.signal {
			row.Changed = b.State.Seq
		}
		b.ops.Places = append(b.ops.Places, row)
		if b.Handing && row.Named {
			row.Kinds = slices.Clone(row.Kinds)
			b.named = append(b.named, row)
		}
		w.Fresh, w.staged = false, false
	}
	ops := b.ops
	b.ops = Ops{}
	clear(b.touched)
	b.Emit(&ops)
}

// HashOf is the SHA-256 of a key that may be longer than what an index takes.
func HashOf(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// SlotHash tells the slots of a tenant apart: what at most one record may hold per
// namespace and kind. "" for no slot.
func SlotHash(r *loci.Record) string {
	if r.Slot == "" {
		return ""
	}
	var room [512]byte // for most
	all := room[:0]
	for _, part := range [...]string{r.Namespace.Key(), string(r.Kind), r.Slot} {
		all = binary.BigEndian.AppendUint64(all, uint64(len(part)))
		all = append(all, part...)
	}
	sum := sha256.Sum256(all)
	return string(sum[:])
}

// slotHashes are the [SlotHash] of each put.
func slotHashes(puts []loci.Put) []string {
	hashes := make([]string, len(puts))
	for i := range puts {
		hashes[i] = SlotHash(&puts[i].Record)
	}
	return hashes
}
