package fit

import (
	"encoding/json"
	"time"
)

// Estimate guesses how many tokens a text takes, rather too many than too few: one token
// for 3 ASCII letters or spaces, two for 3 other ASCII characters, three for 2 other
// characters. Counted with o200k_base, English takes a token for 4 characters, UUIDs one
// for 1.6, and Chinese one for 1 to 1.5.
func Estimate(text string) int64 {
	var sixths int64
	for _, r := range text {
		switch {
		case r == ' ' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			sixths += 2
		case r < 0x80:
			sixths += 4
		default:
			sixths += 9
		}
	}
	return (sixths + 5) / 6
}

// An Entry is what a log says of a reservation, or of what a call took.
type Entry[Call comparable] struct {
	Call   Call   `json:"call"`
	Tokens int64  `json:"tokens"`
	For    string `json:"for,omitempty"` // absent: consolidation
}

// A Day sums the tokens that calls of language models took on a day (UTC), from a log that is read from its newest entry
// back, as often as somebody asks for the sum.
type Day[Call comparable] struct {
	Sum   int64
	calls map[Call]charge
	begin time.Time

	last, newest int64 // entries: the last one that an earlier reading has counted, and the newest of this one
}

const day = 24 * time.Hour

// Begin comes before each reading of the log. It lets go of what was counted of another day.
func (d *Day[Call]) Begin(now time.Time) {
	if begin := now.UTC().Truncate(day); !begin.Equal(d.begin) {
		*d = Day[Call]{begin: begin}
	}
	d.newest = d.last
}

// Take counts an [Entry] of the log, if it is of the day and was not counted before. took says that its call has ended.
// more reports whether entries before it may count.
func (d *Day[Call]) Take(seq int64, at time.Time, data []byte, took bool) (more bool, err error) {
	counts, more := d.counts(seq, at)
	if !counts {
		return more, nil
	}
	var e Entry[Call]
	if err := json.Unmarshal(data, &e); err != nil {
		return false, err
	}
	d.add(e.Call, e.Tokens, took)
	return true, nil
}

// counts reports whether an entry of the log is of the day and was not counted before, and whether those before it may
// be. A clock that was set back by less than a day may have put some of the day before those of the day before.
func (d *Day[Call]) counts(seq int64, at time.Time) (counts, more bool) {
	d.newest = max(d.newest, seq)
	switch {
	case seq <= d.last:
		return false, false
	case at.Before(d.begin):
		return false, d.begin.Sub(at) < day
	}
	return true, true
}

// End comes after a reading to its end. What was read need not be read again.
func (d *Day[Call]) End() { d.last = d.newest }

// A charge is what a call counts: what was reserved for it, until it has ended.
type charge struct {
	reserved, took  int64
	reserves, ended bool // what the log has of it
}

func (c charge) counts() int64 {
	switch {
	case !c.reserves: // on another day
		return 0
	case c.ended:
		return c.took
	}
	return c.reserved
}

// add adds an entry that counts, in whatever order and however often: what was reserved for a call, or what it took.
func (d *Day[Call]) add(call Call, tokens int64, took bool) {
	c := d.calls[call]
	d.Sum -= c.counts()
	if took {
		c.took, c.ended = tokens, true
	} else {
		c.reserved, c.reserves = tokens, true
	}
	if d.calls == nil {
		d.calls = map[Call]charge{}
	}
	d.calls[call] = c
	d.Sum += c.counts()
}

// Left is what two budgets leave, and the name of the smaller one: run or day.
func Left(run, day int64) (tokens int64, budget string) {
	if day < run {
		return day, "day"
	}
	return run, "run"
}

// Bytes counts each byte as a token: an upper bound for every vocabulary whose tokens are bytes, since none is empty.
type Bytes struct{}

// Name is what a context says of how it was counted.
func (Bytes) Name() string { return "bytes" }

// Count counts the bytes.
func (Bytes) Count(text string) int { return len(text) }
