// Package loci is the memory of AI agents: it lets any agent remember, search,
// correct and forget, across sessions and channels, for one person or for
// millions of tenants.
//
// An [Engine] works over a [Store]; a [Memory] is a handle bound to one tenant
// and its namespaces:
//
//	embedder, err := embedding.NewBuiltin()
//	engine, err := loci.New(store, &loci.Options{Embedder: embedder})
//	memory, err := engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "u-1"}, Actor: "me"})
//	stored, err := memory.StoreFact(ctx, loci.NewFact{Content: "Prefers window seats."})
//	result, err := memory.Search(ctx, loci.Query{Text: "where do I like to sit?"})
//
// The package is the domain: it knows no database, no protocol and no process.
// A store keeps records and answers simple questions; every decision, score, id
// and time comes from here.
package loci
