package transformer

import (
	"context"
	"math"
	"sync"

	"github.com/loci-memory/loci"
)

// A CrossEncoder reads a query and a text together, in one pass, and says how well the text
// answers: it sees which word stands by which, as vectors made apart do not. It is safe for
// concurrent use; it implements loci.Reranker.
type CrossEncoder struct {
	dir     *directory
	weights func() (*encoder, error) // read once, by the first call
	turn    chan struct{}            // one call at a time: each uses every processor
}

// OpenCrossEncoder checks a directory as [Open] does: config.json, tokenizer.json,
// model.safetensors with the layers "pooler" and "classifier", whose one number is
// what the model was trained to give.
func OpenCrossEncoder(dir string) (*CrossEncoder, error) {
	d, err := openDirectory(dir, true)
	if err != nil {
		return nil, err
	}
	return &CrossEncoder{dir: d, weights: sync.OnceValues(d.loadEncoder), turn: make(chan struct{}, 1)}, nil
}

// Model is "local:", the name of the directory, "@" and eight digits of a hash, as of a [Transformer].
func (c *CrossEncoder) Model() string { return "local:" + c.dir.name + "@" + c.dir.hash }

// Rerank returns for each text the chance that it answers the query, 0 to 1: the logistic
// function of the network's number. It fails when ctx ends, which is looked at between
// layers, or when the weights cannot be read.
func (c *CrossEncoder) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	encoder, err := c.weights()
	if err != nil {
		return nil, err
	}
	chances := make([]float64, len(texts))
	var b batch
	flush := func() error {
		x, err := encoder.run(ctx, &b)
		if err != nil {
			return err
		}
		for i, logit := range encoder.classify(x, &b) {
			chances[b.places[i]] = 1 / (1 + math.Exp(-float64(logit)))
		}
		b.reset()
		return nil
	}
	for i, text := range texts {
		ids, second := c.dir.tokenizer.pair(query, text, c.dir.maxTokens)
		if len(b.ids) > 0 && len(b.ids)+len(ids) > passTokens {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		b.add(i, ids, second)
	}
	if len(b.ids) > 0 {
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return chances, ctx.Err()
}

// pair returns the numbers of the tokens of two texts, [CLS] first [SEP] second [SEP], limit
// at most, and where those of the second begin.
func (t *tokenizer) pair(first, second string, limit int) (ids []int32, begin int) {
	a, b := t.pieces.Append(nil, first), t.pieces.Append(nil, second)
	n, m := cutPair(len(a), len(b), limit-3)
	ids = make([]int32, 0, n+m+3)
	ids = append(append(append(ids, t.cls), a[:n]...), t.sep)
	begin = len(ids)
	return append(append(ids, b[:m]...), t.sep), begin
}

// cutPair says how many of a and b tokens stay when limit are left: the longer text is cut
// first, and both to the half when both are longer ("longest_first" of the tokenizers library).
func cutPair(a, b, limit int) (int, int) {
	switch {
	case a+b <= limit:
		return a, b
	case min(a, b) <= limit/2 && a <= b:
		return a, limit - a
	case min(a, b) <= limit/2:
		return limit - b, b
	case a <= b:
		return limit / 2, limit - limit/2
	}
	return limit - limit/2, limit / 2
}

// classify returns one number for each pair: the classifier's, of what the pooler makes of
// the first token.
func (e *encoder) classify(x []float32, b *batch) []float32 {
	h, n := e.config.HiddenSize, len(b.places)
	first, pooled := make([]float32, n*h), make([]float32, n*h)
	for i := range n {
		start, _ := b.text(i)
		copy(first[i*h:(i+1)*h], x[start*h:])
	}
	e.pooler.apply(pooled, first, n)
	for i, v := range pooled {
		pooled[i] = float32(math.Tanh(float64(v)))
	}
	logits := make([]float32, n)
	e.classifier.apply(logits, pooled, n)
	return logits
}

var _ loci.Reranker = (*CrossEncoder)(nil)
