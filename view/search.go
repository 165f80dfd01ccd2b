package view

import (
	"context"
	"errors"
	"fmt"
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

	NotReranked string `json:"not_reranked,omitempty"` // see [loci.Result]

	Corrections []loci.Correction `json:"corrections,omitempty"` // see [loci.Result]
	Times       []loci.NamedTime  `json:"times,omitempty"`       // see [loci.Result]
}

// Search finds memories of the kinds and states given; of query Kinds does not count. No
// kinds: those that stand for themselves. How files, messages and sessions are found, and how much, says [Look].
func Search(
	ctx context.Context, m *loci.Memory, query loci.Query, kinds []loci.Kind, states []State,
) (out Results, err error) {
	if err := checkNames(m, kinds, states); err != nil {
		return out, err
	}
	for _, state := range states {
		if !slices.Contains(Current, state) {
			return out, &loci.Error{Code: loci.Invalid, Msg: "a search finds no memories that are " + string(state),
				Recovery: "List them by this state."}
		}
	}
	// What a filter of the store does not know is left out afterwards.
	s := selection{shapes: shapes(m), names: kinds, states: states, stated: len(states) > 0}
	if len(states) == 0 {
		s.states = Current
	}
	found, err := look(ctx, m, query, kinds, &s)
	if err != nil {
		return out, err
	}
	out.Results, out.KeywordOnly, out.NoWords = make([]Found, len(found.Sights)), found.KeywordOnly, found.NoWords
	out.Corrections, out.Times, out.NotReranked = found.Corrections, found.Times, found.NotReranked
	for i := range found.Sights {
		out.Results[i] = *found.Sights[i].Found
	}
	return out, nil
}

// A Sight is something that a search found.
type Sight struct {
	Match *loci.Match
	Found *Found // a message, or what the match is a part of; nil: a memory of its own
}

// Sights are what [Look] found, the best first, and what [loci.Result] says with it.
type Sights struct {
	loci.Result
	Sights []Sight
}

// Look searches memories of kinds; of query Kinds does not count. No kinds: those that
// stand for themselves. A file is found by each of its passages that fits, a session once, by
// the message that fits best; with sessions, messages are not shown on their own. A thread is
// found by its name: nothing reads what a graph keeps in it. What was erased meanwhile is left
// out. Invalid: an unknown kind; one that no search finds; sessions beside messages; no text,
// with kinds that do not stand for themselves. TooLarge: what is found holds more than 32 MiB, or [loci.Query.MaxBytes].
func Look(ctx context.Context, m *loci.Memory, query loci.Query, kinds []loci.Kind) (Sights, error) {
	if err := checkNames(m, kinds, nil); err != nil {
		return Sights{}, err
	}
	return look(ctx, m, query, kinds, nil)
}

// look is Look, of checked kinds. With a selection it shows every match, and leaves out what
// is not selected.
func look(
	ctx context.Context, m *loci.Memory, query loci.Query, kinds []loci.Kind, s *selection,
) (out Sights, err error) {
	if err := query.Check(); err != nil {
		return out, err
	}
	g := gatherer{m: m, all: shapes(m), selection: s, known: map[wholeKey]*loci.Record{}}
	if g.wanted, err = searched(g.all, kinds, query.Text); err != nil {
		return out, err
	}
	query.Kinds = nil
	for i := range g.wanted {
		query.Kinds = append(query.Kinds, g.wanted[i].found)
	}
	first, end := query.Offset, query.Offset+query.Limit
	narrowed := s != nil && s.narrows() || slices.ContainsFunc(g.wanted, func(w shape) bool { return w.once })
	if narrowed { // how many matches make a page is seen only when they are shown
		query.Limit, query.Offset = loci.MaxSearchLimit, 0
	}
	if query.MaxBytes == 0 {
		query.MaxBytes = mostListed
	}
	for { // of what is not asked for, as much is read as there is room for
		if out.Result, err = m.Search(ctx, query); query.Limit <= end || !errors.Is(err, loci.ErrTooMuch) {
			break
		}
		query.Limit = max(end, query.Limit/2)
	}
	if err != nil {
		return out, err
	}
	left := narrowed && query.Limit < loci.MaxSearchLimit && len(out.Matches) == query.Limit
	for i := range out.Matches {
		sight, err := g.sight(ctx, &out.Matches[i], out.At)
		if err != nil {
			return out, err
		}
		if sight != nil {
			out.Sights = append(out.Sights, *sight)
		}
		if narrowed && len(out.Sights) == end {
			break
		}
	}
	if left && len(out.Sights) < end {
		return Sights{}, &loci.Error{Code: loci.TooLarge, Err: loci.ErrTooMuch,
			Msg:      fmt.Sprintf("the matches, of which some are left out, have more than %d bytes, the limit of one search", query.MaxBytes),
			Recovery: "Ask for fewer by limit or offset, or for a better score by min_score."}
	}
	if narrowed {
		out.Sights = out.Sights[min(first, len(out.Sights)):]
	}
	return out, nil
}

// narrows reports whether a selection may leave out some of the records of its kinds.
func (s *selection) narrows() bool {
	return slices.Contains(s.names, KindNote) != slices.Contains(s.names, loci.KindFact) || s.stated
}

// searched are the shapes that a search for some kinds of memories looks for.
func searched(all []shape, kinds []loci.Kind, text string) (wanted []shape, err error) {
	for _, s := range all {
		asked := slices.Contains(kinds, s.name) || s.kind == loci.KindFact && slices.Contains(kinds, KindNote)
		switch {
		case asked && s.found == "":
			return nil, &loci.Error{Code: loci.Invalid, Msg: "a search does not read what a " + string(s.name) + " holds",
				Recovery: "List them."}
		case asked && !s.memory && strings.TrimSpace(text) == "":
			return nil, &loci.Error{Code: loci.Invalid, Msg: "query must not be empty in a search of files, messages, sessions or threads",
				Recovery: "List them by their kind."}
		}
		if asked || s.memory && len(kinds) == 0 {
			if i := slices.IndexFunc(wanted, func(w shape) bool { return w.found == s.found }); i >= 0 {
				return nil, loci.Errorf(loci.Invalid, "a search finds a %s by its %s, so it cannot show both: name one of the two kinds",
					wanted[i].name, s.name)
			}
			wanted = append(wanted, s)
		}
	}
	return wanted, nil
}

// A gatherer shows the matches of a search.
type gatherer struct {
	m         *loci.Memory
	all       []shape
	wanted    []shape
	selection *selection                // nil: memories of their own are not shown
	known     map[wholeKey]*loci.Record // what parts are parts of; nil: it was erased
}

type wholeKey struct {
	kind     loci.Kind
	place    string
	sequence string
}

// sight shows what a match is of; nil: nothing that is there and selected, or what was shown before.
func (g *gatherer) sight(ctx context.Context, match *loci.Match, at time.Time) (*Sight, error) {
	r := &match.Record
	i := slices.IndexFunc(g.wanted, func(s shape) bool { return s.found == r.Kind })
	if i < 0 {
		return nil, loci.Errorf(loci.Internal, "a search found a record of kind %s, which it did not look for", r.Kind)
	}
	s := &g.wanted[i]
	if s.memory && g.selection == nil {
		return &Sight{Match: match}, nil
	}
	if s.kind != r.Kind {
		key := wholeKey{s.kind, r.Namespace.Key(), r.Sequence}
		whole, known := g.known[key]
		if known && s.once {
			return nil, nil
		}
		if !known {
			var err error
			if whole, err = g.whole(ctx, s, r); err != nil {
				return nil, err
			}
			g.known[key] = whole
		}
		if r = whole; r == nil {
			return nil, nil
		}
	}
	e, err := entryOf(ctx, g.m, g.all, r, at, false)
	if err != nil || g.selection != nil && !g.selection.takes(&e) {
		return nil, err
	}
	return &Sight{match, &Found{e, match.Score, passage(match, &e), &match.Explain, match.Speaker}}, nil
}

// whole reads what a record is a part of; nil: it was erased.
func (g *gatherer) whole(ctx context.Context, s *shape, part *loci.Record) (*loci.Record, error) {
	f, err := s.whole(part)
	if err != nil {
		return nil, err
	}
	if f.Kinds, f.NotLive, f.At = []loci.Kind{s.kind}, true, g.m.Now(); len(f.Within) == 0 {
		f.Within = reach(g.m, f.At).Within
	}
	records, _, err := g.m.Records(ctx, f, loci.Page{Limit: 1})
	if err != nil || len(records) == 0 {
		return nil, err
	}
	return &records[0], nil
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
