package main

import (
	"context"
	"fmt"
	"log"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/store"
)

func main() {
	ctx := context.Background()
	s, err := store.Open(ctx, "memory:", nil) // or "sqlite:/path/to/loci.db"
	check(err)
	defer s.Close()
	embedder, err := embedding.NewBuiltin()
	check(err)
	engine, err := loci.New(s, &loci.Options{Embedder: embedder})
	check(err)
	tenant, err := loci.NewTenant("default")
	check(err)
	memory, err := engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "alice"}, Actor: "example"})
	check(err)

	_, err = memory.StoreFact(ctx, loci.NewFact{Content: "Prefers window seats.", Tags: []string{"travel"}})
	check(err)
	result, err := memory.Search(ctx, loci.Query{Text: "where do I like to sit?", Limit: 3})
	check(err)
	for _, m := range result.Matches {
		fmt.Printf("%.2f %s\n", m.Score, m.Passage)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
