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
