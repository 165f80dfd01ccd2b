//go:build !race

// These tests read files and start no goroutine, so the race detector has nothing
// to see in them: `make test` runs them without it.

package loci_test

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"go/parser"
	gotoken "go/token"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// scripts are the endings of files in other languages than Go.
var scripts = []string{".py", ".ts", ".js", ".mjs", ".mts", ".cts", ".sh", ".toml"}

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
		if slices.Contains(scripts, filepath.Ext(path)) {
			check(path, 1, readFile(t, path))
		}
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

// TestConfigurationsAreValid gives every configuration in the documents and in
// examples to the program.
func TestConfigurationsAreValid(t *testing.T) {
	configurations := map[string]string{"examples/loci.yaml": readFile(t, "examples/loci.yaml")}
	for _, path := range documents(t) {
		document := readFile(t, path)
		for i, block := range fences(document, `yaml(?: title="loci\.yaml")?`) { // what has another title is another program's
			configurations[fmt.Sprintf("%s, YAML %d", path, i+1)] = block
		}
		for i, block := range fences(document, "json") {
			if !json.Valid([]byte(block)) {
				t.Errorf("%s, JSON %d is not valid", path, i+1)
			}
		}
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "loci.exe")
	build := exec.Command("go", "build", "-o", program, "./cmd/loci") // as `make build`, whose packages it takes
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	file := filepath.Join(dir, "loci.yaml")
	certificate, key := certified(t, dir)
	for name, text := range configurations {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		doctor := exec.Command(program, "--config", file, "--store", "memory:", "doctor")
		doctor.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LOCI_") })
		if strings.Contains(text, "tls_cert:") { // the files that it names are elsewhere
			doctor.Env = append(doctor.Env, "LOCI_HTTP_TLS_CERT="+certificate, "LOCI_HTTP_TLS_KEY="+key)
		}
		if out, err := doctor.CombinedOutput(); err != nil || bytes.Contains(out, []byte("fail\t")) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// certified writes a certificate and its key.
func certified(t *testing.T, dir string) (certificate, key string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, block *pem.Block) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("tls.crt", &pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		write("tls.key", &pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

// TestReadmeProgramRuns runs the program in README.md as it stands there. The
// output it promises is the block of text behind it.
func TestReadmeProgramRuns(t *testing.T) {
	_, rest, ok := strings.Cut(readFile(t, "README.md"), "```go\n")
	program, rest, _ := strings.Cut(rest, "```\n")
	if !ok || !strings.HasPrefix(program, "package main") {
		t.Fatal("README.md has no program")
	}
	want := fences(rest, "text")
	if len(want) == 0 {
		t.Fatal("README.md does not say what the program prints")
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", file).CombinedOutput()
	if err != nil || string(out) != want[0] {
		t.Errorf("%v, got\n%s", err, out)
	}
}

// TestGoInDocumentsIsCompiled: each block of Go in docs stands in this file, where
// it is compiled and run.
func TestGoInDocumentsIsCompiled(t *testing.T) {
	flat := func(code string) string {
		lines := strings.Split(strings.TrimSpace(code), "\n")
		for i, l := range lines {
			lines[i] = strings.TrimSpace(l)
		}
		return strings.Join(lines, "\n") + "\n"
	}
	here := flat(readFile(t, "docs_test.go"))
	for _, path := range documents(t) {
		if !strings.HasPrefix(path, "docs/") || strings.HasPrefix(path, "docs/adr/") {
			continue
		}
		for _, block := range fences(readFile(t, path), "go") {
			if !strings.Contains(here, flat(block)) {
				t.Errorf("%s: this is not in docs_test.go:\n%s", path, block)
			}
		}
	}
}

// oddWords are what people write who think in German, or in the English of deeds, each
// with a part that every such phrase has and with what to write instead. Readers stumble
// over them; style lives in examples, and these are the ones that came back most often.
var oddWords = []struct{ words, part, instead string }{
	{`anew`, "anew", "again"},
	{`thereof|whereof`, "hereof", "of it"},
	{`whether or no`, "whether", "whether"},
	{`(?:has|have) not (?:any|the|an?|its)`, "not", "does not have"},
	{
		`(?:fails|waits|stops|ends|blocks|changes|moves|happens|decides|grows|loses|runs|sleeps|counts) never`,
		"never", "never fails",
	},
	{`but for (?:a|an|the|its|what|white|letter|case|rounding|those|these|prefixes|by)`, "but", "except"},
	{`(?:can(?:not)?|could(?: not)?|to) be had`, "had", "is available"},
	{`(?:no|none)(?: \w+)? any more`, "more", "no longer"},
	{`for want of`, "want", "because it lacks"},
	{`(?:keeps?|hinders?) no other from`, "other", "does not stop the others"},
	{`and so (?:does|do) what`, "what", "say what it does"},
	{`each gets another one`, "another", "several callers at once each get a different one"},
	{`counts? no more where`, "where", "no longer counts if"},
	{
		`Of (?:a|an|the|two|several|those|each) [^.,;:"]{2,50} (?:the first|the last|only|each|at most|the case|the words)`,
		"Of", "the noun first: Only the first 256 words of a query count",
	},
}

// TestSentencesArePlain looks for the words above in documents, comments and texts, over
// the ends of lines. It knows words, not sentences: how to write is in CONTRIBUTING.md.
func TestSentencesArePlain(t *testing.T) {
	odd := make([]*regexp.Regexp, len(oddWords))
	for i, o := range oddWords {
		odd[i] = regexp.MustCompile(`\b(?:` + strings.ReplaceAll(o.words, " ", `\s+(?:(?://|#|\*)\s*)?`) + `)\b`)
	}
	walk(t, func(path string) {
		if path == "docs_link_test.go" || !slices.Contains(append([]string{".go", ".md"}, scripts...), filepath.Ext(path)) {
			return
		}
		text := readFile(t, path)
		for i, o := range oddWords {
			if !strings.Contains(text, o.part) { // which is found much sooner than the words
				continue
			}
			for _, at := range odd[i].FindAllStringIndex(text, -1) {
				t.Errorf("%s:%d: %q: write %q", path, 1+strings.Count(text[:at[0]], "\n"), text[at[0]:at[1]], o.instead)
			}
		}
	})
}
