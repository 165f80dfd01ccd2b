package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// besides makes a tree that is this one but for one file that no compiler reads, so that an
// overlay would not change it. Everything is a link, except the file, the files beside the test,
// and the folders that lead to both. It returns the root.
func (g *garden) besides(m *mutant) (string, error) {
	root, err := os.MkdirTemp(g.dir, "tree")
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(filepath.Join(g.root, m.change.path))
	if err != nil {
		return "", err
	}
	text := slices.Concat(data[:m.change.start], []byte(m.change.text), data[m.change.end:])
	var link func(folder string) error
	link = func(folder string) error {
		entries, err := os.ReadDir(filepath.Join(g.root, folder))
		if err != nil {
			return err
		}
		for _, entry := range entries {
			path := filepath.Join(folder, entry.Name())
			from, to := filepath.Join(g.root, path), filepath.Join(root, path)
			switch {
			case path == ".git":
			case leads(path, m.change.path), leads(path, m.dir), path == m.dir:
				err = errors.Join(os.Mkdir(to, 0o700), link(path))
			case path == m.change.path:
				err = os.WriteFile(to, text, 0o600)
			case folder == m.dir && !entry.IsDir():
				err = copied(from, to) // go:embed takes no link
			default:
				err = os.Symlink(from, to)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return root, link(".")
}

// leads reports whether a path is below a folder.
func leads(folder, path string) bool { return strings.HasPrefix(path, folder+"/") }

func copied(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}
