package batch

import (
	"bytes"
	"errors"
	"testing"

	"github.com/loci-memory/loci"
)

// after is how a commit leaves a state with a head of its own.
func after(st State, head byte) State {
	st.Seq, st.Events, st.Head = st.Seq+1, st.Events+1, loci.Hash{head}
	return st
}

// found is a state as a write finds it, whose counter is raised already.
func found(st State) *State {
	st.Seq++
	return &st
}

// A commit follows what was seen if it found just that. Else a write knows nothing of a database that went
// back, and what it left is not taken for the newest state: the next read must notice.
func TestCommitsThatFollow(t *testing.T) {
	seen := State{There: true, Seq: 10, Events: 5, Head: loci.Hash{10}, NameKey: bytes.Repeat([]byte{1}, 32)}
	left := after(seen, 11)
	other := seen
	other.Head = loci.Hash{99}
	erased := seen
	erased.NameKey = bytes.Repeat([]byte{2}, 32)
	quiet := seen
	quiet.Events, quiet.Head = 0, loci.Hash{}
	moved := *found(seen) // by a commit without an event
	for _, c := range []struct {
		name              string
		seen, found, left State
		want              bool
	}{
		{"what was seen", seen, *found(seen), left, true},
		{"what another commit left", seen, *found(left), after(left, 12), false},
		{"what a commit without an event left", seen, *found(moved), after(moved, 12), false},
		{"another history", seen, *found(other), after(other, 12), false},
		{"a tenant that was erased", seen, *found(erased), after(erased, 12), false},
		{"a tenant without an event", quiet, *found(quiet), after(quiet, 11), false},
		{"what it left has been seen", left, *found(seen), left, true},
		{"another state in its place has been seen", after(seen, 77), *found(seen), left, false},
	} {
		var n Names
		if err := n.CheckPast(&c.seen, &Past{}, loci.Hash{}); err != nil {
			t.Fatal(err)
		}
		n.past.line, n.past.Moves = 4, false
		before := n.past
		line, ok := n.Follow(&c.found, &c.left)
		if ok != c.want || ok && line != 4 {
			t.Errorf("%s: %v, after the database went back %d times", c.name, ok, line)
		}
		after := n.Past()
		if ok && (!after.Is(&c.left) || after.Moves) || !ok && (after.Seq != before.Seq || !after.Moves) {
			t.Errorf("%s: seen is %+v", c.name, after)
		}
	}
}

// A database that goes back behind a commit of the process is noticed, whatever came then.
func TestDatabaseThatGoesBackBehindACommit(t *testing.T) {
	seen := State{There: true, Seq: 10, Events: 5, Head: loci.Hash{10}, NameKey: bytes.Repeat([]byte{1}, 32)}
	left := after(seen, 11)
	for name, now := range map[string]State{
		"nothing": seen, "another commit": after(seen, 12), "two others": after(after(seen, 12), 13),
	} {
		var n Names
		if err := n.CheckPast(&seen, &Past{}, loci.Hash{}); err != nil {
			t.Fatal(err)
		}
		if _, ok := n.Follow(found(seen), &left); !ok {
			t.Fatal("it does not follow")
		}
		past := n.Past()
		hash := map[int64]loci.Hash{5: {10}, 6: {12}}[past.Events] // that the last event has now
		if now.Events < past.Events {
			hash = loci.Hash{}
		}
		if err := n.CheckPast(&now, &past, hash); !errors.Is(err, ErrStale) {
			t.Errorf("%s came: %v", name, err)
		}
	}
}

// What is known of a batch in part is not handed over.
func TestBatchesThatAreNotHanded(t *testing.T) {
	put := func(b *Batch) {
		b.Apply(&loci.Change{
			Put: []loci.Put{{Record: loci.Record{ID: loci.ID{1}, Version: 1, Live: true, Passages: []loci.Span{{}}}}},
		})
		b.Mark.Event = true
	}
	for name, c := range map[string]struct {
		needs Needs
		do    func(*Batch)
		want  bool
	}{
		"a put":                 {Needs{Whole: true}, put, true},
		"one beside other work": {Needs{}, put, false},
		"one without an event":  {Needs{Whole: true}, func(b *Batch) { put(b); b.Mark.Event = false }, false},
		"one that nobody wants": {Needs{Whole: true}, func(b *Batch) {
			b.Handing, b.Mark.Event = false, true
			b.Changed(loci.ID{2}, 1, "", true)
		}, false},
		"an expiry that moves": {Needs{Whole: true}, func(b *Batch) { put(b); b.Changed(loci.ID{2}, 1, "", false) }, false},
		"one that goes":        {Needs{Whole: true}, func(b *Batch) { put(b); b.Changed(loci.ID{2}, 1, "", true) }, true},
		"many": {Needs{Whole: true}, func(b *Batch) {
			put(b)
			for i := range maxHanded {
				b.Changed(loci.ID{9, byte(i), byte(i >> 8)}, 1, "", true)
			}
		}, false},
	} {
		b := New(loci.Tenant{}, func(*Ops) {})
		b.Handing = true
		c.do(&b)
		b.Flush()
		if h := b.Handed(&c.needs, 0); (h != nil) != c.want {
			t.Errorf("%s: %+v", name, h)
		}
	}
	change := &Job[int]{Needs: NeedsOf(&loci.Change{})}
	if !NeedsOfAll([]*Job[int]{change, change}).Whole || NeedsOfAll([]*Job[int]{change, {}}).Whole {
		t.Error("what changes do is told, what is done beside them is not")
	}
}
