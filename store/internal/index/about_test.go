package index

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// hitsOf are the hits of a probe among some texts, by these.
func hitsOf(t *testing.T, p loci.Probe, texts ...string) map[string]loci.Hit {
	t.Helper()
	space, here := loci.Space{Model: "m", Dims: 4}, loci.Namespace{"u"}
	x := New(space)
	x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
	for i, text := range texts {
		x.Upsert(record(i, here, text), [][]byte{vector.Quantize([]float32{1, 0, 0, 0})})
	}
	p.Vector, p.Space = []float32{1, 0, 0, 0}, space
	hits, err := x.Match(p, loci.Filter{Within: []loci.Namespace{here}}, 10, nil)
	if err != nil || len(hits) != len(texts) {
		t.Fatal(len(hits), err)
	}
	of := map[loci.ID]string{}
	for i, text := range texts {
		of[record(i, here, text).ID] = text
	}
	out := map[string]loci.Hit{}
	for _, h := range hits {
		out[of[h.ID]] = h
	}
	return out
}

// ofOthers are the texts of the hits of a probe that are noted as those of others.
func ofOthers(t *testing.T, p loci.Probe, texts ...string) (out []string) {
	t.Helper()
	for text, h := range hitsOf(t, p, texts...) {
		if h.OfOthers {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// In which way a text names somebody whom a query names says nothing, as long as he is the only one of his role.
func TestPeopleAreLookedForByAllThatTheyAreCalled(t *testing.T) {
	t.Parallel()
	chinese := []string{"我老板吕婉清老家在济南", "我老板是司机", "吕婉清是司机", "今天下雨了"}
	covers := func(query string, texts ...string) (out []float64) {
		hits := hitsOf(t, loci.Probe{Text: query, Sequences: true}, texts...)
		for _, text := range texts {
			out = append(out, hits[text].Covered)
		}
		return out
	}
	for _, query := range []string{"我老板吕婉清喝茶", "吕婉清，我老板，喝茶"} {
		if c := covers(query, chinese...); c[1] == 0 || c[0] != c[1] || c[1] != c[2] || c[3] != 0 {
			t.Errorf("%s: %v", query, c)
		}
	}
	if c := covers("吕婉清喝茶", chinese...); c[1] == 0 || c[1] >= c[2] || c[0] != c[2] {
		t.Errorf("by the name: %v", c)
	}
	if c := covers("我上司喝茶", "我老板吕婉清老家在济南", "我领导吕婉清，老板", "我老板是司机", "我领导姓吕", "今天"); c[3] == 0 {
		t.Errorf("by another word for the role: %v", c)
	}
	english := []string{"My daughter Mia is six", "Mia likes kiwis", "My daughter is tall", "It rained"}
	if c := covers("What would my daughter Mia order?", english...); c[2] == 0 || c[0] != c[1] || c[1] != c[2] {
		t.Errorf("in English: %v", c)
	}
	two := append(english, "My daughter Eve is one")
	if c := covers("What does Mia order?", two...); c[2] != 0 || c[1] == 0 {
		t.Errorf("of two daughters: %v", c)
	}
	if c := covers("What does Eve order?", two...); c[2] != 0 || c[4] == 0 {
		t.Errorf("of the other of two daughters: %v", c)
	}
	names := append(english, "My boss Mia is nice")
	if c := covers("What does Mia order?", names...); c[2] != 0 {
		t.Errorf("of two who have the name: %v", c)
	}
	if h := hitsOf(t, loci.Probe{Text: "Mia order", Quick: true}, english...)["My daughter is tall"]; h.Covered != 0 {
		t.Errorf("a quick search: %+v", h)
	}
	if h := hitsOf(t, loci.Probe{Text: "Mia order"}, english...)["My daughter is tall"]; h.Covered == 0 {
		t.Errorf("by words alone: %+v", h)
	}
}

// Notes about whom a query describes get a part of what fits the description best gets.
func TestNotesOfWhomAQueryDescribesAreFound(t *testing.T) {
	t.Parallel()
	texts := []string{"我经理吕婉清老家在济南", "我经理是司机", "我同事叫袁宇轩", "袁宇轩是导游", "今天下雨了"}
	hits := hitsOf(t, loci.Probe{Text: "老家在济南的那个人喝茶", Sequences: true}, texts...)
	best, other, stranger := hits[texts[0]], hits[texts[1]], hits[texts[3]]
	if best.Covered == 0 || math.Abs(other.Covered-describedPart*best.Covered) > 1e-9 ||
		math.Abs(other.KeywordShare-describedPart*best.KeywordShare) > 1e-9 || stranger.Covered != 0 {
		t.Errorf("covered: %v, %v and %v of %v", best.Covered, other.Covered, stranger.Covered, describedPart)
	}
	for _, p := range []loci.Probe{{Text: "老家在济南的那个人喝茶"}, {Text: "老家在济南的司机喝茶", Sequences: true}} {
		if h := hitsOf(t, p, texts...)["我经理是司机"]; math.Abs(h.Covered-describedPart*best.Covered) < 1e-9 {
			t.Errorf("%+v: %v", p, h.Covered)
		}
	}
}

// Words that only say whom a query is about weigh less in its vector: who that is is known.
func TestWordsForSomebodyWhoIsKnownWeighLess(t *testing.T) {
	t.Parallel()
	texts := []string{"My daughter Mia is six", "Mia likes kiwis", "我老板吕婉清老家在济南"}
	weights := map[string]float64{}
	weigh := func(query string, words ...string) (out []float64) {
		hitsOf(t, loci.Probe{Text: query, Sequences: true, Reweigh: func(weight func(string) float64) []float32 {
			for _, word := range words {
				weights[word] = weight(word)
				out = append(out, weights[word])
			}
			return []float32{1, 0, 0, 0}
		}}, texts...)
		return out
	}
	known, unknown := weigh("my daughter sings", "daughter", "sings"), weigh("the weather", "daughter", "sings")
	if known[0] != namedPart*unknown[0] || known[1] != unknown[1] || unknown[0] == 0 {
		t.Errorf("%v, without her %v", known, unknown)
	}
	if w := weigh("老家在济南的那个人喝茶", "济南", "喝茶"); w[0] == 0 || w[0] >= w[1]*namedPart {
		t.Errorf("of who is described: %v", w)
	}
}

// A search notes whom a query is about, by the role or the name that some note explains, and which hits name him nowhere.
func TestASearchKnowsWhomItIsAbout(t *testing.T) {
	t.Parallel()
	chinese := []string{"我同事叫袁宇轩", "我老板吕婉清老家在济南", "袁宇轩是导游", "我老板是司机", "我同事喜欢打球", "今天下雨了"}
	english := []string{"My daughter Mia is six", "Mia likes kiwis", "My son Tom likes figs", "My daughter is tall", "It rained"}
	sons := []string{"My son Tom likes figs", "My son Bo is ten", "Tom is tall", "It rained"}
	for query, want := range map[string]struct {
		texts []string
		of    string
	}{
		"我同事做什么工作":                    {chinese, "今天下雨了 我老板吕婉清老家在济南 我老板是司机"},
		"袁宇轩做什么工作":                    {chinese, "今天下雨了 我老板吕婉清老家在济南 我老板是司机"},
		"我同事和我老板谁高":                   {chinese, "今天下雨了"},
		"那位喜欢打球的同事做什么":                {chinese, "今天下雨了 我老板吕婉清老家在济南 我老板是司机"},
		"老家在济南的那个人做什么工作":              {chinese, "今天下雨了 我同事叫袁宇轩 我同事喜欢打球 袁宇轩是导游"},
		"老家在济南的是谁":                    {chinese, ""},
		"我邻居做什么工作":                    {chinese, ""},
		"What does my daughter like?": {english, "It rained My son Tom likes figs"},
		"What does Mia like?":         {english, "It rained My son Tom likes figs"},
		"What do my kids like?":       {english, ""}, // a note may say "the children"
		"What does Eve like?":         {english, ""},
		"What does my son like?":      {sons, "It rained"},
		"What does Bo like?":          {sons, "It rained My son Tom likes figs Tom is tall"},
	} {
		if got := strings.Join(ofOthers(t, loci.Probe{Text: query, Sequences: true}, want.texts...), " "); got != want.of {
			t.Errorf("%s: %q, want %q", query, got, want.of)
		}
	}
	if got := ofOthers(t, loci.Probe{Text: "我同事做什么工作", Quick: true}, chinese...); got != nil {
		t.Errorf("a quick search: %q", got)
	}
}

// Who is in too many passages tells nothing apart.
func TestASearchIsAboutSomebodyInSoManyPassages(t *testing.T) {
	t.Parallel()
	texts := []string{"My daughter Mia", "It rained"}
	for i := range mostAbout - 1 {
		texts = append(texts, fmt.Sprintf("Mia %d", i))
	}
	s := search{filter: &loci.Filter{}}
	here := loci.Namespace{"u"}
	x := New(loci.Space{})
	x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
	add := func(from int, texts ...string) {
		for i, text := range texts {
			x.Upsert(record(from+i, here, text), nil)
		}
	}
	add(0, texts...)
	about := func() bool {
		s = search{filter: &loci.Filter{Within: []loci.Namespace{here}}}
		p := loci.Probe{Text: "Mia", Sequences: true}
		s.choose(x, &p)
		defer s.release()
		if err := s.scoreWords(p); err != nil {
			t.Fatal(err)
		}
		return s.about
	}
	if !about() {
		t.Errorf("it is about nobody in %d passages", mostAbout)
	}
	if add(len(texts), "Mia"); about() {
		t.Errorf("it is about somebody in more than %d passages", mostAbout)
	}
}

// A word that is longer than the pairs of characters that stand for it is as rare as the rarest of them, not as what nobody has.
func TestLongWordsAreAsRareAsTheirPairs(t *testing.T) {
	t.Parallel()
	here := loci.Namespace{"u"}
	x := New(loci.Space{})
	x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
	for i, text := range []string{"我的大学同学", "大学同学", "我的同学", "大学", "walrus"} {
		x.Upsert(record(i, here, text), nil)
	}
	s := search{filter: &loci.Filter{Within: []loci.Namespace{here}}}
	s.choose(x, &loci.Probe{})
	defer s.release()
	for word, want := range map[string]int{"大学同学": 2, "同学": 3, "学": 4, "大学生": 0, "高中同学": 0, "walrus": 1, "walruses": 0, "": 0} {
		if _, got := s.rarestOf(word); got != want {
			t.Errorf("%q: %d passages, want %d", word, got, want)
		}
	}
}
