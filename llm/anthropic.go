package llm

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/remote"
)

// anthropicVersion is the version of the interface, which the service wants to be
// told.
const anthropicVersion = "2023-06-01"

// anthropic speaks POST /messages.
type anthropic struct{}

func (anthropic) defaultURL() string { return DefaultAnthropicURL }
func (anthropic) path() string       { return "messages" }

func (anthropic) request(model string, p loci.Prompt) any {
	return struct {
		Model    string    `json:"model"`
		System   string    `json:"system"`
		Messages []message `json:"messages"`
		Limit    int       `json:"max_tokens"`
	}{model, p.System, []message{{"user", p.User}}, p.MaxTokens}
}

func (anthropic) authorize(h http.Header, key string) {
	h.Set("Anthropic-Version", anthropicVersion)
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

func (anthropic) adapt(*remote.Failure) bool { return false }

func (anthropic) answer(body []byte) (loci.Completion, error) {
	var a struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Reason string `json:"stop_reason"`
		Usage  struct {
			Input   int64 `json:"input_tokens"`
			Written int64 `json:"cache_creation_input_tokens"` // counted beside input_tokens
			Read    int64 `json:"cache_read_input_tokens"`
			Output  int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return loci.Completion{}, err
	}
	out := loci.Completion{
		Truncated: a.Reason == "max_tokens",
		Usage: loci.Usage{
			PromptTokens:     a.Usage.Input + a.Usage.Written + a.Usage.Read,
			CompletionTokens: a.Usage.Output,
		},
	}
	var text strings.Builder
	for _, c := range a.Content {
		if c.Type == "text" {
			text.WriteString(c.Text)
		}
	}
	if out.Text = text.String(); len(a.Content) == 0 {
		return out, errors.New("no content")
	}
	return out, nil
}
