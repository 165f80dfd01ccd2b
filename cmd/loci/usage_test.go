package main

import "testing"

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
