package main

import (
	"bytes"
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
