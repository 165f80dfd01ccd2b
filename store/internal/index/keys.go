package index

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// Keys is a sorted list of namespace keys: what lies in and below a namespace is
// one run of it, found without looking at the rest.
type Keys []string

// Add takes in a key; one that is there already stays.
func (k *Keys) Add(key string) {
	if i, found := slices.BinarySearch(*k, key); !found {
		*k = slices.Insert(*k, i, key)
	}
}

// Remove takes out a key.
func (k *Keys) Remove(key string) {
	if i, found := slices.BinarySearch(*k, key); found {
		*k = slices.Delete(*k, i, i+1)
	}
}

// Covered lists the keys a filter reaches, in order, each once.
func (k Keys) Covered(f *loci.Filter) []string {
	var out []string
	for _, within := range f.Within {
		prefix := within.Key()
		start, found := slices.BinarySearch(k, prefix)
		if f.Exact {
			if found {
				out = append(out, prefix)
			}
			continue
		}
		for _, key := range k[start:] {
			if !strings.HasPrefix(key, prefix) {
				break
			}
			out = append(out, key)
		}
	}
	if len(f.Within) > 1 {
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out
}
