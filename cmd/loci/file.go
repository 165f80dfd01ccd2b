package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tree"
)

type fileCmd struct {
	Read    fileReadCmd    `cmd:"" help:"Print a file."`
	List    fileListCmd    `cmd:"" help:"List a directory."`
	Append  fileAppendCmd  `cmd:"" help:"Add lines to the end of a file."`
	Write   fileWriteCmd   `cmd:"" help:"Create a file, or replace all of it."`
	Update  fileUpdateCmd  `cmd:"" help:"Replace a text wherever it occurs in a file."`
	Move    fileMoveCmd    `cmd:"" help:"Move a file or a directory."`
	Delete  fileDeleteCmd  `cmd:"" help:"Erase a file, or a directory with all that is in it."`
	History fileHistoryCmd `cmd:"" help:"List the versions of a file."`
	Diff    fileDiffCmd    `cmd:"" help:"Compare two versions of a file."`
	Restore fileRestoreCmd `cmd:"" help:"Bring back an earlier version of a file."`
	Export  fileExportCmd  `cmd:"" aliases:"mount-export" help:"Write the files into a directory."`
	Import  fileImportCmd  `cmd:"" help:"Read files from a directory."`
}

// Help is shown below the usage.
func (*fileCmd) Help() string {
	return `Reads and changes the files of the tool memory: text files in directories, by path. --thread selects the files of one thread.

    loci file append /notes/today "Met Ann."
    loci file read /notes/today`
}

// A filePlace chooses a tree of files.
type filePlace struct {
	Memory string `placeholder:"NAME" help:"The name of the tree. Default: memory."`
	place
}

// tree opens the store and a tree in it: that of the thread if the command names one.
func (a *app) tree(p filePlace, key string, scopes ...loci.Scope) (*tree.Tree, error) {
	m, err := a.memory(p.place, key, scopes...)
	if err != nil {
		return nil, err
	}
	thread := ""
	if a.flags.Thread != nil {
		thread = *a.flags.Thread
	}
	return tree.Of(m, p.Memory, thread)
}

// fileText is a text given as arguments; "-" alone is standard input, all of it.
func (a *app) fileText(args []string) (string, error) {
	if len(args) != 1 || args[0] != "-" {
		return strings.Join(args, " "), nil
	}
	data, err := io.ReadAll(io.LimitReader(a.input(), int64(a.cfg.Files.MaxFileBytes)+1))
	if err != nil {
		return "", fileError("standard input", err)
	}
	return string(data), nil
}

// A fileJSON is a file or a directory as --json shows it.
type fileJSON struct {
	tree.FileInfo
	Content *string `json:"content,omitempty"`
}

// onFiles runs a command on the tree that p names: --json shows what do returns as it
// is, show prints it otherwise.
func onFiles[R any](
	a *app, p filePlace, key string, scope loci.Scope, do func(*tree.Tree) (R, error), show func(R),
) error {
	files, err := a.tree(p, key, scope)
	if err != nil {
		return err
	}
	result, err := do(files)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(result)
	}
	show(result)
	return nil
}

// changeFile runs a command that says what became of a file.
func changeFile(a *app, p filePlace, key string, do func(*tree.Tree) (tree.FileInfo, error)) error {
	return onFiles(a, p, key, loci.ScopeWrite, do, func(info tree.FileInfo) {
		a.printf("%s\n", info.Path)
		if info.Unchanged {
			a.note("unchanged: the file says that already")
		}
	})
}

type fileReadCmd struct {
	Path    string `arg:"" help:"The path of the file."`
	Version int64  `placeholder:"N" help:"Show the file as it was in this version."`
	Lines   string `placeholder:"FROM:TO" help:"Only these lines, counted from 1. Leave out FROM or TO for the first or last line of the file."`
	filePlace
}

// Run prints a file as it is.
func (c *fileReadCmd) Run(a *app) error {
	if c.Version < 0 || c.Version > 0 && c.Lines != "" {
		return loci.Errorf(loci.Invalid, "--version must be at least 1, and not with --lines")
	}
	return onFiles(a, c.filePlace, "", loci.ScopeRead, func(files *tree.Tree) (fileJSON, error) {
		content, info, err := c.read(a.ctx, files)
		return fileJSON{FileInfo: info, Content: &content}, err
	}, func(out fileJSON) {
		content := *out.Content
		a.printf("%s", a.text(content))
		if isTerminal(a.rawOut) && content != "" && !strings.HasSuffix(content, "\n") {
			a.printf("\n")
		}
	})
}

// read reads all of the file, or the lines or the version that the command names.
func (c *fileReadCmd) read(ctx context.Context, files *tree.Tree) (content string, info tree.FileInfo, err error) {
	var first, last int64
	switch {
	case c.Lines != "":
		if first, last, err = lineRange(c.Lines); err != nil {
			return "", info, err
		}
		if info, err = files.Stat(ctx, c.Path); err == nil {
			content, err = files.ReadLines(ctx, c.Path, first, last)
		}
	case c.Version > 0:
		if info, err = files.Stat(ctx, c.Path); err == nil {
			content, err = files.ReadVersion(ctx, c.Path, c.Version)
			info.Version = c.Version
		}
	default:
		return files.ReadInfo(ctx, c.Path)
	}
	return content, info, err
}

// lineRange reads FROM:TO.
func lineRange(text string) (first, last int64, err error) {
	from, to, _ := strings.Cut(text, ":")
	first = 1
	if from != "" {
		if first, err = strconv.ParseInt(from, 10, 64); err != nil || first < 1 {
			return 0, 0, loci.Errorf(loci.Invalid, "--lines %q: write FROM:TO, such as 10:20", text)
		}
	}
	if to != "" {
		if last, err = strconv.ParseInt(to, 10, 64); err != nil || last < first {
			return 0, 0, loci.Errorf(loci.Invalid, "--lines %q: write FROM:TO, such as 10:20", text)
		}
	}
	return first, last, nil
}

type fileListCmd struct {
	Path      string `arg:"" optional:"" default:"/" help:"The directory. Default: /."`
	Recursive bool   `short:"r" help:"Everything below it, too."`
	filePlace
}

// Run lists a directory.
func (c *fileListCmd) Run(a *app) error {
	type entries struct {
		Entries []tree.FileInfo `json:"entries"`
	}
	return onFiles(a, c.filePlace, "", loci.ScopeRead, func(files *tree.Tree) (entries, error) {
		list := []tree.FileInfo{} // and not nil, which --json would show
		if c.Recursive {
			err := files.Walk(a.ctx, c.Path, func(f tree.FileInfo) bool { list = append(list, f); return true })
			return entries{list}, err
		}
		direct, err := files.List(a.ctx, c.Path)
		return entries{append(list, direct...)}, err
	}, func(found entries) {
		t := table{head: []string{"BYTES", "LINES", "CHANGED", "PATH"}}
		for _, f := range found.Entries {
			bytes, lines, name := fmt.Sprint(f.Bytes), fmt.Sprint(f.Lines), f.Path
			if f.Dir {
				bytes, lines, name = "-", "-", name+"/"
			}
			t.add(bytes, lines, a.when(f.UpdatedAt), name)
		}
		if len(t.rows) == 0 {
			a.note("%s", c.whyEmpty())
		}
		t.print(a)
	})
}

// whyEmpty says what to do about an empty list.
func (c *fileListCmd) whyEmpty() string {
	if c.Path != "/" {
		return "nothing is there; loci file list -r shows all files"
	}
	return "nothing yet; try: loci file append /notes.md \"Window seats.\""
}

type fileAppendCmd struct {
	Path           string   `arg:"" help:"The path of the file; it is made if it is not there."`
	Content        []string `arg:"" help:"What to add; - reads it from standard input."`
	IdempotencyKey string   `placeholder:"KEY" help:"Makes the command safe to repeat: the same key adds only once."`
	filePlace
}

// Run appends to a file.
func (c *fileAppendCmd) Run(a *app) error {
	return changeFile(a, c.filePlace, c.IdempotencyKey, func(files *tree.Tree) (info tree.FileInfo, err error) {
		content, err := a.fileText(c.Content)
		if err != nil {
			return info, err
		}
		return files.Append(a.ctx, c.Path, content)
	})
}

type fileWriteCmd struct {
	Path           string   `arg:"" help:"The path of the file."`
	Content        []string `arg:"" help:"The whole new content; - reads it from standard input."`
	Create         bool     `help:"Refuse if it is there already."`
	IfVersion      int64    `placeholder:"N" help:"Refuse unless it is at this version."`
	IdempotencyKey string   `placeholder:"KEY" help:"Makes the command safe to repeat: the same key writes only once."`
	filePlace
}

// Run writes a file.
func (c *fileWriteCmd) Run(a *app) error {
	if c.IfVersion < 0 {
		return loci.Errorf(loci.Invalid, "--if-version must be at least 1")
	}
	return changeFile(a, c.filePlace, c.IdempotencyKey, func(files *tree.Tree) (info tree.FileInfo, err error) {
		content, err := a.fileText(c.Content)
		if err != nil {
			return info, err
		}
		return files.Write(a.ctx, c.Path, content, &tree.WriteOptions{Create: c.Create, IfVersion: c.IfVersion})
	})
}

type fileUpdateCmd struct {
	Path           string `arg:"" help:"The path of the file."`
	Old            string `arg:"" help:"The text to replace, as it is written."`
	New            string `arg:"" help:"What to put in its place."`
	IdempotencyKey string `placeholder:"KEY" help:"Makes the command safe to repeat: the same key replaces only once."`
	filePlace
}

// Run replaces a text in a file.
func (c *fileUpdateCmd) Run(a *app) error {
	type replaced struct {
		Replaced int `json:"replaced"`
	}
	return onFiles(a, c.filePlace, c.IdempotencyKey, loci.ScopeWrite, func(files *tree.Tree) (replaced, error) {
		n, err := files.Update(a.ctx, c.Path, c.Old, c.New)
		return replaced{n}, err
	}, func(r replaced) { a.printf("%d replaced\n", r.Replaced) })
}

type fileMoveCmd struct {
	From string `arg:"" help:"The path of the file or directory."`
	To   string `arg:"" help:"Its new path, where there is nothing."`
	filePlace
}

// Run moves a file or a directory.
func (c *fileMoveCmd) Run(a *app) error {
	return changeFile(a, c.filePlace, "", func(files *tree.Tree) (info tree.FileInfo, err error) {
		if err := files.Rename(a.ctx, c.From, c.To); err != nil {
			return info, err
		}
		return files.Stat(a.ctx, c.To)
	})
}

type fileDeleteCmd struct {
	Path           string `arg:"" help:"The path; / is everything."`
	IdempotencyKey string `placeholder:"KEY" help:"Makes the command safe to repeat: the same key gives the same counts."`
	filePlace
}

// Run deletes a file or a directory.
func (c *fileDeleteCmd) Run(a *app) error {
	return onFiles(a, c.filePlace, c.IdempotencyKey, loci.ScopeDelete, func(files *tree.Tree) (tree.Counts, error) {
		return files.Delete(a.ctx, c.Path)
	}, func(n tree.Counts) {
		a.printf("%s and %s deleted\n", number(n.Files, "file", "files"), number(n.Dirs, "directory", "directories"))
	})
}

type fileHistoryCmd struct {
	Path string `arg:"" help:"The path of the file."`
	filePlace
}

// Run lists versions.
func (c *fileHistoryCmd) Run(a *app) error {
	type versions struct {
		Versions []tree.FileVersion `json:"versions"`
	}
	return onFiles(a, c.filePlace, "", loci.ScopeRead, func(files *tree.Tree) (versions, error) {
		list, err := files.Versions(a.ctx, c.Path)
		return versions{list}, err
	}, func(found versions) {
		t := table{head: []string{"VERSION", "BYTES", "LINES", "WRITTEN"}}
		for _, v := range found.Versions {
			t.add(fmt.Sprint(v.Version), fmt.Sprint(v.Bytes), fmt.Sprint(v.Lines), a.when(v.WrittenAt))
		}
		t.print(a)
	})
}

type fileDiffCmd struct {
	Path string `arg:"" help:"The path of the file."`
	From int64  `arg:"" help:"A version."`
	To   int64  `arg:"" optional:"" help:"Another one. Default: the current one."`
	filePlace
}

// Run compares versions.
func (c *fileDiffCmd) Run(a *app) error {
	type difference struct {
		Diff string `json:"diff"`
	}
	return onFiles(a, c.filePlace, "", loci.ScopeRead, func(files *tree.Tree) (difference, error) {
		diff, err := files.Diff(a.ctx, c.Path, c.From, c.To)
		return difference{diff}, err
	}, func(d difference) { a.printf("%s", a.text(d.Diff)) })
}

type fileRestoreCmd struct {
	Path    string `arg:"" help:"The path of the file."`
	Version int64  `arg:"" help:"The version, as history shows it."`
	filePlace
}

// Run restores a version.
func (c *fileRestoreCmd) Run(a *app) error {
	return changeFile(a, c.filePlace, "", func(files *tree.Tree) (tree.FileInfo, error) {
		return files.Restore(a.ctx, c.Path, c.Version)
	})
}
