package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

const (
	goodTurn     = `{"conv":"c","turn":"1","text":"Salt is in the blue tin."}` + "\n"
	goodQuestion = `{"conv":"c","qid":"q","question":"Where is the salt?","evidence":["1"]}` + "\n"
)

// writeDataset writes the two files; an empty text leaves its file out.
func writeDataset(t *testing.T, turns, questions string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"turns.jsonl": turns, "questions.jsonl": questions} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadDataset(t *testing.T) {
	d, err := ReadDataset(writeDataset(t, "\n"+goodTurn+`{"conv":"d","turn":"1","caption":"a tin","time":"2026-01-02T03:04:05+02:00","other":1}`,
		`{"conv":"c","qid":"q","question":"Where is the salt?","evidence":["1","1"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Turns) != 2 || len(d.Questions) != 1 || len(d.Questions[0].Evidence) != 1 || d.Questions[0].Category != "other" {
		t.Errorf("%+v", d)
	}
	if at := d.Turns[1].at.UTC().Format("15:04"); at != "01:04" {
		t.Errorf("time %s", at)
	}
}

func TestReadDatasetRefusesBadData(t *testing.T) {
	for _, c := range []struct{ turns, questions, want string }{
		{"", goodQuestion, "turns.jsonl cannot be read: "},
		{goodTurn, "", "questions.jsonl cannot be read: "},
		{"\n \n", goodQuestion, "turns.jsonl is empty"},
		{goodTurn, "\n", "questions.jsonl is empty"},
		{goodTurn + "\n{\"conv\":", goodQuestion, "turns.jsonl:3: unexpected end of JSON input"},
		{goodTurn + `{"conv":"c","turn":2,"text":"x"}`, goodQuestion, "turns.jsonl:2: json: cannot unmarshal number"},
		{goodTurn + goodTurn, goodQuestion, `turns.jsonl:2: turn "1" of "c" is there twice`},
		{`{"turn":"1","text":"x"}`, goodQuestion, `turns.jsonl:1: "conv" is missing`},
		{`{"conv":"c","text":"x"}`, goodQuestion, `turns.jsonl:1: "turn" is missing`},
		{`{"conv":"c","turn":"1","text":" "}`, goodQuestion, `turns.jsonl:1: turn "1" of "c" has neither text nor caption`},
		{`{"conv":"c","turn":"1","text":"x","time":"yesterday"}`, goodQuestion, `turns.jsonl:1: "time" is "yesterday"; write it as 2026-01-31T17:30:00`},
		{goodTurn, goodQuestion + goodQuestion, `questions.jsonl:2: question "q" of "c" is there twice`},
		{goodTurn, `{"conv":"c","question":"x","evidence":["1"]}`, `questions.jsonl:1: "qid" is missing`},
		{goodTurn, `{"conv":"c","qid":"q","evidence":["1"]}`, `questions.jsonl:1: question "q" is empty`},
		{goodTurn, goodQuestion + `{"conv":"d","qid":"r","question":"x","evidence":["1"]}`, `questions.jsonl:2: question "r" is about conversation "d", of which there is no turn`},
		{goodTurn, `{"conv":"c","qid":"q","question":"x","evidence":["1","9"]}`, `questions.jsonl:1: question "q" has evidence "9", which is no turn of "c"`},
		{goodTurn, `{"conv":"c","qid":"q","question":"x","evidence":[]}`, "questions.jsonl: no question has evidence"},
		{goodTurn, `{"conv":"c","qid":"q","category":"adversarial","question":"x","evidence":["1"]}`, "questions.jsonl: no question has evidence"},
		{goodTurn + `{"text":"` + strings.Repeat("x", maxLine) + `"}`, goodQuestion, "turns.jsonl:2: the line is longer than 1048576 bytes"},
	} {
		_, err := ReadDataset(writeDataset(t, c.turns, c.questions))
		if !errors.Is(err, loci.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}
