// Package langchaingo gives chains and agents of github.com/tmc/langchaingo the
// memory of Loci: [History] is a schema.ChatMessageHistory, [Memory] a schema.Memory
// and [Retriever] a schema.Retriever.
//
// None of them fails a query by default: what goes wrong in the memory is logged and
// given to Options.Report, and the query goes on without. Options.Strict returns the
// errors instead. Only what takes memories away always returns its error.
package langchaingo
