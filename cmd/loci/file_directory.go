package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/terminal"
	"github.com/loci-memory/loci/tree"
)

type fileExportCmd struct {
	Directory string `arg:"" help:"The directory to write into; it is made if it is not there."`
	Path      string `placeholder:"PATH" default:"/" help:"Only what is below this path. Default: everything."`
	Force     bool   `help:"Replace files that are there already."`
	filePlace
}

// Help is shown below the usage.
func (*fileExportCmd) Help() string {
	return `Writes the files byte for byte as they are. Nothing is written outside the directory.

    loci file export notes --path /notes`
}

// Run writes files into a directory.
func (c *fileExportCmd) Run(a *app) (err error) {
	kept, err := a.tree(c.filePlace, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	top, err := kept.Stat(a.ctx, c.Path)
	if err != nil {
		return err
	}
	if !top.Dir {
		return loci.Errorf(loci.Invalid, "--path %s is a file: print it with loci file read", top.Path)
	}
	var list []tree.FileInfo
	if err := kept.Walk(a.ctx, top.Path, func(f tree.FileInfo) bool {
		list = append(list, f)
		return true
	}); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Directory, 0o700); err != nil {
		return fileError(c.Directory, err)
	}
	root, err := os.OpenRoot(c.Directory)
	if err != nil {
		return fileError(c.Directory, err)
	}
	defer func() { _ = root.Close() }() // each file was closed already
	files := 0
	for _, f := range list { // directories come before what is in them
		name := strings.TrimPrefix(strings.TrimPrefix(f.Path, strings.TrimSuffix(top.Path, "/")), "/")
		if f.Dir {
			if err := root.MkdirAll(name, 0o700); err != nil {
				return fileError(name, err)
			}
			continue
		}
		content, err := kept.Read(a.ctx, f.Path)
		if err != nil {
			return err
		}
		if err := c.write(root, name, content); err != nil {
			return err
		}
		files++
	}
	if a.json {
		return a.printJSON(map[string]int{"files": files})
	}
	a.printf("%s written\n", number(files, "file", "files"))
	return nil
}

// write makes a file that was not there: nothing is ever written through a link.
func (c *fileExportCmd) write(root *os.Root, name, content string) error {
	if c.Force {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError(name, err)
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &loci.Error{Code: loci.Conflict, Msg: terminal.Word(name) + " is there already", Recovery: "Export into an empty directory, or use --force."}
	}
	if err != nil {
		return fileError(name, err)
	}
	if _, err := f.WriteString(content); err != nil {
		_ = f.Close()
		return fileError(name, err)
	}
	if err := f.Close(); err != nil {
		return fileError(name, err)
	}
	return nil
}

type fileImportCmd struct {
	Directory string   `arg:"" help:"The directory to read."`
	Path      string   `placeholder:"PATH" default:"/" help:"Where to put the files. Default: /."`
	Skip      []string `sep:"none" placeholder:"GLOB" help:"Leave out files and directories of such names, as in .git or *.png; may be repeated."`
	DryRun    bool     `help:"Check all files without storing anything."`
	filePlace
}

// Help is shown below the usage.
func (*fileImportCmd) Help() string {
	return `Checks the name, the size and the UTF-8 of every file before it stores the first one. Links are refused. A file that exists
already is replaced; its earlier content is kept as a version.

    loci file import notes --path /notes --skip .git`
}

// maxRefused bounds the faults that a refused import lists.
const maxRefused = 50

// A fileImport is a directory that is being read.
type fileImport struct {
	*fileImportCmd
	root    *os.Root
	limit   int
	files   []string        // names below the directory
	empty   map[string]bool // directories with nothing in them
	refused []string
}

// Run imports a directory.
func (c *fileImportCmd) Run(a *app) error {
	kept, err := a.tree(c.filePlace, "", loci.ScopeWrite)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(c.Directory)
	if err != nil {
		return fileError(c.Directory, err)
	}
	defer func() { _ = root.Close() }() // only read
	in := &fileImport{fileImportCmd: c, root: root, limit: a.cfg.Files.MaxFileBytes, empty: map[string]bool{}}
	if err := in.check(a); err != nil {
		return err
	}
	changed, err := 0, error(nil)
	if !c.DryRun {
		changed, err = in.store(a, kept)
		a.imported = true
	}
	if err != nil {
		return err
	}
	if changed > 0 {
		a.note("%d files are stored with [REDACTED] in place of credentials", changed)
	}
	if a.json {
		return a.printJSON(map[string]any{"files": len(in.files), "redacted": changed, "dry_run": c.DryRun})
	}
	verb := "imported"
	if c.DryRun {
		verb = "could be imported"
	}
	a.printf("%s %s\n", number(len(in.files), "file", "files"), verb)
	return nil
}

// target is the path of a name.
func (in *fileImport) target(name string) string { return in.Path + "/" + name }

// check looks at every file before any is stored.
func (in *fileImport) check(a *app) error {
	err := fs.WalkDir(in.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fileError(name, err)
		}
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if name == "." {
			return nil
		}
		for _, glob := range in.Skip {
			match, err := path.Match(glob, d.Name())
			if err != nil {
				return loci.Errorf(loci.Invalid, "--skip %q: %w", glob, err)
			}
			if match && d.IsDir() {
				return fs.SkipDir
			} else if match {
				return nil
			}
		}
		delete(in.empty, path.Dir(name))
		fault, err := in.look(name, d)
		if fault != "" {
			in.refused = append(in.refused, terminal.Word(name)+": "+fault)
		}
		return err
	})
	if err != nil || len(in.refused) == 0 {
		return err
	}
	slices.Sort(in.refused)
	more := ""
	if n := len(in.refused) - maxRefused; n > 0 {
		in.refused, more = in.refused[:maxRefused], fmt.Sprintf("\n  and %d more", n)
	}
	return &loci.Error{Code: loci.Invalid, Msg: "nothing was imported, because these cannot be:\n  " + strings.Join(in.refused, "\n  ") + more,
		Recovery: "Rename or change them, or leave them out with --skip."}
}

// look says what is wrong with a file or directory.
func (in *fileImport) look(name string, d fs.DirEntry) (fault string, err error) {
	_, pathErr := tree.CleanPath(in.target(name))
	switch {
	case pathErr != nil:
		return pathErr.Error(), nil //nolint:nilerr // listed with the others
	case d.IsDir():
		in.empty[name] = true
		return "", nil
	case !d.Type().IsRegular():
		return "not a file but a link or a device", nil
	}
	content, err := in.read(name)
	switch {
	case err != nil:
		return "", err
	case len(content) > in.limit:
		return fmt.Sprintf("larger than %d bytes", in.limit), nil
	case !utf8.ValidString(content):
		return "not text in UTF-8", nil
	}
	in.files = append(in.files, name)
	return "", nil
}

// read reads a file, one byte more than allowed at most.
func (in *fileImport) read(name string) (string, error) {
	f, err := in.root.Open(name)
	if err != nil {
		return "", fileError(name, err)
	}
	defer func() { _ = f.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(f, int64(in.limit)+1))
	if err != nil {
		return "", fileError(name, err)
	}
	return string(data), nil
}

// store writes what check found, in parts. It returns how many
// files are not stored as they were.
func (in *fileImport) store(a *app, kept *tree.Tree) (changed int, err error) {
	show, end := a.progress("importing")
	defer end()
	var batch []tree.FileContent
	size, done := 0, 0
	flush := func() error {
		infos, err := kept.WriteAll(a.ctx, batch, nil)
		for i, info := range infos {
			if info.Bytes != int64(len(batch[i].Content)) {
				changed++
			}
		}
		done += len(batch)
		show(int64(done))
		batch, size = nil, 0
		return err
	}
	for _, name := range in.files {
		content, err := in.read(name)
		if err != nil {
			return changed, err
		}
		batch = append(batch, tree.FileContent{Path: in.target(name), Content: content})
		if size += len(content); !tree.Fits(len(batch), size) {
			if err := flush(); err != nil {
				return changed, err
			}
		}
	}
	if len(batch) > 0 {
		if err := flush(); err != nil {
			return changed, err
		}
	}
	for name := range in.empty {
		if err := kept.MakeDir(a.ctx, in.target(name)); err != nil {
			return changed, err
		}
	}
	return changed, nil
}
