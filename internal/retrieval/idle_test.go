package retrieval_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/loci-memory/loci/internal/retrieval"
)

func TestIdleQueries(t *testing.T) {
	for query, want := range map[string]bool{
		"ok": true, "Go on": true, "Thanks, that works": true, "Are you sure?": true, "Why?": true, "What can you do?": true,
		"Can you explain that in more detail?": true, "No, the other one": true, "I see": true,
		"¿por qué?": true, "请继续": true, "なぜですか？": true, "계속해 주세요": true,
		"": false, "?!": false, "who am I?": false, "Where did you go?": false, "ok, Will": false, "Does it work at US?": false,
		`"go on"`: false, "yes*": false, "12": false, "next appointment": false, "What is my name?": false, "dentist": false,
		"Thanks, where is the key?": false, "more tea": false, "什么颜色": false, "안녕하세요 어디": true,
		"the war": false, "war": false, "his hat": false, "ok, was war das?": true, "ok, the war": false,
		"ok ok ok ok ok ok ok ok ok": true, "ok ok ok ok ok ok ok ok ok ok": false, "no, not now": true,
	} {
		if got := retrieval.Idle(query); got != want {
			t.Errorf("%q is idle: %v, want %v", query, got, want)
		}
	}
}

// TestQuestionsAreNotIdle has every question of our own sets, each of which a memory answers, and turns of chats
// that were written before the words of talk were chosen.
func TestQuestionsAreNotIdle(t *testing.T) {
	for _, set := range []struct {
		file        string
		least, most float64
	}{
		{"paraphrase/questions.jsonl", 0, 0}, {"diary/questions.jsonl", 0, 0}, {"cjk/questions.jsonl", 0, 0},
		{"talk/prompts.jsonl", 0.75, 1},
	} {
		f, err := os.Open("../../bench/testdata/" + set.file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n, idle := 0.0, 0.0
		for lines := bufio.NewScanner(f); lines.Scan(); n++ {
			var row struct{ Question, Prompt string }
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			if text := row.Question + row.Prompt; retrieval.Idle(text) {
				idle++
			} else if set.least > 0 {
				t.Logf("asks for something: %q", text)
			}
		}
		t.Logf("%s: %v of %v are idle", set.file, idle, n)
		if n == 0 || idle/n < set.least || idle/n > set.most {
			t.Errorf("%s: %v of %v are idle; want between %v and %v of them", set.file, idle, n, set.least, set.most)
		}
	}
}
