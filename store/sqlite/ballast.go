package sqlite

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
)

// The ballast is a file beside the data that takes up space for no use but to be
// given back when the disk is full: then deletes and checkpoints, which need
// room for the log, still work.
const (
	ballastName = "loci.ballast"
	ballastSize = 4 << 20
)

type ballast struct {
	path string
	wg   sync.WaitGroup
}

// keep makes the ballast in the background when it is missing.
func (b *ballast) keep(log *slog.Logger) {
	if info, err := os.Stat(b.path); err == nil && info.Size() == ballastSize {
		return
	}
	b.wg.Go(func() {
		// Zeros written out, not a sparse file: a hole takes up no space.
		if err := os.WriteFile(b.path, make([]byte, ballastSize), 0o600); err != nil {
			b.release()
			log.Warn("no room for the ballast file; deletes may fail when the disk is full", "file", b.path, "error", err)
		}
	})
}

// release gives the space back.
func (b *ballast) release() {
	if err := os.Remove(b.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		slog.Default().Warn("ballast cannot be removed", "file", b.path, "error", err)
	}
}

func (b *ballast) wait() { b.wg.Wait() }
