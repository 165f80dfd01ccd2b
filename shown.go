package loci

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/shown"
)

// shown returns the first memory of a text that only repeats memories in the form in which Loci shows them: a context,
// the reply of a search, a list. Each of them must exist. Such a text is not stored: it would come back beside the
// memories themselves, and be shown and stored again. It confirms nothing either: a model that repeats what it was told
// is no evidence.
func (m *Memory) shown(ctx context.Context, draft *factDraft, now time.Time) (first ID, err error) {
	if len(draft.Attributes) > 0 {
		return ID{}, nil
	}
	all := shown.Memories(draft.Text, func(id string) bool { _, err := ParseID(id); return err == nil })
	for _, s := range all {
		id, err := m.shownOne(ctx, s, now)
		if err != nil || id.IsZero() {
			return ID{}, err
		}
		if first.IsZero() {
			first = id
		}
	}
	return first, nil
}

// shownOne finds the memory that is shown; zero: there is none.
func (m *Memory) shownOne(ctx context.Context, s shown.Memory, now time.Time) (ID, error) {
	id, _ := ParseID(s.ID) // zero: it is found by its words
	f := m.readable(now)
	var candidates []Record
	var err error
	if id.IsZero() {
		candidates, err = m.sharingWords(ctx, f, s.Content, comparedFacts)
	} else {
		f.IDs = []ID{id}
		candidates, _, err = m.engine.store.Records(ctx, m.view.Tenant, f, Page{Limit: 1})
	}
	if err != nil {
		return ID{}, err
	}
	for i := range candidates {
		r := &candidates[i]
		if id.IsZero() {
			line, err := contextLine(r, now, func(text string) string { return text })
			if err != nil {
				return ID{}, err
			}
			if normalise(shown.LineContent(strings.TrimSpace(line))) == normalise(s.Content) {
				return r.ID, nil
			}
		} else if shows(r, s.Content) {
			return r.ID, nil
		}
	}
	return ID{}, nil
}

// shows reports whether a text is that of a record, or a passage of it, with or without its key.
func shows(r *Record, content string) bool {
	content = shown.WithoutKey(content)
	texts := []string{r.Text}
	if value, _, err := splitAttributes(r.Attributes); err == nil && value != nil {
		texts = append(texts, string(value))
	}
	for _, p := range r.Passages {
		texts = append(texts, p.Of(r.Text))
	}
	return slices.ContainsFunc(texts, func(text string) bool { return normalise(text) == normalise(content) })
}
