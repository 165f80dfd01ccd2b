package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// ofOthers are the texts of the hits of a probe that are noted as those of others.
func ofOthers(t *testing.T, p loci.Probe, texts ...string) (out []string) {
	t.Helper()
	space, here := loci.Space{Model: "m", Dims: 4}, loci.Namespace{"u"}
	x := New(space)
	x.AddShard(Key{here.Key(), loci.KindFact})
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
	for _, h := range hits {
		if h.OfOthers {
			out = append(out, of[h.ID])
		}
	}
	slices.Sort(out)
	return out
}

// A search notes whom a query is about, by the role or the name that some note explains, and which hits name him nowhere.
func TestASearchKnowsWhomItIsAbout(t *testing.T) {
	t.Parallel()
	chinese := []string{"我同事叫袁宇轩", "我老板吕婉清老家在济南", "袁宇轩是导游", "我老板是司机", "我同事喜欢打球", "今天下雨了"}
	english := []string{"My daughter Mia is six", "Mia likes kiwis", "My son Tom likes figs", "My daughter is tall", "It rained"}
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
	x.AddShard(Key{here.Key(), loci.KindFact})
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
	x.AddShard(Key{here.Key(), loci.KindFact})
	for i, text := range []string{"我的大学同学", "大学同学", "我的同学", "大学", "walrus"} {
		x.Upsert(record(i, here, text), nil)
	}
	s := search{filter: &loci.Filter{Within: []loci.Namespace{here}}}
	s.choose(x, &loci.Probe{})
	defer s.release()
	for word, want := range map[string]int{"大学同学": 2, "同学": 3, "学": 4, "大学生": 0, "高中同学": 0, "walrus": 1, "walruses": 0, "": 0} {
		if got := s.holdersOf(word); got != want {
			t.Errorf("%q: %d passages, want %d", word, got, want)
		}
	}
}
