package jsonguard

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

type mark [4]byte

func (m mark) MarshalText() ([]byte, error) { return m[:], nil }

func (m *mark) UnmarshalText(b []byte) error {
	copy(m[:], b)
	return nil
}

type embedded struct {
	Inner string `json:"inner"`
}

type everything struct {
	embedded
	Text   string            `json:"text,omitempty"`
	Number float64           `json:"number"`
	Large  int64             `json:"large"`
	Truth  bool              `json:"truth"`
	At     time.Time         `json:"at,omitzero"`
	Mark   mark              `json:"mark,omitzero"`
	Raw    json.RawMessage   `json:"raw,omitempty"`
	Any    any               `json:"any"`
	Map    map[string]string `json:"map"`
	List   []embedded        `json:"list"`
	To     *embedded         `json:"to"`
	Span   time.Duration     `json:"span"`
}

// Whatever Loci writes is read as encoding/json reads it.
func TestOwn(t *testing.T) {
	at := time.Date(2026, 11, 27, 1, 2, 3, 4_000_000, time.UTC)
	full := everything{
		embedded: embedded{Inner: "a\"\\\n\u2028\x00<&>é🙂"},
		Text:     "text", Number: -1.5e-300, Large: math.MinInt64, Truth: true, At: at,
		Mark: mark{'a', 'b', 'c', 'd'}, Raw: json.RawMessage(`{"a":[1,2.50,null]}`),
		Any:  map[string]any{"a": []any{1.5, "x", nil, true, map[string]any{}}, "": "é"},
		Map:  map[string]string{"k": "v", "ä\n": ""},
		List: []embedded{{"1"}, {""}}, To: &embedded{"to"}, Span: time.Hour,
	}
	for _, value := range []everything{
		{}, full, {At: time.UnixMilli(0).UTC()}, {At: at.Add(time.Duration(999_999))}, {Any: 1e300},
	} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var theirs, ours everything
		if err := json.Unmarshal(text, &theirs); err != nil {
			t.Fatal(err)
		}
		if err := Own(text, &ours); err != nil || !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s\nis %+v, %v\nnot %+v", text, ours, err, theirs)
		}
		kept, again := append([]byte(nil), text...), ours
		for i := range text { // who gave the text may use it again
			text[i] = 'x'
		}
		if err := Own(kept, &again); err != nil || !reflect.DeepEqual(ours, again) {
			t.Errorf("what was read changed with the text: %+v, %v", ours, err)
		}
	}
}

// A damaged text is an error, and what it was read into is not used.
func TestOwnRefusesWhatIsDamaged(t *testing.T) {
	text, err := json.Marshal(everything{Text: "a", List: []embedded{{"b"}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		var into everything
		if err := Own(text[:i], &into); err == nil {
			t.Errorf("%s was read", text[:i])
		}
	}
	deep := `{"raw":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}" // a file of others may have millions
	for _, wrong := range []string{deep, `{"text":1}`, `{"at":"yesterday"}`, `{"list":{}}`, `[]`, `"x"`, `{} {}`, `{"text":"` + "\n" + `"}`} {
		var into everything
		if err := Own([]byte(wrong), &into); err == nil {
			t.Errorf("%.80s was read", wrong)
		}
	}
}
