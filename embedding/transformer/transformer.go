// Package transformer runs sentence transformers of the BERT family (MiniLM, BGE,
// E5, GTE and their like) from a directory in the layout of the Python library
// sentence-transformers, on the processor and without any other program.
//
// A directory holds config.json, tokenizer.json and model.safetensors, and mostly
// modules.json, 1_Pooling/config.json, sentence_bert_config.json and
// config_sentence_transformers.json.
package transformer

import (
	"context"
	"math"
	"strings"
	"sync"
)

// A Transformer embeds texts. It is safe for concurrent use; it implements
// loci.Embedder.
type Transformer struct {
	dir     *directory
	weights func() (*encoder, error) // read once, by the first call
}

// Open checks a directory and reads its tokenizer and the list of its weights,
// not the weights themselves. Everything that is missing or not supported is
// named in one Invalid error.
func Open(dir string) (*Transformer, error) {
	d, err := openDirectory(dir, false)
	if err != nil {
		return nil, err
	}
	return &Transformer{dir: d, weights: sync.OnceValues(d.loadEncoder)}, nil
}

// Name is the last element of the directory's path.
func (t *Transformer) Name() string { return t.dir.name }

// Model is "local:", the name, "@" and eight digits of a hash over the files that
// decide what a vector looks like. Of the weights it takes samples: other weights
// differ everywhere, and reading all of them would make every start slow.
func (t *Transformer) Model() string { return "local:" + t.dir.name + "@" + t.dir.hash }

// Dims returns the length of a vector, the model's hidden size.
func (t *Transformer) Dims() int { return t.dir.config.HiddenSize }

// MaxTokens is where texts are cut, with the two tokens around them.
func (t *Transformer) MaxTokens() int { return t.dir.maxTokens }

// Prefixes are what the model's own files put in front of queries and of texts
// that are to be found; mostly nothing.
func (t *Transformer) Prefixes() (query, document string) { return t.dir.query, t.dir.document }

// passTokens bounds the tokens of one pass, and so the memory it needs: about
// 30 kB a token for MiniLM.
const passTokens = 2048

// Embed returns one vector of unit length for each text; that of a blank text is
// zero. It fails when ctx ends, which is looked at between layers, or when the
// weights cannot be read.
func (t *Transformer) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	encoder, err := t.weights()
	if err != nil {
		return nil, err
	}
	rows := make([][]float32, len(texts))
	var b batch
	flush := func() error {
		if len(b.places) == 0 {
			return nil
		}
		vectors, err := encoder.encode(ctx, &b)
		if err != nil {
			return err
		}
		for i, place := range b.places {
			rows[place] = vectors[i]
		}
		b.reset()
		return nil
	}
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			rows[i] = make([]float32, t.Dims())
			continue
		}
		ids := t.dir.tokenizer.encode(text, t.dir.maxTokens)
		if len(b.ids)+len(ids) > passTokens {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		b.add(i, ids, len(ids))
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return rows, ctx.Err()
}

// normalize scales a vector to length one, as the last module of a sentence
// transformer does; a zero vector stays.
func normalize(row []float32) {
	sum := 0.0
	for _, x := range row {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range row {
		row[i] = float32(float64(x) * scale)
	}
}
