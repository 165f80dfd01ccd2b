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

// TestWhatIsWrongIsSaidAtLoad: what a command would find out later, or somebody who sees no
// answer, is refused where it was written.
func TestWhatIsWrongIsSaidAtLoad(t *testing.T) {
	for text, want := range map[string]string{
		"openai: {base_url: 'not a url'}":                                           "must begin with http:// or https://",
		"ollama: {base_url: 'http://u:secret@x'}":                                   "must not hold a user or a password",
		"llm: {base_url: 'http://x/?a=b'}":                                          "without ? and #",
		"sessions: {timeout: 1ms}":                                                  "must be from 1s to",
		"backup: {recipients: [foo]}":                                               "public keys of age",
		"backup: {recipients: ['AGE-SECRET-KEY-1QQQQsecret']}":                      "begins with age1",
		"backup: {recipients: ['#']}":                                               "public keys of age",
		"listen: '127.0.0.1:7601'\nhttp: {admin: '127.0.0.1:7601'}":                 "listens at 127.0.0.1:7601 already",
		"listen: 'unix:/l'\nhttp: {admin: 'unix:/l'}":                               "listens at unix:/l already",
		"listen: 'localhost:7601'\nhttp: {admin: '127.0.0.1:7601, 127.0.0.1:7602'}": "listens at localhost:7601 already",
	} {
		_, err := load(t, text, nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "loci.yaml:") ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"openai: {base_url: 'https://x.example/v1'}", "sessions: {timeout: 0s}", "sessions: {timeout: 1s}",
		"backup: {recipients: [age1lggyhqrw2nlhcxprm67z43rta597azn8gknawjehu9d9dl0jq3yqqvfafg]}",
		"listen: '127.0.0.1:0'\nhttp: {admin: '127.0.0.1:0'}", "listen: '127.0.0.1:7601'\nhttp: {admin: '[::1]:7601'}",
	} {
		if _, err := load(t, text, nil, nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
