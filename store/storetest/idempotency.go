package storetest

import (
	"encoding/json"
	"time"

	"github.com/loci-memory/loci"
)

var idempotencyCases = []testCase{
	{"a reply comes back under its key", func(b *bench) {
		keys := []string{"key", "Key", "key\x00", "\x00", "\xff\xfe\xfd", "á", "a\u0301", "%", "'"}
		for i, key := range keys {
			c := creation(record(i+1, ""))
			c.Reply = &loci.Reply{Key: key, Fingerprint: "\x00\xff print of " + key, Value: json.RawMessage(`{"id":"x","n":12345678901234567890}`),
				Record: id(i + 1), At: at(i), ExpiresAt: at(100 + i)}
			b.apply(c)
			got, err := b.store.Replied(b.Context(), b.tenant, key)
			b.must("Replied", err)
			b.same("reply", got, c.Reply)
		}
		for _, key := range []string{"", "ke", "key ", "key\x00\x00", "unknown", "KEY"} {
			got, err := b.store.Replied(b.Context(), b.tenant, key)
			b.must("Replied", err)
			if got != nil {
				b.Errorf("key %q has the reply %v", key, got)
			}
		}
	}},
	{"a stored key conflicts and nothing is applied", func(b *bench) {
		b.replied(1, "key 1", at(100))
		second := creation(record(2, "walrus"))
		second.Reply = reply("key 1", at(2))
		b.conflict("the same key again", second)
		second.Reply.Fingerprint = "of another request"
		b.conflict("the same key for another request", second)
		second.Reply.Key = "key 2"
		b.apply(second)
	}},
	{"an expired key may be used again", func(b *bench) {
		b.replied(1, "key 1", at(100))
		for _, early := range []time.Time{at(99), at(100).Add(-time.Millisecond)} {
			b.conflict("a key that is not expired", b.answering(2, "key 1", early))
		}
		b.apply(b.answering(2, "key 1", at(100)))
		got, err := b.store.Replied(b.Context(), b.tenant, "key 1")
		b.must("Replied", err)
		if got == nil || got.Record != id(2) {
			b.Errorf("reply %v; want the new one", got)
		}
		// The old reply is gone, so erasing its record does not take the new one.
		b.apply(erasure(record(1, "")))
		if got, err = b.store.Replied(b.Context(), b.tenant, "key 1"); err != nil || got == nil {
			b.Errorf("reply %v, error %v; want the new reply", got, err)
		}
	}},
	{"a key expires by the time of the next request", func(b *bench) {
		b.replied(1, "key 1", at(100))
		b.conflict("too early, in a change without events", loci.Change{Reply: reply("key 1", at(99))})
		b.apply(loci.Change{Reply: reply("key 1", at(100))})
	}},
	{"a conflict elsewhere stores no reply", func(b *bench) {
		b.put(record(1, ""))
		c := creation(record(1, ""))
		c.Reply = reply("key 1", at(1))
		b.conflict("creating twice", c)
		c = creation(record(2, ""))
		c.Reply = reply("key 1", at(1))
		b.apply(c) // the key is still free
	}},
}

// answering is a change that creates record n at a moment and remembers a reply.
func (b *bench) answering(n int, key string, now time.Time) loci.Change {
	r := record(n, "")
	r.UpdatedAt = now
	c := creation(r)
	c.Reply = reply(key, now)
	c.Reply.Record = r.ID
	return c
}

// replied creates record n and remembers a reply until a moment.
func (b *bench) replied(n int, key string, until time.Time) {
	b.Helper()
	c := b.answering(n, key, at(n))
	c.Reply.ExpiresAt = until
	b.apply(c)
}
