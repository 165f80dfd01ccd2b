// Package embedding holds the embedders that Loci brings along, and [Open], which
// makes the one that an operator names.
//
// An embedder turns a text into a vector, so that texts of like meaning lie close
// together. The engine knows only [loci.Embedder]; an embedder of any origin is
// another type with those three methods.
//
// [Static] knows meaning and is the default; [Lexical] knows spelling: it brings
// together the forms of a word, misspelt words and parts of words. Neither needs a
// file, a service or a key. The others know meaning better and cost more: a sentence
// transformer in a directory of this machine, Ollama, or a service with the
// interface of OpenAI.
package embedding
