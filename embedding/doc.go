// Package embedding holds the embedders that Loci brings along.
//
// An embedder turns a text into a vector, so that texts of like meaning lie close
// together. The engine knows only [loci.Embedder]; an embedder of any origin, a
// local model or a service, is another type with those three methods.
//
// [Static] knows meaning, [Lexical] spelling: it brings together the forms of a
// word, misspelt words and parts of words. Neither needs a file, a service or a key.
package embedding

import "github.com/loci-memory/loci"

// Open returns the embedder that an operator's specification names: "builtin",
// also "", is [NewBuiltin]; "lexical" is [NewLexical]; "none" is nil, for search by
// keyword alone. Anything else is an Invalid error that lists the choices.
func Open(spec string) (loci.Embedder, error) {
	switch spec {
	case "", "builtin":
		builtin, err := NewBuiltin()
		if err != nil {
			return nil, err // and no embedder: a nil *Static would not be nil to the engine
		}
		return builtin, nil
	case "lexical":
		return NewLexical(), nil
	case "none":
		return nil, nil
	}
	return nil, loci.Errorf(loci.Invalid, "embedder %q is not known; choose \"builtin\", \"lexical\" or \"none\"", spec)
}
