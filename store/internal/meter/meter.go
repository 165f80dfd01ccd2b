// Package meter counts what a store does by itself: commits, and the index in the process.
package meter

import (
	"slices"
	"sync/atomic"
)

// Sizes are upper bounds of how many writes share a commit, by which commits are counted.
var Sizes = []int{1, 2, 4, 8, 16, 32, 64, 128, 256}

// A Meter counts for one store. The zero value is ready. It is safe for concurrent use.
type Meter struct {
	commits [10]atomic.Uint64 // by the first of Sizes that fits; the last: none does
	writes  atomic.Uint64
	loaded  atomic.Uint64
	dropped atomic.Uint64
}

// Commit counts a commit of so many writes.
func (m *Meter) Commit(writes int) {
	at, _ := slices.BinarySearch(Sizes, writes)
	m.commits[at].Add(1)
	m.writes.Add(uint64(max(0, writes)))
}

// Loaded and Dropped count shards that came into the index, and that made room for others.
func (m *Meter) Loaded(shards int) { m.loaded.Add(uint64(max(0, shards))) }

// Dropped see Loaded.
func (m *Meter) Dropped(shards int) { m.dropped.Add(uint64(max(0, shards))) }

// Work is what a store has done by itself since it was opened, and what its index takes.
type Work struct {
	Commits []uint64 // by how many writes shared them: up to each of Sizes, and more
	Writes  uint64   // in all commits

	ShardsLoaded  uint64 // parts of the index, each of one kind in one namespace
	ShardsDropped uint64 // to make room

	IndexBytes int64 // of memory, about
	IndexLimit int64 // of them
}

// Work returns what was counted. The caller adds what the index takes.
func (m *Meter) Work() Work {
	w := Work{
		Commits: make([]uint64, len(m.commits)), Writes: m.writes.Load(),
		ShardsLoaded: m.loaded.Load(), ShardsDropped: m.dropped.Load(),
	}
	for i := range m.commits {
		w.Commits[i] = m.commits[i].Load()
	}
	return w
}
