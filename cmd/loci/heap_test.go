package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/cores"
)

// told is called before each Read and Write.
type told func()

func (f told) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

func (f told) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}

// A command that answers one call after another leaves room for garbage while it does so, and what measures calls
// measures them so.
func TestCommandsLeaveRoomForGarbage(t *testing.T) {
	t.Setenv("GOGC", "") // it would be obeyed
	for _, args := range [][]string{
		{"--store=memory:", "mcp"},
		{"bench", "growth", "--sizes=1", "--only=get by id"},
	} {
		var roomy bool
		look := told(func() { roomy = roomy || cores.Roomy() })
		var stderr bytes.Buffer
		env := config.Environ{"HOME=" + t.TempDir()}
		if code := run(t.Context(), args, look, look, &stderr, env); code != exitOK || !roomy {
			t.Errorf("%q: %d, roomy is %t; %s", args, code, roomy, &stderr)
		}
		if cores.Roomy() {
			t.Errorf("%q: it is roomy afterwards", args)
		}
	}
}
