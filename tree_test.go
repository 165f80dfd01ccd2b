package loci_test

import (
	"testing"

	"github.com/loci-memory/loci"
)

// newTree makes a handle of the shared tree of a name.
func newTree(t testing.TB, e *loci.Engine, name string) *loci.Tree {
	t.Helper()
	tree, err := bind(t, e, "user", "ann").Tree(name, "")
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
