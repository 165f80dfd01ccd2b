package jsonguard_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/jsonguard"
)

// JSON that cannot be stored as it was sent is a fault, in values and in names alike. A whole
// pair of surrogates, or text that only looks like half of one, is none.
func TestSurrogates(t *testing.T) {
	for _, c := range []struct {
		text string
		want jsonguard.Fault
	}{
		{`"\ud83d\ude00"`, ""},
		{`"\uD83D\uDE00 and \uffff\ue000\ud7ff"`, ""},
		{`"\\ud800"`, ""}, // an escaped backslash and letters
		{`"\ud800"`, jsonguard.Surrogate},
		{`"\uDfFf"`, jsonguard.Surrogate},
		{`"\ude00\ud83d"`, jsonguard.Surrogate},
		{`"\ud83d\ud83d\ude00"`, jsonguard.Surrogate},
		{`"\ud83dx"`, jsonguard.Surrogate},
		{`"\ud83d\n"`, jsonguard.Surrogate},
		{`"\ud83d\u0041"`, jsonguard.Surrogate},
		{`{"\ud800":1}`, jsonguard.Surrogate},
		{`{"a":[{"b":"x\udc00y"}]}`, jsonguard.Surrogate},
		{"\"\xed\xa0\x80\"", jsonguard.UTF8},
		{`"\u0000"`, jsonguard.NUL},
		{`"\u0000\ud800"`, jsonguard.Surrogate},
	} {
		if got := jsonguard.Check([]byte(c.text), 64, nil); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
	if got := jsonguard.CheckStored([]byte(`{"a":"\u0000"}`), 64, nil); got != "" {
		t.Errorf("NUL in what a program keeps: %q", got)
	}
	if got := jsonguard.CheckStored([]byte(`{"a":"\u0000\ud800"}`), 64, nil); got != jsonguard.Surrogate {
		t.Errorf("half a pair in what a program keeps: %q", got)
	}
}

type embedded struct {
	Key string `json:"key"`
}

type nested struct {
	embedded
	Content string            `json:"content"`
	List    []nested          `json:"list"`
	Map     map[string]nested `json:"map"`
	Pointer *nested           `json:"pointer"`
	Raw     json.RawMessage   `json:"raw"`
	Any     any               `json:"any"`
	Plain   int
	Hidden  string `json:"-"`
}

// A name that differs in letter case is not a name of the struct, wherever it lies. No other
// text is refused.
func TestNamesAreExact(t *testing.T) {
	for _, text := range []string{
		`{"content":"a","key":"b","Plain":1}`,
		`{ "list" : [ { "content" : "a" } , {} ] , "map" : { "CONTENT" : { "content" : "}" } } }`,
		`{"raw":{"CONTENT":1},"any":{"CONTENT":[1,{"Key":2}]},"other":{"CONTENT":[true,null,-1.5e3,"\"]"]},"hidden":1}`,
		`{"pointer":null,"list":null,"map":{}}`, `[]`, `1`, `"CONTENT"`, `null`, `{}`, ` {"content" : "\u0041"} `,
		`{"con\u0074ent":"a"}`,
	} {
		if err := jsonguard.CheckNames([]byte(text), &nested{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		`{"content":"a","CONTENT":"b"}`, `{"Content":"a"}`, `{"KEY":"a"}`, `{"plain":1}`,
		`{"list":[{},{"lisT":[]}]}`, `{"map":{"a":{"Map":{}}}}`, `{"pointer":{"Pointer":null}}`,
		`{"c\u004fntent":"a"}`, "{\"\u212aey\":1}", `{"any":[{"a":"]}"}],"raw":"{","RAW":1}`,
	} {
		err := jsonguard.Unmarshal([]byte(text), &nested{})
		if err == nil || !strings.Contains(err.Error(), "unknown") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := jsonguard.Unmarshal([]byte(`{"content":`), &nested{}); err == nil {
		t.Error("half a text: no error")
	}
}

// FuzzNames: the walk accepts every text that package json reads, and both decoders make the
// same of a text that passes.
func FuzzNames(f *testing.F) {
	f.Add(`{"list":[{"content":"a"}],"map":{"x":{}},"raw":[1,{}],"any":"\""}`)
	f.Fuzz(func(t *testing.T, text string) {
		var v nested
		if jsonguard.CheckNames([]byte(text), &v) != nil {
			return
		}
		exact := json.Unmarshal([]byte(text), &v)
		var again nested
		if err := jsonguard.Unmarshal([]byte(text), &again); (err == nil) != (exact == nil) {
			t.Errorf("%q: %v and %v", text, err, exact)
		}
	})
}

func TestCount(t *testing.T) {
	for text, want := range map[string]int{
		`[]`: 0, `{}`: 0, "[ ]\n": 0, `[1]`: 1, `["a,b"]`: 1, `[[1,2],[3,4]]`: 2, `{"a":[1,2],"b":{"c":1,"d":2}}`: 2,
		`["\"],[",1,null]`: 3, `[[]]`: 1, `[{}]`: 1, `[""]`: 1,
	} {
		if got := jsonguard.Count([]byte(text)); got != want {
			t.Errorf("%s has %d, not %d", text, got, want)
		}
	}
}

func TestCountValues(t *testing.T) {
	for text, want := range map[string]int{
		`[]`: 0, "{ }\n": 0, `1`: 0, `"a:b,[1]"`: 0, `[1]`: 1, `[[]]`: 1, `[{}, "" ]`: 2, `[-1.5e3,null,true]`: 3, `["\"],[",1]`: 2,
		`[[1,2],[3,4]]`: 6, `{"a":[1,2],"b":{"c":1,"d":2}}`: 6, `{"a:b" : {"c" : [ {"d":"e"} , false ]}}`: 5,
	} {
		if got := jsonguard.CountValues([]byte(text)); got != want {
			t.Errorf("%s has %d, not %d", text, got, want)
		}
	}
}
