package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A mutant is a fault that a named test must notice.
type mutant struct {
	line        int    // in the table
	requirement string // its first cell on the page of requirements
	dir, test   string // dir is empty where only one package has the test
	whole       bool   // built by itself: the test starts programs, or the text is in no function
	old, new    []string
	change      change
}

// readTable reads mutants: "mutant:" with the requirement, "test:" with the package
// if several have the test, and the test, then lines that begin with "-" and with
// "+". "whole: yes" builds it by itself.
func readTable(path string) ([]*mutant, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []*mutant
	var m *mutant
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case key == "mutant":
			if i > 0 && lines[i-1] != "" { // as a merge leaves two that were added at once
				return nil, fmt.Errorf("%s:%d: put an empty line before a mutant", path, i+1)
			}
			m = &mutant{line: i + 1, requirement: value}
			all = append(all, m)
		case m == nil:
			return nil, fmt.Errorf("%s:%d: a mutant begins with \"mutant: \"", path, i+1)
		case key == "test" && m.test != "":
			return nil, fmt.Errorf("%s:%d: the mutant of line %d has a test: is this one of another?", path, i+1, m.line)
		case key == "test":
			m.test = value
			if dir, test, ok := strings.Cut(value, " "); ok && !strings.HasPrefix(dir, "Test") &&
				!strings.HasPrefix(dir, "Fuzz") {
				m.dir, m.test = dir, test
			}
		case key == "whole":
			m.whole = true
		case strings.HasPrefix(line, "-"):
			m.old = append(m.old, strings.TrimSpace(line[1:]))
		case strings.HasPrefix(line, "+"):
			m.new = append(m.new, strings.TrimSpace(line[1:]))
		default:
			return nil, fmt.Errorf("%s:%d: %q is none of mutant, test, whole, - and +", path, i+1, line)
		}
	}
	return all, nil
}

// A tree is the Go files of the repository.
type tree struct {
	sources map[string]string   // what is no test
	tests   map[string][]string // the directories that have a test of a name
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

func readTree(root string) (*tree, error) {
	t := &tree{map[string]string{}, map[string][]string{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && rel != "." && rel != ".github" || d.Name() == "testdata" || d.Name() == "node_modules" ||
				rel == "tests/mutants" {
				return filepath.SkipDir
			}
			return nil
		}
		packed := strings.HasPrefix(rel, "packaging/") || strings.HasPrefix(rel, ".github/")
		if !packed && !strings.HasSuffix(rel, ".go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(rel, "_test.go") {
			t.sources[rel] = string(data)
			return nil
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(data), -1) {
			t.tests[m[1]] = append(t.tests[m[1]], filepath.ToSlash(filepath.Dir(rel)))
		}
		return nil
	})
	return t, err
}

// locate finds the one place of a mutant's old text and the package of its test,
// wherever they have been moved to. White space around lines is nothing.
func (t *tree) locate(m *mutant) error {
	if len(m.old) == 0 || m.test == "" || m.requirement == "" {
		return fmt.Errorf("a mutant needs a requirement, a test and an old text")
	}
	quoted := make([]string, len(m.old))
	for i, line := range m.old {
		quoted[i] = regexp.QuoteMeta(line)
	}
	text := regexp.MustCompile(strings.Join(quoted, `[ \t]*\n\s*`))
	found := 0
	for path, source := range t.sources {
		for _, at := range text.FindAllStringIndex(source, -1) {
			found++
			m.change = change{path, at[0], at[1], strings.Join(m.new, "\n")}
			m.whole = m.whole || !strings.HasSuffix(path, ".go")
		}
	}
	if found != 1 {
		return fmt.Errorf("the old text is found %d times in the tree, not once: %s", found, strings.Join(m.old, " ⏎ "))
	}
	name, _, _ := strings.Cut(m.test, "/")
	dirs := t.tests[name]
	if m.dir != "" {
		if slices.Contains(dirs, m.dir) {
			return nil
		}
		return fmt.Errorf("there is no %s in %s", name, m.dir)
	}
	if len(dirs) != 1 {
		return fmt.Errorf("%s is in %d packages %v: name the one that is meant before it", name, len(dirs), dirs)
	}
	m.dir = dirs[0]
	return nil
}

// runExpression is the value of -run for a test, exactly: "TestStore/a case" is one
// of every group that has it at any depth below.
func runExpression(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(strings.ReplaceAll(p, " ", "_")) + "$"
	}
	return strings.Join(parts, "/")
}
