// Package eino gives graphs and agents of github.com/cloudwego/eino the memory of
// Loci: [Retriever] is a retriever.Retriever over notes and facts, [CheckPointStore] a
// compose.CheckPointStore, and [History] keeps conversations.
//
// Retriever and History fail no query by default: what goes wrong in the memory is
// logged and given to Options.Report, and the query goes on without. Options.Strict
// returns the errors instead. A CheckPointStore always returns its errors: a run that
// cannot be resumed must not look like one that can.
package eino
