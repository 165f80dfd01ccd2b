package loci

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxShown bounds the memories of a text that shows memories; a longer one is stored.
const maxShown = 40

// A shownMemory is what a line or an element of a text says of a memory.
type shownMemory struct {
	id      ID     // zero: it is found by its words
	content string // with an id: its text or a passage of it; else the line, see [lineContent]
}

// How Loci shows memories to a model: lines below headings, see [Memory.Context].
var (
	shownHeading = regexp.MustCompile(`^(# Memory Context|## (Key Facts|Active Rules|Recent Episodes))$`)
	shownKey     = regexp.MustCompile(`^- \[[^\[\]]+\] \[[^\[\]]+\]: .`)
	shownScores  = regexp.MustCompile(` \((confidence: [01]\.\d\d|maturity: [a-z_]+, effectiveness: [01]\.\d\d)\)$`)
	shownTime    = regexp.MustCompile(`^- \[\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)\] `)
)

// shown returns the first memory of a text that consists of nothing but memories as
// Loci shows them, all of them there: a context, the reply of a search, a list. Stored,
// it would come back beside the memories themselves, and be shown and stored again. It
// confirms nothing: that a model repeats what it was told is no evidence.
func (m *Memory) shown(ctx context.Context, draft *factDraft, now time.Time) (first ID, err error) {
	if len(draft.Attributes) > 0 {
		return ID{}, nil
	}
	all := shownMemories(draft.Text)
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
func (m *Memory) shownOne(ctx context.Context, s shownMemory, now time.Time) (ID, error) {
	f := m.readable(now)
	var candidates []Record
	var err error
	if s.id.IsZero() {
		candidates, err = m.sharingWords(ctx, f, s.content, comparedFacts)
	} else {
		f.IDs = []ID{s.id}
		candidates, _, err = m.engine.store.Records(ctx, m.view.Tenant, f, Page{Limit: 1})
	}
	if err != nil {
		return ID{}, err
	}
	for i := range candidates {
		r := &candidates[i]
		if s.id.IsZero() {
			line, err := contextLine(r, now, func(text string) string { return text })
			if err != nil {
				return ID{}, err
			}
			if normalise(lineContent(strings.TrimSpace(line))) == normalise(s.content) {
				return r.ID, nil
			}
		} else if shows(r, s.content) {
			return r.ID, nil
		}
	}
	return ID{}, nil
}

// shows reports whether a text is that of a record, or a passage of it, with or
// without its key.
func shows(r *Record, content string) bool {
	if _, after, keyed := strings.Cut(content, "]: "); keyed && shownKey.MatchString("- "+content) {
		content = after
	}
	texts := []string{r.Text}
	if value, _, err := splitAttributes(r.Attributes); err == nil && value != nil {
		texts = append(texts, string(value))
	}
	for _, p := range r.Passages {
		texts = append(texts, p.Of(r.Text))
	}
	return slices.ContainsFunc(texts, func(text string) bool { return normalise(text) == normalise(content) })
}

// shownMemories takes a text apart that shows memories; nil: it says something else.
func shownMemories(text string) []shownMemory {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		if all := shownElements(text); all != nil {
			return all
		}
	}
	var all []shownMemory
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || shownHeading.MatchString(line) {
			continue
		}
		s, ok := shownLine(line)
		if !ok || len(all) == maxShown {
			return nil
		}
		all = append(all, s)
	}
	return all
}

// shownLine reads a line of a context, or one of columns: one of them an id, the last
// one the text.
func shownLine(line string) (s shownMemory, ok bool) {
	if columns := strings.Split(line, "\t"); len(columns) > 1 {
		for _, c := range columns[:len(columns)-1] {
			if id, err := ParseID(strings.TrimPrefix(c, notePrefix)); err == nil {
				return shownMemory{id, columns[len(columns)-1]}, true
			}
		}
		return s, false
	}
	if !shownScores.MatchString(line) && !shownTime.MatchString(line) && !shownKey.MatchString(line) {
		return s, false
	}
	return shownMemory{content: lineContent(line)}, true
}

// lineContent is a line of a context without what changes from one time to another.
func lineContent(line string) string {
	if at := shownTime.FindString(line); at != "" {
		return line[len(at):]
	}
	return strings.TrimPrefix(shownScores.ReplaceAllString(line, ""), "- ")
}

// notePrefix stands before the ids of notes where a model sees them.
const notePrefix = "note-"

// shownElements reads the reply of a search: a list of objects, alone or under
// "results", each with the id and the text of a memory.
func shownElements(text string) []shownMemory {
	var wrapped struct {
		Results json.RawMessage `json:"results"`
	}
	if json.Unmarshal([]byte(text), &wrapped) == nil && wrapped.Results != nil {
		text = string(wrapped.Results)
	}
	var elements []struct {
		ID      string `json:"id"`
		NoteID  string `json:"note_id"`
		Key     string `json:"key"`
		Text    string `json:"text"`
		Content string `json:"content"`
		Passage string `json:"passage"`
		Value   struct {
			Content json.RawMessage `json:"content"`
		} `json:"value"`
	}
	if json.Unmarshal([]byte(text), &elements) != nil || len(elements) > maxShown {
		return nil
	}
	var all []shownMemory
	for _, e := range elements {
		var value string
		if json.Unmarshal(e.Value.Content, &value) != nil {
			value = string(e.Value.Content)
		}
		id, err := ParseID(strings.TrimPrefix(e.NoteID+e.ID+e.Key, notePrefix))
		if err != nil {
			return nil
		}
		all = append(all, shownMemory{id, cmp.Or(e.Text, e.Content, e.Passage, value)})
	}
	return all
}
