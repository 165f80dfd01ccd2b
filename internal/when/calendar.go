package when

import "time"

// weekdays reads "on Friday", "last Friday": the latest that has begun, or the one named.
func (p *parser) weekdays(i int) found {
	at, n, rel := i, 0, false
	if n, rel = p.is(i, relative); rel {
		at = p.skip(i + 1)
	}
	wanted, ok := p.is(at, weekday)
	if !ok {
		return found{}
	}
	end := at + 1
	if !rel && !p.suffix {
		if n, rel = p.is(end, relative); rel {
			end++
		}
	}
	today := (int(p.now.Weekday()) + 6) % 7
	back := (today - wanted + 7) % 7
	switch {
	case rel && n == 0: // of this week
		back = today - wanted
	case rel && n > 0:
		back -= 7
	case rel && back == 0:
		back = 7
	}
	return p.of(days, p.shifted(days, -back), end)
}

// narrowed reads what says more of a time behind it: the month of a year, the day of a
// week.
func (p *parser) narrowed(f found) found {
	if f.end == 0 || f.Since.IsZero() || f.Until.IsZero() {
		return f
	}
	if f.Yearly {
		return p.partBehind(f)
	}
	at := p.skip(f.end, small)
	switch f.Until.Sub(f.Since) {
	case 7 * day:
		n, ok := p.is(at, weekday)
		if !ok && p.suffix { // 上周五
			if n, ok = p.number(f.end); ok && (n < 1 || n > 6) {
				return f
			}
			n--
		}
		if ok {
			return p.of(days, f.Since.AddDate(0, 0, n), max(at, f.end)+1)
		}
	case 365 * day, 366 * day:
		year := f.Since.Year()
		if m := p.monthOf(at, year, true); m.end > 0 {
			return m
		}
		if n, ok := p.is(at, season); ok {
			return p.seasonOf(n, year, at+1)
		}
	}
	return p.partBehind(f)
}

// month reads "3 May 2023", "May 3", "im Oktober", "8月23日", "August last year".
func (p *parser) month(i int) found {
	at, n, rel := i, 0, false
	if n, rel = p.is(i, relative); rel { // last August
		at = p.skip(i + 1)
	}
	year := p.now.Year()
	f := p.monthOf(at, year, false)
	if f.end == 0 {
		return f
	}
	if !rel {
		behind := p.skip(f.end)
		if y, ok := p.year(behind); ok {
			return moved(f, y, behind+1)
		}
		if last := p.relative(behind); last.end > 0 && last.Until.Sub(last.Since) >= 365*day {
			return moved(f, last.Since.Year(), last.end) // August last year
		}
		if n, rel = p.is(f.end, relative); rel && !p.suffix { // août dernier
			f.end++
		} else {
			rel = false
		}
	}
	f.Yearly = !rel
	switch begun := !f.Since.After(p.now); {
	case rel && n < 0 && !f.Until.After(p.now), rel && n == 0, !rel && begun, rel && n > 0 && !begun:
	case rel && n > 0:
		f.Span = f.moved(1)
	default:
		f.Span = f.moved(-1)
	}
	return f
}

// moved puts a time into another year.
func moved(f found, year, end int) found {
	return found{f.moved(year - f.Since.Year()), end}
}

// monthOf reads a month, and a day of it, of a year. A weak month needs a number beside it,
// or a word before it that leads a time; certain: there is one.
func (p *parser) monthOf(i, year int, certain bool) found {
	if n, ok := p.number(i); ok && p.has(i+1, monthMark) {
		return p.markedMonth(i, year, n)
	}
	dayOf, at := 0, i
	if n, ok := p.number(i); ok && p.digitsAt(i) <= 2 && p.digitsAt(i) > 0 {
		dayOf, at = n, p.skip(i+1)
	} else if n, ok := p.is(i, ordinal); ok {
		dayOf, at = n, p.skip(i+1)
	}
	m, strong := p.is(at, month)
	if !strong {
		var named bool
		if m, named = p.is(at, weak); !named {
			return found{}
		}
	}
	end := at + 1
	if dayOf == 0 && p.digitsAt(end) > 0 && p.digitsAt(end) <= 2 {
		dayOf, end = p.tokens[end].number, end+1
	}
	_, dated := p.year(p.skip(end))
	switch {
	case dayOf > 0 && dayOf <= 31:
		return p.dayIn(year, m, dayOf, end)
	case dayOf == 0 && (strong || certain || dated || p.led(i)):
		return p.of(months, p.first(year, m), end)
	}
	return found{}
}

// markedMonth reads what a mark tells to be a month: 8月, 8月23日.
func (p *parser) markedMonth(i, year, month int) found {
	if month < 1 || month > 12 {
		return found{}
	}
	if d, ok := p.number(i + 2); ok && p.isDayMark(i+3) {
		return p.dayIn(year, month, d, i+4)
	}
	return p.of(months, p.first(year, month), i+2)
}

// isDayMark reports whether a unit of days stands at a place: 23日.
func (p *parser) isDayMark(i int) bool {
	u, ok := p.is(i, unitWord)
	return ok && unit(u) == days
}

func (p *parser) digitsAt(i int) int {
	if i >= len(p.tokens) {
		return 0
	}
	return p.tokens[i].digits
}

func (p *parser) first(year, m int) time.Time {
	return time.Date(year, time.Month(m), 1, 0, 0, 0, 0, p.now.Location())
}

// dayIn is a day of a month, if it has so many.
func (p *parser) dayIn(year, m, d, end int) found {
	t := p.first(year, m).AddDate(0, 0, d-1)
	if d < 1 || int(t.Month()) != m && (m != 2 || d != 29) { // the year may be another one
		return found{}
	}
	return p.of(days, t, end)
}

// season reads "last summer", "summer 2023", "im Sommer".
func (p *parser) season(i int) found {
	at, n, rel := i, 0, false
	if n, rel = p.is(i, relative); rel {
		at = p.skip(i + 1)
	}
	s, ok := p.is(at, season)
	if !ok {
		return found{}
	}
	end := at + 1
	if y, ok := p.year(p.skip(end)); ok {
		return p.seasonOf(s, y, p.skip(end)+1)
	}
	if !rel && !p.suffix {
		if n, rel = p.is(end, relative); rel {
			end++
		}
	}
	f := p.seasonOf(s, p.now.Year(), end)
	f.Yearly = !rel
	switch {
	case !rel && !p.led(i):
		return found{}
	case rel && n < 0 && f.Until.After(p.now), rel && n == 0 && f.Since.After(p.now) && s == 3,
		!rel && f.Since.After(p.now):
		f.Span = f.moved(-1)
	case rel && n > 0 && !f.Since.After(p.now):
		f.Span = f.moved(1)
	}
	return f
}

// seasonOf is a season of the northern half of the earth; the winter of a year ends in the
// next one.
func (p *parser) seasonOf(s, year, end int) found {
	from := p.first(year, 3*s+3)
	return found{Span{Since: from, Until: from.AddDate(0, 3, 0)}, end}
}

// years reads "in 2023", "im Jahr 2023", "2023年", and the month behind it.
func (p *parser) years(i int) found {
	if u, ok := p.is(i, unitWord); ok && unit(u) == years {
		if y, ok := p.year(p.skip(i + 1)); ok {
			return p.of(years, p.first(y, 1), p.skip(i+1)+1)
		}
		return found{}
	}
	y, ok := p.year(i)
	if !ok {
		return found{}
	}
	if u, marked := p.is(i+1, unitWord); marked && unit(u) == years {
		return p.of(years, p.first(y, 1), i+2)
	}
	if p.led(i) {
		return p.of(years, p.first(y, 1), i+1)
	}
	return found{}
}

// quarter reads "Q3 2024", "the third quarter of 2024", "第三季度".
func (p *parser) quarter(i int) found {
	n, ok := p.is(i, ordinal)
	if !ok {
		n, ok = p.number(i)
	}
	at := i
	if ok {
		at = i + 1
	}
	if u, named := p.is(at, unitWord); !named || unit(u) != quarters {
		return found{}
	}
	end := at + 1
	if !ok {
		if n, ok = p.number(end); !ok || p.digitsAt(end) != 1 {
			return found{}
		}
		end++
	}
	if n < 1 || n > 4 {
		return found{}
	}
	year, yearly := p.now.Year(), true
	if y, ok := p.year(p.skip(end)); ok {
		year, yearly, end = y, false, p.skip(end)+1
	}
	f := p.of(quarters, p.first(year, 3*n-2), end)
	if f.Yearly = yearly; yearly && f.Since.After(p.now) {
		f.Span = f.moved(-1)
	}
	return f
}

// part reads "the last week of August", "end of August", "Anfang 2023".
func (p *parser) part(i int) found {
	if n, ok := p.is(i, part); ok {
		at := p.skip(i+1, small)
		if f := p.container(at); f.end > 0 {
			return third(f, n)
		}
		return found{}
	}
	n, ok := p.nth(i)
	if !ok {
		return found{}
	}
	at := p.skip(i + 1)
	u, ok := p.is(at, unitWord)
	if !ok {
		return found{}
	}
	if f := p.container(p.skip(at+1, small)); f.end > 0 {
		return p.nthOf(f, n, unit(u), f.end)
	}
	return found{}
}

// nth reads "first", and "last" as -1.
func (p *parser) nth(i int) (n int, ok bool) {
	if n, ok = p.is(i, relative); ok {
		return n, n == -1
	}
	return p.is(i, ordinal)
}

// container reads a month or a year that something is a part of.
func (p *parser) container(i int) (out found) {
	for _, read := range []func(int) found{p.month, p.years, p.relative} {
		out = longer(out, read(i))
	}
	if y, ok := p.year(i); ok && out.end == 0 {
		out = p.of(years, p.first(y, 1), i+1)
	}
	if out.Until.Sub(out.Since) < 28*day {
		return found{}
	}
	return out
}

// partBehind reads the part of a month or a year that is named behind it: 8月底.
func (p *parser) partBehind(f found) found {
	if !p.suffix || f.Until.Sub(f.Since) < 28*day {
		return f
	}
	at := p.skip(f.end)
	if n, ok := p.is(at, part); ok {
		t := third(f, n)
		t.end = at + 1
		return t
	}
	if n, ok := p.nth(at); ok {
		if u, ok := p.is(at+1, unitWord); ok {
			return longer(f, p.nthOf(f, n, unit(u), at+2))
		}
	}
	return f
}

// third is the first, the middle or the last third of a time.
func third(f found, n int) found {
	length := int(f.Until.Sub(f.Since) / day)
	from := f.Since.AddDate(0, 0, n*length/3)
	if n < 2 {
		f.Until = f.Since.AddDate(0, 0, (n+1)*length/3)
	}
	f.Since = from
	return f
}

// nthOf is the nth week, weekend, day or month of a time; the last one is -1.
func (p *parser) nthOf(f found, n int, u unit, end int) found {
	out := found{f.Span, end}
	size := map[unit][2]int{days: {0, 1}, weeks: {0, 7}, months: {1, 0}}[u]
	switch {
	case u == weekends && n > 0:
		saturday := (6 - int(f.Since.Weekday()) + 7) % 7
		out.Since = f.Since.AddDate(0, 0, saturday+7*(n-1))
		out.Until = out.Since.AddDate(0, 0, 2)
	case u == weekends:
		sunday := int(f.Until.AddDate(0, 0, -1).Weekday())
		out.Until = f.Until.AddDate(0, 0, -sunday)
		out.Since = out.Until.AddDate(0, 0, -2)
	case size == [2]int{}:
		return found{}
	case n > 0:
		out.Since = f.Since.AddDate(0, size[0]*(n-1), size[1]*(n-1))
		out.Until = f.Since.AddDate(0, size[0]*n, size[1]*n)
	default:
		out.Since = f.Until.AddDate(0, -size[0], -size[1])
	}
	if out.Until.After(f.Until) || out.Since.Before(f.Since) {
		return found{}
	}
	return out
}
