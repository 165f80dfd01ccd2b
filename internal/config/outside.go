package config

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/llm"
)

// Outside lists the services that get texts of memories, each with the host it is asked at:
// what keeps them, what embeds them, what language model reads them. Empty: all of it
// happens in this process.
func (c *Config) Outside() (services []string) {
	add := func(what, address string) {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			what += " at " + u.Host // never the whole URL, which may hold a password
		}
		services = append(services, what)
	}
	if scheme, _, database := strings.Cut(c.Store, "://"); database {
		add("the store ("+scheme+")", c.Store)
	}
	switch kind, model, _ := strings.Cut(c.Embedding.Spec, ":"); kind {
	case "openai":
		add("the embedder "+model, cmp.Or(c.Embedding.OpenAIURL, embedding.DefaultOpenAIURL))
	case "ollama":
		add("the embedder "+model, cmp.Or(c.Embedding.OllamaURL, embedding.DefaultOllamaURL))
	}
	switch c.llm.Provider {
	case llm.OpenAI:
		add("the language model "+c.llm.Model, cmp.Or(c.llm.BaseURL, llm.DefaultOpenAIURL))
	case llm.Anthropic:
		add("the language model "+c.llm.Model, cmp.Or(c.llm.BaseURL, llm.DefaultAnthropicURL))
	}
	return services
}

// TracedTo is the host that gets traces, in which no text is; "": there are none.
func (c *Config) TracedTo() string { return hostOf(c.Traces.Endpoint) }

// CountedTo is the host that gets metrics; "": none.
func (c *Config) CountedTo() string { return hostOf(c.Metrics.Endpoint) }

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
