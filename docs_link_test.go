package loci_test

import (
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRequirementNamesStayOnTheirPage: everywhere else documents and comments say
// what Loci does, not who asked for it.
func TestRequirementNamesStayOnTheirPage(t *testing.T) {
	name := regexp.MustCompile(`\bR[1-5]\b`)
	check := func(path string, line int, text string) {
		for i, l := range strings.Split(text, "\n") {
			if m := name.FindString(l); m != "" {
				t.Errorf("%s:%d: %s is the name of a requirement: only %s uses it", path, line+i, m, requirementsPage)
			}
		}
	}
	for _, path := range documents(t) {
		if path != requirementsPage {
			check(path, 1, readFile(t, path))
		}
	}
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".go") {
			return
		}
		set := gotoken.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				check(path, set.Position(c.Pos()).Line, c.Text)
			}
		}
	})
}

// TestReadmeIsShort: a newcomer reads it to the end.
func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(readFile(t, "README.md"), "\n"); n > 150 {
		t.Errorf("README.md has %d lines; the limit is 150", n)
	}
}

// TestLinksLead follows the links between documents.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, path := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(readFile(t, path), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
			}
		}
	}
}
