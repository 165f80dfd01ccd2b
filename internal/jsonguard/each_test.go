package jsonguard

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// Members and elements are visited in order, names as they mean, up to the first error.
func TestEach(t *testing.T) {
	for text, want := range map[string][]string{
		` { "a" : [1, {"b":2}] , "\u00fc\"":"x,}" , "":null } `: {`a=[1, {"b":2}]`, `ü"="x,}"`, `=null`},
		`[{"a":[1,2]},"]",-1.5e3 ,[],{}]`:                       {`={"a":[1,2]}`, `="]"`, `=-1.5e3`, `=[]`, `={}`},
		`{}`:                                                    nil, `[]`: nil, ` [ ] `: nil, `"[1]"`: nil, `12`: nil,
	} {
		var got []string
		if err := Each([]byte(text), func(name string, element []byte) error {
			got = append(got, fmt.Sprintf("%s=%s", name, element))
			return nil
		}); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	stop, n := errors.New("stop"), 0
	if err := Each([]byte(`[1,2,3]`), func(string, []byte) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("%v after %d elements", err, n)
	}
}

// TestHalfPairsAreInside: half of a surrogate pair is no end of a string: what visits a value, counts it or
// passes over it goes on behind the quotes.
func TestHalfPairsAreInside(t *testing.T) {
	for _, half := range []string{
		`\ud800`, `\udc00`, `\ud800x`, `\ud800\"`, `\ud800\ud800`, `\ud800\u0041`, `\udfff\udc00`, `\ud83d\ude00\ud83d`, `\u0000\ud800`, `\ud800\u0000`, `\ud800]}`,
	} {
		var seen []string
		err := Each([]byte(`{"a":"`+half+`","b":["`+half+`",1],"`+half+`":2,"c":3}`), func(name string, value []byte) error {
			seen = append(seen, name+"="+string(value))
			return nil
		})
		want := []string{`a="` + half + `"`, `b=["` + half + `",1]`, "", "c=3"}
		if err != nil || len(seen) != 4 || seen[0] != want[0] || seen[1] != want[1] || seen[3] != want[3] {
			t.Errorf("%s: %q, %v", half, seen, err)
		}
		if n := Count([]byte(`["` + half + `","b",["` + half + `",1]]`)); n != 3 {
			t.Errorf("%s: %d elements", half, n)
		}
		if fault := Check([]byte(`["`+half+`"]`), 64, nil); fault != Surrogate {
			t.Errorf("%s is found to be %q", half, fault)
		}
	}
}
