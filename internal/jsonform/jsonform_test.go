package jsonform_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/jsonform"
)

type inner struct {
	At   time.Time  `json:"at"`
	Gone *time.Time `json:"gone,omitempty"`
	Name string     `json:"name"`
}

type outer struct {
	inner
	*Deeper
	Name   string               `json:"name"` // hides that of inner
	List   []inner              `json:"list"`
	None   []time.Time          `json:"none"`
	ByName map[string]time.Time `json:"by_name"`
	Any    any                  `json:"any"`
	Raw    json.RawMessage      `json:"raw,omitempty"`
	Zero   time.Time            `json:"zero,omitzero"`
	Empty  map[string]int       `json:"empty,omitempty"`
	Data   []byte               `json:"data"`
	Left   time.Time            `json:"-"`
	Plain  int
}

type Deeper struct {
	Depth *inner `json:"depth"`
}

// TestMarshalEqualsEncodingJSON: except for the zeros at the end of a second, which these
// times do not have.
func TestMarshalEqualsEncodingJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	one := inner{At: at, Gone: &at, Name: "n"}
	for i, v := range []any{
		nil, at, &at, (*time.Time)(nil), []time.Time{at},
		map[string]any{"b": at, "a": []any{1, "x", nil, at}}, one, &one, outer{inner: one},
		outer{
			inner:  one,
			Deeper: &Deeper{&one},
			Name:   "o",
			List:   []inner{one, {At: at}},
			ByName: map[string]time.Time{"z": at, "a": at},
			Any:    []any{one, 1.5, true},
			Raw:    json.RawMessage(`{"at":"2026-01-02T03:04:05Z"}`),
			Zero:   at,
			Empty:  map[string]int{"x": 1},
			Data:   []byte("x"),
		},
		[2]inner{one, one}, 12, "text", map[int]inner{3: one},
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := jsonform.Marshal(v); err != nil || string(got) != string(want) {
			t.Errorf("value %d: %v\n%s, want\n%s", i, err, got, want)
		}
	}
}

type (
	named   string
	shouted string
)

func (s shouted) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(s))), nil }

// Texts and numbers, which are written here, are as encoding/json writes them.
func TestScalarsEqualEncodingJSON(t *testing.T) {
	values := []any{
		true, false, named("n"), shouted("n"), json.Number("1.50"), uint8(200), float32(0.1), int8(-3), int64(math.MinInt64),
		0.0, math.Copysign(0, -1), 1e-6, 9.99e-7, 1e20, 1e21, -1.5e21, 5e-324, math.MaxFloat64,
		0.1 + 0.2, 1.0 / 3, 1e15, 123456789.0,
	}
	for c := range rune(300) {
		values = append(values, "a"+string(c), map[string]any{string(c): string(c), "b": named(string(c))})
	}
	for _, text := range []string{"", "plain", `a"b`, `a\b`, "\xff", "a\u2028b", "naïve", "<&>", "🎂", "line\nline", "\x00"} {
		values = append(values, text, map[string]any{text: []any{text, nil}}, []any{named(text), shouted(text)})
	}
	for _, v := range values {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		if got, err := jsonform.Marshal(v); err != nil || string(got)+"\n" != want.String() {
			t.Errorf("%T %v: %v\n%s, want\n%s", v, v, err, got, want.String())
		}
	}
}

// A record's body and an event's payload are written with each save.
func TestMarshalTakesLittleMemory(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	for _, c := range []struct {
		value any
		most  float64
	}{
		{map[string]any{"version": 1, "bytes": 300}, 8},
		{outer{inner: inner{At: at, Name: "n"}, Name: "o", Plain: 3}, 60},
	} {
		if got := testing.AllocsPerRun(100, func() { _, _ = jsonform.Marshal(c.value) }); got > c.most {
			t.Errorf("%T takes %.0f allocations; at most %.0f are expected", c.value, got, c.most)
		}
	}
}

// TestTextOrderIsTimeOrder: a tenth, a hundredth and a whole second have as many digits
// as any other.
func TestTextOrderIsTimeOrder(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	before := ""
	for ms := range 1000 {
		got, err := jsonform.Marshal(inner{At: at.Add(time.Duration(ms)*time.Millisecond + 999*time.Microsecond)})
		if err != nil {
			t.Fatal(err)
		}
		if text := string(got); len(text) != len(`{"at":"2026-01-02T02:04:05.000Z","name":""}`) || text <= before {
			t.Fatalf("%s after %s", text, before)
		}
		before = string(got)
	}
}

func TestMarshalLeavesWebCharactersAlone(t *testing.T) {
	for _, v := range []any{"<&>", map[string]any{"<": "&"}, map[string]time.Time{"<": {}}, inner{Name: "<"}} {
		if got, err := jsonform.Marshal(v); err != nil || strings.Contains(string(got), `\u00`) {
			t.Errorf("%v: %s", err, got)
		}
	}
}

func TestMarshalRefuses(t *testing.T) {
	for _, v := range []any{time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC),
		inner{At: time.Date(-3, 1, 1, 0, 0, 0, 0, time.UTC)}, []any{make(chan int)},
		map[string]any{"a": json.RawMessage("{")}} {
		if got, err := jsonform.Marshal(v); err == nil {
			t.Errorf("%v is %s", v, got)
		}
	}
}

// goWords is what no caller should read: types and functions of Go.
var goWords = regexp.MustCompile(
	`\*?\b[a-z]\w*\.[A-Z]\w+|struct \{|Go (value|struct)|map\[|interface \{|json:|Time\.|\[\]`,
)

// TestFaultsAreInPlainWords has each way in which reading JSON fails.
func TestFaultsAreInPlainWords(t *testing.T) {
	type document struct {
		Session struct {
			Count int64     `json:"count"`
			Part  uint8     `json:"part"`
			Share float64   `json:"share"`
			On    bool      `json:"on"`
			At    time.Time `json:"at"`
			Data  []byte    `json:"data"`
		} `json:"session"`
		List []map[string]any `json:"list"`
	}
	for text, want := range map[string]string{
		`[]`:                          "the value must be an object, got a list",
		`"x"`:                         "the value must be an object, got a string",
		`{"session":true}`:            "session must be an object, got true or false",
		`{"session":{"count":"5"}}`:   "session.count must be a whole number, got a string",
		`{"session":{"count":1.5}}`:   "session.count must be a whole number, got the number 1.5",
		`{"session":{"part":300}}`:    "session.part must be a whole number of at least 0, got the number 300",
		`{"session":{"share":[]}}`:    "session.share must be a number that a computer can hold, got a list",
		`{"session":{"share":1e999}}`: "session.share must be a number that a computer can hold, got the number 1e999",
		`{"session":{"on":{}}}`:       "session.on must be true or false, got an object",
		`{"session":{"data":{}}}`:     "session.data must be a string in base64, got an object",
		`{"session":{"data":"?"}}`:    "a value has a form that is not known here",
		`{"session":{"at":"today"}}`:  `"today" is no time: write it as 2026-01-02T03:04:05.678Z`,
		`{"session":{"at":5}}`:        "a value has a form that is not known here",
		strings.Repeat("[", 10_001):   "it is nested deeper than 10,000 levels, at byte 10001",
		`{"list":{}}`:                 "list must be a list, got an object",
		`{"list":[5]}`:                "list must be an object, got a number",
		`{"list":`:                    "it ends too early, at byte 8",
		``:                            "it ends too early, at byte 0",
		`{x}`:                         "the character 'x' is not expected, at byte 2",
		`{} "`:                        "the character '\"' is not expected, at byte 4",
		"\ufeff{}":                    "the character 'ï' is not expected, at byte 1",
		`[']`:                         "the character '\\'' is not expected, at byte 2",
	} {
		var d document
		err := json.Unmarshal([]byte(text), &d)
		if err == nil {
			t.Errorf("%s was read", text)
			continue
		}
		if got := jsonform.Fault(err); got != want || goWords.MatchString(got) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	_, notWritten := json.Marshal(map[string]any{"a": json.RawMessage("{")})
	var noType error = &json.UnsupportedTypeError{Type: reflect.TypeFor[chan int]()}
	for _, err := range []error{notWritten, noType, io.EOF, io.ErrUnexpectedEOF, errors.New("reflect.Value of struct {")} {
		if got := jsonform.Fault(err); got == "" || goWords.MatchString(got) {
			t.Errorf("%v: %q", err, got)
		}
	}
}

// A time is written as its layout says, in years of any length too.
func TestTimeByLayout(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		zone := time.FixedZone("", random.IntN(86_400)-43_200)
		at := time.Unix(random.Int64N(1<<39)-1<<38, random.Int64N(1e9)).In(zone)
		if got, want := jsonform.Time(at), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Fatalf("%v is written as %s, want %s", at, got, want)
		}
	}
}
