package embedding

import (
	"strings"

	"github.com/loci-memory/loci"
)

// scales are what cosines mean for models whose vectors differ from most, by the
// beginning of the model's name without its owner. Vectors of spelling are measured on
// our own sets, as the built-in model's are: up to the cosine that three quarters of all
// questions have at most with texts of others, and from one that hardly any answer has.
// The cards of E5 say that all its cosines lie between 0.7 and 1.
var scales = []struct {
	name string
	loci.Scale
}{
	{"lexical-", loci.Scale{Unrelated: 0.05, Alike: 0.65}},
	{"multilingual-e5-", loci.Scale{Unrelated: 0.75, Alike: 0.95}},
	{"e5-", loci.Scale{Unrelated: 0.75, Alike: 0.95}},
}

// scaleOf returns what the cosines of a model mean, by its name.
func scaleOf(model string) loci.Scale {
	_, name, named := strings.Cut(model, ":")
	if !named {
		name = model
	}
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	for _, s := range scales {
		if strings.HasPrefix(name, s.name) {
			return s.Scale
		}
	}
	return loci.DefaultScale
}

// Scale returns what cosines of spelling mean.
func (l *Lexical) Scale() loci.Scale { return scaleOf(l.Model()) }

// Scale returns what the cosines of the service's model mean, by its name.
func (s *service) Scale() loci.Scale { return scaleOf(s.model) }

// Scale returns what the cosines of the wrapped model mean.
func (e *prefixed) Scale() loci.Scale { return scaleOf(e.Embedder.Model()) }
