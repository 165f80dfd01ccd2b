package embedding

import (
	"testing"

	"github.com/loci-memory/loci"
)

// What a cosine means is known by the model's name, whoever runs it and whoever owns it;
// prefixes do not change it.
func TestScales(t *testing.T) {
	e5 := loci.Scale{Unrelated: 0.75, Alike: 0.95}
	for model, want := range map[string]loci.Scale{
		"lexical-1": {Unrelated: 0.05, Alike: 0.65}, "builtin-1": loci.DefaultScale,
		"ollama:intfloat/multilingual-e5-large:latest": e5, "local:E5-small-v2@0a1b": e5,
		"openai:text-embedding-3-small": loci.DefaultScale, "local:all-MiniLM-L6-v2@0a1b": loci.DefaultScale,
	} {
		if got := scaleOf(model); got != want {
			t.Errorf("%s: %+v, want %+v", model, got, want)
		}
	}
	for _, s := range scales {
		if !(s.Unrelated >= -1 && s.Unrelated < s.Alike && s.Alike <= 1) {
			t.Errorf("%s: %+v", s.name, s.Scale)
		}
	}
	for _, c := range []Config{{Spec: "ollama:e5-small"}, {Spec: "ollama:e5-small", QueryPrefix: NoPrefix, DocumentPrefix: NoPrefix}} {
		e, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		if scaled, ok := e.(loci.ScaledEmbedder); !ok || scaled.Scale() != e5 {
			t.Errorf("%+v: %T has no scale", c, e)
		}
	}
}
