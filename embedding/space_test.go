package embedding

import (
	"errors"
	"testing"

	"github.com/loci-memory/loci"
)

type elsewhere struct{ loci.Embedder }

// TestForSpace: which spaces of earlier configurations this one can still embed for. A wrong
// yes would compare vectors of different spaces.
func TestForSpace(t *testing.T) {
	builtin, err := NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	if builtin.Model() != "builtin-2" {
		t.Errorf("the space of the built-in model is %s", builtin.Model())
	}
	local := Config{Spec: "local:transformer/testdata/tiny"}
	directory, err := Open(local)
	if err != nil {
		t.Fatal(err)
	}
	const query, document = "query: ", "text: "
	prefixed := Config{DocumentPrefix: document, QueryPrefix: query}
	withPrefix := prefixed
	withPrefix.Spec = "ollama:some"
	other, err := Open(withPrefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config Config
		space  loci.Space
		there  bool
	}{
		{Config{}, loci.Space{Model: "lexical-1", Dims: 256}, true},
		{Config{Spec: "none"}, loci.Space{Model: builtin.Model(), Dims: builtin.Dims()}, true},
		{Config{Spec: "none"}, loci.Space{Model: "builtin-1", Dims: builtin.Dims()}, true}, // of earlier builds
		{Config{}, loci.Space{Model: "builtin-1#00000000", Dims: builtin.Dims()}, false},
		{Config{}, loci.Space{Model: "builtin-1", Dims: 128}, false},
		{Config{}, loci.Space{Model: "openai:text-embedding-3-large", Dims: 3072}, true},
		{Config{Dimensions: 99}, loci.Space{Model: "openai:text-embedding-3-large", Dims: 512}, true},
		{Config{}, loci.Space{Model: "ollama:anything", Dims: 77}, true},
		{local, loci.Space{Model: directory.Model(), Dims: directory.Dims()}, true},
		{prefixed, loci.Space{Model: other.Model(), Dims: 8}, true},
		{Config{}, loci.Space{Model: other.Model(), Dims: 8}, false}, // texts had a prefix that is not configured
		{Config{}, loci.Space{Model: directory.Model(), Dims: directory.Dims()}, false},
		{local, loci.Space{Model: "local:tiny@00000000", Dims: directory.Dims()}, false},
		{Config{}, loci.Space{}, false},
		{Config{}, loci.Space{Model: "lexical-1", Dims: 128}, false},
		{Config{}, loci.Space{Model: "lexical-0", Dims: 256}, false},
	} {
		e, err := c.config.ForSpace(c.space)
		if c.there != (err == nil) ||
			err == nil && (e.Model() != c.space.Model || e.Dims() != 0 && e.Dims() != c.space.Dims) {
			t.Errorf("%v of %+v: %v, %v", c.space, c.config, e, err)
		}
		if err != nil && (e != nil || !errors.Is(err, loci.ErrUnsupported)) {
			t.Errorf("%v: %v, error %v; want Unsupported", c.space, e, err)
		}
	}
	for _, e := range []loci.Embedder{builtin, NewLexical(), directory,
		withPrefixes(directory, prefixes{document: document})} {
		if !Local(e) {
			t.Errorf("%s works in this process", e.Model())
		}
	}
	for _, e := range []loci.Embedder{elsewhere{NewLexical()}, other, nil} {
		if Local(e) {
			t.Errorf("%v is not known to work in this process", e)
		}
	}
}
