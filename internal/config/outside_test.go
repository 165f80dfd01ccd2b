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

// TestTraces: they go where the configuration says, to nobody without it, and with headers that
// are read when they are sent.
func TestTraces(t *testing.T) {
	cfg, err := load(t, "", nil, nil)
	if err != nil || cfg.Traces.Endpoint != "" || cfg.TracedTo() != "" || cfg.Traces.Sample != 1 {
		t.Errorf("%+v, %v", cfg, err)
	}
	cfg, err = load(t, "traces:\n  endpoint: http://c.example:4318\n  sample: 0.25\n  headers_file: /nowhere/headers", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, missing := cfg.Traces.Headers()
	if cfg.TracedTo() != "c.example:4318" || cfg.Outside() != nil || cfg.Traces.Sample != 0.25 || missing == nil {
		t.Errorf("%+v, %v", cfg.Traces, missing)
	}
	for _, bad := range []string{"endpoint: c.example:4318", "endpoint: 'http://u:secret@c.example'", "sample: 2", "headers_file: ''"} {
		if _, err := load(t, "traces:\n  "+bad, nil, nil); err == nil || strings.Contains(err.Error(), "secret") ||
			!strings.Contains(err.Error(), "traces."+strings.SplitN(bad, ":", 2)[0]) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
