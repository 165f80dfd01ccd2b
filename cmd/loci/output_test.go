package main

import (
	"bytes"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/jsonform"
)

func TestAge(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for want, d := range map[string]time.Duration{
		"now":        time.Second,
		"59m":        59 * time.Minute,
		"47h":        47 * time.Hour,
		"2d":         48 * time.Hour,
		"2025-03-01": 365 * 24 * time.Hour,
	} {
		if got := age(now.Add(-d), now); got != want {
			t.Errorf("%s ago is %q, want %q", d, got, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-01-31": "2026-01-31T00:00:00.000Z", "2026-01-31T10:00:00+02:00": "2026-01-31T08:00:00.000Z",
		"90m": "2026-03-01T10:30:00.000Z", "7d": "2026-02-22T12:00:00.000Z",
	} {
		if got, err := parseTime("--since", text, now); err != nil || jsonform.Time(got) != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "-1h", "-7d", "7dd", "1.5d", "d", "2026-13-01"} {
		if got, err := parseTime("--since", text, now); loci.AsError(err).Code != loci.Invalid {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// full is a stream on a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

// TestFullOutput: whether a command notices the full stream itself, or what it wrote is noticed
// afterwards, it is the stream's fault and no defect.
func TestFullOutput(t *testing.T) {
	env := config.Environ{"HOME=" + t.TempDir()}
	store := "--store=sqlite:" + filepath.Join(t.TempDir(), "loci.db")
	text := strings.Repeat("long enough for the stream to be asked ", 200)
	in := strings.NewReader(text)
	if code := run(t.Context(), []string{store, "save", "-"}, in, io.Discard, io.Discard, env); code != exitOK {
		t.Fatal(code)
	}
	for _, command := range []string{"list", "export"} {
		var stderr bytes.Buffer
		code := run(t.Context(), []string{store, command}, strings.NewReader(""), full{}, &stderr, env)
		if code != exitUnavailable || !strings.HasPrefix(stderr.String(), "loci: standard output: no space left") {
			t.Errorf("loci %s ended with %d: %s", command, code, &stderr)
		}
	}
}

func TestShownURL(t *testing.T) {
	for url, want := range map[string]string{
		"sqlite:/a/b.db": "sqlite:/a/b.db", "memory:": "memory:", "postgres://me:secret@db/x": "postgres://me:xxxxx@db/x",
	} {
		if got := shownURL(url); got != want {
			t.Errorf("%s is shown as %s", url, got)
		}
	}
}

// TestExitCodes: every code of an error has an exit code, which the help explains.
func TestExitCodes(t *testing.T) {
	for _, code := range []loci.Code{loci.Invalid, loci.Unauthenticated,
		loci.Forbidden, loci.NotFound, loci.Conflict, loci.TooLarge,
		loci.Unsupported, loci.Unavailable, loci.Internal} {
		exit, ok := exitCodes[code]
		if !ok || exit == exitOK || !strings.Contains(exitTable, "    "+strconv.Itoa(exit)+"  ") {
			t.Errorf("%s: exit code %d, %v", code, exit, ok)
		}
	}
}

// A command's help says what it does before it shows how: an example that comes first is
// printed without its indent, and looks like a sentence.
func TestHelpSaysWhatBeforeHow(t *testing.T) {
	t.Parallel()
	explained := 0
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, c := range n.Children {
			visit(c)
		}
		if n.Detail == "" {
			return
		}
		explained++
		if n.Detail != strings.TrimLeft(n.Detail, " \n") {
			t.Errorf("the help of %q begins with an example: begin with a sentence", pathOf(n))
		}
	}
	visit(grammar(t).Model.Node)
	if explained < 50 {
		t.Errorf("only %d commands were looked at", explained)
	}
}
