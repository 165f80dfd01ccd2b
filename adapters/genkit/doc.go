// Package genkit gives flows of github.com/firebase/genkit/go the memory of Loci:
// [DefineRetriever] registers a retriever over notes and facts, [SessionStore] keeps
// the state of sessions, and [History] keeps conversations.
//
// Retrievers and histories fail no query by default: what goes wrong in the memory is
// logged and given to Options.Report, and the query goes on without. Options.Strict
// returns the errors instead. A SessionStore always returns its errors: a state that
// was not saved must not look like one that was.
package genkit
