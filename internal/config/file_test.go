package config

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var faultForm = regexp.MustCompile(`^fuzz\.yaml:(\d+):(\d+): .`)

// FuzzConfigFile: no file makes the parser panic, and every fault names the file,
// a line of it and a column.
func FuzzConfigFile(f *testing.F) {
	f.Add("store: x\nuser: 12\ntools: [facts, {tool: search_memory}]\nretrieval:\n  vector_weight: 2\n")
	f.Add("a: &a [*a]\n<<: *a\n? {}\n: !!binary x\n--- \n...\n%YAML 1.2\n")
	f.Add("\ttabs: {[\n'")
	f.Add("retrieval: {vector_weight: 0.5, keyword_weight: 0.6, chunk_size: 64, chunk_overlap: 63}")
	f.Fuzz(func(t *testing.T, text string) {
		c := defaults()
		var bad faults
		c.parseFile("fuzz.yaml", []byte(text), &bad)
		c.complete(Environ{"HOME=/home/me", `USERPROFILE=C:\me`}, &bad)
		for _, fault := range bad {
			m := faultForm.FindStringSubmatch(fault)
			if m == nil || strings.ContainsRune(fault, '\n') {
				t.Fatalf("fault %q does not name its place", fault)
			}
			// A line ends with \n, \r or both.
			if line, err := strconv.Atoi(m[1]); err != nil || line > 1+strings.Count(text, "\n")+strings.Count(text, "\r") {
				t.Fatalf("fault %q is outside of the file", fault)
			}
		}
	})
}
