// Package embedding holds the embedders that Loci brings along.
//
// An embedder turns a text into a vector, so that texts of like meaning lie close
// together. The engine knows only [loci.Embedder]; an embedder of any origin, a
// local model or a service, is another type with those three methods.
//
// [Lexical] is the one that needs nothing: no model file, no service, no key. It
// knows spelling, not meaning: it brings together the forms of a word, misspelt
// words and parts of words.
package embedding

import "github.com/loci-memory/loci"

// Open returns the embedder that an operator's specification names: "lexical",
// also "", is [NewLexical]; "none" is nil, for search by keyword alone. Anything
// else is an Invalid error that lists the choices.
func Open(spec string) (loci.Embedder, error) {
	switch spec {
	case "", "lexical":
		return NewLexical(), nil
	case "none":
		return nil, nil
	}
	return nil, loci.Errorf(loci.Invalid, "embedder %q is not known; choose \"lexical\" or \"none\"", spec)
}
