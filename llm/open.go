package llm

import (
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/remote"
)

// The providers there are.
const (
	OpenAI    = "openai"    // POST /chat/completions, which many servers offer
	Anthropic = "anthropic" // POST /messages
)

// Addresses of the providers' own services.
const (
	DefaultOpenAIURL    = "https://api.openai.com/v1"
	DefaultAnthropicURL = "https://api.anthropic.com/v1"
)

// Defaults of [Config].
const (
	DefaultTimeout  = 2 * time.Minute
	DefaultMaxReply = 1 << 20
)

// A Config says which model is asked, and where.
type Config struct {
	Provider string // OpenAI or Anthropic
	Model    string
	BaseURL  string // http:// or https://; empty: that of the provider's own service
	Key      Key

	Timeout  time.Duration // of one call, with its repetitions; 0: 2 minutes
	MaxReply int64         // bytes of an answer that are read; 0: 1 MiB
}

// A Key says where the key of a service is. It is read for each request, so that it can
// be changed without a restart. No message contains it.
type Key = remote.Key

// Open makes a completer. Nothing is sent yet. Invalid: the configuration is wrong.
func Open(c Config) (loci.Completer, error) {
	if strings.TrimSpace(c.Model) == "" {
		return nil, loci.Errorf(loci.Invalid, "llm.model is missing: name the model")
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxReply <= 0 {
		c.MaxReply = DefaultMaxReply
	}
	var p protocol
	switch c.Provider {
	case OpenAI:
		p = &openAI{}
	case Anthropic:
		p = anthropic{}
	default:
		return nil, loci.Errorf(loci.Invalid, "llm.provider %q is not known: it must be %s or %s", c.Provider, OpenAI, Anthropic)
	}
	if c.BaseURL == "" {
		c.BaseURL = p.defaultURL()
	}
	client, err := remote.New(c.BaseURL, p.path(), "llm.base_url", c.Key, 1)
	if err != nil {
		return nil, err
	}
	return &service{protocol: p, config: c, client: client}, nil
}
