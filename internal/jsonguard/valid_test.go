package jsonguard_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/jsonguard"
)

// asPackageJSON checks that a text is valid to package json and to us, and means the same.
func asPackageJSON(t *testing.T, text []byte) {
	t.Helper()
	if got, want := jsonguard.Valid(text), json.Valid(text); got != want {
		t.Errorf("%.200q: valid is %v, want %v", text, got, want)
	}
	var want any
	err := json.Unmarshal(text, &want)
	got, whole := jsonguard.Value(text)
	if whole != (err == nil) || whole && !reflect.DeepEqual(got, want) {
		t.Errorf("%.200q: %.200v, %v; want %.200v, %v", text, got, whole, want, err)
	}
}

var texts = []string{
	``, ` `, `{}`, `[]`, ` [ ] `, ` { } `, `{]`, `[}`, `[,]`, `[1,]`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{1:1}`,
	` { "a" : [ 1 , { "b" : null } ] , "c" : "d" } `, `{"a":1}x`, `{"a":1} {}`, `{"a":1`, `[`, `{`, `{"a"`, `{"a":`, `["a"`, `[1`,
	`{"a":1,"a":[2]}`, `true`, `false`, `null`, `tru`, `truee`, `nul`, `[true,false,null]`, `t`,
	`0`, `-0`, `-`, `+1`, `01`, `-01`, `1.`, `1.5`, `.5`, `1e5`, `1E+5`, `1e-5`, `1e`, `1e+`, `-1.5e-3`, `1e400`, `-1e400`, `[1e400]`,
	`1e-400`, `12345678901234567890`, `0x1`, `1_000`, `NaN`, `Infinity`, `1 `, `1x`,
	`"`, `""`, `"a`, `"a" "b"`, `"\"`, `"\\"`, `"\""`, `"\/\b\f\n\r\t"`, `"\a"`, `"\u"`, `"\u00"`, `"\u00e"`, `"\u00e9"`, `"\u00E9x"`,
	`"\u00g9"`, `"\u00e9`, `"\ud83d\ude00"`, `"\ud83d"`, `"\u0000"`, "\"\n\"", "\"\x1f\"", "\"\x7f\"", "\"\x00\"", "\"\xff\"", "\"\xc3\"", `"ü…😀"`,
	"\"four\x1ffourfourfour\"", "\"fourfourfo\nfourfour\"", `"fourfo\"fourfour"`, `"four\qfourfour"`,
	"\ufeff{}", "{}\v", "\u00a0{}", `{"a\u0062":"\\u0062"}`, `["\\\\\"",1]`, `{"a":"\\"}`,
}

// What package json takes for JSON is JSON, and nothing else is.
func TestValidIsThatOfPackageJSON(t *testing.T) {
	for _, text := range texts {
		asPackageJSON(t, []byte(text))
	}
	for _, depth := range []int{64, 10_000, 10_001, 1_000_000} {
		for _, one := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
			asPackageJSON(t, []byte(strings.Repeat(one[0], depth)))
			text := []byte(strings.Repeat(one[0], depth) + "1" + strings.Repeat(one[1], depth))
			if got := jsonguard.Valid(text); got != json.Valid(text) {
				t.Errorf("%d levels of %s: %v", depth, one[0], got)
			}
		}
	}
	long := strings.Repeat("x", 5000)
	for _, text := range []string{
		long, long + `\n` + long, strings.Repeat(`\"`, 3000), strings.Repeat(`\\`, 3000), long + "\n", long + "\\",
	} {
		asPackageJSON(t, []byte(`["`+text+`",{"`+text+`":"`+text+`"}]`))
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(asPackageJSON)
}
