package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// programLimit is how large bin/loci may be so that its image stays below layerLimit: a layer
// with a program of 63,000,702 bytes has 24,645,681.
const programLimit = layerLimit * 63_000_702 / 24_645_681

// What is too large to download is no release, and the error says what to do.
func TestLayerAboveTheLimitIsRefused(t *testing.T) {
	files := bytes.Repeat([]byte("loci"), 1000)
	layer, err := layerOf(t.Context(), files, layerLimit)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := layerOf(t.Context(), files, len(layer)-1); err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("%d bytes pass a limit of one less: %v", len(layer), err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := layerOf(t.Context(), files, 10); err == nil || !strings.Contains(err.Error(), "libdeflate-tools") {
		t.Errorf("without %s: %v", layerPress, err)
	}
}

// A layer is what was given, and has no time in it.
func TestLayerIsReproducible(t *testing.T) {
	if _, err := exec.LookPath(layerPress); err != nil {
		t.Skip(err)
	}
	files := bytes.Repeat([]byte("loci"), 1000)
	first, err := layerOf(t.Context(), files, layerLimit)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // gzip's times have seconds
	second, err := layerOf(t.Context(), files, layerLimit)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two layers differ: %v", err)
	}
	small, err := gzip.NewReader(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := io.ReadAll(small); err != nil || !bytes.Equal(again, files) {
		t.Errorf("it holds something else: %v", err)
	}
}

// What the program of others wrote is read before it counts.
func TestLayerIsReadAgain(t *testing.T) {
	files := []byte("loci")
	other, err := zippedLayer([]byte("other"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\n/bin/cat '" + filepath.Join(dir, "other") + "'\n"
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "other"), other, 0o600),
		os.WriteFile(filepath.Join(dir, layerPress), []byte(script), 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if _, err := layerOf(t.Context(), files, layerLimit); err == nil || !strings.Contains(err.Error(), "something else") {
		t.Errorf("a layer of something else: %v", err)
	}
}

// A program that has grown out of its image is noticed before a release: `make release-test` measures the image itself.
func TestProgramFitsItsImage(t *testing.T) {
	about, err := os.Stat(filepath.Join("..", "..", "bin", "loci"))
	if err != nil {
		t.Skip("make build has not been run")
	}
	if about.Size() > programLimit {
		t.Errorf("bin/loci of make build has %d bytes; its image would be larger than %d", about.Size(), layerLimit)
	}
}
