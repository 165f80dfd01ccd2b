package embedding

import (
	"errors"
	"testing"

	"github.com/loci-memory/loci"
)

type remote struct{ loci.Embedder }

func TestForSpace(t *testing.T) {
	l := NewLexical()
	own := loci.Space{Model: l.Model(), Dims: l.Dims()}
	e, err := ForSpace(own)
	if err != nil || e.Model() != own.Model || e.Dims() != own.Dims {
		t.Errorf("the lexical space: %v, %v", e, err)
	}
	for _, s := range []loci.Space{{}, {Model: own.Model, Dims: own.Dims / 2}, {Model: "lexical-0", Dims: own.Dims}} {
		if e, err := ForSpace(s); e != nil || !errors.Is(err, loci.ErrUnsupported) {
			t.Errorf("%s: %v, %v", s, e, err)
		}
	}
	if !Local(l) || Local(remote{l}) || Local(nil) {
		t.Error("only what works in the process is local")
	}
}
