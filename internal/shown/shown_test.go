package shown

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func isID(s string) bool { return strings.HasPrefix(s, "id") }

// TestMemories reads every form in which memories are shown.
func TestMemories(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Memory
	}{
		"a context": {
			"# Memory Context\n\n## Key Facts\n- [user] [diet]: vegan (confidence: 0.91)\n" +
				"## Active Rules\n- Be brief (maturity: proven, effectiveness: 0.83)\n" +
				"## Recent Episodes\n- [2026-01-02T03:04:05Z] They met.\n",
			[]Memory{{Content: "[user] [diet]: vegan"}, {Content: "Be brief"}, {Content: "They met."}},
		},
		"columns":          {"0.91\tnote-id1\tvegan\n0.50\tid2\tbrief", []Memory{{"id1", "vegan"}, {"id2", "brief"}}},
		"a reply":          {`{"results":[{"id":"id1","text":"vegan"},{"note_id":"note-id2","content":"brief"}]}`, []Memory{{"id1", "vegan"}, {"id2", "brief"}}},
		"a list":           {`[{"id":"id1","passage":"vegan"}]`, []Memory{{"id1", "vegan"}}},
		"items":            {`[{"key":"id1","value":{"content":"vegan"}},{"key":"id2","value":{"content":{"a":1}}}]`, []Memory{{"id1", "vegan"}, {"id2", `{"a":1}`}}},
		"a line of a fact": {"- [user] [diet]: vegan", []Memory{{Content: "[user] [diet]: vegan"}}},

		"one line of columns":   {"id1\tvegan", []Memory{{"id1", "vegan"}}},
		"a list behind a space": {"\n [{\"id\":\"id1\",\"text\":\"vegan\"}]", []Memory{{"id1", "vegan"}}},

		"other text":            {"They met in Lisbon.", nil},
		"a list of one's own":   {"- milk\n- bread", nil},
		"a context and more":    {"# Memory Context\n- [user] [diet]: vegan (confidence: 0.91)\nRemember the milk.", nil},
		"columns without an id": {"vegan\tbrief", nil},
		"a bad id":              {`[{"id":"x","text":"vegan"}]`, nil},
		"one id of two":         {`[{"id":"id1","text":"vegan"},{"text":"brief"}]`, nil},
		"other JSON":            {`{"a":1}`, nil},
		"nothing":               {"", nil},
	} {
		if got := Memories(c.text, isID); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v; want %+v", name, got, c.want)
		}
	}
}

// TestMemoriesAreBounded: a text that shows more is stored like any other.
func TestMemoriesAreBounded(t *testing.T) {
	lines, list := make([]string, most), make([]string, most)
	for i := range most {
		lines[i] = fmt.Sprintf("- fact %d (confidence: 0.90)", i)
		list[i] = fmt.Sprintf(`{"id":"id%d","text":"x"}`, i)
	}
	for text, more := range map[string]string{
		strings.Join(lines, "\n"):           strings.Join(append(lines, lines[0]), "\n"),
		"[" + strings.Join(list, ",") + "]": "[" + strings.Join(append(list, list[0]), ",") + "]",
	} {
		if got := Memories(text, isID); len(got) != most {
			t.Errorf("%d of %d are read", len(got), most)
		}
		if got := Memories(more, isID); got != nil {
			t.Errorf("%d of %d are read", len(got), most+1)
		}
	}
}

func TestWithoutKey(t *testing.T) {
	for line, want := range map[string]string{
		"[user] [diet]: vegan": "vegan",
		"[user] [diet]: ":      "[user] [diet]: ",
		"[user]: vegan":        "[user]: vegan",
		"vegan":                "vegan",
		"see [a] [b]: c":       "see [a] [b]: c",
	} {
		if got := WithoutKey(line); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// TestLineContent leaves out what changes from one reading to the next.
func TestLineContent(t *testing.T) {
	for line, want := range map[string]string{
		"- vegan (confidence: 0.91)":                            "vegan",
		"- brief (maturity: anti_pattern, effectiveness: 0.01)": "brief",
		"- [2026-01-02T03:04:05.678+01:00] They met.":           "They met.",
		"- vegan (confidence: high)":                            "vegan (confidence: high)",
		"- [yesterday] They met.":                               "[yesterday] They met.",
	} {
		if got := LineContent(line); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}
