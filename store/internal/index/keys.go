package index

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci"
	"github.com/tidwall/btree"
)

// A Key names a shard: the records of one kind in one namespace.
type Key struct {
	Namespace string // its Key
	Kind      loci.Kind
	Above     bool // of all namespaces from that one on: see [Index.AddAbove]
}

// KeyOf is the shard a record belongs to.
func KeyOf(r *loci.Record) Key { return Key{Namespace: r.Namespace.Key(), Kind: r.Kind} }

func (k Key) compare(o Key) int {
	return cmp.Or(strings.Compare(k.Namespace, o.Namespace), strings.Compare(string(k.Kind), string(o.Kind)))
}

// Keys are the keys of shards in their order: what lies in and below a namespace is one
// run of them, found without looking at the rest. The zero value is empty.
type Keys struct {
	tree  *btree.BTreeG[Key]
	stamp uint64 // another one after each change
}

// stamps are those of all keys, so that no two states have the same one but the empty ones.
var stamps atomic.Uint64

// Add takes in keys; one that is there already stays.
func (k *Keys) Add(keys ...Key) {
	if k.tree == nil {
		before := func(a, b Key) bool { return a.compare(b) < 0 }
		k.tree = btree.NewBTreeGOptions(before, btree.Options{NoLocks: true})
	}
	for _, key := range keys {
		if _, there := k.tree.Set(key); !there {
			k.stamp = stamps.Add(1)
		}
	}
}

// Has reports whether a key is there.
func (k *Keys) Has(key Key) bool {
	if k.tree == nil {
		return false
	}
	_, found := k.tree.Get(key)
	return found
}

// Remove takes out a key.
func (k *Keys) Remove(key Key) {
	if k.tree != nil {
		k.tree.Delete(key)
		k.stamp = stamps.Add(1)
	}
}

// Touch notes that what the keys are a part of has changed.
func (k *Keys) Touch() { k.stamp = stamps.Add(1) }

// within calls yield, in order, for the keys of a namespace and of those below it, until
// it returns false.
func (k *Keys) within(namespace string, yield func(Key) bool) {
	if k.tree == nil {
		return
	}
	k.tree.Ascend(Key{Namespace: namespace}, func(key Key) bool {
		return strings.HasPrefix(key.Namespace, namespace) && yield(key)
	})
}

// Covered lists the keys a filter reaches, in order, each once.
func (k *Keys) Covered(f *loci.Filter) (out []Key) {
	for _, within := range f.Within {
		namespace := within.Key()
		k.within(namespace, func(key Key) bool {
			if f.Exact && key.Namespace != namespace {
				return false
			}
			if len(f.Kinds) == 0 || slices.Contains(f.Kinds, key.Kind) {
				out = append(out, key)
			}
			return true
		})
	}
	if len(f.Within) > 1 {
		slices.SortFunc(out, Key.compare)
		out = slices.Compact(out)
	}
	return out
}
