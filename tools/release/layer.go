package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// layerLimit is how many bytes of an image are downloaded at most.
const layerLimit = 25_000_000

// layerPress is the program that makes gzip files of 3 % less than Go's own. Its package is
// libdeflate-tools in Debian and Ubuntu, libdeflate elsewhere.
const layerPress = "libdeflate-gzip"

// layerOf compresses the files of an image: by layerPress, and by Go's gzip where there is
// none. What is above limit is refused. Equal files and an equal layerPress make equal bytes.
func layerOf(ctx context.Context, files []byte, limit int) ([]byte, error) {
	layer, err := pressed(ctx, files)
	remedy := "make the program smaller"
	if errors.Is(err, exec.ErrNotFound) {
		remedy = "install " + layerPress + " (the package libdeflate-tools or libdeflate), which takes 3 % off"
		layer, err = zippedLayer(files)
	}
	if err != nil {
		return nil, err
	}
	if len(layer) > limit {
		return nil, fmt.Errorf("the image has %d bytes; the limit is %d: %s", len(layer), limit, remedy)
	}
	return layer, nil
}

// pressed lets layerPress compress what has no name and no time, and reads again what it wrote.
func pressed(ctx context.Context, files []byte) ([]byte, error) {
	press := exec.CommandContext(ctx, layerPress, "-12", "-c")
	press.Stdin = bytes.NewReader(files)
	layer, err := press.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", layerPress, err)
	}
	small, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		return nil, fmt.Errorf("%s wrote what cannot be read: %w", layerPress, err)
	}
	again, err := io.ReadAll(small)
	if err == nil && !bytes.Equal(again, files) {
		err = errors.New("it is something else than it was given")
	}
	if err != nil {
		return nil, fmt.Errorf("what %s wrote: %w", layerPress, err)
	}
	return layer, nil
}

func zippedLayer(files []byte) ([]byte, error) {
	var out bytes.Buffer
	small, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := small.Write(files); err != nil {
		return nil, err
	}
	err = small.Close()
	return out.Bytes(), err
}
