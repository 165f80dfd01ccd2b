package tool

import (
	"testing"

	"github.com/loci-memory/loci"
)

// A tool that a program made by itself is shown to everybody, one of a family to those
// who may use it.
func TestToolsOfAProgramAreShown(t *testing.T) {
	tenant, err := loci.NewTenant("t")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := loci.NewPrincipal(tenant, "reader", nil, loci.ScopeRead)
	if err != nil {
		t.Fatal(err)
	}
	made := &Tool{Name: "own"}
	if got, shown := made.For(reader); !shown || got != made {
		t.Errorf("%+v, %v", got, shown)
	}
	set := newSet(t, Instance{Family: FamilyNotes})
	for name, want := range map[string]bool{"memory_search": true, "memory_save": false} {
		if found, _ := set.Lookup(name); found == nil {
			t.Errorf("no tool %s", name)
		} else if _, shown := found.For(reader); shown != want {
			t.Errorf("%s is shown to a reader: %v", name, shown)
		}
	}
}
