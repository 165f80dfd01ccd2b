package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/llm"
)

// The key comes from the variable or the file, and a missing one is named when the
// model is asked.
func TestModelKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("bad key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env, file string
		vars      environ
		want      string
	}{
		"not set":      {env: "MINE", want: "$MINE cannot be read"},
		"of own name":  {env: "MINE", vars: environ{"MINE=bad key"}, want: "$MINE has a space"},
		"of its name":  {vars: environ{"ANTHROPIC_API_KEY=bad key"}, want: "$ANTHROPIC_API_KEY has a space"},
		"file":         {file: file, want: "llm.key_file has a space"},
		"missing file": {file: file + "x", want: "llm.key_file cannot be read"},
	} {
		cfg := &config{llm: llm.Config{Provider: llm.Anthropic, Model: "m", BaseURL: "http://127.0.0.1:1"}, llmKeyEnv: c.env, llmKeyFile: c.file}
		completer, err := cfg.completer(c.vars)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = completer.Complete(t.Context(), loci.Prompt{User: "x", MaxTokens: 1}); !errors.Is(err, loci.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
