package loci

import "github.com/loci-memory/loci/internal/embedcall"

// An encoder is an embedder and what the engine knows of the space of its vectors. Calls
// go through its Caller, which bounds their time and checks what they return.
type encoder struct {
	*embedcall.Caller
	embedder Embedder
}

func newEncoder(e Embedder) *encoder { return &encoder{Caller: embedcall.For(e), embedder: e} }

// space is the space of the embedder's vectors. Its dimensions are 0 until the embedder knows them.
func (c *encoder) space() Space { return Space{Model: c.embedder.Model(), Dims: c.embedder.Dims()} }

// makes reports whether the encoder's vectors are of a space, as far as it knows.
func (c *encoder) makes(s Space) bool {
	own := c.space()
	return own == s || own.Model == s.Model && own.Dims == 0
}

// scale is what the cosines of the embedder mean.
func (c *encoder) scale(configured Scale) Scale {
	if configured != (Scale{}) {
		return configured
	}
	if s, ok := c.embedder.(ScaledEmbedder); ok && s.Scale().Fits() {
		return s.Scale()
	}
	return DefaultScale
}
