package llm

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/remote"
)

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// openAI speaks POST /chat/completions.
type openAI struct {
	newLimit atomic.Bool // the model wants max_completion_tokens instead of max_tokens
}

func (*openAI) defaultURL() string { return DefaultOpenAIURL }
func (*openAI) path() string       { return "chat/completions" }

func (o *openAI) request(model string, p loci.Prompt) any {
	r := struct {
		Model     string    `json:"model"`
		Messages  []message `json:"messages"`
		Limit     int       `json:"max_tokens,omitempty"`
		NewLimit  int       `json:"max_completion_tokens,omitempty"`
		Streaming bool      `json:"stream"`
	}{Model: model, Messages: []message{{"system", p.System}, {"user", p.User}}}
	if o.newLimit.Load() {
		r.NewLimit = p.MaxTokens
	} else {
		r.Limit = p.MaxTokens // what every server knows
	}
	return r
}

func (*openAI) authorize(h http.Header, key string) { remote.Bearer(h, key) }

// adapt answers the refusal of newer models of OpenAI.
func (o *openAI) adapt(f *remote.Failure) bool {
	return f.Status == http.StatusBadRequest && f.Says("max_completion_tokens") && o.newLimit.CompareAndSwap(false, true)
}

func (*openAI) answer(body []byte) (loci.Completion, error) {
	var a struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
			Reason string `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return loci.Completion{}, err
	}
	usage := loci.Usage{PromptTokens: a.Usage.Prompt, CompletionTokens: a.Usage.Completion}
	if len(a.Choices) == 0 {
		return loci.Completion{Usage: usage}, errors.New("no choices")
	}
	return loci.Completion{Text: a.Choices[0].Message.Content, Truncated: a.Choices[0].Reason == "length", Usage: usage}, nil
}
