package loci

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/retrieval"
)

// A nearness is what a new note is to the memories there are; the zero value: nothing.
type nearness struct {
	related, updates ID // see [Stored]
	shown            ID // the note only shows memories, this one first
}

// Bounds of what a write looks at.
const (
	comparedFacts = 4  // that share the most telling words
	comparedWords = 4  // that it searches for
	maxShownLines = 40 // of a text that shows memories; a longer one is stored
)

// compare looks for live memories of the same namespace that a new note is near to.
// Candidates come from the keyword index, by a few words, so that the effort does not
// grow with what the note says; it grows with how many memories have these words.
func (m *Memory) compare(ctx context.Context, draft *factDraft, now time.Time) (n nearness, err error) {
	if n.shown, err = m.shown(ctx, draft, now); err != nil || !n.shown.IsZero() {
		return n, err
	}
	f := Filter{Within: []Namespace{m.view.Namespace}, Exact: true, Kinds: []Kind{KindFact}, At: now}
	near, err := m.sharingWords(ctx, f, retrieval.Telling(plainWords(draft.Text), comparedWords), comparedFacts)
	if err != nil {
		return n, err
	}
	for i := range near {
		switch retrieval.Compare(near[i].Text, draft.Text) {
		case retrieval.Changed:
			return nearness{updates: near[i].ID}, nil
		case retrieval.Rephrased, retrieval.Same: // the same text with other metadata
			if n.related.IsZero() {
				n.related = near[i].ID
			}
		}
	}
	return n, nil
}

// How Loci shows memories to a model, a line each, below headings.
var (
	shownHeading = regexp.MustCompile(`^(# Memory Context|## (Key Facts|Active Rules|Recent Episodes))$`)
	shownFact    = regexp.MustCompile(`^- (?:\[[^\]]+\] \[[^\]]+\]: )?(.+) \(confidence: [01]\.\d\d\)$`)
	shownRule    = regexp.MustCompile(`^- (.+) \(maturity: [a-z_]+, effectiveness: [01]\.\d\d\)$`)
	shownEpisode = regexp.MustCompile(`^- \[\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)\] (.+)$`)
)

// shown returns the first memory of a text that consists of nothing but lines as Loci
// shows them, each with a memory of the namespace that is there. Stored, they would come
// back beside the memories themselves, and be shown and stored again. They confirm
// nothing: that a model repeats what it was told is no evidence.
func (m *Memory) shown(ctx context.Context, draft *factDraft, now time.Time) (first ID, err error) {
	if len(draft.Attributes) > 0 {
		return ID{}, nil
	}
	contents, ok := shownLines(draft.Text)
	if !ok {
		return ID{}, nil
	}
	f := Filter{Within: []Namespace{m.view.Namespace}, Exact: true, Kinds: []Kind{KindFact, KindRule, KindEpisode}, At: now}
	for _, content := range contents {
		near, err := m.sharingWords(ctx, f, content, comparedFacts)
		if err != nil {
			return ID{}, err
		}
		found := ID{}
		for i := range near {
			if normalise(near[i].Text) == normalise(content) {
				found = near[i].ID
				break
			}
		}
		if found.IsZero() {
			return ID{}, nil
		}
		if first.IsZero() {
			first = found
		}
	}
	return first, nil
}

// shownLines are the contents of the lines of a text that shows memories.
func shownLines(text string) (contents []string, ok bool) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || shownHeading.MatchString(line) {
			continue
		}
		content := ""
		for _, form := range []*regexp.Regexp{shownFact, shownRule, shownEpisode} {
			if match := form.FindStringSubmatch(line); match != nil {
				content = match[1]
				break
			}
		}
		if content == "" || len(contents) == maxShownLines {
			return nil, false
		}
		contents = append(contents, content)
	}
	return contents, len(contents) > 0
}
