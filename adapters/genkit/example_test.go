package genkit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/loci-memory/loci"
	adapter "github.com/loci-memory/loci/adapters/genkit"
	"github.com/loci-memory/loci/checkpoint"
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
	g := genkit.Init(ctx)
	model := genkit.DefineModel(g, "example/parrot", &ai.ModelOptions{Supports: &ai.ModelSupports{Multiturn: true}},
		func(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
			text := fmt.Sprintf("You said %d things.", (len(req.Messages)+1)/2)
			return &ai.ModelResponse{Request: req, Message: ai.NewModelTextMessage(text)}, nil
		})

	s, err := store.Open(ctx, "memory:", nil) // or "sqlite:/path/to/loci.db"
	check(err)
	defer s.Close()
	engine, err := loci.New(s, &loci.Options{Features: []loci.Feature{session.Feature{}, checkpoint.Feature{}}})
	check(err)
	tenant, err := loci.NewTenant("default")
	check(err)
	alice, err := engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "alice"}, Actor: "my agent"})
	check(err)

	history, err := adapter.NewHistory(alice, "trip", nil)
	check(err)
	for _, text := range []string{"I like the window seat.", "Which seat did I like?"} {
		reply, err := history.Generate(ctx, g, ai.NewUserTextMessage(text), ai.WithModel(model))
		check(err)
		fmt.Println(reply.Text())
	}

	_, err = alice.StoreFact(ctx, loci.NewFact{Content: "Prefers window seats."})
	check(err)
	notes := adapter.DefineRetriever(g, "notes", adapter.Of(alice), nil)
	found, err := genkit.Retrieve(ctx, g, ai.WithRetriever(notes), ai.WithTextDocs("seats"))
	check(err)
	fmt.Println(found.Documents[0].Content[0].Text)
	// Output:
	// You said 1 things.
	// You said 2 things.
	// Prefers window seats.
}
