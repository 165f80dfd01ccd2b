package aside

import (
	"cmp"
	"slices"
	"time"
)

// recent is how long after its last search a tenant counts among those that share the memory
// for indexes.
const recent = time.Minute

// A Holder is the index of a tenant.
type Holder[T any] struct {
	Of       T
	Bytes    int64     // that it takes
	Searched time.Time // last
}

// A Claim says who is to make room, and of how many bytes at most.
type Claim[T any] struct {
	Of    T
	Bytes int64
}

// Claims says who makes room within a limit in bytes, in order. First come those that were not
// searched for a while. Each of the others has the same share of the limit: those come next
// that hold clearly more, who holds most first, down to the share. So a tenant that searches
// one large memory after the other does it at its own cost. At last comes who is left: who was
// not searched for longest first.
func Claims[T any](holders []Holder[T], limit int64, now time.Time) (all []Claim[T]) {
	longest := slices.Clone(holders)
	slices.SortStableFunc(longest, func(a, b Holder[T]) int { return a.Searched.Compare(b.Searched) })
	idle := 0
	for idle < len(longest) && now.Sub(longest[idle].Searched) > recent {
		all = append(all, Claim[T]{longest[idle].Of, longest[idle].Bytes})
		idle++
	}
	others := longest[idle:]
	if len(others) == 0 {
		return all
	}
	share := limit / int64(len(others))
	largest := slices.Clone(others)
	slices.SortStableFunc(largest, func(a, b Holder[T]) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, h := range largest {
		if h.Bytes > share+share/4 { // what is dropped is whole shards, so a little more is no reason
			all = append(all, Claim[T]{h.Of, h.Bytes - share})
		}
	}
	for _, h := range others {
		all = append(all, Claim[T]{h.Of, min(h.Bytes, share)})
	}
	return all
}
