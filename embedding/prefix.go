package embedding

import (
	"cmp"
	"context"
	"strings"

	"github.com/loci-memory/loci"
)

// prefixes are what a model was trained to see in front of a text. Without them
// it still answers, only worse.
type prefixes struct{ query, document string }

const bgeQuery = "Represent this sentence for searching relevant passages: "

// known lists what the cards of widely used models ask for, by the beginning of
// the model's name without its owner. The first entry that fits counts.
var known = []struct {
	name string
	prefixes
}{
	{"nomic-embed-text", prefixes{"search_query: ", "search_document: "}},
	{"multilingual-e5-large-instruct", prefixes{query: "Instruct: Given a question, retrieve passages that answer it\nQuery: "}},
	{"multilingual-e5-", prefixes{"query: ", "passage: "}},
	{"e5-mistral", prefixes{query: "Instruct: Given a question, retrieve passages that answer it\nQuery: "}},
	{"e5-", prefixes{"query: ", "passage: "}},
	{"bge-m3", prefixes{}},
	{"bge-small-en", prefixes{query: bgeQuery}},
	{"bge-base-en", prefixes{query: bgeQuery}},
	{"bge-large", prefixes{query: bgeQuery}},
	{"mxbai-embed-large", prefixes{query: bgeQuery}},
	{"snowflake-arctic-embed2", prefixes{query: "query: "}},
	{"snowflake-arctic-embed-m-v2", prefixes{query: "query: "}},
	{"snowflake-arctic-embed-l-v2", prefixes{query: "query: "}},
	{"snowflake-arctic-embed", prefixes{query: bgeQuery}},
	{"embeddinggemma", prefixes{"task: search result | query: ", "title: none | text: "}},
	{"qwen3-embedding", prefixes{query: "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"}},
}

// knownPrefixes returns what a model wants, by its name.
func knownPrefixes(model string) prefixes {
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, k := range known {
		if strings.HasPrefix(model, k.name) {
			return k.prefixes
		}
	}
	return prefixes{}
}

// configured lays the operator's choice over what is known.
func (p prefixes) configured(c Config) prefixes {
	return prefixes{query: chosen(c.QueryPrefix, p.query), document: chosen(c.DocumentPrefix, p.document)}
}

func chosen(prefix, known string) string {
	if prefix == NoPrefix {
		return ""
	}
	return cmp.Or(prefix, known)
}

// prefixed puts prefixes in front of an embedder's texts.
type prefixed struct {
	loci.Embedder
	prefixes
}

// withPrefixes wraps an embedder whose model wants prefixes.
func withPrefixes(e loci.Embedder, p prefixes) loci.Embedder {
	if p == (prefixes{}) {
		return e
	}
	return &prefixed{e, p}
}

// Model also names the prefix of documents.
func (e *prefixed) Model() string { return space(e.Embedder.Model(), e.prefixes) }

// Embed embeds texts that are to be found.
func (e *prefixed) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if e.document == "" {
		return e.Embedder.Embed(ctx, texts)
	}
	with := make([]string, len(texts))
	for i, text := range texts {
		if strings.TrimSpace(text) != "" { // what is blank stays blank
			with[i] = e.document + text
		}
	}
	return e.Embedder.Embed(ctx, with)
}

// EmbedQuery embeds a text that is looked for.
func (e *prefixed) EmbedQuery(ctx context.Context, query string) ([]float32, error) {
	if strings.TrimSpace(query) != "" {
		query = e.query + query
	}
	rows, err := e.Embedder.Embed(ctx, []string{query})
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}
