package config_test

import (
	"strings"
	"testing"
)

// What gets texts is named with its host, and never with a password.
func TestOutside(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"defaults":  {"", ""},
		"local":     {"store: 'sqlite:/tmp/x.db'\nembedder: lexical", ""},
		"store":     {"store: 'postgres://me:secret@db.example:5432/loci?password=more'", "the store (postgres) at db.example:5432"},
		"embedder":  {"embedder: openai:small", "the embedder small at api.openai.com"},
		"its place": {"embedder: openai:small\nopenai:\n  base_url: http://127.0.0.1:9/v1", "the embedder small at 127.0.0.1:9"},
		"ollama":    {"embedder: ollama:m", "the embedder m at 127.0.0.1:11434"},
		"model": {
			"embedder: ollama:m\nllm:\n  provider: anthropic\n  model: large",
			"the embedder m at 127.0.0.1:11434, the language model large at api.anthropic.com",
		},
	} {
		cfg, err := load(t, c.file, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(cfg.Outside(), ", "); got != c.want {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
	}
}
