package embedding

import "github.com/loci-memory/loci"

// ForSpace returns the embedder that makes vectors of a space, for searching what
// an earlier configuration stored. Unsupported: none does, or not in this build.
func ForSpace(s loci.Space) (loci.Embedder, error) {
	var e loci.Embedder
	switch s.Model {
	case "lexical-1":
		e = NewLexical()
	default:
		return nil, loci.Errorf(loci.Unsupported, "no embedder makes vectors of %s", s)
	}
	if have := (loci.Space{Model: e.Model(), Dims: e.Dims()}); have != s {
		return nil, loci.Errorf(loci.Unsupported, "%s makes vectors of %s, not %s", e.Model(), have, s)
	}
	return e, nil
}

// Local reports whether an embedder works in this process: without network and
// without cost, so that nobody need be asked before everything is embedded anew.
func Local(e loci.Embedder) bool {
	_, lexical := e.(*Lexical)
	return lexical
}
