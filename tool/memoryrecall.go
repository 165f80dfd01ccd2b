package tool

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
)

type statsInput struct {
	Scope string `json:"scope,omitempty" jsonschema:"Count only what is global or for this agent; default: all"`
}

// lifecycle is the reply of memory_stats.
type lifecycle struct {
	Facts    loci.FactStats    `json:"facts"`
	Rules    loci.RuleStats    `json:"rules"`
	Episodes loci.EpisodeStats `json:"episodes"`
}

func memoryStats(b *base, t Tool, i Instance) *Tool {
	t = b.reading(t, "Memory statistics", "Count memories by the state they are in: facts by validity, rules by maturity, episodes that wait to be digested "+
		"and the age of the oldest of them in hours. For questions about the memory itself.", i)
	object := &jsonschema.Schema{Type: "object"}
	s := spec{Tool: t, output: []result{{name: "facts", schema: object}, {name: "rules", schema: object}, {name: "episodes", schema: object}}}
	return declare(s, func(ctx context.Context, c *call, in statsInput) (Reply, error) {
		m, err := c.memory()
		if err != nil {
			return Reply{}, err
		}
		n, err := m.Lifecycle(ctx, in.Scope)
		if err != nil {
			return Reply{}, err
		}
		return objectReply(lifecycle{n.Facts, n.Rules, n.Episodes})
	})
}
