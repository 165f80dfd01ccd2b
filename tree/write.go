package tree

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// Append adds content to the end of a file, on a line of its own: a line end comes
// between unless one is there. A missing file is made, and the directories above
// it. What it costs does not depend on the size of the file. EISDIR, ENOTDIR, EFBIG
// or ENOSPC.
func (t *Tree) Append(ctx context.Context, path, content string) (FileInfo, error) {
	path, err := CleanPath(path)
	if err == nil {
		err = checkText(content)
	}
	if err != nil {
		return FileInfo{}, err
	}
	return editTree(ctx, t, "append file", []string{path, content}, func(ed *edit) (FileInfo, loci.ID, error) {
		e, err := ed.entry(path)
		switch {
		case err != nil:
		case e == nil:
			if e, err = ed.create(path, false); err == nil {
				err = ed.replace(e, nil, loci.Redact(t.m, content))
			}
		case e.body.Dir:
			err = errIsDir()
		default:
			err = ed.append(e, content)
		}
		return ed.done(e, err)
	})
}

// done is the reply of a change of one file.
func (ed *edit) done(e *entry, err error) (FileInfo, loci.ID, error) {
	if err != nil {
		return FileInfo{}, loci.ID{}, err
	}
	info := e.info()
	if info.Unchanged = !ed.changed[e]; !info.Unchanged {
		info.Version++
	}
	return info, e.record.ID, nil
}

// WriteOptions are the optional part of [Tree.Write].
type WriteOptions struct {
	Create    bool  `json:"create,omitempty"`     // refuse with EEXIST where there is a file already
	IfVersion int64 `json:"if_version,omitempty"` // refuse with EAGAIN unless this is the version of the file; 0: any
}

// Write creates a file with a content, or replaces all of its content. opts may be nil.
// Writing the same content changes nothing. EISDIR, ENOTDIR, EFBIG, ENOSPC, and what the
// options add.
func (t *Tree) Write(ctx context.Context, path, content string, opts *WriteOptions) (FileInfo, error) {
	path, err := CleanPath(path)
	if err == nil {
		err = checkText(content)
	}
	if err != nil {
		return FileInfo{}, err
	}
	if opts == nil {
		opts = &WriteOptions{}
	}
	return editTree(ctx, t, "write file", []any{path, content, opts}, func(ed *edit) (FileInfo, loci.ID, error) {
		return ed.done(ed.write(path, content, opts))
	})
}

// FileContent is a file to write.
type FileContent struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Fits reports whether another file goes into the same change, after so many files with so
// many bytes. Whoever writes beside waits for a whole change, and larger ones are no cheaper.
func Fits(files, bytes int) bool { return files < 200 && bytes < 1<<20 }

// WriteAll is Write for many files, in one change: all of them or, with the first
// error, none. The error names the path. It holds all of them in memory, with their
// vectors; [Fits] says how many are enough.
func (t *Tree) WriteAll(ctx context.Context, files []FileContent, opts *WriteOptions) ([]FileInfo, error) {
	if opts == nil {
		opts = &WriteOptions{}
	}
	clean := slices.Clone(files)
	for i := range clean {
		f := &clean[i]
		path, err := CleanPath(f.Path)
		if err == nil {
			err = checkText(f.Content)
		}
		if err != nil {
			return nil, inFile(f.Path, err)
		}
		f.Path = path
	}
	return editTree(ctx, t, "write files", []any{clean, opts}, func(ed *edit) (infos []FileInfo, _ loci.ID, err error) {
		for i := range clean {
			e, err := ed.write(clean[i].Path, clean[i].Content, opts)
			info, _, err := ed.done(e, err)
			if err != nil {
				return nil, loci.ID{}, inFile(clean[i].Path, err)
			}
			infos = append(infos, info)
		}
		return infos, loci.ID{}, nil
	})
}

// inFile names the file that an error is about.
func inFile(path string, err error) error {
	named := *loci.AsError(err)
	named.Msg = path + ": " + named.Error()
	return &named
}

// write creates or replaces a file.
func (ed *edit) write(path, content string, opts *WriteOptions) (e *entry, err error) {
	e, err = ed.entry(path)
	switch {
	case err != nil:
	case e == nil && opts.IfVersion != 0:
		err = errNoFile()
	case e == nil:
		if e, err = ed.create(path, false); err == nil {
			err = ed.replace(e, nil, loci.Redact(ed.t.m, content))
		}
	case e.body.Dir:
		err = errIsDir()
	case opts.Create:
		err = errorf(loci.Conflict, EEXIST, "Choose another path, or replace the file.", "EEXIST: file exists")
	case opts.IfVersion != 0 && opts.IfVersion != e.record.Version:
		err = errorf(loci.Conflict, EAGAIN, "Read the file again.", "the file is at version %d, not %d", e.record.Version, opts.IfVersion)
	case ed.changed[e]:
		err = errorf(loci.Invalid, EINVAL, "Name each file once.", "the file is named twice")
	default:
		err = ed.rewrite(e, func(string) (string, error) { return content, nil })
	}
	return e, err
}

// rewrite replaces the content of a file by what change makes of it.
func (ed *edit) rewrite(e *entry, change func(old string) (string, error)) error {
	records, err := ed.t.blockRecords(ed.ctx, e.record.ID, e.manifest.Blocks)
	if err != nil {
		return err
	}
	old := joinTexts(records)
	content, err := change(old)
	if err == nil {
		err = checkText(content)
	}
	if content = loci.Redact(ed.t.m, content); err != nil || content == old {
		return err
	}
	return ed.replace(e, records, content)
}

// Edit replaces the content of a file by what change makes of it, in one step, so that
// nobody else's change is lost. change may run several times; its error ends the edit and
// is returned. request identifies what is asked, as JSON, for the handle's idempotency
// key. The same content changes nothing. ENOENT, EISDIR, EFBIG or ENOSPC.
func (t *Tree) Edit(
	ctx context.Context, path string, request any, change func(old string) (string, error),
) (FileInfo, error) {
	path, err := CleanPath(path)
	if err == nil && change == nil {
		err = loci.Errorf(loci.Invalid, "change must not be nil: pass a function")
	}
	if err != nil {
		return FileInfo{}, err
	}
	return editTree(ctx, t, "edit file", []any{path, request}, func(ed *edit) (FileInfo, loci.ID, error) {
		e, err := ed.present(path)
		if err == nil {
			err = ed.rewrite(e, change)
		}
		return ed.done(e, err)
	})
}

// present looks a file up; ENOENT or EISDIR otherwise.
func (ed *edit) present(path string) (*entry, error) { return aFile(ed.entry(path)) }

// Update replaces every occurrence of old in a file, as it is written, and returns how
// many there were. No occurrence is no error; an empty old never occurs. ENOENT, EISDIR,
// EFBIG or ENOSPC.
func (t *Tree) Update(ctx context.Context, path, old, content string) (replaced int, err error) {
	path, err = CleanPath(path)
	if err == nil {
		err = checkText(content)
	}
	if err != nil {
		return 0, err
	}
	return editTree(ctx, t, "update file", []string{path, old, content}, func(ed *edit) (int, loci.ID, error) {
		e, err := ed.present(path)
		if err != nil {
			return 0, loci.ID{}, err
		}
		count := 0
		if old == "" {
			return 0, e.record.ID, nil
		}
		limit := ed.t.limits().MaxFileBytes
		err = ed.rewrite(e, func(text string) (string, error) {
			found := apart(text, old)
			count = len(found)
			// A short text that occurs often could grow into more than there is room for.
			if size := len(text) + count*(len(content)-len(old)); size > max(limit, len(text)) {
				return "", errorf(loci.TooLarge, EFBIG, "Replace less at once.", "EFBIG: the file would have %d bytes; the limit is %d", size, limit)
			}
			return substitute(text, found, len(old), content), nil
		})
		return count, e.record.ID, err
	})
}

// Insert puts content after a line of a file, as a line of its own; 0 is before the
// first one. A line beyond the end is EINVAL. ENOENT, EISDIR, EFBIG or ENOSPC.
func (t *Tree) Insert(ctx context.Context, path string, line int64, content string) (FileInfo, error) {
	if err := checkText(content); err != nil {
		return FileInfo{}, err
	}
	return t.Edit(ctx, path, []any{"insert", line, content}, func(old string) (string, error) {
		at, ok := lineStart(old, line)
		if !ok {
			return "", errorf(loci.Invalid, EINVAL, "", "line %d: the file has no such line to insert after", line)
		}
		text := content
		before, after := old[:at], old[at:]
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
		if after != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return before + text + after, nil
	})
}

// lineStart returns where the text after a number of lines begins; ok is false when
// there are fewer.
func lineStart(text string, lines int64) (at int, ok bool) {
	for ; lines > 0; lines-- {
		if at == len(text) {
			return 0, false
		}
		if end := strings.IndexByte(text[at:], '\n'); end >= 0 {
			at += end + 1
		} else {
			at = len(text)
		}
	}
	return at, lines == 0
}

// MakeDir makes a directory, and those above it; it may be there already. EEXIST: a
// file is there. ENOTDIR or ENOSPC.
func (t *Tree) MakeDir(ctx context.Context, path string) error {
	path, err := CleanPath(path)
	if err != nil {
		return err
	}
	_, err = editTree(ctx, t, "make directory", path, func(ed *edit) (bool, loci.ID, error) {
		e, err := ed.entry(path)
		if err == nil && e != nil && !e.body.Dir {
			err = errorf(loci.Conflict, EEXIST, "Choose another path.", "EEXIST: a file is there")
		}
		if err == nil {
			e, err = ed.dir(path)
		}
		if err != nil {
			return false, loci.ID{}, err
		}
		return true, e.record.ID, nil
	})
	return err
}
