package langchaingo

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/tmc/langchaingo/schema"

	"github.com/loci-memory/loci"
)

var _ schema.Retriever = (*Retriever)(nil)

// A Retriever finds memories for chains such as chains.NewRetrievalQA.
type Retriever struct {
	Memory *loci.Memory

	// Query is what is asked for besides the text, which the chain gives. Kinds are
	// facts unless it names others, the limit is 10.
	Query loci.Query

	// Options say what becomes of errors; Last is not used.
	Options Options
}

// GetRelevantDocuments returns what is found, the best first. The content is the
// passage that fits best, of a fact about a subject led by subject and predicate; the
// metadata are those of the memory with "id", "kind" and "created_at" added; the score
// is 0 to 1, comparable within one reply.
func (r *Retriever) GetRelevantDocuments(ctx context.Context, query string) ([]schema.Document, error) {
	if r.Memory == nil {
		return nil, loci.Errorf(loci.Invalid, "memory must not be nil: get one from loci.Engine.Memory")
	}
	docs, err := r.search(ctx, query)
	if err != nil {
		return []schema.Document{}, r.Options.settle(ctx, Outcome{Op: opRetrieve, Err: err})
	}
	return docs, nil
}

func (r *Retriever) search(ctx context.Context, text string) ([]schema.Document, error) {
	docs := []schema.Document{}
	if strings.TrimSpace(text) == "" {
		return docs, nil // Loci would list what is newest, which is no answer
	}
	q := r.Query
	q.Text = text
	if len(q.Kinds) == 0 {
		q.Kinds = []loci.Kind{loci.KindFact}
	}
	result, err := r.Memory.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range result.Matches {
		match := &result.Matches[i]
		metadata := map[string]any{}
		if len(match.Record.Attributes) > 0 {
			if err := json.Unmarshal(match.Record.Attributes, &metadata); err != nil {
				return nil, &loci.Error{Code: loci.Internal, Op: "read metadata", Err: err}
			}
		}
		metadata["id"], metadata["kind"], metadata["created_at"] = match.Record.ID.String(), string(match.Record.Kind), match.Record.CreatedAt
		content, err := content(match)
		if err != nil {
			return nil, err
		}
		docs = append(docs, schema.Document{PageContent: content, Metadata: metadata, Score: float32(match.Score)})
	}
	return docs, nil
}

// content is what a match says by itself: "Blue." tells nobody whose what is blue.
func content(match *loci.Match) (string, error) {
	if match.Record.Kind != loci.KindFact {
		return match.Passage, nil
	}
	fact, err := loci.FactOf(&match.Record, time.Now())
	if err != nil || fact.IsNote() {
		return match.Passage, err
	}
	return fact.Subject + " " + fact.Predicate + ": " + match.Passage, nil
}
