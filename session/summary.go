package session

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// A Summary stands for the older messages of a session where a model has no room for
// them. The messages stay.
type Summary struct {
	Text      string    `json:"text"`
	Through   int64     `json:"through_seq"`   // it covers the messages up to this one, all but system messages
	Messages  int64     `json:"message_count"` // that it covers
	Epoch     int64     `json:"epoch"`         // grows with each summary of the session
	By        string    `json:"by"`            // the model that wrote it, or "extractive"
	CreatedAt time.Time `json:"created_at"`
}

// Defaults of [SummaryOptions].
const (
	DefaultSummaryThreshold = 0.85
	DefaultSummaryTarget    = 0.5
	DefaultSummaryMessages  = 6
)

// messageTokens are what a message takes beside its words: role and borders.
const messageTokens = 4

// SummaryOptions say when a session is summarised, and how.
type SummaryOptions struct {
	// ContextTokens is the room a model has for the conversation, 100 to 10,000,000
	// tokens as [loci.Options].Tokenizer counts them.
	ContextTokens int

	Threshold float64 // of the room in use, above which a summary is due; 0 to 1, default 0.85
	Target    float64 // of the room that is in use afterwards; less than Threshold, default 0.5
	Messages  int     // that are not summarised yet, at least; default 6

	// SummaryTokens bounds the summary itself; default a tenth of ContextTokens.
	SummaryTokens int

	// Completer writes the summary. Without one, or if it fails, the summary consists of
	// the most telling sentences. Where the tenant has used up its limit
	// ([loci.Options].ModelTokens), there is none, but a [loci.TokensError].
	Completer loci.Completer

	// TokensPerDay is the budget of prompts and answers of the tenant on a day (UTC),
	// over all processes, those of [loci.Engine.Consolidate] included. A call beyond it
	// is not made. 0: 400,000.
	TokensPerDay int64
}

// Summarised says what [Handle.Summarise] did.
type Summarised struct {
	Session string   `json:"session_id"`
	Done    bool     `json:"done"`              // a new summary was stored
	Summary *Summary `json:"summary,omitempty"` // the new one, or the one there is
	Before  int      `json:"tokens_before"`     // of system messages, summary, and what follows; of much, partly a guess
	After   int      `json:"tokens_after"`
}

func (o *SummaryOptions) check() error {
	o.Threshold = cmp.Or(o.Threshold, DefaultSummaryThreshold)
	o.Target = cmp.Or(o.Target, DefaultSummaryTarget)
	o.Messages = cmp.Or(o.Messages, DefaultSummaryMessages)
	o.SummaryTokens = cmp.Or(o.SummaryTokens, max(16, o.ContextTokens/10))
	o.TokensPerDay = cmp.Or(o.TokensPerDay, loci.DefaultTokensPerDay)
	switch {
	case o.ContextTokens < 100 || o.ContextTokens > 10_000_000:
		return loci.Errorf(loci.Invalid, "context_tokens is %d; it must be 100 to 10000000", o.ContextTokens)
	case !(o.Threshold > 0 && o.Threshold <= 1):
		return loci.Errorf(loci.Invalid, "threshold is %v; it must be above 0, up to 1", o.Threshold)
	case !(o.Target > 0 && o.Target < o.Threshold):
		return loci.Errorf(loci.Invalid, "target is %v; it must be above 0 and below the threshold %v", o.Target, o.Threshold)
	case o.TokensPerDay < 0:
		return loci.Errorf(loci.Invalid, "tokens per day is %d; it must be at least 0", o.TokensPerDay)
	case o.Messages < 1:
		return loci.Errorf(loci.Invalid, "messages is %d; it must be at least 1", o.Messages)
	case o.SummaryTokens < 16 || float64(o.SummaryTokens) > o.Target*float64(o.ContextTokens):
		return loci.Errorf(loci.Invalid, "summary_tokens is %d; it must be 16 to target·context_tokens", o.SummaryTokens)
	}
	return nil
}

// Summarise keeps a conversation within the room a model has. When at least six
// messages are not summarised yet and more than 85 % of the room is in use, the oldest
// of them join the summary, as many as it takes to come down to 50 %, but never the
// newest one, and no call without its result. System messages are never summarised:
// they count, and stay beside the summary. The history stays complete.
//
// If several callers summarise at once, one does the work and the others get its summary.
// Conflict: messages that were being summarised were erased meanwhile. NotFound: there is
// no such session.
func (s *Handle) Summarise(ctx context.Context, id string, o SummaryOptions) (Summarised, error) {
	if err := o.check(); err != nil {
		return Summarised{}, err
	}
	st, err := s.have(ctx, id)
	if err != nil {
		return Summarised{}, err
	}
	w := &summarising{s: s, o: o, tokenizer: s.m.Settings().Tokenizer, st: st}
	w.out = Summarised{Session: id, Summary: st.body.Summary}
	if err := w.measure(ctx); err != nil {
		return Summarised{}, err
	}
	if w.take == 0 {
		w.out.After = w.out.Before
		return w.out, nil
	}
	if w.o.Completer != nil { // which is to see all of it
		if err := w.readAll(ctx); err != nil {
			return Summarised{}, err
		}
	}
	text, by, err := w.write(ctx)
	if err != nil {
		return Summarised{}, err
	}
	return w.store(ctx, text, by)
}

// A summarising is a summary under way.
type summarising struct {
	s         *Handle
	o         SummaryOptions
	st        *state
	from      int64           // the first message that is not summarised yet
	open      []StoredMessage // those that were read, without system messages
	tokens    []int           // of them; uncounted: older than what had to be counted
	older     int             // how many more there are before them
	expected  int             // how many of them are not there any longer
	tokenizer loci.Tokenizer
	system    int // tokens of all system messages
	among     int // how many of these lie among those that join the summary
	used      int // tokens of the summary there is, and of system messages

	size, sum, counted, next int // bytes of those read, tokens and bytes of those counted, and how many these are

	take    int   // how many of the open ones join the summary, beside all older ones
	through int64 // the last of them
	out     Summarised
}

// count is what a message takes of the room.
func (w *summarising) count(m *Message) int {
	data := m.data() // taken apart once for both
	return messageTokens + w.tokenizer.Count(m.speaker(data)+": "+data.words())
}

// measure counts what is in use and decides how many messages join the summary. It reads the newest first, until it is
// certain that all that are older join it.
func (w *summarising) measure(ctx context.Context) error {
	id, end := w.st.body.ID, w.st.body.Last+1
	if w.from = 1; w.st.body.Summary != nil {
		w.from = w.st.body.Summary.Through + 1
		w.used = w.tokenizer.Count(w.st.body.Summary.Text)
	}
	f := w.s.within(id, 1, end)
	f.Statuses = []string{string(MessageSystem)}
	var system []int64 // their numbers
	err := w.s.eachMessage(ctx, f, loci.SlotAscending, func(m StoredMessage) bool {
		w.system += w.count(&m.Message)
		system = append(system, m.Seq)
		return true
	})
	if err != nil {
		return err
	}
	w.used += w.system
	oldest := w.from
	err = w.s.eachMessage(ctx, w.s.within(id, w.from, end), loci.SlotDescending, func(m StoredMessage) bool {
		if m.Type.base() == MessageSystem || !w.read(m) {
			return true
		}
		oldest = m.Seq
		return false
	})
	if err != nil {
		return err
	}
	switch {
	case oldest == w.from:
	case w.from == 1: // to count them takes as long as they are many
		w.older = int(w.st.body.Count) - len(system) - len(w.open)
	default:
		there, err := w.s.m.Count(ctx, w.s.within(id, w.from, oldest))
		if err != nil {
			return err
		}
		w.older = int(there.Records)
		for _, seq := range system {
			if w.from <= seq && seq < oldest {
				w.older--
			}
		}
	}
	w.out.Before = w.used + w.guess()
	if w.older+len(w.open) >= w.o.Messages && float64(w.out.Before) > w.o.Threshold*float64(w.o.ContextTokens) {
		if w.choose(); w.take == 0 && w.older > 0 { // all that was read stays together
			if err := w.readAll(ctx); err != nil {
				return err
			}
			w.choose()
		}
	}
	for _, seq := range system {
		if w.from <= seq && seq <= w.through {
			w.among++
		}
	}
	return nil
}

// uncounted is the number of tokens of a message that nobody has counted.
const uncounted = -1

// countedBytes is how much of a conversation is counted whatever there is to decide.
var countedBytes = 1 << 20

// read takes the next older one of the open messages, and reports whether it is certain what is to be decided: those that
// were read exceed the threshold, and what is older joins the summary whatever it takes. It does not count more than
// it must where nothing can exceed it, since no token is shorter than a byte.
func (w *summarising) read(m StoredMessage) (enough bool) {
	most := int(w.o.Threshold * float64(w.o.ContextTokens))
	w.open, w.tokens = append(w.open, m), append(w.tokens, uncounted) // the newest first, until all are read
	w.size += len(m.Data)
	for ; ; w.next++ {
		little := w.used+w.size+(messageTokens+len("assistant: "))*len(w.open) <= most
		full := w.used+w.sum > most && w.system+w.o.SummaryTokens+w.sum > most
		if w.counted > countedBytes && (little || full) || w.next == len(w.open) {
			return w.counted > countedBytes && full
		}
		w.tokens[w.next] = w.count(&w.open[w.next].Message)
		w.sum, w.counted = w.sum+w.tokens[w.next], w.counted+len(w.open[w.next].Data)
	}
}

// guess is how many tokens the open messages take, partly by those that were counted. They are in order then.
func (w *summarising) guess() int {
	slices.Reverse(w.open)
	slices.Reverse(w.tokens)
	switch {
	case w.older > 0:
		return w.sum + int(float64(w.sum)*float64(w.older+len(w.open)-w.next)/float64(w.next))
	case w.next < len(w.open):
		return w.sum + int(float64(w.sum)*float64(w.size-w.counted)/float64(w.counted))
	}
	return w.sum
}

// earlier reads older messages that join the summary, about a page of them, and returns how many.
func (w *summarising) earlier(ctx context.Context, most int) (int, error) {
	var some []StoredMessage
	f := w.s.within(w.st.body.ID, w.from, w.open[0].Seq)
	err := w.s.eachMessage(ctx, f, loci.SlotDescending, func(m StoredMessage) bool {
		if m.Type.base() != MessageSystem {
			some = append(some, m)
		}
		return len(some) < most
	})
	if err != nil {
		return 0, err
	}
	slices.Reverse(some)
	w.older = max(0, w.older-len(some))
	if len(some) < most { // fewer than there were: some were erased meanwhile, which is seen when it is stored
		w.expected, w.older = w.expected+w.older, 0
	}
	w.open = append(some, w.open...)
	w.tokens = append(slices.Repeat([]int{uncounted}, len(some)), w.tokens...)
	w.take += len(some)
	return len(some), nil
}

// readAll reads all that is older.
func (w *summarising) readAll(ctx context.Context) error {
	if w.older == 0 {
		return nil
	}
	take := w.take
	n, err := w.earlier(ctx, math.MaxInt)
	if take == 0 {
		w.take -= n // it is not decided yet
	}
	return err
}

// tokensOf are the tokens of an open message, which a model is asked for.
func (w *summarising) tokensOf(i int) int {
	if w.tokens[i] == uncounted {
		w.tokens[i] = w.count(&w.open[i].Message)
	}
	return w.tokens[i]
}

// eachMessage calls do for the messages a filter selects, in order, until it returns false.
func (s *Handle) eachMessage(
	ctx context.Context, f loci.Filter, order loci.Order, do func(StoredMessage) bool,
) error {
	for page := (loci.Page{Limit: 500, Order: order, NoText: true}); ; {
		records, next, err := s.m.Records(ctx, f, page)
		if err != nil {
			return err
		}
		for i := range records {
			m, err := readMessage(&records[i])
			if err != nil || !do(m) {
				return err
			}
		}
		if page.Cursor = next; next == "" {
			return nil
		}
	}
}

// choose takes the oldest messages until what is left fits the target, with the
// results of the calls among them.
func (w *summarising) choose() {
	w.take = len(w.open) - 1
	left := w.system + w.o.SummaryTokens + w.tokens[w.take]
	for w.take > 0 && w.tokens[w.take-1] != uncounted &&
		float64(left+w.tokens[w.take-1]) <= w.o.Target*float64(w.o.ContextTokens) {
		w.take--
		left += w.tokens[w.take]
	}
	for w.take < len(w.open) && w.open[w.take].isResult() {
		w.take++
	}
	if w.take == len(w.open) { // the newest is a result: it stays, with its call
		for w.take--; w.take > 0 && w.open[w.take].isResult(); w.take-- {
		}
	}
	if w.take > 0 {
		w.through = w.open[w.take-1].Seq
	}
}

// store stores a summary, unless another one was stored since this one was begun.
func (w *summarising) store(ctx context.Context, text, by string) (Summarised, error) {
	s, id := w.s, w.st.body.ID
	return loci.Commit(ctx, s.m, "summarise session", nil, func(now time.Time) (d loci.Decision[Summarised], err error) {
		st, err := s.have(ctx, id)
		if err != nil {
			return d, err
		}
		d.Reply = w.out
		if st.record.ID != w.st.record.ID || epochOf(st) != epochOf(w.st) {
			d.Reply.Summary, d.Reply.After = st.body.Summary, w.out.Before
			return d, nil
		}
		covered := int64(w.older + w.expected + w.take)
		there := loci.Counts{Records: covered + int64(w.among)} // all of it, where none went
		if st.body.Count-w.st.body.Count != st.body.Last-w.st.body.Last || w.expected > 0 {
			if there, err = s.m.Count(ctx, s.within(id, w.from, w.through+1)); err != nil {
				return d, err
			}
		}
		if there.Records < covered+int64(w.among) {
			return d, &loci.Error{Code: loci.Conflict, Op: "summarise session", Msg: "messages that were being summarised were erased meanwhile", Recovery: "Try again."}
		}
		if st.body.Summary != nil {
			covered += st.body.Summary.Messages
		}
		st.body.Summary = &Summary{
			Text: text, Through: w.through, Messages: covered, Epoch: epochOf(st) + 1, By: by, CreatedAt: now,
		}
		d.Record, d.Reply.Done, d.Reply.Summary = st.record.ID, true, st.body.Summary
		d.Reply.After = w.system + s.m.Settings().Tokenizer.Count(text)
		for i := w.take; i < len(w.open); i++ {
			d.Reply.After += w.tokensOf(i)
		}
		d.Change, err = s.change(ctx, st, now, loci.EventUpdated, map[string]any{"through": w.through, "epoch": st.body.Summary.Epoch})
		return d, err
	})
}

func epochOf(st *state) int64 {
	if st.body.Summary == nil {
		return 0
	}
	return st.body.Summary.Epoch
}
