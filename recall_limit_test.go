package loci_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A recall returns no more than were asked for, though the best by words are not those by similarity.
func TestRecallKeepsToItsLimit(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{
		Embedder: &locitest.WordEmbedder{Name: "w"}}), "u")
	for i := range 12 {
		locitest.Save(t, m, fmt.Sprintf("zebra %d%s", i, strings.Repeat(" zebra crossing", i)+strings.Repeat(" road", 12-i)))
	}
	for limit := 1; limit <= 12; limit++ {
		if got := recall(t, m, loci.RecallQuery{Topic: "zebra crossing road", Limit: limit}); len(got.Memories) != limit {
			t.Errorf("%d of %d memories", len(got.Memories), limit)
		}
	}
}
