package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const requirementsPage = "docs/requirements.md"

// elsewhere are requirements for which no fault is made here, and why: their tests start
// processes or are written in other languages.
var elsewhere = map[string]string{
	"4.1–4.2 Without memory nothing changes, with it tools go on working": "tests/sdk",
	"Several processes on one file":                                       "tests/processes",
	"append and update under concurrency":                                 "races: what is lost depends on luck",
	"No acknowledged write is lost to kill -9":                            "tests/torture has a build that acknowledges early",
}

// TestTable: every fault is for one place in the tree and names a test that exists, and each
// requirement has a fault.
func TestTable(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := readMutants(root)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, m := range all {
		have[m.requirement] = true
	}
	page, err := os.ReadFile(filepath.Join(root, requirementsPage))
	if err != nil {
		t.Fatal(err)
	}
	requirements, named, left := 0, false, slices.Sorted(maps.Keys(elsewhere))
	for line := range strings.Lines(string(page)) {
		switch {
		case !strings.HasPrefix(line, "|"):
			named = false
		case !named: // the head of a table
			named = true
		case strings.HasPrefix(line, "|--"), strings.HasPrefix(line, "| R"):
		default:
			name := strings.TrimSpace(strings.Split(line, "|")[1])
			requirements++
			if have[name] == (elsewhere[name] != "") {
				t.Errorf("a fault in %s breaks %q: %t; a reason why there can be none: %q. Want one of both",
					tableFile, name, have[name], elsewhere[name])
			}
			left = slices.DeleteFunc(left, func(l string) bool { return l == name })
		}
	}
	if len(left) > 0 {
		t.Errorf("reasons for requirements that are not on %s: %q", requirementsPage, left)
	}
	if requirements < 100 {
		t.Errorf("%d requirements: is %s still written in the form that is read?", requirements, requirementsPage)
	}
}

// TestReadTable: rows that a merge has run together are refused.
func TestReadTable(t *testing.T) {
	for text, fault := range map[string]string{
		"mutant: a\ntest: TestA\n- x\n+ y\n\nmutant: b\ntest: p TestB\n- z\n": "",
		"mutant: a\ntest: TestA\n- x\nmutant: b\ntest: TestB\n- z\n":          ":4: put an empty line before a mutant",
		"mutant: a\ntest: TestA\ntest: TestB\n- z\n":                          ":3: the mutant of line 1 has a test",
		"test: TestA\n":          ":1: a mutant begins with",
		"mutant: a\n\nbest: b\n": ":3: \"best: b\" is none of",
	} {
		path := filepath.Join(t.TempDir(), "table.txt")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := readTable(path)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if (said == "") != (fault == "") || !strings.Contains(said, fault) || err == nil && len(all) != 2 {
			t.Errorf("%q: %d mutants, %v; want %q", text, len(all), err, fault)
		}
	}
}

// TestLocate: a text is found wherever it is, once, whatever the white space around it.
func TestLocate(t *testing.T) {
	tr := &tree{
		sources: map[string]string{
			"a/a.go": "package a\n\nfunc f() {\n\tif x {\n\t\treturn\n\t}\n}\n",
			"b/b.go": "package b // twice twice\n",
		},
		tests: map[string][]string{"TestOne": {"a"}, "TestTwo": {"a", "b"}},
	}
	for name, c := range map[string]struct {
		m     mutant
		fault string
	}{
		"found":            {mutant{test: "TestOne", old: []string{"if x {", "return"}}, ""},
		"gone":             {mutant{test: "TestOne", old: []string{"if y {"}}, "is found 0 times"},
		"not unique":       {mutant{test: "TestOne", old: []string{"twice"}}, "is found 2 times"},
		"no such test":     {mutant{test: "TestNone", old: []string{"if x {"}}, "is in 0 packages"},
		"two of the name":  {mutant{test: "TestTwo", old: []string{"if x {"}}, "is in 2 packages"},
		"one of them":      {mutant{dir: "b", test: "TestTwo", old: []string{"if x {"}}, ""},
		"not there":        {mutant{dir: "c", test: "TestTwo", old: []string{"if x {"}}, "there is no TestTwo in c"},
		"without old text": {mutant{test: "TestOne"}, "needs a requirement"},
	} {
		c.m.requirement = "r"
		err := tr.locate(&c.m)
		switch {
		case c.fault == "" && err != nil, c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s: %v; want %q", name, err, c.fault)
		case c.fault == "" && c.m.change.path != "a/a.go":
			t.Errorf("%s: found in %s", name, c.m.change.path)
		}
	}
}

// What nobody could notice is not changed; what stands beside it is.
func TestWhatIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	source := `package p

func f(all []int) error {
	for range slices.Chunk(all, 500) { // 500 or 501
	}
	page := loci.Page{Limit: 1000, Order: 3}
	rows := make([]int, 0, 77)
	time.Sleep(wait + rand.N(2*wait))
	log.Debug("text", 5)
	answer := make(chan error, 1)
	if err != nil {
		return 7, err
	}
	switch {
	case err != nil:
		return 8, err
	case rows != nil:
		return 9, loci.Errorf(Invalid, "no")
	}
	return g(slices.Chunk(all, n), other.Page{Size: 9})
}
`
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	changes, err := newGarden(dir, t.TempDir()).changesOf(".")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, source[c.start:c.end]+" → "+c.text)
	}
	want := []string{
		"3 → 4", "0 → 1", "time.Sleep(wait + rand.N(2*wait)) → {}", "+ → -",
		"err != nil → !(err != nil)", "!= → ==", "!= → ==", "!= → ==", "9 → 10",
	}
	if !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
}
