package loci_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What `make test` leaves out under the race detector it runs without it: each test of the list
// LARGE stands in a package that test-full names.
func TestLargeTestsAreRun(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, full, _ := strings.Cut(string(makefile), "\ntest-full:")
	full, _, _ = strings.Cut(full, "\n\n")
	full += "\n"
	list := regexp.MustCompile(`(?m)^LARGE := Test\(([A-Za-z0-9|]+)\)$`).FindSubmatch(makefile)
	if list == nil || full == "\n" {
		t.Fatal("the Makefile has no list LARGE, or no target test-full")
	}
	found := map[string]bool{}
	test := regexp.MustCompile(`(?m)^func Test(` + string(list[1]) + `)`)
	err = filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, match := range test.FindAllSubmatch(content, -1) {
			found[string(match[1])] = true
			dir := "./" + filepath.ToSlash(filepath.Dir(path))
			if !strings.Contains(full, " "+dir+" ") && !strings.Contains(full, " "+dir+"\n") && !strings.HasPrefix(dir, "./store") {
				t.Errorf("%s: Test%s is left out under the race detector, and test-full does not run %s", path, match[1], dir)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(string(list[1]), "|") {
		if !found[name] {
			t.Errorf("no test is called Test%s", name)
		}
	}
}
