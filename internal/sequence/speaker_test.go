package sequence_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/sequence"
)

func TestWhoATextSaysIsSpeaking(t *testing.T) {
	for text, want := range map[string]string{
		"user: hello":                                   "user",
		"  Human : hello":                               "human",
		"**Assistant:** hello":                          "assistant",
		"**User**: hello":                               "user",
		"[AI] hello":                                    "ai",
		"<user>hello":                                   "user",
		"user (15 March 2024): hello":                   "user",
		"2024-03-15 user: hello":                        "user",
		"[2024-03-15T10:00:00Z] assistant: hello":       "assistant",
		"User said that she moves":                      "user",
		"The assistant replied with a plan":             "assistant",
		`{"role": "assistant", "content": "hello"}`:     "assistant",
		"Ann: the user said so":                         "",
		"user guides are on the shelf":                  "",
		"User prefers tea":                              "",
		"users: 12":                                     "",
		"model trains are his hobby":                    "",
		"The user: a study":                             "user",
		"":                                              "",
		strings.Repeat("long ago ", 20) + "user: hello": "",
	} {
		if got := sequence.SaidBy(text); got != want {
			t.Errorf("%.60q is said by %q; want %q", text, got, want)
		}
	}
}

func TestTheNameATextBeginsWith(t *testing.T) {
	for text, want := range map[string][2]string{
		"Ann: hello":                            {"", "Ann"},
		"Ann Lee: hello":                        {"", "Ann Lee"},
		"Anna van Dyk: hello":                   {},
		"**Ann:** hello":                        {"**", "Ann"},
		"[Ann] hello":                           {"[", "Ann"},
		"<Ann> hello":                           {"<", "Ann"},
		"Ann (15 March 2024): hello":            {"", "Ann"},
		"[2024-03-15T10:00:00Z] Ann: hello":     {"[2024-03-15T10:00:00Z] ", "Ann"},
		"2024-03-15 Ann: hello":                 {"2024-03-15 ", "Ann"},
		"Zoë O’Neil：hello":                      {"", "Zoë O’Neil"},
		"Ольга: привет":                         {"", "Ольга"},
		"मीरा: नमस्ते":                          {"", "मीरा"},
		"Ann Lee Of Bath Town: hello":           {},
		"Ann said: hello":                       {},
		"ann: hello":                            {},
		"Ann:hello":                             {},
		"Ann":                                   {},
		"":                                      {},
		"User: hello":                           {},
		"Assistant: hello":                      {},
		"Hello Ann, how are you: well?":         {},
		strings.Repeat(" ", 130) + "Ann: hello": {},
	} {
		if before, name := sequence.Name(text); before != want[0] || name != want[1] {
			t.Errorf("%.60q: %q before %q; want %q", text, before, name, want)
		}
	}
}

// TestLikelyAssistants reads texts written for it. What people say and keep must not
// count as an assistant's: notes with lists, letters that end with an offer, questions with code.
func TestLikelyAssistants(t *testing.T) {
	data, err := os.ReadFile("testdata/said.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	texts, told := map[string]int{}, map[string]int{}
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var said struct{ By, Text string }
		if err := d.Decode(&said); err != nil {
			t.Fatal(err)
		}
		texts[said.By]++
		if sequence.LikelyAssistant(said.Text) {
			told[said.By]++
		}
		if likely := sequence.LikelyAssistant(said.Text); likely != (said.By == "assistant") {
			t.Logf("said by %s: %.100q", said.By, said.Text)
		}
	}
	t.Logf("taken for an assistant's: %d of %d of assistants, %d of %d of people",
		told["assistant"], texts["assistant"], told["person"], texts["person"])
	if told["person"] > 0 || told["assistant"] < texts["assistant"]*3/4 {
		t.Error("too many are taken for the other's")
	}
}

// TestLikelyAssistantsAnyText has texts that are cut inside of characters, empty or of one kind of byte.
func TestLikelyAssistantsAnyText(t *testing.T) {
	for _, text := range []string{"", "\xff", strings.Repeat("界", 10000), strings.Repeat("\x80", 1000), strings.Repeat("- \n", 9000)} {
		if sequence.LikelyAssistant(text) || sequence.SaidBy(text) != "" {
			t.Errorf("%.20q is said by somebody", text)
		}
	}
}
