package eino_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/adapters/eino"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// parrot is a chat model that says what it knows.
type parrot struct{}

func (parrot) Generate(_ context.Context, messages []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	return schema.AssistantMessage(fmt.Sprintf("You said %d things.", (len(messages)+1)/2), nil), nil
}

func (p parrot) Stream(ctx context.Context, messages []*schema.Message,
	opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := p.Generate(ctx, messages, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

func Example() {
	ctx := context.Background()
	chatModel := parrot{}

	s, err := store.Open(ctx, "memory:", nil) // or "sqlite:/path/to/loci.db"
	check(err)
	defer s.Close()
	engine, err := loci.New(s, &loci.Options{Features: []loci.Feature{session.Feature{}, checkpoint.Feature{}}})
	check(err)
	tenant, err := loci.NewTenant("default")
	check(err)
	alice, err := engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "alice"}, Actor: "my agent"})
	check(err)

	chain, err := compose.NewChain[[]*schema.Message, *schema.Message]().AppendChatModel(chatModel).
		Compile(ctx, compose.WithCheckPointStore(eino.NewCheckPointStore(eino.Of(alice))))
	check(err)
	history, err := eino.NewHistory(alice, "trip", nil)
	check(err)
	for _, text := range []string{"I like the window seat.", "Which seat did I like?"} {
		reply, err := history.Turn(ctx, schema.UserMessage(text),
			func(ctx context.Context, messages []*schema.Message) (*schema.Message, error) {
				return chain.Invoke(ctx, messages)
			})
		check(err)
		fmt.Println(reply.Content)
	}

	_, err = alice.StoreFact(ctx, loci.NewFact{Content: "Prefers window seats."})
	check(err)
	notes := &eino.Retriever{Handle: eino.Of(alice)}
	docs, err := notes.Retrieve(ctx, "seats")
	check(err)
	fmt.Println(docs[0].Content)
	// Output:
	// You said 1 things.
	// You said 2 things.
	// Prefers window seats.
}
