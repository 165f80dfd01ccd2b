package when_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/when"
)

// now is a Sunday.
var now = time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)

// show writes spans as "words: since – until", days without their time.
func show(spans []when.Span) string {
	moment := func(t time.Time) string {
		if t.IsZero() {
			return "…"
		}
		return strings.TrimSuffix(t.Format("2006-01-02T15:04:05"), "T00:00:00")
	}
	var out []string
	for _, s := range spans {
		line := s.Text + ": " + moment(s.Since) + " – " + moment(s.Until)
		if s.Yearly {
			line += " yearly"
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

// TestTimesAreFound in questions of seven languages, as of Sunday, 22 November 2026.
func TestTimesAreFound(t *testing.T) {
	for _, x := range [][2]string{
		// English
		{"What did I eat yesterday?", "yesterday: 2026-11-21 – 2026-11-22"},
		{"and the day before yesterday", "day before yesterday: 2026-11-20 – 2026-11-21"},
		{"What did we decide last week?", "last week: 2026-11-09 – 2026-11-16"},
		{"What did Ann say in the last week of August?", "last week of August: 2026-08-25 – 2026-09-01 yearly"},
		{"the first week of May 2023", "first week of May 2023: 2023-05-01 – 2023-05-08"},
		{"the last weekend of May 2023", "last weekend of May 2023: 2023-05-27 – 2023-05-29"},
		{"Who called on 7 May 2023?", "7 May 2023: 2023-05-07 – 2023-05-08"},
		{"Who called on May 7th, 2023?", "May 7th, 2023: 2023-05-07 – 2023-05-08"},
		{"the 3rd of October", "3rd of October: 2026-10-03 – 2026-10-04 yearly"},
		{"What happened in May?", "May: 2026-05-01 – 2026-06-01 yearly"},
		{"plans for December", "December: 2025-12-01 – 2026-01-01 yearly"},
		{"last August", "last August: 2026-08-01 – 2026-09-01"},
		{"in October of last year", "October of last year: 2025-10-01 – 2025-11-01"},
		{"last year in October", "last year in October: 2025-10-01 – 2025-11-01"},
		{"since March 2024", "since March 2024: 2024-03-01 – …"},
		{"before 2020", "before 2020: … – 2020-01-01"},
		{"after May 3, 2023", "after May 3, 2023: 2023-05-04 – …"},
		{"between May and July 2023", "between May and July 2023: 2023-05-01 – 2023-08-01"},
		{"the week before August 3, 2023", "week before August 3, 2023: 2023-07-27 – 2023-08-03"},
		{"last weekend before 10 April 2023", "last weekend before 10 April 2023: 2023-04-08 – 2023-04-10"},
		{"two days after 3 August", "two days after 3 August: 2026-08-05 – 2026-08-06 yearly"},
		{"three weeks ago", "three weeks ago: 2026-10-26 – 2026-11-02"},
		{"a couple of days ago", "couple of days ago: 2026-11-20 – 2026-11-21"},
		{"in the last 3 days", "last 3 days: 2026-11-19T15:04:05 – 2026-11-22T15:04:05"},
		{"the past month", "past month: 2026-10-22T15:04:05 – 2026-11-22T15:04:05"},
		{"last night", "last night: 2026-11-21 – 2026-11-22"},
		{"on Friday", "Friday: 2026-11-20 – 2026-11-21"},
		{"last Sunday", "last Sunday: 2026-11-15 – 2026-11-16"},
		{"last summer", "last summer: 2026-06-01 – 2026-09-01"},
		{"winter 2023", "winter 2023: 2023-12-01 – 2024-03-01"},
		{"Q3 2024", "Q3 2024: 2024-07-01 – 2024-10-01"},
		{"the third quarter of 2024", "third quarter of 2024: 2024-07-01 – 2024-10-01"},
		{"in early 2023", "early 2023: 2023-01-01 – 2023-05-02"},
		{"end of August", "end of August: 2026-08-21 – 2026-09-01 yearly"},
		{"on 2023-08-23", "2023-08-23: 2023-08-23 – 2023-08-24"},
		{"in 2023-08", "2023-08: 2023-08-01 – 2023-09-01"},
		{"on 8/23/2023", "8/23/2023: 2023-08-23 – 2023-08-24"},
		{"yesterday or on 3 May 2020", "yesterday: 2026-11-21 – 2026-11-22; 3 May 2020: 2020-05-03 – 2020-05-04"},
		// German
		{"Was haben wir im Oktober beschlossen?", "Oktober: 2026-10-01 – 2026-11-01 yearly"},
		{"Was war gestern?", "gestern: 2026-11-21 – 2026-11-22"},
		{"vor drei Tagen", "vor drei Tagen: 2026-11-19 – 2026-11-20"},
		{"am 3. Mai 2023", "3. Mai 2023: 2023-05-03 – 2023-05-04"},
		{"am 03.05.2023", "03.05.2023: 2023-05-03 – 2023-05-04"},
		{"in der letzten Woche im August", "letzten Woche im August: 2026-08-25 – 2026-09-01 yearly"},
		{"letzten Freitag", "letzten Freitag: 2026-11-20 – 2026-11-21"},
		{"Ende August 2025", "Ende August 2025: 2025-08-21 – 2025-09-01"},
		{"seit März 2024", "seit März 2024: 2024-03-01 – …"},
		{"im Jahr 2023", "Jahr 2023: 2023-01-01 – 2024-01-01"},
		{"letztes Jahr im Sommer", "letztes Jahr im Sommer: 2025-06-01 – 2025-09-01"},
		// French
		{"Qu'est-ce que j'ai mangé hier ?", "hier: 2026-11-21 – 2026-11-22"},
		{"la semaine dernière", "semaine dernière: 2026-11-09 – 2026-11-16"},
		{"il y a trois jours", "il y a trois jours: 2026-11-19 – 2026-11-20"},
		{"le 3 mai 2023", "3 mai 2023: 2023-05-03 – 2023-05-04"},
		{"en août", "août: 2026-08-01 – 2026-09-01 yearly"},
		{"la dernière semaine d'août", "dernière semaine d'août: 2026-08-25 – 2026-09-01 yearly"},
		{"l'été dernier", "été dernier: 2026-06-01 – 2026-09-01"},
		{"depuis 2020", "depuis 2020: 2020-01-01 – …"},
		{"les trois derniers jours", "trois derniers jours: 2026-11-19T15:04:05 – 2026-11-22T15:04:05"},
		// Spanish
		{"¿Qué comí ayer?", "ayer: 2026-11-21 – 2026-11-22"},
		{"la semana pasada", "semana pasada: 2026-11-09 – 2026-11-16"},
		{"hace tres días", "hace tres días: 2026-11-19 – 2026-11-20"},
		{"el 3 de mayo de 2023", "3 de mayo de 2023: 2023-05-03 – 2023-05-04"},
		{"en octubre del año pasado", "octubre del año pasado: 2025-10-01 – 2025-11-01"},
		{"la última semana de agosto", "última semana de agosto: 2026-08-25 – 2026-09-01 yearly"},
		{"a finales de agosto", "finales de agosto: 2026-08-21 – 2026-09-01 yearly"},
		// Chinese
		{"我去年买了什么?", "去年: 2025-01-01 – 2026-01-01"},
		{"去年8月我们去了哪里", "去年8月: 2025-08-01 – 2025-09-01"},
		{"2023年8月23日", "2023年8月23日: 2023-08-23 – 2023-08-24"},
		{"昨天吃了什么", "昨天: 2026-11-21 – 2026-11-22"},
		{"周六上午去画画", "周六: 2026-11-21 – 2026-11-22"},
		{"三天前", "三天前: 2026-11-19 – 2026-11-20"},
		{"上周五", "上周五: 2026-11-13 – 2026-11-14"},
		{"8月最后一周", "8月最后一周: 2026-08-25 – 2026-09-01 yearly"},
		{"十月底", "十月底: 2026-10-21 – 2026-11-01 yearly"},
		{"过去三个月", "过去三个月: 2026-08-22T15:04:05 – 2026-11-22T15:04:05"},
		{"2020年以前", "2020年以前: … – 2020-01-01"},
		// Japanese
		{"昨日何を食べた?", "昨日: 2026-11-21 – 2026-11-22"},
		{"先週の金曜日に", "先週の金曜日: 2026-11-13 – 2026-11-14"},
		{"去年の夏に", "去年の夏: 2025-06-01 – 2025-09-01"},
		{"3日前に", "3日前: 2026-11-19 – 2026-11-20"},
		{"10月に何を決めた", "10月: 2026-10-01 – 2026-11-01 yearly"},
		{"8月の最終週", "8月の最終週: 2026-08-25 – 2026-09-01 yearly"},
		{"2023年5月から7月まで", "2023年5月から7月: 2023-05-01 – 2023-08-01"},
		// Korean
		{"어제 뭐 먹었지?", "어제: 2026-11-21 – 2026-11-22"},
		{"지난주에 뭐 했지", "지난주: 2026-11-09 – 2026-11-16"},
		{"작년 8월에", "작년 8월: 2025-08-01 – 2025-09-01"},
		{"2023년 8월 23일", "2023년 8월 23일: 2023-08-23 – 2023-08-24"},
		{"3일 전에", "3일 전: 2026-11-19 – 2026-11-20"},
		{"8월 마지막 주", "8월 마지막 주: 2026-08-25 – 2026-09-01 yearly"},
		{"지난 금요일", "지난 금요일: 2026-11-20 – 2026-11-21"},
	} {
		if got := show(when.Find(x[0], now)); got != x[1] {
			t.Errorf("%s\n got %s\nwant %s", x[0], got, x[1])
		}
	}
}

// TestWordsThatAreNoTimes have the look of one.
func TestWordsThatAreNoTimes(t *testing.T) {
	for _, text := range []string{
		"", "May I ask a question?", "this may be", "the march of time", "Jan called", "3 of them",
		"room 2023", "version 2.10.2023.1", "on the last day of school", "it was the second time", "mon ami", "a second",
		"the end of the story", "we fall in love", "il a été là", "el fin de la calle", "chapter 12/13", "32/33/2023",
		"一起去", "週一で通っている", "日本の春樹", "星の王子", "주인공", "1.5 years", "week", "month", "the year", "my spring roll",
		"30.02.2023 was none", "99999999999999999999 days ago",
	} {
		if got := when.Find(text, now); len(got) > 0 {
			t.Errorf("%q: found %s", text, show(got))
		}
	}
}

// TestNear: the value is 1 inside of the time asked for and falls beside it. If the query names
// no year, other years get half of it.
func TestNear(t *testing.T) {
	date := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 12, 0, 0, 0, time.UTC) }
	for _, x := range []struct {
		asked    string
		at       time.Time
		low, top float64
	}{
		{"yesterday", date(2026, 11, 21), 1, 1},
		{"yesterday", date(2026, 11, 22), 0.4, 0.6},
		{"yesterday", date(2026, 11, 24), 0, 0},
		{"last week", date(2026, 11, 11), 1, 1},
		{"last week", date(2026, 11, 18), 0.5, 0.8},
		{"May 2023", date(2023, 5, 31), 1, 1},
		{"May 2023", date(2023, 6, 9), 0, 0},
		{"May 2023", date(2022, 5, 9), 0, 0},
		{"in May", date(2026, 5, 9), 1, 1},
		{"in May", date(2019, 5, 9), 0.5, 0.5},
		{"in May", date(2019, 8, 9), 0, 0},
		{"since May 2023", date(2025, 1, 1), 1, 1},
		{"since May 2023", date(2023, 4, 1), 0, 0},
		{"before 2020", date(1999, 4, 1), 1, 1},
		{"nothing", date(2026, 11, 22), 0, 0},
	} {
		if got := when.Near(when.Find(x.asked, now), x.at); got < x.low || got > x.top {
			t.Errorf("%s at %s: %.3f, want %.1f to %.1f", x.asked, x.at, got, x.low, x.top)
		}
	}
}

// TestNames compares what a text says with what was asked for, as of when it was said.
func TestNames(t *testing.T) {
	said := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)
	for _, x := range []struct {
		asked, text string
		low, top    float64
	}{
		{"on 7 May 2023", "I went there yesterday", 1, 1},
		{"in May 2023", "I went there yesterday", 1, 1},
		{"on 9 May 2023", "I went there yesterday", 0, 0},
		{"on 9 May 2023", "We met in May 2023", 0.03, 0.04},
		{"in June 2023", "We meet in June", 1, 1},
		{"in June", "It was on 3 June 2019", 0.5, 0.5},
		{"in 2023", "since 2020", 0, 0},
		{"im Mai 2023", "2023年5月3日", 1, 1},
	} {
		if got := when.Names(when.Find(x.asked, now), x.text, said); got < x.low || got > x.top {
			t.Errorf("%q of %q: %.3f, want %.2f to %.2f", x.asked, x.text, got, x.low, x.top)
		}
	}
}

// TestLongTextsAreBounded, by what is read and by how many times are found.
func TestLongTextsAreBounded(t *testing.T) {
	if got := when.Find(strings.Repeat("x ", when.MaxBytes)+"yesterday", now); got != nil {
		t.Errorf("found %s behind the bound", show(got))
	}
	if got := when.Find(strings.Repeat("yesterday. ", 100), now); len(got) != when.MaxSpans {
		t.Errorf("found %d times, want %d", len(got), when.MaxSpans)
	}
}

// FuzzFind: whatever the text, spans are in it, in order, and none ends before it begins.
func FuzzFind(f *testing.F) {
	for _, text := range []string{"last week of August 2023", "2023年8月23日から", "il y a 3 jours", "3. Mai", "between May and", "12/12/2023"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rest := text
		for _, s := range when.Find(text, now) {
			_, behind, inside := strings.Cut(rest, s.Text)
			if s.Text == "" || !inside {
				t.Fatalf("%q is not in %q", s.Text, rest)
			}
			if rest = behind; !s.Since.IsZero() && !s.Until.IsZero() && !s.Since.Before(s.Until) {
				t.Fatalf("%q in %q: %s to %s", s.Text, text, s.Since, s.Until)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	const question = "What did Caroline say about the last week of August 2023 when she was at the beach?"
	b.ReportAllocs()
	for b.Loop() {
		when.Find(question, now)
	}
}

// BenchmarkNames reads a text of 8 KiB, as a search does that asks for a time.
func BenchmarkNames(b *testing.B) {
	text := strings.Repeat("I went to the beach with Ann and her 2 dogs on Friday, 3 May, then we may have had lunch. ", 91)
	asked := when.Find("in May 2023", now)
	for b.Loop() {
		when.Names(asked, text, now)
	}
}
