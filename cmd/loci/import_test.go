package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/config"
)

// An import leaves the search index behind, so that the first search need not make it.
func TestImportsKeepTheIndex(t *testing.T) {
	t.Parallel()
	var said []map[string]string
	for i := range 600 {
		said = append(said, map[string]string{"role": "user", "content": fmt.Sprintf("walrus %d", i)})
	}
	messages, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for i := range 600 {
		told = append(told, fmt.Sprint("walrus ", i))
	}
	notes, err := json.Marshal(map[string]any{"type": "entity", "name": "Ann", "entityType": "person", "observations": told})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ input, command string }{
		"notes":    {string(notes), "import"},
		"messages": {string(messages), "session import"},
		"files":    {"", "file import"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			source := filepath.Join(dir, "in")
			var err error
			if c.input != "" {
				err = os.WriteFile(source, []byte(c.input), 0o600)
			} else {
				err = writeFiles(source, 600)
			}
			if err != nil {
				t.Fatal(err)
			}
			args := append(strings.Fields(c.command), source, "--store", "sqlite:"+filepath.Join(dir, "x.db"), "--user", "u")
			var stdout, stderr bytes.Buffer
			env := config.Environ{"HOME=" + dir}
			if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, env); code != exitOK {
				t.Fatal(code, stdout.String(), stderr.String())
			}
			kept, err := filepath.Glob(filepath.Join(dir, "x.idx", "*.segm"))
			if err != nil || len(kept) == 0 {
				t.Errorf("no index is kept behind %q: %v", stdout.String(), err)
			}
		})
	}
}

func writeFiles(dir string, n int) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".md")), []byte(fmt.Sprint("walrus ", i)), 0o600); err != nil {
			return err
		}
	}
	return nil
}
