package session

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// Defaults of [Handle.Retrieve].
const (
	DefaultRetrieveBudget = 1000 // tokens
	DefaultRetrieveRecent = 20   // messages
	retrieveCandidates    = 20   // of each source
)

// A RetrieveQuery asks for what a model should be reminded of when a message comes.
type RetrieveQuery struct {
	Text string // the new message; of a long one the first 16 KiB count

	// TokenBudget is the number of tokens the whole text has at most, 0 to 200,000.
	// Nil: 1000.
	TokenBudget *int

	// Recent is how many of the newest messages of the session the model sees anyway;
	// they are not looked through. 0: those its summary does not cover, else 20.
	Recent int

	// MinScore leaves out what has a score below it, 0 to 1. Nil: [loci.FloorScore].
	MinScore *float64

	// Clean, when not nil, is given every stored text before it is shown and counted.
	Clean func(text string) string
}

// A Reminder is a note or a message that a model is reminded of.
type Reminder struct {
	Note  loci.ID `json:"note_id,omitzero"`
	Seq   int64   `json:"seq,omitzero"` // of a message
	Score float64 `json:"score"`
}

// Retrieved is a text for a model beside the conversation, and what is in it.
type Retrieved struct {
	Text        string     `json:"text"`
	Tokens      int        `json:"tokens"`
	Budget      int        `json:"token_budget"`
	Tokenizer   string     `json:"tokenizer"`
	Shown       []Reminder `json:"shown"` // by score
	KeywordOnly bool       `json:"keyword_only,omitzero"`
}

// Retrieve finds the notes of the handle and the older messages of a session that matter
// for a new message, and makes a text of them: the best that fit the budget, notes by
// score, messages in their order. Stored text is fenced as in [loci.Memory.Context]. A
// session that does not exist has no messages.
func (s *Handle) Retrieve(ctx context.Context, id string, q RetrieveQuery) (Retrieved, error) {
	check := loci.ContextQuery{Prompt: q.Text, TokenBudget: q.TokenBudget}
	if q.TokenBudget == nil {
		check.TokenBudget = new(DefaultRetrieveBudget)
	}
	text, budget, err := check.Check()
	if err != nil {
		e := *loci.AsError(err)
		e.Msg = strings.ReplaceAll(e.Msg, "trigger_prompt", "query")
		return Retrieved{}, &e
	}
	if q.Recent < 0 {
		return Retrieved{}, loci.Errorf(loci.Invalid, "recent is %d; it must be at least 0", q.Recent)
	}
	least := loci.FloorScore
	if q.MinScore != nil {
		least = *q.MinScore
	}
	if err := checkSessionID(id); err != nil {
		return Retrieved{}, err
	}
	w := &reminding{count: s.m.Settings().Tokenizer.Count, clean: q.Clean, budget: budget}
	if w.clean == nil {
		w.clean = func(text string) string { return text }
	}
	out := Retrieved{Budget: budget, Tokenizer: s.m.Settings().Tokenizer.Name(), Shown: []Reminder{}}
	if out.KeywordOnly, err = s.remind(ctx, id, text, least, q.Recent, w); err != nil {
		return Retrieved{}, err
	}
	out.Text, out.Tokens = w.fit()
	for _, it := range w.items {
		if it.shown {
			out.Shown = append(out.Shown, it.Reminder)
		}
	}
	return out, nil
}

// remind searches both sources.
func (s *Handle) remind(
	ctx context.Context, id, text string, least float64, recent int, w *reminding,
) (keywordOnly bool, err error) {
	notes, err := s.m.Search(ctx, loci.Query{Text: text, Kinds: []loci.Kind{loci.KindFact}, Limit: retrieveCandidates,
		MinScore: least, Rerank: new(bool)}) // the floor is one of scores; and somebody waits for each turn
	if err != nil {
		return false, err
	}
	for i := range notes.Matches {
		match := &notes.Matches[i]
		w.add(Reminder{Note: match.Record.ID, Score: match.Score}, "- "+loci.Fence(w.clean(match.Passage)))
	}
	before, err := s.older(ctx, id, recent)
	if err != nil || before <= 1 {
		return notes.KeywordOnly, err
	}
	f := s.within(id, 1, before)
	f.At, f.NotLive = s.m.Now(), false
	query := loci.Query{Text: text, Limit: retrieveCandidates, MinScore: least, Rerank: new(bool)}
	if err := query.Check(); err != nil {
		return false, err
	}
	said, err := s.m.SearchWhere(ctx, f, query)
	if err != nil {
		return false, err
	}
	for i := range said.Matches {
		hit, err := sessionHit(&said.Matches[i])
		if err != nil {
			return false, err
		}
		w.add(Reminder{Seq: hit.Seq, Score: hit.Score},
			"- ["+loci.ShowTime(hit.CreatedAt)+"] "+loci.Fence(w.clean(hit.Speaker)+": "+w.clean(hit.Passage)))
	}
	return notes.KeywordOnly || said.KeywordOnly, nil
}

// older is the number of the first message that the model sees anyway.
func (s *Handle) older(ctx context.Context, id string, recent int) (int64, error) {
	st, err := s.find(ctx, id)
	switch {
	case err != nil || st == nil:
		return 0, err
	case recent == 0 && st.body.Summary != nil:
		return st.body.Summary.Through + 1, nil
	}
	return st.body.Last + 1 - int64(cmp.Or(recent, DefaultRetrieveRecent)), nil
}

// A reminding chooses what fits a budget.
type reminding struct {
	count  func(string) int
	clean  func(string) string
	budget int
	items  []*reminderLine
}

type reminderLine struct {
	Reminder
	line  string
	shown bool
}

func (w *reminding) add(r Reminder, line string) {
	w.items = append(w.items, &reminderLine{Reminder: r, line: line + "\n"})
}

// fit shows the best that fit, one by one, and skips what does not fit.
func (w *reminding) fit() (text string, tokens int) {
	slices.SortStableFunc(w.items, func(a, b *reminderLine) int { return cmp.Compare(b.Score, a.Score) })
	for _, it := range w.items {
		it.shown = true
		next := w.text()
		if n := w.count(next); n <= w.budget {
			text, tokens = next, n
			continue
		}
		it.shown = false
	}
	return text, tokens
}

func (w *reminding) text() string {
	var notes, messages []*reminderLine
	for _, it := range w.items {
		switch {
		case !it.shown:
		case it.Seq > 0:
			messages = append(messages, it)
		default:
			notes = append(notes, it)
		}
	}
	slices.SortFunc(messages, func(a, b *reminderLine) int { return cmp.Compare(a.Seq, b.Seq) })
	var b strings.Builder
	b.WriteString("# Relevant Memory\n")
	for _, section := range []struct {
		heading string
		items   []*reminderLine
	}{{"\n## Notes\n", notes}, {"\n## Earlier in This Conversation\n", messages}} {
		if len(section.items) > 0 {
			b.WriteString(section.heading)
			for _, it := range section.items {
				b.WriteString(it.line)
			}
		}
	}
	return b.String()
}
