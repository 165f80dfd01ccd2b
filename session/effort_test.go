//go:build !race

// These tests count work and start no goroutine: the race detector has nothing to see, and
// `make test` runs them without it.

package session_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// byteTokens counts bytes, and how many of them it was asked about.
type byteTokens struct{ counted *int }

func (byteTokens) Name() string { return "bytes" }

func (b byteTokens) Count(text string) int {
	*b.counted += len(text)
	return len(text)
}

// A talker is a language model whose answer is too long.
type talker string

func (talker) Model() string { return "talker" }

func (t talker) Complete(context.Context, loci.Prompt) (loci.Completion, error) {
	return loci.Completion{Text: string(t)}, nil
}

// A store that shows of messages what erases them, and no word.
type closedMessages struct{ loci.Store }

func (c closedMessages) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, page loci.Page,
) ([]loci.Record, string, error) {
	if slices.Contains(f.Kinds, session.KindMessage) && !page.Brief {
		return nil, "", loci.Errorf(loci.Internal, "messages were read whole")
	}
	return c.Store.Records(ctx, t, f, page)
}

// Who clears a session, or asks what that would erase, reads none of its messages.
func TestAClearReadsNoMessage(t *testing.T) {
	s := locitest.OpenMemory()
	m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
	const messages = 1 + 2*1250 // more than two pages
	locitest.Talk(t, m, messages/2)
	h := session.Of(locitest.Bind(t, locitest.NewEngine(t, closedMessages{s}, loci.Options{}), "u"))
	x, err := h.Extent(t.Context(), "s")
	if err != nil || x.Messages != messages {
		t.Fatalf("%d messages would go, %v; want %d", x.Messages, err, messages)
	}
	if done, err := h.ClearExtent(t.Context(), x); err != nil || done.Messages != messages {
		t.Errorf("cleared %+v, %v", done, err)
	}
}

// To count the tokens of a message it is read once.
func TestAMessageIsReadOnceToBeCounted(t *testing.T) {
	counted := 0
	m := locitest.Bind(t,
		locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Tokenizer: byteTokens{&counted}}), "u")
	const messages = 1 + 2*250
	locitest.Talk(t, m, messages/2)
	n := testing.AllocsPerRun(2, func() {
		if done := locitest.Summarise(t, m, session.SummaryOptions{ContextTokens: 10_000_000}); done.Done {
			t.Errorf("summarised %+v", done)
		}
	})
	if n > 40*messages { // 46 where its data are taken apart twice
		t.Errorf("%.0f allocations for %d messages", n, messages)
	}
}

// An answer that is far too long is counted some times, not once for each line that goes.
func TestALongAnswerIsCutInFewSteps(t *testing.T) {
	counted := 0
	m := locitest.Bind(t,
		locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Tokenizer: byteTokens{&counted}}), "u")
	locitest.Talk(t, m, 5)
	answer := strings.Repeat("a line of it\n", 5000)
	counted = 0
	options := session.SummaryOptions{ContextTokens: 300, SummaryTokens: 40, Completer: talker(answer)}
	done := locitest.Summarise(t, m, options)
	if want := strings.TrimSpace(strings.Repeat("a line of it\n", 3)); !done.Done || done.Summary.Text != want {
		t.Errorf("summarised %+v; want %q", done.Summary, want)
	}
	if counted > 50*len(answer) {
		t.Errorf("%d bytes were counted for an answer of %d", counted, len(answer))
	}
}

// Of a long conversation no more is cut into sentences than a summary is picked from.
func TestOnlyTheNewestSentencesAreCut(t *testing.T) {
	counted := 0
	allocated := func(messages int) uint64 {
		m := locitest.Bind(t,
			locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Tokenizer: byteTokens{&counted}}), "u")
		for range messages {
			locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, strings.Repeat("x\n", 50_000)))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if done := locitest.Summarise(t, m, session.SummaryOptions{ContextTokens: 1000, Messages: 1}); !done.Done {
			t.Errorf("summarised %+v", done)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := allocated(3), allocated(13)
	if each := (many - few) / 10; each > 2<<20 {
		t.Errorf("each message more takes %d bytes", each)
	}
}
