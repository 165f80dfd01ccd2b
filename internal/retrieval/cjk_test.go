package retrieval

import (
	"cmp"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestQuestionsWithoutSpaces measures the analysis of Chinese, Japanese and Korean
// against plain overlapping pairs, on questions that each have one answer. Two of the
// Chinese answers share no character with their question.
func TestQuestionsWithoutSpaces(t *testing.T) {
	data, err := os.ReadFile("testdata/cjk.tsv")
	if err != nil {
		t.Fatal(err)
	}
	questions, answers := map[string][]string{}, map[string][]string{}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		questions[f[0]], answers[f[0]] = append(questions[f[0]], f[1]), append(answers[f[0]], f[2])
	}
	for language, least := range map[string]float64{"zh": 0.85, "ja": 0.9, "ko": 0.9} {
		own, pairs := ownIndex(answers[language]), pairIndex(answers[language])
		var ownRank, pairRank float64 // mean reciprocal ranks
		for i, q := range questions[language] {
			var plain []QueryWord
			for _, p := range pairsOf(q) {
				plain = addWord(plain, &QueryWord{Term: p, Weight: 1}, 256)
			}
			ours := own.rank(Parse(q, 256).Words, i)
			ownRank += 1 / ours
			pairRank += 1 / pairs.rank(plain, i)
			if ours > 1 {
				t.Logf("rank %v: %s", ours, q)
			}
		}
		n := float64(len(questions[language]))
		t.Logf("%s: mean reciprocal rank %.3f, of plain pairs %.3f, %v questions", language, ownRank/n, pairRank/n, n)
		if ownRank < pairRank || ownRank/n < least {
			t.Errorf("%s: mean reciprocal rank %.3f; want at least %.2f and that of plain pairs, %.3f", language, ownRank/n, least, pairRank/n)
		}
	}
}

// pairsOf cuts a text into overlapping pairs of characters.
func pairsOf(text string) (pairs []string) {
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		r := []rune(run)
		for i := range len(r) - 1 {
			pairs = append(pairs, string(r[i:i+2]))
		}
	}
	return pairs
}

type termCounts struct {
	counts  []map[string]float64 // by text
	lengths []float64
}

func ownIndex(texts []string) (x termCounts) {
	for _, text := range texts {
		counts, length := map[string]float64{}, 0.0
		Analyze(text, func(token Token) {
			term, _ := Normalize(token.Text)
			counts[term]++
			if token.Kind.HasPosition() {
				length++
			}
		})
		x.counts, x.lengths = append(x.counts, counts), append(x.lengths, length)
	}
	return x
}

func pairIndex(texts []string) (x termCounts) {
	for _, text := range texts {
		counts := map[string]float64{}
		for _, p := range pairsOf(text) {
			counts[p]++
		}
		x.counts, x.lengths = append(x.counts, counts), append(x.lengths, float64(len(pairsOf(text))))
	}
	return x
}

// rank returns the rank of a text by BM25, the worst of equal ones.
func (x *termCounts) rank(query []QueryWord, wanted int) float64 {
	total := 0.0
	for _, l := range x.lengths {
		total += l
	}
	n := float64(len(x.counts))
	scores := make([]float64, len(x.counts))
	for _, w := range query {
		holders := 0.0
		for _, c := range x.counts {
			if c[w.Term] > 0 {
				holders++
			}
		}
		for i, c := range x.counts {
			if f := c[w.Term]; f > 0 {
				scores[i] += w.Weight * math.Log(1+(n-holders+0.5)/(holders+0.5)) * f * 1.9 / (f +
					0.9*(0.6+0.4*x.lengths[i]*n/total))
			}
		}
	}
	score := scores[wanted]
	slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	rank := 0
	for rank < len(scores) && scores[rank] >= score {
		rank++
	}
	return float64(rank)
}

// A person who writes traditional characters and one who writes simplified ones find each
// other's memories. Function words are the same in both.
func TestTraditionalAndSimplified(t *testing.T) {
	for traditional, simplified := range map[string]string{"過敏": "过敏", "我對什麼過敏？": "我对什么过敏？", "他們什麼時候來臺灣": "他们什么时候来台湾",
		`"頭髮"`: `"头发"`, "後來": "后来", "龍": "龙", "請問圖書館在哪裡": "请问图书馆在哪里"} {
		if got, want := Parse(traditional, 100), Parse(simplified, 100); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v, and of %s\n%+v", traditional, got, simplified, want)
		}
	}
	got := Parse("会議は何時ですか", 100)
	if slices.ContainsFunc(got.Words, func(w QueryWord) bool { return strings.Contains(w.Term, "时") }) {
		t.Errorf("the Japanese question word has content: %+v", got)
	}
	pairs := 0
	for i, form := range simplifiedForms() {
		if form == 0 {
			continue
		}
		pairs++
		if again := simplified(rune(form)); again != rune(form) {
			t.Errorf("%c becomes %c, and that %c", rune(firstHan+i), form, again)
		}
	}
	if pairs != 2836 {
		t.Errorf("%d characters have a simplified form; the table has 2836", pairs)
	}
}
