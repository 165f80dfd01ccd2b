package bench

import (
	"maps"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
)

// languageSet is a memory of one person in each of nine languages.
const languageSet = "testdata/languages"

// silenceSet has more prompts that nothing answers for them.
const silenceSet = "testdata/silence"

// inLanguages puts a half in a mode, each language apart, with the prompts of a set. "held" is what nothing was fitted to.
func inLanguages(t *testing.T, mode loci.Mode, set, half string) *InjectionReport {
	t.Helper()
	prompts, err := ReadPrompts(set)
	if err != nil {
		t.Fatal(err)
	}
	builtin, err := embedding.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	o := InjectionOptions{Half: half, Apart: true, Mode: mode}
	o.RetrievalOptions = RetrievalOptions{
		Dirs: []string{languageSet}, InMemory: true, Resamples: -1, Systems: []System{{Name: "builtin", Embedder: builtin}},
	}
	r, err := Injection(t.Context(), o, prompts, 10)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// By vectors alone the model finds what answers in every language that it has words of, and scores are chances. It is
// silent less often than in English: what a few words mean is a little like much.
func TestScoresByVectorsAreChancesInOtherLanguages(t *testing.T) {
	for _, part := range inLanguages(t, loci.Semantic, languageSet, "held").Apart {
		served, disturbed := 0.75, 0.75
		if part.Conv == "en" {
			served, disturbed = 0.9, 0.5
		}
		for _, f := range part.Floors {
			if f.Score == 0.05 && (f.Served.Value < served-1e-9 || f.Disturbed.Value > disturbed+1e-9) {
				t.Errorf("%s: %+v", part.Conv, f)
			}
		}
		if part.Error > 0.075 {
			t.Errorf("%s: calibration error %.3f", part.Conv, part.Error)
		}
	}
}

// A score is the chance that a memory answers, in every language: at a floor, notes that answer are
// kept and prompts that nothing answers are silenced about as in English.
func TestScoresMeanTheSameInOtherLanguages(t *testing.T) {
	r := inLanguages(t, loci.Hybrid, languageSet, "held")
	pairs := 0.0 // of questions in the languages that are searched in pairs of characters, at 0.05
	for _, part := range r.Apart {
		at := map[float64]Floor{}
		for _, f := range part.Floors {
			at[f.Score] = f
		}
		found, low, high := at[0], at[0.03], at[0.05]
		if found.Served.Value < 0.84 || low.Served.Value < 0.7 || low.Disturbed.Value > 0.5 ||
			high.Served.Value < 0.5 || high.Disturbed.Value > 0.1 || part.Error > 0.06 {
			t.Errorf("%s: %+v, %+v at 0.03, %+v at 0.05, calibration error %.3f", part.Conv, found, low, high, part.Error)
		}
		if slices.Contains([]string{"zh", "ja", "ko"}, part.Conv) {
			pairs += high.Served.Value / 3
		}
	}
	if r.Answerable != 9*30 || r.Unrelated != 9*20 { // of the half; a prompt is put to the memory of its language
		t.Errorf("%d questions and %d prompts", r.Answerable, r.Unrelated)
	}
	if len(r.Apart) != 9 || pairs < 0.65 {
		t.Errorf("%d languages; at 0.05 %.3f are served in Chinese, Japanese and Korean", len(r.Apart), pairs)
	}
}

// At the recommended floor one in twenty prompts that nothing answers brings something up in nine languages together, and
// in none of them more than one in twelve.
func TestPromptsAreSilencedInEveryLanguage(t *testing.T) {
	for _, set := range []string{languageSet, silenceSet} {
		disturbed, prompts, served, questions := map[string]float64{}, 0, 0.0, 0
		for _, half := range []string{"fit", "held"} {
			for _, part := range inLanguages(t, loci.Hybrid, set, half).Apart {
				for _, f := range part.Floors {
					if f.Score == loci.FloorScore {
						disturbed[part.Conv] += f.Disturbed.Value * float64(part.Unrelated)
						served += f.Served.Value * float64(part.Answerable)
					}
				}
				prompts, questions = prompts+part.Unrelated, questions+part.Answerable
			}
		}
		all := 0.0
		for conv, n := range disturbed {
			if all += n; n > 3.5 { // of 40
				t.Errorf("%s: %.0f prompts of %s bring something up", set, n, conv)
			}
		}
		if prompts != 9*40 || all > 0.05*9*40+0.5 || served < 0.656*float64(questions) {
			t.Errorf("%s: %.0f of %d prompts bring something up, %.0f of %d questions are served", set, all, prompts, served, questions)
		}
	}
}

// The set is the same in each language, and its halves are alike.
func TestLanguagesAreAlike(t *testing.T) {
	d, err := ReadDataset(languageSet)
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := ReadPrompts(languageSet)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]map[string]int{}
	add := func(conv, what string) {
		if count[conv] == nil {
			count[conv] = map[string]int{}
		}
		count[conv][what]++
	}
	for i := range d.Turns {
		add(d.Turns[i].Conv, "notes")
	}
	texts := map[string]string{}
	for i := range d.Turns {
		texts[d.Turns[i].Conv+d.Turns[i].ID] = d.Turns[i].Text
	}
	for i := range d.Questions {
		q := &d.Questions[i]
		add(q.Conv, q.Half+" "+q.Category)
		strict := slices.Contains([]string{"en", "zh", "ko"}, q.Conv) // a character is a word in Japanese, too
		if common := commonTerms(q.Text, texts[q.Conv+q.Evidence[0]]); strict && q.Category == "other" && len(common) > 0 {
			t.Errorf("%s: %s and %s share %q", q.ID, q.Text, texts[q.Conv+q.Evidence[0]], common)
		}
	}
	more, err := ReadPrompts(silenceSet)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(prompts, more...) {
		add(p.Conv, p.Half+" prompts")
	}
	want := map[string]int{"notes": 40, "fit same": 10, "fit word": 10, "fit other": 10, "held same": 10, "held word": 10, "held other": 10,
		"fit prompts": 40, "held prompts": 40}
	for conv, got := range count {
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", conv, got, want)
		}
	}
	if len(count) != 9 {
		t.Errorf("%d languages", len(count))
	}
}
