package transformer

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cores"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// A batch is the tokens of some texts in one row, without padding: every product
// but that of attention is over tokens, whichever text they are of.
type batch struct {
	places []int   // of the texts in what the caller gave
	starts []int   // of their tokens in ids
	second []int   // where the second text of a pair begins in ids; of one text its end
	ids    []int32 // of all tokens
}

func (b *batch) reset() {
	b.places, b.starts, b.second, b.ids = b.places[:0], b.starts[:0], b.second[:0], b.ids[:0]
}

// add puts a text behind the others, whose tokens from second on are those of another text.
func (b *batch) add(place int, ids []int32, second int) {
	b.places, b.starts = append(b.places, place), append(b.starts, len(b.ids))
	b.second = append(b.second, len(b.ids)+second)
	b.ids = append(b.ids, ids...)
}

// text returns where the tokens of a text begin and end.
func (b *batch) text(i int) (start, end int) {
	if i+1 < len(b.starts) {
		return b.starts[i], b.starts[i+1]
	}
	return b.starts[i], len(b.ids)
}

// A linear layer maps rows of in numbers to rows of out numbers.
type linear struct {
	weight blas32.General // out × in
	bias   []float32
}

// A layerNorm scales rows to mean 0 and variance 1, then as it learnt.
type layerNorm struct {
	weight, bias []float32
	epsilon      float64
}

type layer struct {
	attention, output   linear // attention: query, key and value side by side
	attentionNorm       layerNorm
	intermediate, dense linear
	outputNorm          layerNorm
}

// An encoder is the network with its weights.
type encoder struct {
	config     config
	cls        bool
	activation func(float32) float32
	words      []float32 // vocabulary × hidden
	positions  []float32 // with the embedding of the first token type added
	second     []float32 // what the second token type has more than the first; nil: there is none
	norm       layerNorm
	layers     []layer

	pooler, classifier linear // of a cross-encoder
}

// The layers on top of a cross-encoder.
const (
	poolerLayer     = "pooler.dense"
	classifierLayer = "classifier"
)

// tensors lists what the network needs.
func (c *config) tensors() (list []wanted) {
	h, wide := c.HiddenSize, c.Intermediate
	normed := func(name string) {
		list = append(list, wanted{name + ".weight", []int{h}}, wanted{name + ".bias", []int{h}})
	}
	dense := func(name string, out, in int) {
		list = append(list, wanted{name + ".weight", []int{out, in}}, wanted{name + ".bias", []int{out}})
	}
	list = append(list, wanted{"embeddings.word_embeddings.weight", []int{c.Vocabulary, h}},
		wanted{"embeddings.position_embeddings.weight", []int{c.Positions, h}},
		wanted{"embeddings.token_type_embeddings.weight", []int{c.Types, h}})
	normed("embeddings.LayerNorm")
	for i := range c.Layers {
		l := fmt.Sprintf("encoder.layer.%d.", i)
		for _, name := range []string{"self.query", "self.key", "self.value", "output.dense"} {
			dense(l+"attention."+name, h, h)
		}
		normed(l + "attention.output.LayerNorm")
		dense(l+"intermediate.dense", wide, h)
		dense(l+"output.dense", h, wide)
		normed(l + "output.LayerNorm")
	}
	return list
}

// loadEncoder reads the weights.
func (d *directory) loadEncoder() (*encoder, error) {
	f, err := os.Open(d.tensors.path)
	if err != nil {
		return nil, &loci.Error{Code: loci.Unavailable, Msg: "the weights of " + d.name + " cannot be read", Err: err}
	}
	tensors := map[string][]float32{}
	for _, w := range d.wanted() {
		if tensors[w.name], err = d.tensors.load(f, w.name); err != nil {
			_ = f.Close() // the first error counts
			return nil, &loci.Error{Code: loci.Unavailable, Msg: "the weights of " + d.name + " cannot be read", Err: err}
		}
	}
	if err := f.Close(); err != nil {
		return nil, &loci.Error{Code: loci.Unavailable, Msg: "the weights of " + d.name + " cannot be read", Err: err}
	}
	return newEncoder(d.config, d.cls, d.pairs, tensors), nil
}

func newEncoder(c config, cls, pairs bool, tensors map[string][]float32) *encoder {
	h := c.HiddenSize
	norm := func(name string) layerNorm {
		return layerNorm{tensors[name+".weight"], tensors[name+".bias"], *c.Epsilon}
	}
	dense := func(out, in int, names ...string) linear {
		l := linear{weight: blas32.General{Rows: out, Cols: in, Stride: in}}
		for _, name := range names {
			l.weight.Data = append(l.weight.Data, tensors[name+".weight"]...)
			l.bias = append(l.bias, tensors[name+".bias"]...)
		}
		return l
	}
	e := &encoder{config: c, cls: cls, activation: activations[c.Activation],
		words: tensors["embeddings.word_embeddings.weight"], positions: tensors["embeddings.position_embeddings.weight"],
		norm: norm("embeddings.LayerNorm")}
	types := tensors["embeddings.token_type_embeddings.weight"]
	first := types[:h]
	for i := range e.positions {
		e.positions[i] += first[i%h]
	}
	if c.Types > 1 {
		e.second = make([]float32, h)
		for i := range e.second {
			e.second[i] = types[h+i] - first[i]
		}
	}
	if pairs {
		e.pooler, e.classifier = dense(h, h, poolerLayer), dense(1, h, classifierLayer)
	}
	for i := range c.Layers {
		name := fmt.Sprintf("encoder.layer.%d.", i)
		a := name + "attention."
		e.layers = append(e.layers, layer{
			attention:     dense(3*h, h, a+"self.query", a+"self.key", a+"self.value"),
			output:        dense(h, h, a+"output.dense"),
			attentionNorm: norm(a + "output.LayerNorm"),
			intermediate:  dense(c.Intermediate, h, name+"intermediate.dense"),
			dense:         dense(h, c.Intermediate, name+"output.dense"),
			outputNorm:    norm(name + "output.LayerNorm"),
		})
	}
	return e
}

// encode returns the vectors of a batch's texts.
func (e *encoder) encode(ctx context.Context, b *batch) ([][]float32, error) {
	x, err := e.run(ctx, b)
	if err != nil {
		return nil, err
	}
	return e.pool(x, b), nil
}

// run returns the rows of a batch's tokens behind the last layer.
func (e *encoder) run(ctx context.Context, b *batch) ([]float32, error) {
	h, tokens := e.config.HiddenSize, len(b.ids)
	x := make([]float32, tokens*h)
	for i := range b.places {
		start, end := b.text(i)
		for t := start; t < end; t++ {
			word, position := e.words[int(b.ids[t])*h:][:h], e.positions[(t-start)*h:][:h]
			for j := range h {
				x[t*h+j] = word[j] + position[j]
			}
			if t >= b.second[i] {
				for j, v := range e.second {
					x[t*h+j] += v
				}
			}
		}
	}
	e.norm.apply(x, nil)
	wide := make([]float32, tokens*max(3*h, e.config.Intermediate))
	mixed, out := make([]float32, tokens*h), make([]float32, tokens*h)
	for i := range e.layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l := &e.layers[i]
		l.attention.apply(wide, x, tokens)
		e.attend(mixed, wide, b)
		l.output.apply(out, mixed, tokens)
		l.attentionNorm.apply(x, out)
		l.intermediate.apply(wide, x, tokens)
		parallel(tokens*e.config.Intermediate, 4096, func(from, to int) {
			for j, v := range wide[from:to] {
				wide[from+j] = e.activation(v)
			}
		})
		l.dense.apply(out, wide, tokens)
		l.outputNorm.apply(x, out)
	}
	return x, nil
}

// attend mixes the values of each text's tokens, head by head: mixed gets
// softmax(Q·Kᵀ/√d)·V, where qkv holds rows of queries, keys and values.
func (e *encoder) attend(mixed, qkv []float32, b *batch) {
	h, heads := e.config.HiddenSize, e.config.Heads
	d := h / heads
	parallel(len(b.places)*heads, 1, func(from, to int) {
		var scores []float32
		for i := from; i < to; i++ {
			start, end := b.text(i / heads)
			n, column := end-start, i%heads*d
			part := func(which int) blas32.General {
				return blas32.General{Rows: n, Cols: d, Stride: 3 * h, Data: qkv[start*3*h+which*h+column:]}
			}
			if cap(scores) < n*n {
				scores = make([]float32, n*n)
			}
			s := blas32.General{Rows: n, Cols: n, Stride: n, Data: scores[:n*n]}
			blas32.Gemm(blas.NoTrans, blas.Trans, float32(1/math.Sqrt(float64(d))), part(0), part(1), 0, s)
			for row := range n {
				softmax(s.Data[row*n : (row+1)*n])
			}
			blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, s, part(2), 0,
				blas32.General{Rows: n, Cols: d, Stride: h, Data: mixed[start*h+column:]})
		}
	})
}

// pool makes one vector of the vectors of a text's tokens.
func (e *encoder) pool(x []float32, b *batch) [][]float32 {
	h := e.config.HiddenSize
	rows := make([][]float32, len(b.places))
	for i := range rows {
		rows[i] = make([]float32, h)
		start, end := b.text(i)
		if e.cls {
			end = start + 1
		}
		for t := start; t < end; t++ {
			for j, v := range x[t*h : (t+1)*h] {
				rows[i][j] += v / float32(end-start)
			}
		}
		normalize(rows[i])
	}
	return rows
}

// apply writes x·weightᵀ + bias to out, for n rows without gaps between them.
func (l *linear) apply(out, x []float32, n int) {
	o := blas32.General{Rows: n, Cols: l.weight.Rows, Stride: l.weight.Rows, Data: out}
	for t := range n {
		copy(out[t*o.Cols:(t+1)*o.Cols], l.bias)
	}
	in := blas32.General{Rows: n, Cols: l.weight.Cols, Stride: l.weight.Cols, Data: x}
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, in, l.weight, 1, o)
}

// apply normalises each row of x, after adding that of residual if there is one.
func (n layerNorm) apply(x, residual []float32) {
	h := len(n.weight)
	for ; len(x) > 0; x = x[h:] {
		row := x[:h]
		if residual != nil {
			for j, v := range residual[:h] {
				row[j] += v
			}
			residual = residual[h:]
		}
		var sum, squares float64
		for _, v := range row {
			sum += float64(v)
		}
		mean := sum / float64(h)
		for _, v := range row {
			squares += (float64(v) - mean) * (float64(v) - mean)
		}
		scale := 1 / math.Sqrt(squares/float64(h)+n.epsilon)
		for j, v := range row {
			row[j] = float32((float64(v)-mean)*scale)*n.weight[j] + n.bias[j]
		}
	}
}

// softmax makes weights that sum to one.
func softmax(row []float32) {
	most := row[0]
	for _, v := range row {
		most = max(most, v)
	}
	var sum float32
	for j, v := range row {
		row[j] = float32(math.Exp(float64(v - most)))
		sum += row[j]
	}
	for j := range row {
		row[j] /= sum
	}
}

// activations are the functions of the layer in the middle, by their names in
// config.json; "gelu" is x·Φ(x), the others its approximation by tanh and max(0, x).
var activations = map[string]func(float32) float32{
	"gelu":     func(x float32) float32 { return float32(float64(x) / 2 * (1 + math.Erf(float64(x)/math.Sqrt2))) },
	"gelu_new": geluTanh, "gelu_pytorch_tanh": geluTanh,
	"relu": func(x float32) float32 { return max(0, x) },
}

func geluTanh(v float32) float32 {
	x := float64(v)
	return float32(x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))))
}

// parallel cuts n pieces of work into one part a processor, of at least least.
func parallel(n, least int, work func(from, to int)) {
	parts := max(1, min(cores.Usable(), n/least))
	var group sync.WaitGroup
	for i := 1; i < parts; i++ {
		group.Go(func() { work(n*i/parts, n*(i+1)/parts) })
	}
	work(0, n/parts)
	group.Wait()
}
