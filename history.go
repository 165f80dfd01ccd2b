package loci

import (
	"context"
	"errors"
)

// maxChain bounds the facts that History follows.
const maxChain = 10_000

// History returns the chain of supersession a fact is in, oldest first: the facts
// that gave way one to the next under its key. Erased ones end the chain. At most
// 10,000 are returned, those nearest to the fact.
func (m *Memory) History(ctx context.Context, id ID) ([]Fact, error) {
	fact, err := m.Fact(ctx, id)
	if err != nil {
		return nil, err
	}
	older, err := m.follow(ctx, &fact, maxChain/2, func(f *Fact) ID { return f.Supersedes })
	if err != nil {
		return nil, err
	}
	newer, err := m.follow(ctx, &fact, maxChain-1-len(older), func(f *Fact) ID { return f.SupersededBy })
	if err != nil {
		return nil, err
	}
	chain := make([]Fact, 0, len(older)+1+len(newer))
	for i := range older {
		chain = append(chain, older[len(older)-1-i])
	}
	return append(append(chain, fact), newer...), nil
}

// follow reads the facts that come after one in a direction.
func (m *Memory) follow(ctx context.Context, fact *Fact, limit int, next func(*Fact) ID) (chain []Fact, err error) {
	for id := next(fact); !id.IsZero() && len(chain) < limit; id = next(&chain[len(chain)-1]) {
		f, err := m.Fact(ctx, id)
		if errors.Is(err, ErrNotFound) {
			return chain, nil
		}
		if err != nil {
			return nil, err
		}
		chain = append(chain, f)
	}
	return chain, nil
}
