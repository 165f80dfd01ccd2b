// Package when finds the times that a text names: dates, months, years, "last week of
// August", "gestern", "去年", in seven languages. It is pure; the clock is the caller's.
package when

import (
	"strings"
	"time"
)

// A Span is a time that a text names.
type Span struct {
	Text  string    `json:"text"`           // as it stands in the text
	Since time.Time `json:"since,omitzero"` // its first moment; zero: it has no beginning
	Until time.Time `json:"until,omitzero"` // the moment after its last; zero: it has no end

	// Yearly is set where no year is named: Since and Until are those of the latest one.
	Yearly bool `json:"yearly,omitzero"`
}

// Bounds of what is read, and of what is found in it.
const (
	MaxBytes = 8 << 10
	MaxSpans = 4
)

// Find returns the times that a text names, in their order, as of a moment: "yesterday"
// is the day before now, in the time zone of now. A time that may lie in the past or in
// the future is taken as the past one, since memories are asked about what was.
func Find(text string, now time.Time) []Span {
	if len(text) > MaxBytes {
		text = text[:MaxBytes]
	}
	raw := tokenize(text)
	if len(raw) == 0 {
		return nil
	}
	var out []Span
	parsers := parsersOf(raw, now)
	for i := 0; i < len(raw) && len(out) < MaxSpans; {
		var best found
		for p := range parsers {
			if f := parsers[p].at(i); f.end > best.end {
				best = f
			}
		}
		if best.end <= i {
			i++
			continue
		}
		first, last := raw[i], raw[best.end-1]
		best.Text = text[first.from:last.to]
		out = append(out, best.Span)
		i = best.end
	}
	return out
}

// In reports whether a moment is at or after since and before until; zero bounds nothing.
func In(at, since, until time.Time) bool {
	return (since.IsZero() || !at.Before(since)) && (until.IsZero() || at.Before(until))
}

// Without is a text without the times that were found in it.
func Without(text string, spans []Span) string {
	for i := range spans {
		text = strings.Replace(text, spans[i].Text, " ", 1)
	}
	return text
}

// Near says how well a moment fits what was asked for, 0 to 1: 1 inside of one of the
// spans, less up to a span's own length beside it, at least a day and at most a week: a day
// has other bounds where the asker lives. Without a year any other year counts half.
func Near(spans []Span, at time.Time) (best float64) {
	for i := range spans {
		s := &spans[i]
		best = max(best, s.near(at))
		if s.Yearly {
			for years := -30; years <= 1; years++ {
				if years != 0 {
					other := s.moved(years)
					best = max(best, 0.5*other.near(at))
				}
			}
		}
	}
	return best
}

// slack is how far beside the span something may lie.
func (s *Span) slack() time.Duration {
	if s.Since.IsZero() || s.Until.IsZero() {
		return 7 * day
	}
	return min(7*day, max(day, s.Until.Sub(s.Since)))
}

const day = 24 * time.Hour

func (s *Span) near(at time.Time) float64 {
	beside := time.Duration(0)
	switch {
	case !s.Since.IsZero() && at.Before(s.Since):
		beside = s.Since.Sub(at)
	case !s.Until.IsZero() && !at.Before(s.Until):
		beside = at.Sub(s.Until) + 1
	}
	return max(0, 1-float64(beside)/float64(s.slack()))
}

// moved is the span some years later.
func (s *Span) moved(years int) Span {
	out := *s
	out.Since, out.Until = s.Since.AddDate(years, 0, 0), s.Until.AddDate(years, 0, 0)
	return out
}

// Names says how much of a time that a text names was asked for, 0 to 1: a day in May counts
// in full for May, May little for a day of it. said is when the text was: its "yesterday" is
// the day before. An open span, such as "since May", is no time that something was at.
func Names(spans []Span, text string, said time.Time) (best float64) {
	for _, told := range Find(text, said) {
		if told.Since.IsZero() || told.Until.IsZero() {
			continue
		}
		best = max(best, overlap(spans, &told))
		if told.Yearly { // "in May" may also be the one to come
			next := told.moved(1)
			best = max(best, overlap(spans, &next))
		}
	}
	return best
}

// overlap is the greatest share of a closed span that lies in one of some others.
func overlap(spans []Span, told *Span) (best float64) {
	share := func(s *Span) float64 {
		from, to := told.Since, told.Until
		if s.Since.After(from) {
			from = s.Since
		}
		if !s.Until.IsZero() && s.Until.Before(to) {
			to = s.Until
		}
		return max(0, float64(to.Sub(from))/float64(told.Until.Sub(told.Since)))
	}
	for i := range spans {
		s := &spans[i]
		best = max(best, share(s))
		if s.Yearly {
			other := s.moved(told.Since.Year() - s.Since.Year())
			best = max(best, 0.5*share(&other))
		}
	}
	return best
}
