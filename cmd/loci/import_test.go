package main

import (
	"errors"
	"testing"

	"github.com/loci-memory/loci"
)

// TestStoppedImports: an import that failed half way does not say that nothing was stored.
func TestStoppedImports(t *testing.T) {
	full := &loci.Error{
		Code: loci.Unavailable, Msg: "the disk is full; nothing was stored", Recovery: "Free some space.", Err: errors.ErrUnsupported,
	}
	if err := stopped(full, &loci.ImportReport{}); err != error(full) {
		t.Errorf("nothing was imported: %v", err)
	}
	err := stopped(full, &loci.ImportReport{Created: 1000})
	e := loci.AsError(err)
	if want := "1000 memories imported, and no more: the disk is full"; e.Msg != want || e.Code != loci.Unavailable || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v; want %s", err, want)
	}
	if want := "Free some space. What is imported stays, and is left alone when you import the file again."; e.Advice() != want {
		t.Errorf("%s; want %s", e.Advice(), want)
	}
}
