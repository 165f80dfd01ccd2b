package embedding

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/remote"
)

// DefaultOllamaURL is where Ollama listens unless told otherwise.
const DefaultOllamaURL = "http://127.0.0.1:11434"

// ollamaTexts bounds one request: the server works on them one after the other,
// so larger ones gain nothing and take longer to repeat.
const ollamaTexts = 64

// ollama speaks POST /api/embed.
type ollama struct {
	model      string
	dimensions int // asked for; 0: not
}

func openOllama(c Config, model string) (loci.Embedder, error) {
	base := c.OllamaURL
	if base == "" {
		base = DefaultOllamaURL
	}
	client, err := remote.New(base, "api/embed", "ollama.base_url", Key{}, maxParallel)
	if err != nil {
		return nil, err
	}
	r := newService(c, "ollama:"+model, &ollama{model: model, dimensions: c.Dimensions}, client)
	r.maxTexts = ollamaTexts
	return withPrefixes(r, knownPrefixes(model).configured(c)), nil
}

func (o *ollama) request(texts []string) any {
	return struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Truncate   bool     `json:"truncate"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{o.model, texts, true, o.dimensions}
}

func (o *ollama) vectors(body []byte, _ int) ([][]float32, error) {
	var answer struct {
		Embeddings [][]float32 `json:"embeddings"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	if answer.Embeddings == nil {
		return nil, errors.New("no embeddings")
	}
	return answer.Embeddings, nil
}

func (o *ollama) refused(f *remote.Failure) (*loci.Error, bool) {
	switch {
	case f.Status == http.StatusNotFound && f.Parsed:
		return loci.Errorf(loci.Invalid, "has no such model (%s): run ollama pull %s", f, o.model), false
	case f.Status == http.StatusNotFound:
		return loci.Errorf(loci.Invalid, "does not know /api/embed (%s): correct ollama.base_url, or update Ollama to 0.3 or newer", f), false
	case f.Says("does not support embed"):
		return loci.Errorf(loci.Invalid, "is not an embedding model (%s): choose one, such as nomic-embed-text", f), false
	}
	return nil, false
}
