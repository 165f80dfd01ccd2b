package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// A Key names a shard: the records of one kind in one namespace.
type Key struct {
	Namespace string // its Key
	Kind      loci.Kind
}

// KeyOf is the shard a record belongs to.
func KeyOf(r *loci.Record) Key { return Key{r.Namespace.Key(), r.Kind} }

func (k Key) compare(o Key) int {
	return cmp.Or(strings.Compare(k.Namespace, o.Namespace), strings.Compare(string(k.Kind), string(o.Kind)))
}

// Keys is a sorted list of the keys of shards: what lies in and below a namespace is
// one run of it, found without looking at the rest.
type Keys []Key

// Add takes in a key; one that is there already stays.
func (k *Keys) Add(key Key) {
	if i, found := slices.BinarySearchFunc(*k, key, Key.compare); !found {
		*k = slices.Insert(*k, i, key)
	}
}

// AddAll takes in many keys: they are sorted once.
func (k *Keys) AddAll(more Keys) {
	if len(more) < 16 {
		for _, key := range more {
			k.Add(key)
		}
		return
	}
	all := append(*k, more...)
	slices.SortFunc(all, Key.compare)
	*k = slices.Compact(all)
}

// Has reports whether a key is there.
func (k Keys) Has(key Key) bool {
	_, found := slices.BinarySearchFunc(k, key, Key.compare)
	return found
}

// Remove takes out a key.
func (k *Keys) Remove(key Key) {
	if i, found := slices.BinarySearchFunc(*k, key, Key.compare); found {
		*k = slices.Delete(*k, i, i+1)
	}
}

// from lists the keys of a namespace and of all that sorts behind it.
func (k Keys) from(namespace string) Keys {
	start, _ := slices.BinarySearchFunc(k, namespace, func(key Key, namespace string) int { return strings.Compare(key.Namespace, namespace) })
	return k[start:]
}

// Covered lists the keys a filter reaches, in order, each once.
func (k Keys) Covered(f *loci.Filter) Keys {
	var out Keys
	for _, within := range f.Within {
		namespace := within.Key()
		for _, key := range k.from(namespace) {
			if f.Exact && key.Namespace != namespace || !strings.HasPrefix(key.Namespace, namespace) {
				break
			}
			if len(f.Kinds) == 0 || slices.Contains(f.Kinds, key.Kind) {
				out = append(out, key)
			}
		}
	}
	if len(f.Within) > 1 {
		slices.SortFunc(out, Key.compare)
		out = slices.Compact(out)
	}
	return out
}
