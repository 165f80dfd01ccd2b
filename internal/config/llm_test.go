package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/config"
)

// The key comes from the variable or the file, and a missing one is named when the
// model is asked.
func TestModelKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("bad key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		setting string
		vars    config.Environ
		want    string
	}{
		"not set":        {setting: "key_env: MINE", want: "$MINE cannot be read"},
		"its own name":   {setting: "key_env: MINE", vars: config.Environ{"MINE=bad key"}, want: "$MINE has a space"},
		"the usual name": {vars: config.Environ{"ANTHROPIC_API_KEY=bad key"}, want: "$ANTHROPIC_API_KEY has a space"},
		"file":           {setting: "key_file: " + strconv.Quote(file), want: "llm.key_file has a space"},
		"missing file":   {setting: "key_file: " + strconv.Quote(file+"x"), want: "llm.key_file cannot be read"},
	} {
		cfg, err := load(t, "llm:\n  provider: anthropic\n  model: m\n  base_url: http://127.0.0.1:1\n  "+c.setting, c.vars, nil)
		if err != nil {
			t.Fatal(err)
		}
		completer, err := cfg.Completer()
		if err != nil {
			t.Fatal(err)
		}
		_, err = completer.Complete(t.Context(), loci.Prompt{User: "x", MaxTokens: 1})
		if !errors.Is(err, loci.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
