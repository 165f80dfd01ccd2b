package view

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// A Found is a memory as a search finds it.
type Found struct {
	Entry
	Score   float64       `json:"score"`
	Passage string        `json:"passage"`
	Explain *loci.Explain `json:"explain,omitempty"`
	Speaker string        `json:"speaker,omitempty"` // who said it, where that is known
}

// Results are what a search found, the best first.
type Results struct {
	Results     []Found `json:"results"`
	KeywordOnly bool    `json:"keyword_only"`
	NoWords     bool    `json:"no_words,omitzero"` // see [loci.Result]

	Corrections []loci.Correction `json:"corrections,omitempty"` // see [loci.Result]
	Times       []loci.NamedTime  `json:"times,omitempty"`       // see [loci.Result]
}

// Search finds memories of the kinds and states given; of query Kinds does not count. No
// kinds: those that stand for themselves. A file is found by each of its passages that fits.
// Invalid: a session or a thread, which has no text of its own.
func Search(
	ctx context.Context, m *loci.Memory, query loci.Query, kinds []loci.Kind, states []State,
) (out Results, err error) {
	if err := checkNames(m, kinds, states); err != nil {
		return out, err
	}
	if query.Kinds, err = searched(m, kinds); err != nil {
		return out, err
	}
	for _, state := range states {
		if !slices.Contains(Current, state) {
			return out, &loci.Error{Code: loci.Invalid, Msg: "a search finds no memories that are " + string(state),
				Recovery: "List them by this state."}
		}
	}
	// What a filter of the store does not know is left out afterwards.
	s := selection{shapes: shapes(m), names: kinds, states: states}
	if len(states) == 0 {
		s.states = Current
	}
	if err := query.Check(); err != nil {
		return out, err
	}
	if strings.TrimSpace(query.Text) == "" && slices.ContainsFunc(s.shapes, func(s shape) bool {
		return !s.memory && slices.Contains(kinds, s.name)
	}) {
		return out, &loci.Error{Code: loci.Invalid, Msg: "query must not be empty in a search of files or messages",
			Recovery: "List them by their kind."}
	}
	narrowed := slices.Contains(kinds, KindNote) != slices.Contains(kinds, loci.KindFact) || len(states) > 0
	limit, offset := query.Limit, query.Offset
	if narrowed {
		query.Limit, query.Offset = loci.MaxSearchLimit, 0
	}
	found, err := m.Search(ctx, query)
	if err != nil {
		return out, err
	}
	out.Results, out.KeywordOnly, out.NoWords = []Found{}, found.KeywordOnly, found.NoWords
	out.Corrections, out.Times = found.Corrections, found.Times
	shown, err := Matched(ctx, m, found.Matches, found.At)
	if err != nil {
		return out, err
	}
	for _, f := range shown {
		if f != nil && s.takes(&f.Entry) {
			out.Results = append(out.Results, *f)
		}
	}
	if narrowed {
		out.Results = out.Results[min(offset, len(out.Results)):min(offset+limit, len(out.Results))]
	}
	return out, nil
}

// Matched shows the memories that matches are of, in their order: of a passage of a file the
// file. nil: it was erased since.
func Matched(ctx context.Context, m *loci.Memory, matches []loci.Match, at time.Time) ([]*Found, error) {
	all := shapes(m)
	owners, err := ownersOf(ctx, m, all, matches)
	if err != nil {
		return nil, err
	}
	out := make([]*Found, len(matches))
	for i := range matches {
		match := &matches[i]
		r := &match.Record
		if isPart(all, r.Kind) {
			if r = owners[r.Sequence]; r == nil {
				continue
			}
		}
		e, err := entryOf(ctx, m, all, r, at, false)
		if err != nil {
			return nil, err
		}
		out[i] = &Found{e, match.Score, passage(match, &e), &match.Explain, match.Speaker}
	}
	return out, nil
}

// searched are the kinds of records that a search for some kinds of memories looks through.
func searched(m *loci.Memory, kinds []loci.Kind) (out []loci.Kind, err error) {
	for _, s := range shapes(m) {
		asked := slices.Contains(kinds, s.name) || s.kind == loci.KindFact && slices.Contains(kinds, KindNote)
		if asked && s.found == "" {
			return nil, &loci.Error{Code: loci.Invalid, Msg: "a " + string(s.name) + " has no text of its own to search",
				Recovery: "List them; of a session, search the messages."}
		}
		if asked || s.memory && len(kinds) == 0 {
			out = append(out, s.found)
		}
	}
	return out, nil
}

// isPart reports whether a search shows what records of a kind are parts of.
func isPart(all []shape, kind loci.Kind) bool {
	return !slices.ContainsFunc(all, func(s shape) bool { return s.kind == kind })
}

// ownersOf reads what the parts among the matches are parts of, by the sequence of the parts.
func ownersOf(ctx context.Context, m *loci.Memory, all []shape, matches []loci.Match) (map[string]*loci.Record, error) {
	owners := map[string]*loci.Record{}
	f := reach(m, m.Now())
	for i := range matches {
		r := &matches[i].Record
		if _, known := owners[r.Sequence]; known || !isPart(all, r.Kind) {
			continue
		}
		id, err := loci.ParseID(r.Sequence)
		if err != nil {
			return nil, &loci.Error{Code: loci.Internal, Op: "search", Err: err}
		}
		owners[r.Sequence] = nil
		f.IDs = append(f.IDs, id)
	}
	if len(f.IDs) == 0 {
		return owners, nil
	}
	records, _, err := m.Records(ctx, f, loci.Page{Limit: len(f.IDs)})
	for i := range records {
		owners[records[i].ID.String()] = &records[i]
	}
	return owners, err
}

// passage is what fits best in a match: without what a record has before its content, such
// as the name of a speaker.
func passage(match *loci.Match, e *Entry) string {
	before, ok := strings.CutSuffix(match.Record.Text, e.Content)
	if !ok || e.Content == "" || !strings.HasPrefix(match.Record.Text, match.Passage) {
		return match.Passage
	}
	return strings.TrimPrefix(match.Passage, before)
}
