package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	root := t.TempDir()
	for path, content := range map[string]string{
		"a/a_test.go": `package a
			func TestAsks(t *testing.T)    { locitest.Unshared(t) }
			func TestThrough(t *testing.T) { t.Run("x", func(t *testing.T) { game(t) }) }
			func TestPlain(t *testing.T)   { other(t) }
			func TestLargeOne(t *testing.T) {}
			func other(t *testing.T) {}
			func game(t *testing.T)  { deep(t) }
			func deep(t *testing.T)  { n := locitest.Unraced(100, 10); _ = n }`,
		"b/b_test.go":          "//go:build !race\n\npackage b\nfunc TestEffort(t *testing.T) {}",
		"b/c_test.go":          "//go:build linux\n\npackage b\nfunc TestLinux(t *testing.T) {}",
		"b/d_test.go":          "//go:build race\n\npackage b\nfunc TestRaced(t *testing.T) {}",
		"none/none_test.go":    "package none\nfunc TestNothing(t *testing.T) {}",
		"whole/in/in_test.go":  "package in\nfunc TestWhole(t *testing.T) { locitest.Unshared(t) }",
		"module/go.mod":        "module m",
		"module/m_test.go":     "package m\nfunc TestModule(t *testing.T) { locitest.Unshared(t) }",
		"a/testdata/x_test.go": "package x\nfunc TestData(t *testing.T) { locitest.Unshared(t) }",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := arguments(root, []string{"TestLarge", "./whole"})
	if want := "-run=^(TestAsks|TestEffort|TestLargeOne|TestThrough)$ ./a ./b"; err != nil || got != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	if got, err := arguments(filepath.Join(root, "none"), []string{"TestLarge"}); err == nil {
		t.Errorf("no test was found, and it says %s", got)
	}
}

// What `make test` leaves out under the race detector is there, and is run without it.
func TestWhatIsLeftOutIsRun(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^LARGE := (Test\(([A-Za-z0-9|]+)\))$`).FindSubmatch(makefile)
	whole := regexp.MustCompile(`(?m)^WHOLE := (.+)$`).FindSubmatch(makefile)
	if list == nil || whole == nil || !strings.Contains(string(makefile), "./tests/unraced '$(LARGE)' $(WHOLE)") {
		t.Fatal("the Makefile does not say which tests are long, or does not run them")
	}
	args, err := arguments(root, append([]string{string(list[1])}, strings.Fields(string(whole[1]))...))
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(string(list[2]), "|") {
		if !regexp.MustCompile(`[(|]Test` + name).MatchString(args) {
			t.Errorf("no test of a package that is run under the race detector is called Test%s", name)
		}
	}
	for _, want := range []string{"TestLargeTextsAreCheap", "TestBackupUnderWriters", " ./item ", " ./checkpoint "} {
		if !strings.Contains(args, want) {
			t.Errorf("%s is not run: %s", want, args)
		}
	}
}
