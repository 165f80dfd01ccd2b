package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/config"
)

// The parser suggests what two slips make of a name, however short it is: most of that is not meant.
func TestSuggestionsAreNear(t *testing.T) {
	for fault, want := range map[string]string{
		`unknown flag --bad, did you mean "--tag"?`:                               `unknown flag --bad`,
		`unknown flag --limt, did you mean "--limit"?`:                            `unknown flag --limt, did you mean "--limit"?`,
		`unknown flag --tga, did you mean one of "--tag", "--as"?`:                `unknown flag --tga, did you mean "--tag"?`,
		`unknown flag --sto, did you mean one of "--store", "--storage", "--to"?`: `unknown flag --sto, did you mean one of "--store", "--storage", "--to"?`,
		`unexpected argument serch, did you mean "search"?`:                       `unexpected argument serch, did you mean "search"?`,
		`unknown flag --bad`: `unknown flag --bad`,
	} {
		if got := nearAlone(fault); got != want {
			t.Errorf("%s is told as %s; want %s", fault, got, want)
		}
	}
}

// The parser puts U+FFFD in place of bytes that are no UTF-8: users of two names would be one.
func TestArgumentsAreUTF8(t *testing.T) {
	for _, args := range [][]string{
		{"--user", "\xff", "save", "a"},
		{"save", "b\xfe"},
		{"save", "c", "--tag=\xff"},
		{"save", "--", "\xc3"},
		{"l\xffst"},
	} {
		var stdout, stderr bytes.Buffer
		env := config.Environ{"HOME=" + t.TempDir()}
		code := run(t.Context(), append([]string{"--store=memory:"}, args...), strings.NewReader(""), &stdout, &stderr, env)
		if code != exitInvalid || !strings.Contains(stderr.String(), "is not valid UTF-8") || stdout.Len() > 0 {
			t.Errorf("loci %q ended with %d: %s%s", args, code, &stdout, &stderr)
		}
	}
}

// Faults of the command line are in our words: they name the flag, what it got and what to write.
func TestFaultsOfFlagsAreInOurWords(t *testing.T) {
	long := strings.Repeat("f", 5000)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"search", "x", "-n", "-1"}, `--limit needs a value; if -1 is meant as one, write --limit=-1`},
		{[]string{"list", "--limit", "--json"}, `--limit needs a value; if --json is meant as one, write --limit=--json`},
		{[]string{"list", "--limit"}, `--limit needs a value, and nothing comes after it`},
		{[]string{"list", "--store"}, `--store needs a value, and nothing comes after it`},
		{[]string{"list", "--tag"}, `--tag: a value is missing after it`},
		{[]string{"list", "-n=5"}, `--limit: "=5" is no whole number: write no = after the short form of a flag`},
		{[]string{"list", "-n", "1e9"}, `--limit: "1e9" is no whole number: write digits alone, such as 20`},
		{[]string{"recall", "x", "--min-score", "foo"}, `--min-score: "foo" is no number: write one such as 0.5`},
		{[]string{"list", "--json=maybe"}, `--json: "maybe" is neither true nor false: write the flag alone for true`},
		{[]string{long}, `there is no command ` + long[:100]},
		{[]string{"get", long}, `"` + long[:64] + `" is not an id`},
	} {
		var stdout, stderr bytes.Buffer
		env := config.Environ{"HOME=" + t.TempDir()}
		code := run(t.Context(), c.args, strings.NewReader(""), &stdout, &stderr, env)
		said := strings.ReplaceAll(stderr.String(), `\"`, `"`)
		if code != exitInvalid || !strings.Contains(said, c.want) || len(said) > 700 {
			t.Errorf("loci %.60q ended with %d: %s%s", c.args, code, &stdout, said)
		}
	}
}

// The parser takes time for each flag beside each other one: 16,000 took 20 seconds.
func TestFlagsAreFew(t *testing.T) {
	many := slices.Repeat([]string{"--json"}, maxFlags+1)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{append([]string{"list"}, many...), exitTooLarge, "the command has 1001 flags; the limit is 1000: leave some out"},
		{append([]string{"list"}, many[1:]...), 0, ""},
		{append([]string{"save", "--"}, many...), 0, ""},
		{append([]string{"save"}, slices.Repeat([]string{"-"}, 1+maxFlags)...), 0, ""},
	} {
		var stdout, stderr bytes.Buffer
		env := config.Environ{"HOME=" + t.TempDir(), "LOCI_STORE=memory:"}
		code := run(t.Context(), c.args, strings.NewReader(""), &stdout, &stderr, env)
		if code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("loci %q and so on ended with %d: %s", c.args[:3], code, &stderr)
		}
	}
}
