package langchaingo_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms/fake"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/adapters/langchaingo"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func Example() {
	ctx := context.Background()
	llm := fake.NewFakeLLM([]string{"The window seat."})

	s, err := store.Open(ctx, "memory:", nil) // or "sqlite:/path/to/loci.db"
	check(err)
	defer s.Close()
	engine, err := loci.New(s, &loci.Options{Features: []loci.Feature{session.Feature{}}})
	check(err)
	tenant, err := loci.NewTenant("default")
	check(err)
	alice, err := engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "alice"}, Actor: "my agent"})
	check(err)

	memory, err := langchaingo.NewMemory(alice, "trip", nil)
	check(err)
	chain := chains.NewConversation(llm, memory)
	_, err = chains.Run(ctx, chain, "Which seat did I like?")
	check(err)

	messages, err := memory.History().Messages(ctx)
	check(err)
	for _, m := range messages {
		fmt.Println(m.GetType(), m.GetContent())
	}
	// Output:
	// human Which seat did I like?
	// ai The window seat.
}
