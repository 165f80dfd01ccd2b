package bench

import (
	"context"
	"testing"

	"github.com/loci-memory/loci"
)

// TestRetrievalByTools saves and searches as an agent does. It finds about as much as the
// library, which also knows only the sessions of the diary. A turn that repeats another one is
// found as that one.
func TestRetrievalByTools(t *testing.T) {
	r := measure(t, RetrievalOptions{InMemory: true, Tools: true, Dirs: []string{"testdata/diary"}, Systems: []System{lexical}})
	if len(r.Runs) != 1 || len(r.Runs[0].Modes) != 1 || r.Runs[0].Modes[0].Mode != ModeHybrid {
		t.Fatalf("runs %+v", r.Runs)
	}
	found := r.Runs[0].Modes[0].Groups[0].Metrics["recall@10"].Value
	if r.Runs[0].Memories < 20 || found < 0.95 {
		t.Errorf("%d notes, recall %v at 10", r.Runs[0].Memories, found)
	}
	_, err := Retrieval(context.Background(), RetrievalOptions{
		Tools:   true,
		Typing:  true,
		Dirs:    []string{"testdata/diary"},
		Systems: []System{lexical},
	})
	if loci.AsError(err).Code != loci.Invalid {
		t.Errorf("typing errors by tools: %v", err)
	}
}

// TestAgentKeepsWhatWasSaidTwiceOnce, and questions ask for the note that was kept.
func TestAgentKeepsWhatWasSaidTwiceOnce(t *testing.T) {
	d := &Dataset{
		Name: "twice",
		Turns: []Turn{
			{Conv: "c", ID: "1", Text: "I keep bees", Session: "s"}, {Conv: "c", ID: "2", Text: "The weather is fine"},
			{Conv: "c", ID: "3", Text: "i  keep bees"},
		},
		Questions: []Question{
			{Conv: "c", ID: "q", Text: "bees", Evidence: []string{"1", "3"}},
			{Conv: "c", ID: "p", Text: "weather", Evidence: []string{"2"}},
		},
	}
	o := RetrievalOptions{InMemory: true, Tools: true, Dir: t.TempDir()}
	r := &run{System: lexical, Context: ContextNone}
	err := o.stored(t.Context(), d, r, func(s loci.Store, _ string) error {
		a, err := newAgent(t.Context(), s, d, r)
		if err != nil {
			return err
		}
		if len(a.turns) != 2 || len(a.kept(d).Questions[0].Evidence) != 1 || a.kept(d).Questions[0].Evidence[0] != "1" {
			t.Errorf("%d notes, evidence %v", len(a.turns), a.kept(d).Questions[0].Evidence)
		}
		hits, err := a.find(t.Context(), "c", "bees")
		if err != nil || len(hits) == 0 || hits[0].turn != "1" {
			t.Errorf("hits %v, %v", hits, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
