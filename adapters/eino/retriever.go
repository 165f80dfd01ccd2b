package eino

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"

	"github.com/loci-memory/loci"
)

var (
	_ retriever.Retriever = (*Retriever)(nil)
	_ components.Typer    = (*Retriever)(nil)
	_ components.Checker  = (*Retriever)(nil)
)

// A Retriever finds memories for graphs and chains.
type Retriever struct {
	Handle Handle

	// Query is what is asked for besides the text, which the graph gives. Kinds are facts
	// unless it names others, the limit is 10.
	Query loci.Query

	// Options say what becomes of errors; Last is not used.
	Options Options
}

// GetType returns what callbacks call the retriever.
func (r *Retriever) GetType() string { return "Loci" }

// IsCallbacksEnabled says that the retriever calls the handlers itself: they are told
// of an error that the graph is not.
func (r *Retriever) IsCallbacksEnabled() bool { return true }

// Retrieve returns what is found, the best first. The content is the passage that fits
// best, of a fact about a subject led by subject and predicate; the metadata are those
// of the memory with "kind" and "created_at" added; scores are 0 to 1, comparable
// within one reply.
//
// Of the options TopK, 1 to 1000, and ScoreThreshold are followed: what is not above
// the threshold is left out. The others are Unsupported, whatever Options say.
func (r *Retriever) Retrieve(ctx context.Context, query string, opts ...retriever.Option) ([]*schema.Document, error) {
	chosen := retriever.GetCommonOptions(nil, opts...)
	if chosen.Index != nil || chosen.SubIndex != nil || chosen.Embedding != nil || len(chosen.DSLInfo) > 0 {
		return nil, &loci.Error{Code: loci.Unsupported, Op: opRetrieve, Msg: "a retriever of Loci has no index, sub index, embedder or DSL of one call",
			Recovery: "Set Retriever.Query, and the embedder of the engine."}
	}
	q := r.Query
	if chosen.TopK != nil {
		q.Limit = *chosen.TopK
	}
	ctx = callbacks.EnsureRunInfo(ctx, r.GetType(), components.ComponentOfRetriever)
	ctx = callbacks.OnStart(ctx, &retriever.CallbackInput{
		Query: query, TopK: q.Limit, ScoreThreshold: chosen.ScoreThreshold,
	})
	docs, err := r.search(ctx, q, query, chosen.ScoreThreshold)
	if err != nil {
		callbacks.OnError(ctx, err)
		return []*schema.Document{}, r.Options.settle(ctx, Outcome{Op: opRetrieve, Err: err})
	}
	callbacks.OnEnd(ctx, &retriever.CallbackOutput{Docs: docs})
	return docs, nil
}

func (r *Retriever) search(ctx context.Context, q loci.Query, text string, above *float64) ([]*schema.Document, error) {
	docs := []*schema.Document{}
	if strings.TrimSpace(text) == "" {
		return docs, nil // Loci would list what is newest, which is no answer
	}
	memory, err := r.Handle.memory(ctx)
	if err != nil {
		return nil, err
	}
	q.Text = text
	if len(q.Kinds) == 0 {
		q.Kinds = []loci.Kind{loci.KindFact}
	}
	result, err := memory.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range result.Matches {
		match := &result.Matches[i]
		if above != nil && match.Score <= *above {
			continue
		}
		doc, err := document(match)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

func document(match *loci.Match) (*schema.Document, error) {
	doc := &schema.Document{ID: match.Record.ID.String(), Content: match.Passage, MetaData: map[string]any{}}
	if len(match.Record.Attributes) > 0 {
		if err := json.Unmarshal(match.Record.Attributes, &doc.MetaData); err != nil {
			return nil, &loci.Error{Code: loci.Internal, Op: "read metadata", Err: err}
		}
	}
	doc.MetaData["kind"], doc.MetaData["created_at"] = string(match.Record.Kind), match.Record.CreatedAt
	if match.Record.Kind == loci.KindFact {
		fact, err := loci.FactOf(&match.Record, time.Now())
		if err != nil {
			return nil, err
		}
		if !fact.IsNote() { // "Blue." tells nobody whose what is blue
			doc.Content = fact.Subject + " " + fact.Predicate + ": " + doc.Content
		}
	}
	return doc.WithScore(match.Score), nil
}
