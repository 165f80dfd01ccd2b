package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci"
)

// shownTurns and shownQuestions are what a reader made of a file, a line each.
func shownTurns(d *Dataset) (lines []string) {
	for _, t := range d.Turns {
		lines = append(lines, fmt.Sprintf("%s %s %s %d %s %s %s", t.Conv, t.ID, t.Session, t.Index, t.Time, t.Speaker, t.Role))
	}
	return lines
}

func shownQuestions(d *Dataset) (lines []string) {
	for _, q := range d.Questions {
		lines = append(lines, fmt.Sprintf("%s %s %s %v %v %q %v",
			q.Conv, q.ID, q.Category, q.Evidence, q.Sessions, q.Answer, q.counts()))
	}
	return lines
}

func official(t *testing.T, name, path string) *Dataset {
	t.Helper()
	d, err := ReadOfficial(name, filepath.Join("testdata/official", path))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPublishedForms reads each published form, odd places included.
func TestPublishedForms(t *testing.T) {
	for _, c := range []struct {
		name, path       string
		turns, questions []string
		unresolved       int
	}{
		{"locomo", "locomo.json", []string{
			"boat D1:1 session_1 0 2023-05-08T13:56:00Z Ines ", "boat D1:2 session_1 1 2023-05-08T13:56:00Z Tom ",
			"boat D2:1 session_2 3 2023-06-03T10:04:00Z Tom ", "boat D2:2 session_2 4 2023-06-03T10:04:00Z Ines ",
		}, []string{
			`boat boat/1 single-hop [D1:1] [] "a sailing boat" true`, `boat boat/2 multi-hop [D1:1 D2:1] [] "40 euros; the boat of Ines" true`,
			`boat boat/3 temporal [D1:1] [] "2023" true`, `boat boat/4 adversarial [D1:2] [] "" false`, `boat boat/5 open-domain [] [] "Likely yes" false`,
		}, 1},
		{"longmemeval", "longmemeval.json", []string{
			"q1 s1#1/0 s1#1 0 2023-05-20T02:21:00Z user user", "q1 s1#1/1 s1#1 1 2023-05-20T02:21:00Z assistant assistant",
			"q1 s2#0/0 s2#0 2 2023-05-30T23:40:00Z user user", "q1 s2#0/1 s2#0 3 2023-05-30T23:40:00Z assistant assistant",
			"q1 s2#2/0 s2#2 4 2023-05-31T08:00:00Z user user", "q2_abs t1#0/0 t1#0 0 2023-05-20T02:21:00Z user user",
		}, []string{
			`q1 q1 single-session-user [s2#0/0] [s2#0 s2#2] "under the blue pot" true`,
			`q2_abs q2_abs single-session-user [] [] "You never said so." false`,
		}, 0},
		{"beam", "beam", []string{
			"1 0 batch 1 0 2024-03-15T00:00:00Z user user", "1 1 batch 1 1 2024-03-15T00:00:00Z assistant assistant",
			"1 2 batch 1 2 2024-03-15T00:00:00Z user user", "1 3 batch 2 3 2024-04-01T00:00:00Z user user",
		}, []string{
			`1 1/abstention/1 abstention [] [] "There is no information on it." false`, `1 1/instruction_following/1 instruction_following [3] [] "" true`,
			`1 1/knowledge_update/1 knowledge_update [0 2] [] "9 April" true`,
		}, 1},
	} {
		d := official(t, c.name, c.path)
		if diff := cmp.Diff(c.turns, shownTurns(d)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if diff := cmp.Diff(c.questions, shownQuestions(d)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if d.Unresolved != c.unresolved {
			t.Errorf("%s: %d turns of the key are not there, want %d", c.name, d.Unresolved, c.unresolved)
		}
	}
	if d := official(t, "beam", "beam/1"); len(d.Questions) != 3 || len(d.Files) != 2 {
		t.Errorf("one chat: %+v", d)
	}
	// sha256sum bench/testdata/official/locomo.json
	want := "c6ac4f1ef1f9e1cb1632e585628bccb83e710e29bd3e380fe202d5f4ace7e8ed"
	if f := official(t, "locomo", "locomo.json").Files; len(f) != 1 || f[0].SHA256 != want {
		t.Errorf("files %+v, want %s", f, want)
	}
}

// TestOlderLoCoMo has a file for each conversation, whose sessions stand beside its questions.
func TestOlderLoCoMo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "30.json")
	content := `{"speaker_a": "Ines", "session_1_date_time": "10:04 am on 3 June, 2023", "events_session_1": {}, "session_1": [
		{"speaker": "Ines", "dia_id": "D1:1", "text": "I sold the boat."}],
		"qa": [{"question": "What was sold?", "answer": "a boat", "evidence": ["D1:1"], "category": 4}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := ReadOfficial("locomo", path)
	if err != nil || len(d.Turns) != 1 || len(d.Questions) != 1 || d.Questions[0].ID != "30#1/1" {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestOtherForms: a file of another form is refused, and the text names it.
func TestOtherForms(t *testing.T) {
	for name, c := range map[string]struct{ form, content, part string }{
		"no JSON":           {"locomo", "question,answer", "is not as it is published"},
		"another form":      {"locomo", `[{"question_id": "q"}]`, "it has no session_1"},
		"a date":            {"locomo", `[{"conversation": {"session_1": [], "session_1_date_time": "in spring"}}]`, `the date "in spring"`},
		"no list":           {"longmemeval", `{"question_id": "q"}`, "it must be a list"},
		"sessions and ids":  {"longmemeval", `[{"question_id": "q", "haystack_sessions": [[]]}]`, "1 sessions, 0 ids and 0 dates"},
		"cut short":         {"longmemeval", `[{"question_id": "q"},`, "is not as LongMemEval is published"},
		"no evidence":       {"longmemeval", `[]`, "nothing to measure"},
		"one that is twice": {"locomo", `[{"conversation": {"session_1": [{"dia_id": "D1:1", "text": "a"}, {"dia_id": "D1:1", "text": "b"}]}}]`, "is there twice"},
	} {
		path := filepath.Join(t.TempDir(), "data.json")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadOfficial(c.form, path)
		said := fmt.Sprint(err)
		if loci.AsError(err).Code != loci.Invalid || !strings.Contains(said, c.part) || !strings.Contains(said, path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range [][2]string{{"squad", "x"}, {"beam", t.TempDir()}, {"locomo", "testdata/none.json"}} {
		if _, err := ReadOfficial(c[0], c[1]); loci.AsError(err).Code != loci.Invalid {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestPublishedDataIsAskedByTools measures a published form as an agent would, with FTS5
// and a neighbour beside it, and writes a line for each question.
func TestPublishedDataIsAskedByTools(t *testing.T) {
	t.Setenv(neighbourVariable, "answers")
	var each bytes.Buffer
	r := measure(t, RetrievalOptions{Dirs: []string{}, Official: []Official{{"locomo", "testdata/official/locomo.json"}}, InMemory: true,
		Baseline: true, Beside: []Neighbour{{"newest", []string{os.Args[0]}}}, Each: &each,
		Contexts: []string{ContextSpeaker}, Captions: true})
	var modes []string
	for _, m := range r.Runs[0].Modes {
		modes = append(modes, m.Mode+" "+m.System+" "+m.Kept)
	}
	if want := []string{"hybrid  in memory", "fts5  on disk, all at once", "newest a test on disk"}; !slices.Equal(modes, want) {
		t.Errorf("modes %q, want %q", modes, want)
	}
	figure := func(mode int, metric string) float64 { return r.Runs[0].Modes[mode].Groups[0].Metrics[metric].Value }
	if v := figure(0, "recall@10"); v != 1 {
		t.Errorf("Loci finds %v of the evidence among four memories", v)
	}
	// The neighbour answers with the newest memory alone, which answers none of the three
	// questions; the second has evidence in its session.
	if recall, session := figure(2, "recall@10"), figure(2, metricSession); recall != 0 || math.Abs(session-1.0/3) > 1e-9 {
		t.Errorf("the neighbour: recall %v, sessions %v", recall, session)
	}
	if n := len(r.Runs[0].Differences); n != 2 { // hybrid and each of the two others
		t.Errorf("differences %+v", r.Runs[0].Differences)
	}
	var lines []eachLine
	for in := bufio.NewScanner(&each); in.Scan(); {
		var line eachLine
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 12 { // three modes, three questions and the adversarial one
		t.Fatalf("%d lines", len(lines))
	}
	if l := lines[8]; l.Mode != "newest" || l.Question != "boat/1" || !slices.Equal(l.Found, []string{"D2:2"}) || *l.Metrics["recall@10"] != 0 {
		t.Errorf("line %+v", l)
	}
	var out bytes.Buffer
	if err := r.Print(&out); err != nil || !strings.Contains(out.String(), "newest: a test") ||
		!strings.Contains(out.String(), "(1 times the answer key names a turn that is not there)") || !strings.Contains(out.String(), r.Datasets[0].Files[0].SHA256) {
		t.Errorf("%s, %v", out.String(), err)
	}
}

// TestSessionsAsMemories: all that was said in a session is one memory.
func TestSessionsAsMemories(t *testing.T) {
	d := official(t, "locomo", "locomo.json").bySession()
	want := []string{"Ines: I bought a sailing boat from my neighbour.\nTom: Lovely! My sister keeps bees on her roof.\n",
		"Tom: The harbour master wants forty euros a week for the mooring.\nInes: [shared: a red sailing boat on a trailer]\n"}
	var got []string
	for _, turn := range d.Turns {
		got = append(got, turn.Text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if e := d.Questions[1].Evidence; !slices.Equal(e, []string{"session_1", "session_2"}) {
		t.Errorf("evidence %v", e)
	}
	r := measure(t, RetrievalOptions{Dirs: []string{}, Official: []Official{{"longmemeval", "testdata/official/longmemeval.json"}}, InMemory: true, Units: UnitSessions})
	if r.Runs[0].Memories != 4 || r.Runs[0].Modes[0].Groups[0].Metrics["recall@10"].Value != 1 {
		t.Errorf("%+v", r.Runs[0])
	}
}

// TestSomeQuestions are evenly spread, and bring what they are about.
func TestSomeQuestions(t *testing.T) {
	d := &Dataset{}
	for i := range 10 {
		conv := fmt.Sprint(i)
		d.Turns = append(d.Turns, Turn{Conv: conv, ID: "t"})
		d.Questions = append(d.Questions, Question{Conv: conv, ID: conv})
	}
	if d.some(3); len(d.Questions) != 3 || d.Questions[1].ID != "3" || d.Questions[2].ID != "6" || len(d.Turns) != 3 {
		t.Errorf("%+v", d)
	}
	if d.some(0); len(d.Questions) != 3 {
		t.Errorf("none means all: %+v", d)
	}
}

// TestLongTurnsAreCut: a turn longer than a memory may be is several, found as one.
func TestLongTurnsAreCut(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want []string
	}{
		{"short", 10, []string{"short"}}, {"one two three", 8, []string{"one two", " three"}},
		{"unbreakable", 4, []string{"unbr", "eaka", "ble"}}, {"éé", 3, []string{"é", "é"}},
	} {
		if got := parts(c.text, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%q by %d: %q, want %q", c.text, c.most, got, c.want)
		}
	}
	small := loci.Options{Content: loci.ContentOptions{MaxBytes: 24}}
	cut := measure(t, RetrievalOptions{Tools: true, InMemory: true, Engine: small}).Runs[0].Memories
	if whole := measure(t, RetrievalOptions{Tools: true, InMemory: true}).Runs[0].Memories; cut <= whole {
		t.Errorf("%d notes in pieces, %d whole", cut, whole)
	}
}

// TestPiecesCountOnce: three pieces of a turn are one of the first ten hits, and one hit on evidence.
func TestPiecesCountOnce(t *testing.T) {
	q := &Question{Evidence: []string{"a", "b"}}
	s := judge(q, []hit{{"a", "x"}, {"a", "y"}, {"a", "z"}, {"b", "w"}}, nil, newTokenCounter())
	if !slices.Equal(s.found, []string{"a", "b"}) || s.scores[0] != 0.5 || s.scores[1] != 1 || s.tokens != 2 {
		t.Errorf("%+v", s)
	}
}

// TestNeighboursThatFail end the measurement with their own words.
func TestNeighboursThatFail(t *testing.T) {
	for how, part := range map[string]string{"refuses": "no room", "ends": "it ended without an answer"} {
		t.Setenv(neighbourVariable, how)
		_, err := Retrieval(t.Context(), RetrievalOptions{Dirs: []string{"testdata/diary"}, Systems: []System{lexical},
			Tools: true, InMemory: true, Resamples: -1, Beside: []Neighbour{{"other", []string{os.Args[0]}}}})
		if !strings.Contains(fmt.Sprint(err), part) || !strings.Contains(fmt.Sprint(err), "other") {
			t.Errorf("%s: %v", how, err)
		}
	}
	for _, text := range []string{"", "x", "=prog", "x=", "hybrid=prog"} {
		if _, err := ParseNeighbour(text); loci.AsError(err).Code != loci.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	}
	if n, err := ParseNeighbour("bm25s=python3 tools/x.py"); err != nil || n.Name != "bm25s" || len(n.Command) != 2 {
		t.Errorf("%+v, %v", n, err)
	}
	_, err := openBeside(context.Background(), Neighbour{"none", []string{"/does/not/exist"}}, t.TempDir(), &Dataset{}, &run{})
	if loci.AsError(err).Code != loci.Invalid {
		t.Errorf("a program that is not there: %v", err)
	}
}

// neighbourVariable makes this program a neighbour.
const neighbourVariable = "LOCI_BENCH_NEIGHBOUR"

func TestMain(m *testing.M) {
	if how := os.Getenv(neighbourVariable); how != "" {
		neighbour(how)
		return
	}
	os.Exit(m.Run())
}

// neighbour answers each search with the memory that came last.
func neighbour(how string) {
	out := json.NewEncoder(os.Stdout)
	var last besideMemory
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var request besideRequest
		reply := map[string]any{}
		if err := json.Unmarshal(in.Bytes(), &request); err != nil {
			reply["error"] = err.Error()
		}
		switch {
		case request.Op == "begin":
			reply["system"], reply["durable"] = "a test", true
		case request.Op == "save" && how == "refuses":
			reply["error"] = "no room"
		case request.Op == "save" && how == "ends":
			return
		case request.Op == "save":
			last = request.Memories[len(request.Memories)-1]
		case request.Op == "search":
			reply["hits"] = []map[string]string{{"id": last.ID, "text": last.Text}}
		}
		if out.Encode(reply) != nil {
			return
		}
	}
}
