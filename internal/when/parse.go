package when

import (
	"time"
)

// found is a span and the token behind it; an end of 0: there is none.
type found struct {
	Span
	end int
}

// longer is the one that says more.
func longer(a, b found) found {
	if b.end > a.end {
		return b
	}
	return a
}

// A parser reads tokens as words of one language.
type parser struct {
	*language
	tokens   []token
	meanings [][2]meaning // of each token's word; of kind none: it has none
	now      time.Time
}

// parsersOf are those for the languages that some of the tokens are in.
func parsersOf(tokens []token, now time.Time) (out []parser) {
	in, letters := uint16(0), byte(0)
	for i := range tokens {
		in |= known[tokens[i].word]
		letters |= tokens[i].letters
	}
	for i := range languages {
		// A text with kana is Japanese, one with Hangul Korean: 週一 is a Monday in Chinese alone.
		foreign := letters != 0 && languages[i].letters != letters && languages[i].suffix
		if in&(1<<i) != 0 && !foreign || i == 0 { // digits are read in the first
			p := parser{&languages[i], tokens, make([][2]meaning, len(tokens)), now}
			for n := range tokens {
				if known[tokens[n].word]&(1<<i) != 0 {
					p.meanings[n] = p.words[tokens[n].word]
				}
			}
			out = append(out, p)
		}
	}
	return out
}

// is reports whether the word at a place may be of a kind, and its number.
func (p *parser) is(i int, k kind) (n int, ok bool) {
	if i < 0 || i >= len(p.meanings) {
		return 0, false
	}
	m := p.meanings[i][0]
	if m.kind != k {
		m = p.meanings[i][1]
	}
	return m.n, m.kind == k
}

func (p *parser) has(i int, kinds ...kind) bool {
	for _, k := range kinds {
		if _, ok := p.is(i, k); ok {
			return true
		}
	}
	return false
}

// skip passes over what may stand inside of a time.
func (p *parser) skip(i int, kinds ...kind) int {
	for p.has(i, filler) || p.has(i, kinds...) {
		i++
	}
	return i
}

// number reads a number in digits or as a word.
func (p *parser) number(i int) (n int, ok bool) {
	if i < len(p.tokens) && p.tokens[i].digits > 0 {
		return p.tokens[i].number, true
	}
	return p.is(i, counting)
}

// year reads a year in four digits.
func (p *parser) year(i int) (n int, ok bool) {
	if i < len(p.tokens) && p.tokens[i].digits == 4 && plausible(p.tokens[i].number) {
		return p.tokens[i].number, true
	}
	return 0, false
}

// led reports whether a word before a place says that a time follows. "this may be" is
// none, "last May" is one.
func (p *parser) led(i int) bool {
	for i--; p.has(i, filler) && !p.has(i, small, between); i-- {
		continue
	}
	if n, ok := p.is(i, relative); ok && n != 0 {
		return true
	}
	return p.has(i, small, since, before, after, until, between, part)
}

// at reads a time that begins at a place.
func (p *parser) at(i int) (out found) {
	first := p.meanings[i][0].kind
	if t := &p.tokens[i]; first == filler || first == none && t.digits == 0 && t.date.IsZero() {
		return found{}
	}
	if p.suffix {
		return p.closed(i)
	}
	if p.has(i, between) {
		first := p.span(p.skip(i + 1))
		if join := p.skip(first.end); first.end > 0 && p.has(join, and) {
			if last := p.span(p.skip(join + 1)); last.end > 0 {
				out = joined(first, last)
			}
		}
	}
	for _, k := range []kind{since, before, after, until} {
		if p.has(i, k) {
			out = longer(out, bounded(k, p.span(p.skip(i+1, small))))
		}
	}
	return longer(longer(out, p.apart(i)), p.span(i))
}

// apart reads "the week before 3 August", "two days after 3 August".
func (p *parser) apart(i int) found {
	at := i
	n, counted := p.number(i)
	if counted || p.has(i, relative) { // "the last weekend before"
		at = p.skip(i + 1)
	}
	u, ok := p.is(at, unitWord)
	if sided := p.has(at+1, before, after); !ok || !sided || n > farthest {
		return found{}
	}
	from := p.span(p.skip(at+2, small))
	if from.end == 0 {
		return found{}
	}
	away := *p
	step := max(1, n)
	if away.now = from.Since; p.has(at+1, before) {
		step = -step
	}
	out := away.of(unit(u), away.shifted(unit(u), step), from.end)
	if unit(u) == weeks && !counted { // the seven days beside it
		out.Since, out.Until = from.Since.AddDate(0, 0, -7), from.Since
		if step > 0 {
			out.Since, out.Until = from.Until, from.Until.AddDate(0, 0, 7)
		}
	}
	out.Yearly = from.Yearly
	return out
}

// closed reads a time, and what says behind it on which side of it.
func (p *parser) closed(i int) found {
	out := p.span(i)
	if out.end == 0 {
		return out
	}
	if p.has(out.end, and) {
		if last := p.span(out.end + 1); last.end > 0 {
			return joined(out, last)
		}
	}
	for _, k := range []kind{since, before, after, until} {
		if p.has(out.end, k) {
			sided := bounded(k, out)
			sided.end++
			return sided
		}
	}
	return out
}

// joined is the time from the beginning of one to the end of another.
func joined(first, last found) found {
	if first.Yearly && !last.Yearly { // between May and July 2023
		first.Span = first.moved(last.Since.Year() - first.Since.Year())
	}
	if last.Yearly && !first.Yearly { // from May 2023 to July
		last.Span = last.moved(first.Since.Year() - last.Since.Year())
	}
	if last.Until.Before(first.Since) { // from November to March
		last.Span = last.moved(1)
	}
	return found{Span{Since: first.Since, Until: last.Until, Yearly: first.Yearly && last.Yearly}, last.end}
}

// bounded is what lies on one side of a time.
func bounded(k kind, f found) found {
	if f.end == 0 {
		return f
	}
	switch k {
	case since:
		f.Until = time.Time{}
	case after:
		f.Since, f.Until = f.Until, time.Time{}
	case before:
		f.Since, f.Until = time.Time{}, f.Since
	default:
		f.Since = time.Time{}
	}
	f.Yearly = false
	return f
}

// span reads a time that is one whole, and the year or the part that is said behind it.
func (p *parser) span(i int) (out found) {
	if i >= len(p.tokens) {
		return found{}
	}
	if t := &p.tokens[i]; !t.date.IsZero() {
		return p.of(t.whole, time.Date(t.date.Year(), t.date.Month(), t.date.Day(), 0, 0, 0, 0, p.now.Location()), i+1)
	}
	for _, read := range []func(int) found{
		p.day, p.ago, p.past, p.relative, p.weekdays, p.month, p.season, p.years, p.quarter, p.part,
	} {
		out = longer(out, read(i))
	}
	return p.narrowed(out)
}

// of is the unit that a moment is in.
func (p *parser) of(u unit, t time.Time, end int) found {
	y, m, d := t.Date()
	at := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, t.Location()) }
	monday := d - (int(t.Weekday())+6)%7
	s := Span{Since: at(y, m, d), Until: at(y, m, d+1)}
	switch u {
	case weeks:
		s.Since, s.Until = at(y, m, monday), at(y, m, monday+7)
	case weekends:
		s.Since, s.Until = at(y, m, monday+5), at(y, m, monday+7)
	case months:
		s.Since, s.Until = at(y, m, 1), at(y, m+1, 1)
	case quarters:
		first := (m-1)/3*3 + 1
		s.Since, s.Until = at(y, first, 1), at(y, first+3, 1)
	case years:
		s.Since, s.Until = at(y, 1, 1), at(y+1, 1, 1)
	case days, nights:
	}
	return found{s, end}
}

// shifted is now, some units later.
func (p *parser) shifted(u unit, n int) time.Time {
	first := p.now.AddDate(0, 0, 1-p.now.Day()) // so that no month is too short
	switch u {
	case weeks, weekends:
		return p.now.AddDate(0, 0, 7*n)
	case months:
		return first.AddDate(0, n, 0)
	case quarters:
		return first.AddDate(0, 3*n, 0)
	case years:
		return first.AddDate(n, 0, 0)
	case days, nights:
	}
	return p.now.AddDate(0, 0, n)
}

// farthest bounds how many units something may be away: a century of days.
const farthest = 36_500

// day reads "yesterday", and "the day before yesterday".
func (p *parser) day(i int) found {
	if n, ok := p.is(i, dayWord); ok {
		return p.of(days, p.shifted(days, n), i+1)
	}
	if u, ok := p.is(i, unitWord); ok && unit(u) == days {
		n, named := p.is(i+2, dayWord)
		switch {
		case named && p.has(i+1, before):
			return p.of(days, p.shifted(days, n-1), i+3)
		case named && p.has(i+1, after):
			return p.of(days, p.shifted(days, n+1), i+3)
		}
	}
	return found{}
}

// ago reads "three days ago", "vor drei Tagen".
func (p *parser) ago(i int) found {
	start := i
	if leads := p.has(i, ago) && !p.suffix; leads {
		start++
	}
	n, ok := p.number(start)
	at := p.skip(start + 1)
	u, named := p.is(at, unitWord)
	if !ok || !named || n > farthest || unit(u) == years && plausible(n) {
		return found{}
	}
	if start == i {
		if !p.has(at+1, ago) {
			return found{}
		}
		at++
	}
	return p.of(unit(u), p.shifted(unit(u), -n), at+1)
}

// past reads "the last three days", "los últimos tres días", "过去三天".
func (p *parser) past(i int) found {
	start, n := i, 1
	given, before := p.number(i)
	if before {
		n, start = given, i+1
	}
	if last, ok := p.is(start, relative); !p.has(start, past) && (!ok || last != -1) {
		return found{}
	}
	start++
	if given, ok := p.number(start); ok && !before {
		n, before, start = given, true, start+1
	}
	start = p.skip(start)
	u, ok := p.is(start, unitWord)
	if !ok || n < 1 || n > farthest || !before && !p.has(i, past) {
		return found{}
	}
	return found{Span{Since: p.shiftedFrom(unit(u), -n), Until: p.now}, start + 1}
}

// shiftedFrom is the day some units before or after now, by the calendar.
func (p *parser) shiftedFrom(u unit, n int) time.Time {
	if u == months || u == years || u == quarters {
		n *= map[unit]int{months: 1, quarters: 3, years: 12}[u]
		return p.now.AddDate(0, n, 0)
	}
	return p.shifted(u, n)
}

// relative reads "last week", "la semaine dernière", "上周".
func (p *parser) relative(i int) found {
	if n, ok := p.is(i, whole); ok {
		u := unit(n % 100)
		return p.of(u, p.shifted(u, n/100-2), i+1)
	}
	at, n, ok := i, 0, false
	if n, ok = p.is(i, relative); ok {
		at = p.skip(i + 1)
	}
	u, named := p.is(at, unitWord)
	if !named {
		return found{}
	}
	if !ok { // it may stand behind
		if n, ok = p.is(at+1, relative); !ok {
			return found{}
		}
		at++
	}
	if unit(u) == days { // "the last day" of something
		return found{}
	}
	return p.of(unit(u), p.shifted(unit(u), n), at+1)
}
