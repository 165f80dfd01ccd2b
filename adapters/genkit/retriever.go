package genkit

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core"
	"github.com/firebase/genkit/go/genkit"

	"github.com/loci-memory/loci"
)

// timeLayout is how all of Loci writes a time: its order as text is its order in time.
const timeLayout = "2006-01-02T15:04:05.000Z"

// RetrieverOptions say what a retriever finds. The zero value finds facts and notes.
type RetrieverOptions struct {
	// Query is what is asked for besides the text. Kinds are facts unless it names
	// others, the limit is 10.
	Query loci.Query

	// Options say what becomes of errors; Last is not used.
	Options Options
}

// RetrieveConfig is what one call may ask for, by ai.WithConfig.
type RetrieveConfig struct {
	Limit int      `json:"limit,omitempty" jsonschema_description:"How many documents at most, 1 to 1000."`
	Tags  []string `json:"tags,omitempty" jsonschema_description:"Only memories with all of these tags, besides those of the retriever."`
}

// DefineRetriever registers a retriever over the memory of whoever asks, for
// genkit.Retrieve and the developer's page. Options may be nil.
//
// A document has the passage that fits best as its text, of a fact about a subject led by
// subject and predicate. Its metadata are those of the memory with "id", "kind",
// "created_at" and "score" added: 0 to 1, comparable within one reply.
func DefineRetriever(g *genkit.Genkit, name string, handle Handle, opts *RetrieverOptions) ai.Retriever {
	r := retriever{handle: handle}
	if opts != nil {
		r.RetrieverOptions = *opts
	}
	return genkit.DefineRetriever(g, name, &ai.RetrieverOptions{
		Label: "Loci: " + name, ConfigSchema: core.InferSchemaMap(RetrieveConfig{}),
	}, r.retrieve)
}

type retriever struct {
	handle Handle
	RetrieverOptions
}

func (r *retriever) retrieve(ctx context.Context, req *ai.RetrieverRequest) (*ai.RetrieverResponse, error) {
	q, err := r.query(req)
	if err != nil { // a mistake in the program, not a failure of the memory
		return nil, err
	}
	docs, err := r.search(ctx, q)
	if err != nil {
		if err = r.Options.settle(ctx, Outcome{Op: opRetrieve, Err: err}); err != nil {
			return nil, err
		}
		docs = []*ai.Document{}
	}
	return &ai.RetrieverResponse{Documents: docs}, nil
}

// query is what a request asks for.
func (r *retriever) query(req *ai.RetrieverRequest) (loci.Query, error) {
	q := r.Query
	if len(q.Kinds) == 0 {
		q.Kinds = []loci.Kind{loci.KindFact}
	}
	if req.Query != nil {
		var texts []string
		for _, p := range req.Query.Content {
			if p.IsText() && p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
		q.Text = strings.Join(texts, "\n")
	}
	if req.Options == nil {
		return q, nil
	}
	// It is a RetrieveConfig in a call from Go, and what JSON makes of one elsewhere.
	data, err := json.Marshal(req.Options)
	if err != nil {
		return q, loci.Errorf(loci.Invalid, "the retriever's config is not JSON: %w", err)
	}
	var config RetrieveConfig
	if err := json.Unmarshal(data, &config); err != nil { // Genkit has checked it by the schema
		return q, loci.Errorf(loci.Invalid, `the retriever's config must be {"limit": …, "tags": […]}: %w`, err)
	}
	if config.Limit < 0 || config.Limit > 1000 {
		return q, loci.Errorf(loci.Invalid, "limit is %d; it must be 1 to 1000", config.Limit)
	}
	if config.Limit > 0 {
		q.Limit = config.Limit
	}
	q.Tags = append(append([]string{}, q.Tags...), config.Tags...)
	return q, nil
}

func (r *retriever) search(ctx context.Context, q loci.Query) ([]*ai.Document, error) {
	docs := []*ai.Document{}
	if strings.TrimSpace(q.Text) == "" {
		return docs, nil // Loci would list what is newest, which is no answer
	}
	memory, err := r.handle.memory(ctx)
	if err != nil {
		return nil, err
	}
	result, err := memory.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range result.Matches {
		doc, err := document(&result.Matches[i])
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

func document(match *loci.Match) (*ai.Document, error) {
	text, metadata := match.Passage, map[string]any{}
	if len(match.Record.Attributes) > 0 {
		if err := json.Unmarshal(match.Record.Attributes, &metadata); err != nil {
			return nil, &loci.Error{Code: loci.Internal, Op: "read metadata", Err: err}
		}
	}
	if match.Record.Kind == loci.KindFact {
		fact, err := loci.FactOf(&match.Record, time.Now())
		if err != nil {
			return nil, err
		}
		if !fact.IsNote() { // "Blue." tells nobody whose what is blue
			text = fact.Subject + " " + fact.Predicate + ": " + text
		}
	}
	metadata["id"], metadata["kind"] = match.Record.ID.String(), string(match.Record.Kind)
	metadata["created_at"], metadata["score"] = match.Record.CreatedAt.UTC().Format(timeLayout), match.Score
	return ai.DocumentFromText(text, metadata), nil
}
