package batch

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
)

// Of a tenant with many namespaces few are remembered for its next write: those of the last one, as
// far as there is room.
func TestKnownNamespacesAreBounded(t *testing.T) {
	var k Known
	for round, n := range []int{10, maxKnown, maxKnown + 1} {
		b := New(loci.Tenant{}, func(*Ops) {})
		b.Mark.Event = true
		b.State = State{There: true, Seq: int64(round + 1)}
		b.Found = State{There: true, Seq: int64(round + 1)}
		for i := range n {
			mark := loci.Mark(fmt.Sprint(round, i))
			b.Places[mark] = &Place{Mark: mark}
		}
		k.Learn(&b, &Needs{})
		known := 0
		for mark := range b.Places {
			if _, ok := k.places[mark]; ok {
				known++
			}
		}
		if want := min(n, maxKnown); known != want || len(k.places) != want {
			t.Errorf("of %d namespaces %d are remembered among %d; want %d", n, known, len(k.places), want)
		}
	}
}

// A mark is remembered for the tenant's key of that moment, and of few namespaces at a time.
func TestMarksAreThoseOfTheTenant(t *testing.T) {
	var k Known
	for _, key := range []loci.NameKey{loci.NewNameKey(), loci.NewNameKey()} {
		for i := range 2*maxKnown - 50 {
			b := New(loci.Tenant{}, func(*Ops) {})
			b.Found.NameKey = key
			n := loci.Namespace{"user", fmt.Sprint(i % (maxKnown + 10))}
			if got := k.mark(&b, n); got != key.Mark(n) || b.marks[n.Key()] != got {
				t.Fatalf("the mark of %v is not that of the tenant", n)
			}
			if len(k.marks) > maxKnown {
				t.Fatalf("%d marks are remembered", len(k.marks))
			}
		}
	}
}
