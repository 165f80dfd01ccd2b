// Package embedding holds the embedders that Loci brings along, and [Open], which
// makes the one that an operator names.
//
// An embedder turns a text into a vector, so that texts of like meaning lie close
// together. The engine knows only [loci.Embedder]; an embedder of any origin is
// another type with those three methods.
//
// [Lexical] is the one that needs nothing: no model file, no service, no key. It
// knows spelling, not meaning: it brings together the forms of a word, misspelt
// words and parts of words. The others know meaning: a sentence transformer in a
// directory of this machine, Ollama, or a service with the interface of OpenAI.
package embedding
