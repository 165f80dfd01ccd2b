package jsonguard_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/loci-memory/loci/internal/jsonguard"
)

// Some members of an object are read as package json reads them, and nothing else of it is.
func TestMembers(t *testing.T) {
	type some struct {
		Name  string   `json:"name"`
		Count int64    `json:"count"`
		Part  float64  `json:"part"`
		List  []string `json:"list"`
	}
	texts := []string{
		`{}`, ` { "name" : "n" , "count" : 3 } `, `{"part":1e-3,"list":["a","b\n"],"other":{"name":"x","list":[{}]}}`,
		`{"name":"\u00e9\"","count":null,"name":"last"}`, `{"other":"\\\"","part":-0}`, `null`, `{"name":"","list":[]}`,
		`{"name":1}`, `{"count":1.5}`, `{"count":"1"}`, `[]`, `"name"`, `{"name":"n"`, `{"name":"n"}}`, ``, `{"a":"name","count":7}`,
		"{\"name\":\"\xff\"}", `{"part":1e999}`, `{"part":"1"}`, `{"part":true}`, `{"part":null,"name":null}`, `{"name":"n",}`,
		`{"name" "n"}`, `{"name":}`, `{,}`, `{"name":"a" "count":1}`, `{"name":["n"]}`, `{"count":-0,"list":null} x`,
		`{"part":1,"part":2}`, `{"part":1,"other":{"part":2}}`, `{"other":{"part":2},"name":"\"part\":4","part":3}`, `{"part":1,"list":["part"]}`,
	}
	long := ` {"other":{"name":[1,"\\"]},"name":"a\u00e9","count": 12 ,"part":-2.5e1,"list":["x"]} `
	for cut := range len(long) {
		texts = append(texts, long[:cut], long[:cut]+"}", long[:cut]+long[cut+1:])
	}
	for _, text := range texts {
		want, got := some{Name: "before", Count: 1}, some{Name: "before", Count: 1}
		wantErr := json.Unmarshal([]byte(text), &want)
		err := jsonguard.Members([]byte(text), "name", &got.Name, "count", &got.Count, "part", &got.Part, "list", &got.List)
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; package json has %+v, %v", text, got, err, want, wantErr)
		}
		// One alone is what it is among all, where all of them can be read.
		var part, one float64
		if jsonguard.Members([]byte(text), "part", &part) == nil {
			if err := jsonguard.Member([]byte(text), "part", &one); err != nil || one != part {
				t.Errorf("%s: %v, %v; want %v", text, one, err, part)
			}
		}
		if before := (some{Name: "before", Count: 1}); !json.Valid([]byte(text)) && !reflect.DeepEqual(got, before) {
			t.Errorf("%s is no JSON and gives %+v", text, got)
		}
	}
	body := []byte(`{"importance":5,"valid_from":"2026-11-26T11:57:37.471Z","confirmed_at":"2026-11-26T11:57:37.471Z"}`)
	var importance float64
	read := func() {
		if err := jsonguard.Member(body, "importance", &importance); err != nil || importance != 5 {
			t.Fatal(importance, err)
		}
	}
	if n := testing.AllocsPerRun(20, read); n > 1 {
		t.Errorf("one number takes %.0f allocations", n)
	}
}
