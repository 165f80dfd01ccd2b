package tree_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/tree"
)

// modelTree is what a tree does, written a second time in the simplest way: files and
// directories by path, and every earlier content of a file.
type modelTree struct {
	files   map[string]string
	dirs    map[string]bool
	history map[string][]string // contents a file had since it was made, oldest first, the current one included
}

func newModelTree() *modelTree {
	return &modelTree{files: map[string]string{}, dirs: map[string]bool{"/": true}, history: map[string][]string{}}
}

// above lists the directories a path is in, the root not included.
func above(path string) (dirs []string) {
	for at := 1; at < len(path); at++ {
		if path[at] == '/' {
			dirs = append(dirs, path[:at])
		}
	}
	return dirs
}

func (m *modelTree) blocked(path string) bool {
	return slices.ContainsFunc(above(path), func(d string) bool { _, file := m.files[d]; return file })
}

func (m *modelTree) set(path, content string) {
	for _, d := range above(path) {
		m.dirs[d] = true
	}
	if old, ok := m.files[path]; !ok || old != content {
		m.history[path] = append(m.history[path], content)
	}
	m.files[path] = content
}

func (m *modelTree) append(path, content string) tree.Errno {
	switch old, ok := m.files[path]; {
	case m.dirs[path]:
		return tree.EISDIR
	case m.blocked(path):
		return tree.ENOTDIR
	case ok && old != "" && !strings.HasSuffix(old, "\n") && !strings.HasPrefix(content, "\n"):
		m.set(path, old+"\n"+content)
	default:
		m.set(path, old+content)
	}
	return ""
}

func (m *modelTree) write(path, content string) tree.Errno {
	switch {
	case m.dirs[path]:
		return tree.EISDIR
	case m.blocked(path):
		return tree.ENOTDIR
	}
	m.set(path, content)
	return ""
}

func (m *modelTree) update(path, old, content string) (int, tree.Errno) {
	text, ok := m.files[path]
	switch {
	case m.dirs[path]:
		return 0, tree.EISDIR
	case !ok:
		return 0, tree.ENOENT
	case old == "":
		return 0, ""
	}
	parts := strings.Split(text, old)
	m.set(path, strings.Join(parts, content))
	return len(parts) - 1, ""
}

func below(path, dir string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") && path != dir
}

func (m *modelTree) delete(path string) (n tree.Counts) {
	for p := range m.files {
		if p == path || below(p, path) {
			n.Files++
			delete(m.files, p)
			delete(m.history, p)
		}
	}
	for p := range m.dirs {
		if p != "/" && (p == path || below(p, path)) {
			n.Dirs++
			delete(m.dirs, p)
		}
	}
	return n
}

func (m *modelTree) rename(from, to string) tree.Errno {
	_, file := m.files[from]
	_, taken := m.files[to]
	switch {
	case !file && !m.dirs[from]:
		return tree.ENOENT
	case from == to:
		return ""
	case from == "/" || below(to, from) && !file:
		return tree.EINVAL
	case taken || m.dirs[to]:
		return tree.EEXIST
	case m.blocked(to):
		return tree.ENOTDIR
	}
	for _, d := range above(to) {
		m.dirs[d] = true
	}
	moved := func(p string) (string, bool) { return to + strings.TrimPrefix(p, from), p == from || below(p, from) }
	files, dirs, history := map[string]string{}, map[string]bool{}, map[string][]string{}
	for p, content := range m.files {
		q, ok := moved(p)
		if !ok {
			q = p
		}
		files[q], history[q] = content, m.history[p]
	}
	for p := range m.dirs {
		q, ok := moved(p)
		if !ok {
			q = p
		}
		dirs[q] = true
	}
	m.files, m.dirs, m.history = files, dirs, history
	return ""
}

func (m *modelTree) list(dir string) (names []string) {
	for p := range m.dirs {
		if below(p, dir) && !strings.Contains(strings.TrimPrefix(p[len(strings.TrimSuffix(dir, "/")):], "/"), "/") {
			names = append(names, "D "+p)
		}
	}
	for p := range m.files {
		if below(p, dir) && !strings.Contains(strings.TrimPrefix(p[len(strings.TrimSuffix(dir, "/")):], "/"), "/") {
			names = append(names, "F "+p)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	return names
}

var (
	modelPaths = rapid.SampledFrom([]string{"/a", "/a/b", "/a/b/c", "/a/b/d", "/ab", "/ab/c", "/a b", "/a.b/x", "/a-/x", "/a0/x", "/b", "/b/c/d/e", "/"})
	modelTexts = rapid.Custom(func(t *rapid.T) string {
		line := rapid.SampledFrom([]string{"", "x", "\n", "one two", "zwei\ndrei", "ends\n", "日本語 ", "\r\n", "a\nb\nc\n"}).Draw(t, "line")
		if rapid.IntRange(0, 5).Draw(t, "long") == 0 {
			return strings.Repeat(line+rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end"), rapid.IntRange(1, 3000).Draw(t, "times"))
		}
		return line
	})
)

// TestTreeEqualsItsModel makes random changes of a tree and of the model, and
// compares what both say.
func TestTreeEqualsItsModel(t *testing.T) {
	locitest.Unshared(t)
	locitest.EachStore(t, func(t *testing.T, store loci.Store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			keep := rapid.SampledFrom([]int{0, 1, 3, 10}).Draw(rt, "revisions")
			e := locitest.NewEngine(t, store, loci.Options{
				Retention: loci.RetentionOptions{Revisions: cmp.Or(keep, loci.None)},
			})
			own := locitest.Tenant(t, fmt.Sprint("run-", run)) // so that its log is short
			filed, err := tree.Of(locitest.BindView(t, e, loci.View{
				Tenant:    own,
				Namespace: loci.Namespace{"user", "ann"},
				Actor:     "tester",
			}), "files", "")
			if err != nil {
				rt.Fatal(err)
			}
			model := newModelTree()
			path := func() string { return modelPaths.Draw(rt, "path") }
			text := func() string { return modelTexts.Draw(rt, "text") }
			same := func(what string, err error, want tree.Errno) {
				if got := tree.ErrnoOf(err); got != want {
					rt.Fatalf("%s: error %v (%v), want %q", what, got, err, want)
				}
			}
			rt.Repeat(map[string]func(*rapid.T){
				"append": func(*rapid.T) {
					p, s := path(), text()
					_, err := filed.Append(t.Context(), p, s)
					same("append "+p, err, model.append(p, s))
				},
				"write": func(*rapid.T) {
					p, s := path(), text()
					_, err := filed.Write(t.Context(), p, s, nil)
					same("write "+p, err, model.write(p, s))
				},
				"update": func(*rapid.T) {
					p, old, s := path(), rapid.SampledFrom([]string{"", "x", "\n", "o", "zwei", "one two\n"}).Draw(rt, "old"),
						rapid.SampledFrom([]string{"", "y", "one", "\n\n"}).Draw(rt, "new")
					n, err := filed.Update(t.Context(), p, old, s)
					want, errno := model.update(p, old, s)
					same("update "+p, err, errno)
					if n != want {
						rt.Fatalf("update %s replaced %d, want %d", p, n, want)
					}
				},
				"delete": func(*rapid.T) {
					p := path()
					n, err := filed.Delete(t.Context(), p)
					same("delete "+p, err, "")
					if want := model.delete(p); n != want {
						rt.Fatalf("delete %s: %+v, want %+v", p, n, want)
					}
				},
				"rename": func(*rapid.T) {
					from, to := path(), path()
					same("rename "+from+" to "+to, filed.Rename(t.Context(), from, to), model.rename(from, to))
				},
				"restore": func(*rapid.T) {
					p := path()
					versions, err := filed.Versions(t.Context(), p)
					if err != nil {
						return
					}
					v := versions[rapid.IntRange(0, len(versions)-1).Draw(rt, "version")]
					content, err := filed.ReadVersion(t.Context(), p, v.Version)
					same("read version", err, "")
					_, err = filed.Restore(t.Context(), p, v.Version)
					same("restore", err, model.write(p, content))
				},
				"": func(*rapid.T) {
					compareTree(t, rt, filed, model, keep)
					locitest.LogIsWhole(t, e, own)
				},
			})
			// Nothing is left: no block, no version, no directory.
			if _, err := filed.Delete(t.Context(), "/"); err != nil {
				rt.Fatal(err)
			}
			left := loci.Filter{Within: []loci.Namespace{filed.Namespace()}, NotLive: true}
			if n, err := store.Count(t.Context(), own, left); err != nil || n.Records > 1 || n.Bytes > 0 {
				rt.Fatalf("an empty tree has %+v, %v; want its root alone", n, err)
			}
		})
	})
}

func compareTree(t *testing.T, rt *rapid.T, filed *tree.Tree, model *modelTree, keep int) {
	for dir := range model.dirs {
		list, err := filed.List(t.Context(), dir)
		if err != nil {
			rt.Fatal(err)
		}
		var got []string
		for _, info := range list {
			mark := "F "
			if info.Dir {
				mark = "D "
			}
			got = append(got, mark+info.Path)
		}
		if want := model.list(dir); !slices.Equal(got, want) {
			rt.Fatalf("list %s: %q, want %q", dir, got, want)
		}
	}
	var bytes int64
	for path, want := range model.files {
		bytes += int64(len(want))
		got, info, err := filed.ReadInfo(t.Context(), path)
		if err != nil || got != want {
			rt.Fatalf("read %s: %d bytes, %v; want %d", path, len(got), err, len(want))
		}
		lines := int64(strings.Count(want, "\n"))
		if want != "" && !strings.HasSuffix(want, "\n") {
			lines++
		}
		if info.Bytes != int64(len(want)) || info.Lines != lines {
			rt.Fatalf("%s has %d bytes and %d lines; want %d and %d", path, info.Bytes, info.Lines, len(want), lines)
		}
		compareHistory(t, rt, filed, path, model.history[path], keep)
	}
	n, size, err := filed.Totals(t.Context())
	if want := (tree.Counts{
		Files: int64(len(model.files)),
		Dirs:  int64(len(model.dirs)) - 1,
	}); err != nil || n != want || size != bytes {
		rt.Fatalf("totals %+v, %d bytes, %v; want %+v, %d bytes", n, size, err, want, bytes)
	}
}

func compareHistory(t *testing.T, rt *rapid.T, filed *tree.Tree, path string, history []string, keep int) {
	versions, err := filed.Versions(t.Context(), path)
	if err != nil {
		rt.Fatal(err)
	}
	if want := min(len(history), keep+1); len(versions) != want {
		rt.Fatalf("%s has %d versions, want %d", path, len(versions), want)
	}
	for i, v := range versions {
		got, err := filed.ReadVersion(t.Context(), path, v.Version)
		if want := history[len(history)-1-i]; err != nil || got != want || v.Bytes != int64(len(want)) {
			rt.Fatalf("version %d of %s: %d bytes, %v; want %d", v.Version, path, len(got), err, len(want))
		}
	}
}
