package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/retrieval"
)

// maxTextRunes is the longest text of an evaluation set: a memory or a question
// is a sentence or two, and anything longer is a mistake of the file.
const maxTextRunes = 600

// A turn is one memory of an evaluation set, a line of turns.jsonl.
type turn struct {
	Conv    string `json:"conv"`
	Session string `json:"session"`
	Turn    string `json:"turn"` // unique in its conversation
	Idx     int    `json:"idx"`  // position in its conversation, from 0
	Speaker string `json:"speaker"`
	Role    string `json:"role"`
	Time    string `json:"time"` // local, without a zone
	Text    string `json:"text"`
}

// A question is a line of questions.jsonl; Evidence names every turn that answers.
type question struct {
	Conv     string   `json:"conv"`
	QID      string   `json:"qid"`
	Category string   `json:"category"`
	Question string   `json:"question"`
	Answer   string   `json:"answer"`
	Abstain  bool     `json:"abstain"`
	Evidence []string `json:"evidence"`
	Sessions []string `json:"evidence_sessions"`
}

type dataset struct {
	turns     []turn
	questions []question
}

func readDataset(t *testing.T, name string) dataset {
	t.Helper()
	dir := filepath.Join("testdata", name)
	return dataset{readLines[turn](t, filepath.Join(dir, "turns.jsonl")), readLines[question](t, filepath.Join(dir, "questions.jsonl"))}
}

func readLines[T any](t *testing.T, path string) (rows []T) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		var row T
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&row); err != nil || d.More() {
			t.Fatalf("%s:%d: not one object of the format: %v", path, n, err)
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// evidence returns the turns that answer q.
func (d dataset) evidence(q question) (turns []turn) {
	for _, t := range d.turns {
		if t.Conv == q.Conv && slices.Contains(q.Evidence, t.Turn) {
			turns = append(turns, t)
		}
	}
	return turns
}

// defects lists what is wrong with the form of a set.
func (d dataset) defects() []string { return append(d.turnDefects(), d.questionDefects()...) }

func (d dataset) turnDefects() (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	ids, texts, next := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, t := range d.turns {
		id := t.Conv + " " + t.Turn
		if ids[id] || texts[t.Conv+t.Text] {
			say("%s: its id or its text is there twice", id)
		}
		ids[id], texts[t.Conv+t.Text] = true, true
		if t.Idx != next[t.Conv] {
			say("%s: idx %d, want %d", id, t.Idx, next[t.Conv])
		}
		next[t.Conv]++
		if _, err := time.Parse("2006-01-02T15:04:05", t.Time); err != nil {
			say("%s: %v", id, err)
		}
		n := utf8.RuneCountInString(t.Text)
		if n == 0 || n > maxTextRunes || t.Speaker == "" || t.Role != "user" && t.Role != "assistant" {
			say("%s: text of %d characters, speaker %q, role %q", id, n, t.Speaker, t.Role)
		}
	}
	return found
}

func (d dataset) questionDefects() (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	asked := map[string]bool{}
	for _, q := range d.questions {
		if asked[q.QID] || asked[q.Conv+q.Question] {
			say("%s: its id or its question is there twice", q.QID)
		}
		asked[q.QID], asked[q.Conv+q.Question] = true, true
		if n := utf8.RuneCountInString(q.Question); n == 0 || n > maxTextRunes || q.Answer == "" || q.Abstain {
			say("%s: question of %d characters, answer %q, abstain %v", q.QID, n, q.Answer, q.Abstain)
		}
		if !slices.Contains([]string{"single-hop", "multi-hop", "temporal", "paraphrase"}, q.Category) {
			say("%s: category %q", q.QID, q.Category)
		}
		var sessions []string
		for _, t := range d.evidence(q) {
			if !slices.Contains(sessions, t.Session) {
				sessions = append(sessions, t.Session)
			}
		}
		if n := len(d.evidence(q)); n == 0 || n != len(q.Evidence) || (q.Category == "multi-hop") && n < 2 {
			say("%s: %d of its evidence %v are turns", q.QID, n, q.Evidence)
		}
		if !slices.Equal(sessions, q.Sessions) {
			say("%s: sessions %v, want %v", q.QID, q.Sessions, sessions)
		}
	}
	return found
}

// TestDatasetsAreSound reads the evaluation sets as they are published.
func TestDatasetsAreSound(t *testing.T) {
	for _, name := range []string{"cjk", "paraphrase", "people"} {
		for _, defect := range readDataset(t, name).defects() {
			t.Errorf("%s: %s", name, defect)
		}
	}
}

// TestDefectsAreNoticed breaks a good set in every way the check looks for.
func TestDefectsAreNoticed(t *testing.T) {
	for name, spoil := range map[string]func(*dataset){
		"id twice":        func(d *dataset) { d.turns = append(d.turns, d.turns[1]); d.turns[2].Idx, d.turns[2].Text = 2, "Jam." },
		"text twice":      func(d *dataset) { d.turns[1].Text = d.turns[0].Text },
		"gap in idx":      func(d *dataset) { d.turns[1].Idx = 2 },
		"time":            func(d *dataset) { d.turns[1].Time = "yesterday" },
		"long text":       func(d *dataset) { d.turns[1].Text = strings.Repeat("麺", maxTextRunes+1) },
		"role":            func(d *dataset) { d.turns[1].Role = "system" },
		"evidence":        func(d *dataset) { d.questions[0].Evidence = []string{"D1:1", "D9:9"} },
		"one hop of many": func(d *dataset) { d.questions[0].Category = "multi-hop" },
		"no evidence":     func(d *dataset) { d.questions[0].Evidence, d.questions[0].Sessions = nil, nil },
		"session":         func(d *dataset) { d.questions[0].Sessions = []string{"S2"} },
		"category":        func(d *dataset) { d.questions[0].Category = "other" },
		"no answer":       func(d *dataset) { d.questions[0].Answer = "" },
		"question twice":  func(d *dataset) { d.questions = append(d.questions, d.questions[0]) },
	} {
		d := dataset{
			[]turn{
				{"c", "S1", "D1:1", 0, "Ann", "user", "2025-01-02T08:00:00", "Rye toast."},
				{"c", "S1", "D1:2", 1, "Ann", "user", "2025-01-02T08:01:00", "Oat milk."},
			},
			[]question{{"c", "q1", "paraphrase", "What do I eat?", "toast", false, []string{"D1:1"}, []string{"S1"}}},
		}
		if found := d.defects(); len(found) != 0 {
			t.Fatal(found)
		}
		if spoil(&d); len(d.defects()) == 0 {
			t.Errorf("%s: not noticed", name)
		}
	}
}

// TestDatasetCounts checks the counts that the pages beside the data promise.
func TestDatasetCounts(t *testing.T) {
	type count struct{ turns, questions, paraphrases, multi, temporal int }
	want := map[string]count{ // at least
		"zh-linxiao": {150, 60, 30, 10, 10}, "ja-nakamura": {150, 60, 30, 10, 10}, "ko-jihun": {150, 60, 30, 10, 10},
		"paraphrase-nora": {100, 90, 90, 0, 0}, "paraphrase-daniel": {100, 90, 90, 0, 0}, "paraphrase-priya": {100, 90, 90, 0, 0},
	}
	got, idle := map[string]count{}, 0
	for _, name := range []string{"cjk", "paraphrase"} {
		d := readDataset(t, name)
		used := map[string]bool{}
		for _, q := range d.questions {
			for _, id := range q.Evidence {
				used[q.Conv+id] = true
			}
			c := got[q.Conv]
			c.questions++
			switch q.Category {
			case "paraphrase":
				c.paraphrases++
			case "multi-hop":
				c.multi++
			case "temporal":
				c.temporal++
			}
			got[q.Conv] = c
		}
		for _, m := range d.turns {
			c := got[m.Conv]
			c.turns++
			got[m.Conv] = c
			if name == "paraphrase" && !used[m.Conv+m.Turn] {
				idle++
			}
		}
	}
	for conv, w := range want {
		g := got[conv]
		if g.turns < w.turns || g.questions < w.questions ||
			g.paraphrases < w.paraphrases || g.multi < w.multi || g.temporal < w.temporal {
			t.Errorf("%s: %+v, want at least %+v", conv, g, w)
		}
		if 4*g.paraphrases < g.questions {
			t.Errorf("%s: %d paraphrases of %d questions, want a quarter", conv, g.paraphrases, g.questions)
		}
	}
	if len(got) != len(want) || idle < 80 {
		t.Errorf("%d conversations, want %d; %d memories that answer nothing, want 80", len(got), len(want), idle)
	}
}

// TestParaphrasesShareNoWord is what makes a paraphrase: keyword search finds
// nothing in common between the question and any memory that answers it.
func TestParaphrasesShareNoWord(t *testing.T) {
	for _, name := range []string{"cjk", "paraphrase"} {
		d := readDataset(t, name)
		for _, q := range d.questions {
			if q.Category != "paraphrase" {
				continue
			}
			for _, m := range d.evidence(q) {
				if common := commonTerms(q.Question, m.Text); len(common) > 0 {
					t.Errorf("%s: %q and %q share %q", q.QID, q.Question, m.Text, common)
				}
			}
		}
	}
}

// Characters and words that only carry grammar, or a question: two texts may
// share them and still have no word in common.
const (
	chineseFunction  = "我你您他她它们們的了着是在有不没沒会會要能可以就都也还還又很最太再把被给給对對和跟与與什么麼甚怎哪谁誰几幾多少这這那个個些一吗嗎呢吧为為因时時候里裡上下去来來到说說想"
	japaneseFunction = "何一人日月年時回度"
	koreanFunction   = "내가 나는 나한 우리 어떤 무슨 뭐야 뭘 언제 어디 누가 누구 무엇 어떻 하는 있는 있어 있을 때문 이유 해서 지훈"
)

// contentTerms are the terms of a text, as keyword search has them, that mean
// something by themselves: every term of a text in Latin letters; pairs of Han in Chinese; single
// Han and pairs of Katakana in Japanese; the first pair of a word in Korean, since
// particles and endings follow it.
func contentTerms(text string) (terms []string) {
	kana := strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) })
	for _, word := range strings.Fields(text) {
		begun := false // whether the first pair of a Korean word has passed
		retrieval.Analyze(word, func(token retrieval.Token) {
			term, stop := retrieval.Normalize(token.Text)
			if stop || token.Kind == retrieval.Wish { // which is no word of it
				return
			}
			keep := true
			switch n := utf8.RuneCountInString(term); {
			case all(term, unicode.Hangul):
				keep = n == 2 && !begun && !slices.Contains(strings.Fields(koreanFunction), term)
				begun = begun || n == 2
			case all(term, unicode.Han) && kana:
				keep = n == 1 && !strings.Contains(japaneseFunction, term)
			case all(term, unicode.Han):
				keep = n == 2 && !strings.ContainsAny(term, chineseFunction)
			case strings.ContainsFunc(term, func(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana) }):
				keep = false
			case all(term, unicode.Katakana):
				keep = n == 2
			}
			if keep && !slices.Contains(terms, term) {
				terms = append(terms, term)
			}
		})
	}
	return terms
}

// all reports whether a term is of one script; the mark of a long vowel is Katakana.
func all(term string, script *unicode.RangeTable) bool {
	return !strings.ContainsFunc(term, func(r rune) bool {
		return !unicode.Is(script, r) && (script != unicode.Katakana || r != 'ー')
	})
}

// commonTerms returns the content terms of a that b has, too.
func commonTerms(a, b string) (common []string) {
	other := contentTerms(b)
	for _, term := range contentTerms(a) {
		if slices.Contains(other, term) {
			common = append(common, term)
		}
	}
	return common
}

// TestCommonTerms shows what counts as a word in common.
func TestCommonTerms(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want []string
	}{
		{"Which dogs barked?", "The dog is barking.", []string{"dog", "bark"}},
		{"What is it about?", "It is what it is.", nil},
		{"我的护照什么时候失效？", "护照明年失效。", []string{"护照", "失效"}},
		{"是什么时候的？", "什么时候都行。", nil},
		{"コーヒーは飲む？", "コーヒーを飲みます。", []string{"コー", "ーヒ", "ヒー", "饮"}},
		{"何をしているの？", "散歩をしている。", nil},
		{"여권은 언제 만료돼?", "여권이 만료됩니다.", []string{"여권", "만료"}},
		{"이유가 뭐야?", "그래서 그랬어.", nil},
	} {
		if got := commonTerms(c.a, c.b); !slices.Equal(got, c.want) {
			t.Errorf("%q and %q share %q, want %q", c.a, c.b, got, c.want)
		}
	}
}
