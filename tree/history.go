package tree

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/linediff"
)

// A FileVersion is a state of a file that is kept.
type FileVersion struct {
	Version    int64     `json:"version"`
	Current    bool      `json:"current"`
	Bytes      int64     `json:"bytes"`
	Lines      int64     `json:"lines"`
	WrittenAt  time.Time `json:"written_at"`
	ReplacedAt time.Time `json:"replaced_at,omitzero"` // zero: it is the current one
}

// Versions returns the kept states of a file, the current one first, then newest
// first: as many earlier ones as [loci.RetentionOptions].Revisions says. ENOENT or EISDIR.
func (t *Tree) Versions(ctx context.Context, path string) ([]FileVersion, error) {
	path, err := CleanPath(path)
	if err != nil {
		return nil, err
	}
	e, err := t.file(ctx, path)
	if err != nil {
		return nil, err
	}
	list := []FileVersion{{
		Version: e.record.Version, Current: true, Bytes: e.manifest.Bytes,
		Lines: e.manifest.lines(), WrittenAt: e.record.UpdatedAt,
	}}
	earlier, err := t.m.Revisions(ctx, e.record.ID)
	if err != nil {
		return nil, err
	}
	for i := range earlier {
		r := &earlier[i]
		m, err := readManifest(r.Attributes)
		if err != nil {
			return nil, err
		}
		if r.Version < e.record.Version { // else the file was changed since it was read
			list = append(list, FileVersion{
				Version: r.Version, Bytes: m.Bytes, Lines: m.lines(),
				WrittenAt: r.UpdatedAt, ReplacedAt: r.ReplacedAt,
			})
		}
	}
	return list, nil
}

// ReadVersion returns the content of a file as it was in a version; 0 is the
// current one. ENOENT: there is no such file, or that version is not kept. EISDIR.
func (t *Tree) ReadVersion(ctx context.Context, path string, version int64) (string, error) {
	path, err := CleanPath(path)
	if err != nil {
		return "", err
	}
	for range maxReadings {
		e, err := t.file(ctx, path)
		if err != nil {
			return "", err
		}
		m, err := t.state(ctx, e, version)
		if err != nil {
			return "", err
		}
		content, err := t.content(ctx, e, m.Blocks)
		if !errors.Is(err, errBlockGone) {
			return content, err
		}
	}
	return "", errUnsettled("read file")
}

// state finds the manifest of a version; 0 is the current one.
func (t *Tree) state(ctx context.Context, e *entry, version int64) (manifest, error) {
	if version == 0 || version == e.record.Version {
		return e.manifest, nil
	}
	earlier, err := t.m.Revisions(ctx, e.record.ID)
	if err != nil {
		return manifest{}, err
	}
	for i := range earlier {
		if earlier[i].Version == version {
			return readManifest(earlier[i].Attributes)
		}
	}
	return manifest{}, errorf(loci.NotFound, ENOENT, "List the versions of the file to see which are kept.", "ENOENT: version %d of the file is not kept", version)
}

// maxDiffBytes bounds the texts of [Tree.Diff]: comparing costs more than their size.
const maxDiffBytes = 2 << 20

// Diff compares two versions of a file, as a unified diff; 0 is the current one, and
// the empty text says that they are equal. ENOENT, EISDIR; EFBIG for more than 2 MiB
// together.
func (t *Tree) Diff(ctx context.Context, path string, from, to int64) (string, error) {
	path, err := CleanPath(path)
	if err != nil {
		return "", err
	}
	var texts [2]string
	for i, version := range []int64{from, to} {
		if texts[i], err = t.ReadVersion(ctx, path, version); err != nil {
			return "", err
		}
	}
	if n := len(texts[0]) + len(texts[1]); n > maxDiffBytes {
		return "", errorf(loci.TooLarge, EFBIG, "Read both versions and compare them yourself.", "EFBIG: the versions have %d bytes together; the limit is %d", n, maxDiffBytes)
	}
	return linediff.Unified(versionLabel(path, from), versionLabel(path, to), texts[0], texts[1]), nil
}

func versionLabel(path string, version int64) string {
	if version == 0 {
		return path
	}
	return fmt.Sprintf("%s@%d", path, version)
}

// Restore gives a file the content of an earlier version again, as a new version.
// ENOENT, EISDIR, EFBIG or ENOSPC.
func (t *Tree) Restore(ctx context.Context, path string, version int64) (FileInfo, error) {
	path, err := CleanPath(path)
	if err != nil {
		return FileInfo{}, err
	}
	return editTree(ctx, t, "restore file", []any{path, version}, func(ed *edit) (FileInfo, loci.ID, error) {
		e, err := ed.present(path)
		if err != nil {
			return ed.done(nil, err)
		}
		m, err := t.state(ctx, e, version)
		if err != nil {
			return ed.done(nil, err)
		}
		content, err := t.content(ctx, e, m.Blocks)
		if err == nil {
			err = ed.rewrite(e, func(string) (string, error) { return content, nil })
		}
		return ed.done(e, err)
	})
}
