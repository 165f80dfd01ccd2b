package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/config"
)

// TestInterrupted: a command that waits for input gives up at once, and nothing
// of what it had read is stored.
func TestInterrupted(t *testing.T) {
	store := "--store=sqlite:" + t.TempDir()
	env := config.Environ{"HOME=" + t.TempDir()}
	for _, args := range [][]string{{"save", "-"}, {"import", "-"}, {"update", "note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77", "-"}, {"call", "search_memory", "-"}} {
		ctx, cancel := context.WithCancel(t.Context())
		in, feed := io.Pipe()
		go func() {
			_, _ = io.WriteString(feed, `{"type":"header","format":"loci.export","version":1}`+"\n")
			cancel()
		}()
		var stdout, stderr bytes.Buffer
		code := run(ctx, append([]string{store, "--json"}, args...), in, &stdout, &stderr, env)
		if code != exitInterrupted || stdout.Len() > 0 || !strings.Contains(stderr.String(), `"code":"interrupted"`) {
			t.Errorf("%v: exit code %d, output %q, errors %q", args, code, &stdout, &stderr)
		}
		_ = in.Close()
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{store, "list"}, strings.NewReader(""), &stdout, &stderr, env); code != 0 ||
		stdout.Len() > 0 {
		t.Errorf("exit code %d, output %q, errors %q", code, &stdout, &stderr)
	}
}

// TestSignal: the same with a real signal to a real process.
func TestSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no signals to send
	}
	cmd := exec.Command("loci", "--store=sqlite:"+t.TempDir(), "save", "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds: when it is written, the program reads.
	if _, err := in.Write(bytes.Repeat([]byte(" "), 256<<10)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d: %v", code, cmd.ProcessState)
	}
}

// TestExportInterrupted: no half-written file stays behind.
func TestExportInterrupted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/out", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := writeFile(dir+"/out", storeExport, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return context.Canceled
	})
	data, _ := os.ReadFile(dir + "/out")
	entries, _ := os.ReadDir(dir)
	if err == nil || string(data) != "old" || len(entries) != 1 {
		t.Errorf("%v; %q; %v", err, data, entries)
	}
}
