package embedding

import (
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding/transformer"
)

// ForSpace returns the embedder that makes vectors of a space, for searching what
// an earlier configuration stored. Services are asked as c says; a directory is
// found only while c.Spec still names it. Unsupported: there is none, or not in
// this build.
func (c Config) ForSpace(s loci.Space) (loci.Embedder, error) {
	none := loci.Errorf(loci.Unsupported, "no embedder of this configuration makes vectors of %s", s)
	name, _, _ := strings.Cut(s.Model, "#") // behind it: which prefix texts had
	kind, _, _ := strings.Cut(name, ":")
	switch kind {
	case "lexical-1":
		c.Spec = "lexical"
	case builtinPieces:
		e, err := newStatic(builtinModel, loadModel)
		if err != nil || e.model != s.Model || e.Dims() != s.Dims {
			return nil, none
		}
		return e, nil
	case builtinGlossed:
		c.Spec = "builtin"
	case "openai", "ollama":
		c.Spec = name
	case "local":
		if !strings.HasPrefix(c.Spec, "local:") {
			return nil, none
		}
	default:
		return nil, none
	}
	if kind != "local" {
		c.Dimensions = 0
	}
	e, err := Open(c)
	if err != nil {
		return nil, err
	}
	if kind == "openai" && e.Dims() > 0 && e.Dims() != s.Dims {
		c.Dimensions = s.Dims // one of those models that have a choice
		if e, err = Open(c); err != nil {
			return nil, err
		}
	}
	if e.Model() != s.Model || e.Dims() > 0 && e.Dims() != s.Dims {
		return nil, none
	}
	return e, nil
}

// Local reports whether an embedder works in this process, without network and without
// cost. Then everything can be embedded again without asking anybody.
func Local(e loci.Embedder) bool {
	switch e := e.(type) {
	case *Static, *Lexical, *transformer.Transformer:
		return true
	case *prefixed:
		return Local(e.Embedder)
	}
	return false
}
