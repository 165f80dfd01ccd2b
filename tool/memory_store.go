package tool

import (
	"cmp"
	"context"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
)

type episodeInput struct {
	Content    string  `json:"content" jsonschema:"What happened, as one self-contained text"`
	Butler     string  `json:"butler" jsonschema:"Your own agent name"`
	SessionID  string  `json:"session_id,omitempty" jsonschema:"Session it happened in; default: the current one"`
	Importance decimal `json:"importance,omitzero" jsonschema:"0 trivial, 10 vital"`
}

type factInput struct {
	Subject    string   `json:"subject" jsonschema:"Such as user"`
	Predicate  string   `json:"predicate" jsonschema:"Such as favorite_color"`
	Content    string   `json:"content"`
	Importance decimal  `json:"importance,omitzero" jsonschema:"0 trivial, 10 vital"`
	Permanence string   `json:"permanence,omitempty" jsonschema:"How long it will hold"`
	Scope      string   `json:"scope,omitempty" jsonschema:"global, or the agent it is for"`
	Tags       []string `json:"tags,omitempty"`
}

type ruleInput struct {
	Content string   `json:"content" jsonschema:"How to behave, in the imperative"`
	Scope   string   `json:"scope,omitempty" jsonschema:"global, or the agent it is for"`
	Tags    []string `json:"tags,omitempty"`
}

// storedMemory is the reply for a new episode or rule.
type storedMemory struct {
	ID      loci.ID      `json:"id"`
	Outcome loci.Outcome `json:"outcome"`
}

// storedFact is the reply of memory_store_fact. SupersededID is there always, as
// null when no fact gave way.
type storedFact struct {
	ID           loci.ID      `json:"id"`
	SupersededID *loci.ID     `json:"superseded_id"`
	Outcome      loci.Outcome `json:"outcome"`
	neighbours
}

// neighbours are the ids of memories that a new one is near to, where there are any: see
// [loci.Stored].
type neighbours struct {
	RelatedTo        string `json:"related_to,omitempty"`
	PossibleUpdateOf string `json:"possible_update_of,omitempty"`
}

// nearTo shows what a new memory is near to, by ids as the tool shows them.
func nearTo(stored loci.Stored, show func(loci.ID) string) (n neighbours) {
	if !stored.RelatedTo.IsZero() {
		n.RelatedTo = show(stored.RelatedTo)
	}
	if !stored.PossibleUpdateOf.IsZero() {
		n.PossibleUpdateOf = show(stored.PossibleUpdateOf)
	}
	return n
}

// near is what a reply with [neighbours] has beside the rest.
func near() []result {
	id := &jsonschema.Schema{Type: "string"}
	return []result{{name: "related_to", schema: id, optional: true}, {name: "possible_update_of", schema: id, optional: true}}
}

// importance sets the range and the default of an importance.
func importance(schema *jsonschema.Schema) {
	within(schema, 0, loci.MaxImportance)
	schema.Default = []byte("5")
}

// pointer is the number that was given, or nil.
func (d decimal) pointer() *float64 {
	if !d.given {
		return nil
	}
	return &d.value
}

func storeEpisode(b *base, t Tool, i Instance) *Tool {
	t = b.storing(t, "Store episode", "Record something that happened in this session: what the user asked, said or decided, and how it ended. "+
		"Episodes are raw observations of one agent; they expire after some days and are the material for lasting facts and rules. "+
		"For what stays true use "+i.called("memory_store_fact")+".", i)
	s := spec{Tool: t, output: idOutput(outcome), adjust: func(properties map[string]*jsonschema.Schema) {
		importance(properties["importance"])
		properties["session_id"].MinLength = new(1) // an empty one would be taken for the current one
	}}
	return declare(s, func(ctx context.Context, c *call, in episodeInput) (Reply, error) {
		if err := c.asButler(in.Butler); err != nil {
			return Reply{}, err
		}
		m, err := c.memory()
		if err != nil {
			return Reply{}, err
		}
		id, err := m.StoreEpisode(ctx, loci.NewEpisode{Content: in.Content, Butler: in.Butler,
			Session: cmp.Or(in.SessionID, c.Principal.Var(loci.VarSession)), Importance: in.Importance.pointer()})
		if err != nil {
			return Reply{}, err
		}
		return objectReply(storedMemory{id, loci.Created})
	})
}

func storeFact(b *base, t Tool, i Instance) *Tool {
	t = b.storing(t, "Store fact", "Remember a fact as subject, predicate and content, such as user / favorite_color / blue. "+
		"The content is the value or a statement of it. Only one fact holds for a subject and predicate in a scope: a new one supersedes the old, which stays in the history and is named in superseded_id. "+
		"Use the same subject and predicate to correct a fact. A note that says much the same, or another value, is kept and named in related_to or possible_update_of. Permanence: permanent (never fades), stable, standard, volatile, ephemeral.", i)
	superseded := result{name: "superseded_id", schema: &jsonschema.Schema{Types: []string{"string", "null"}}}
	s := spec{
		Tool:   t,
		output: idOutput(append([]result{superseded, outcome}, near()...)...),
		adjust: func(properties map[string]*jsonschema.Schema) {
			importance(properties["importance"])
			choices(properties["permanence"], loci.Permanent, loci.Stable, loci.Standard, loci.Volatile, loci.Ephemeral)
			properties["permanence"].Default = []byte(`"standard"`)
			scopeDefault(properties)
		},
	}
	return declare(s, func(ctx context.Context, c *call, in factInput) (Reply, error) {
		if strings.TrimSpace(in.Subject) == "" || strings.TrimSpace(in.Predicate) == "" { // the engine would take "" for a note
			return Reply{}, loci.Errorf(loci.Invalid, "subject and predicate must not be empty")
		}
		m, err := c.memory()
		if err != nil {
			return Reply{}, err
		}
		stored, err := m.StoreFact(ctx, loci.NewFact{
			Content:    in.Content,
			Subject:    in.Subject,
			Predicate:  in.Predicate,
			Scope:      in.Scope,
			Tags:       in.Tags,
			Importance: in.Importance.pointer(),
			Permanence: loci.Permanence(in.Permanence),
		})
		if err != nil {
			return Reply{}, err
		}
		reply := storedFact{
			ID:         stored.ID,
			Outcome:    stored.Outcome,
			neighbours: nearTo(stored, loci.ID.String),
		}
		if stored.Superseded != (loci.ID{}) {
			reply.SupersededID = &stored.Superseded
		}
		return objectReply(reply)
	})
}

func storeRule(b *base, t Tool, i Instance) *Tool {
	t = b.storing(t, "Store rule", "Remember a rule for how to behave, learned from experience, such as \"Always confirm before sending messages\". "+
		"It starts as a candidate with confidence 0.5; it rises or falls with "+i.called("memory_mark_helpful")+" and "+i.called("memory_mark_harmful")+".", i)
	s := spec{Tool: t, output: idOutput(outcome), adjust: scopeDefault}
	return declare(s, func(ctx context.Context, c *call, in ruleInput) (Reply, error) {
		m, err := c.memory()
		if err != nil {
			return Reply{}, err
		}
		id, err := m.StoreRule(ctx, loci.NewRule{Content: in.Content, Scope: in.Scope, Tags: in.Tags})
		if err != nil {
			return Reply{}, err
		}
		return objectReply(storedMemory{id, loci.Created})
	})
}

func scopeDefault(properties map[string]*jsonschema.Schema) {
	properties["scope"].Default = []byte(`"global"`)
}
