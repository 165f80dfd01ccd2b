package retrieval

import (
	"strings"
	"testing"
)

// missedOf returns what a query misses, in its order; held says how many passages have a term, as in "女儿=2".
func missedOf(query, held string) (missed []string) {
	q := Parse(query, 256)
	holders := map[string]int{}
	for entry := range strings.FieldsSeq(held) {
		term, n, _ := strings.Cut(entry, "=")
		holders[term] = int(n[0] - '0')
	}
	counts := make([]int, len(q.Words))
	for i := range q.Words {
		counts[i] = holders[q.Words[i].Term]
	}
	for i, is := range q.Missed(counts) {
		if is {
			missed = append(missed, q.Words[i].Term)
		}
	}
	return missed
}

// A run of characters has half as many words as pairs: of two that overlap, one lies between words.
func TestPairsBetweenWordsAreNotMissed(t *testing.T) {
	for _, c := range []struct{ query, held, want string }{
		{"过敏", "", "过敏"},
		{"女儿过敏", "女儿=1 过敏=1", "女儿 过敏"},      // nobody has what lies between
		{"女儿过敏", "女儿=3 过敏=2 儿过=1", "女儿 过敏"}, // fewer have it than both words
		{"女儿过敏", "女儿=3 过敏=2 儿过=2", "女儿 儿过 过敏"},
		{"女儿过敏", "女儿=3 儿过=2", "女儿 儿过 过敏"}, // nobody has 过敏
		{"女儿过敏", "儿过=1", "儿过"},            // 女 and 敏 are no pairs
		{"女儿吃", "女儿=1", "女儿"},             // 吃 is half a pair
		{"女儿吃", "女儿=3 儿吃=1", "女儿 儿吃"},     // and somebody has it
		{"机器学习课程", "", "机器 学习 课程"},        // as many words as fit
		{"机器学习课程", "器学=1", "器学 习课"},       // what somebody has is a word first
		{"器学习", "学习=3", "学习"},
		{"儿的", "", "儿"},                        // the pair is none that anybody has
		{"コーヒー", "コー=2 ーヒ=2 ヒー=2", "コー ーヒ ヒー"}, // one word
		{"알레르기", "", "알레 르기"},
		{"女儿 过敏", "", "女儿 过敏"},                     // two runs
		{"我女儿对什么过敏", "女儿=1 儿对=4", "女 女儿 儿 过 过敏 敏"}, // 对 is no part of a word
		{"目的", "目的=1", "目 目的"},                     // unless nothing else has its neighbour
		{"Team 女儿过敏 Docker", "女儿=1", "team 女儿 过敏 docker"},
	} {
		if got := strings.Join(missedOf(c.query, c.held), " "); got != c.want {
			t.Errorf("%s, held %s: missed %q, want %q", c.query, c.held, got, c.want)
		}
	}
}

// Who asks uses words that no note has: "welche", "какой". They count where they are found.
func TestSmallWordsThatNobodyHasAreNotMissed(t *testing.T) {
	for _, c := range []struct{ query, held, want string }{
		{"Welche Datenbank nutzt ihr?", "", "datenbank nutzt"},
		{"Welche Datenbank nutzt ihr?", "ihr=1", "datenbank nutzt ihr"},
		{"Какую базу данных использует наш проект?", "", "баз дан использ проект"},
		{"متى موعد الطبيب؟", "", "موعد طبيب"},
		{"Which comment did Nos make?", "", "comment nos make"}, // small elsewhere, in English
	} {
		if got := strings.Join(missedOf(c.query, c.held), " "); got != c.want {
			t.Errorf("%s, held %s: missed %q, want %q", c.query, c.held, got, c.want)
		}
	}
	for _, w := range Parse("какой проект", 9).Words {
		if want := map[string]float64{"как": smallWeight, "проект": 1}[w.Term]; w.Weight != want {
			t.Errorf("%s weighs %v", w.Term, w.Weight)
		}
	}
}
