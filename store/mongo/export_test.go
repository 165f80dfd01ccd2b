package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/follow"
)

// Observe shows every command to a function, from now on.
func Observe(see func(*event.CommandStartedEvent)) {
	observe = func(_ context.Context, e *event.CommandStartedEvent) { see(e) }
}

// KeyOf is the 16 bytes that stand for a tenant.
var KeyOf = batch.KeyOf

// Unlock makes writes of this process that do not raise the tenant's counter.
func Unlock() { lockTenant = is("$inc", is("looks", int64(1))) }

// Collections are the names of all collections.
var Collections = collections

// Shelve makes a store keep the index of each shard that has at least this many records, in
// segments of so many while one is loaded; now: before the search answers.
func (o *Options) Shelve(from, book int, now bool) *Options {
	o.keep.From, o.keep.Book, o.keep.Now = from, book, now
	return o
}

// Join makes so many small shards share an image.
func (o *Options) Join(least int) *Options {
	o.keep.Join = least
	return o
}

// Forget makes every search take up what is kept.
func (o *Options) Forget() *Options {
	o.keep.Forget = true
	return o
}

// Load makes a store read so many records of a shard in a transaction, and tells of each by the
// key of its namespace before it begins.
func (o *Options) Load(part int, reading func(namespace string)) *Options {
	o.keep.Part, o.keep.Reading = part, reading
	return o
}

// Idle waits until nothing is loaded.
func (s *Store) Idle() { s.crew.Wait() }

// Hasty makes loads end at once when nobody waits for them.
func (s *Store) Hasty() { s.crew.Grace = 0 }

// Shelf is what keeps the indexes of a store.
func (s *Store) Shelf() *follow.Shelf { return s.shelf }

// NameKey is the key of a tenant's marks.
func (s *Store) NameKey(ctx context.Context, t loci.Tenant) (key loci.NameKey) {
	_ = s.read(ctx, t, "look", func(r *reading) error {
		err := r.start()
		key = r.state.NameKey
		return err
	})
	return key
}

// Indexes lists the indexes that the steps of the schema make: collection, name and keys.
func Indexes() (all []string) {
	for _, step := range steps {
		for _, x := range step.indexes {
			line := x.collection + "." + x.name
			for _, key := range x.keys {
				line += ":" + key.Key + " "
			}
			all = append(all, line)
		}
	}
	return all
}

// Hurry shortens how long a write stays, and how long it looks for a lost commit, until what
// it returns is called.
func Hurry(write, doubt time.Duration) (back func()) {
	oldStay, oldDoubt := stay, doubtTime
	stay, doubtTime = write, doubt
	return func() { stay, doubtTime = oldStay, oldDoubt }
}

// EraseAtOnce makes the transactions that erase a tenant smaller, until what it returns is
// called.
func EraseAtOnce(n int) (back func()) {
	old := eraseAtOnce
	eraseAtOnce = n
	return func() { eraseAtOnce = old }
}

// An IndexKey is an index as tests look at it.
type IndexKey struct {
	Name    string
	Keys    []string
	Partial string // the field that documents in it have; "": all are in it
}

// IndexKeys are the indexes of a collection.
func IndexKeys(collection string) (all []IndexKey) {
	for _, step := range steps {
		for _, x := range step.indexes {
			if x.collection != collection {
				continue
			}
			one := IndexKey{Name: x.name}
			for _, key := range x.keys {
				one.Keys = append(one.Keys, key.Key)
			}
			if x.only != nil {
				one.Partial = x.only[0].Key
			}
			all = append(all, one)
		}
	}
	return all
}
