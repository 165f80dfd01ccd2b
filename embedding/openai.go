package embedding

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/remote"
)

// DefaultOpenAIURL is the base of OpenAI's own service.
const DefaultOpenAIURL = "https://api.openai.com/v1"

// Limits of one request, from the reference of OpenAI's API: 2,048 inputs and
// 300,000 tokens. Ours are lower: the estimate of tokens can be short, and a
// smaller request that fails costs less.
const (
	openAITexts  = 512
	openAITokens = 200_000
)

// openAIDims are the dimensions of OpenAI's own models, from its documentation.
var openAIDims = map[string]int{"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}

// openAI speaks POST /embeddings.
type openAI struct {
	model      string
	dimensions int         // asked for; 0: not
	plain      atomic.Bool // the service knows no base64
}

func openOpenAI(c Config, model string) (loci.Embedder, error) {
	base := c.OpenAIURL
	if base == "" {
		base = DefaultOpenAIURL
	}
	client, err := remote.New(base, "embeddings", "openai.base_url", c.OpenAIKey, maxParallel)
	if err != nil {
		return nil, err
	}
	protocol := &openAI{model: model, dimensions: c.Dimensions}
	if strings.TrimSuffix(base, "/") == DefaultOpenAIURL && c.Dimensions == 0 {
		c.Dimensions = openAIDims[model]
	}
	r := newService(c, "openai:"+model, protocol, client)
	r.maxTexts, r.maxTokens = openAITexts, openAITokens
	return withPrefixes(r, knownPrefixes(model).configured(c)), nil
}

func (o *openAI) request(texts []string) any {
	format := "base64" // a third of the bytes
	if o.plain.Load() {
		format = "" // the default; servers that refuse the one word may refuse the other
	}
	return struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Format     string   `json:"encoding_format,omitempty"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{o.model, texts, format, o.dimensions}
}

// vectors reads both forms: some servers ignore the one that was asked for.
func (o *openAI) vectors(body []byte, texts int) ([][]float32, error) {
	var answer struct {
		Data []struct {
			Index     *int            `json:"index"`
			Embedding json.RawMessage `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	if answer.Data == nil {
		return nil, errors.New("no data")
	}
	if len(answer.Data) != texts {
		return make([][]float32, len(answer.Data)), nil // the count is what is wrong
	}
	rows := make([][]float32, texts)
	for i, d := range answer.Data {
		place := i
		if d.Index != nil {
			place = *d.Index
		}
		if place < 0 || place >= texts || rows[place] != nil {
			return nil, errors.New("the places of the vectors are not right")
		}
		row, err := decodeRow(d.Embedding)
		if err != nil {
			return nil, err
		}
		rows[place] = row
	}
	return rows, nil
}

// decodeRow reads a vector: a list of numbers, or base64 of little-endian float32.
func decodeRow(raw json.RawMessage) ([]float32, error) {
	row := []float32{}
	if len(raw) == 0 || raw[0] != '"' {
		err := json.Unmarshal(raw, &row)
		return row, err
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data)%4 != 0 {
		return nil, errors.New("not base64 of float32")
	}
	for ; len(data) > 0; data = data[4:] {
		row = append(row, math.Float32frombits(binary.LittleEndian.Uint32(data)))
	}
	return row, nil
}

func (o *openAI) refused(f *remote.Failure) (*loci.Error, bool) {
	bad := f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity
	switch {
	case bad && f.Says("encoding_format"):
		o.plain.Store(true) // requests that were under way with it repeat without, too
		return nil, true
	case bad && o.dimensions > 0 && f.Says("dimensions"):
		return loci.Errorf(loci.Invalid, "does not offer %d dimensions (%s): change or remove embedding.dimensions", o.dimensions, f), false
	case f.Code == "model_not_found" || f.Status == http.StatusNotFound && f.Parsed:
		return loci.Errorf(loci.Invalid, "has no such model (%s): correct the name in embedder", f), false
	}
	return nil, false
}
