package fit

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

// A Day sums the tokens that calls of language models took on a day.
type Day[Call comparable] struct {
	Sum  int64
	took map[Call]int64 // of calls that ended, and whose reservation comes later
}

// Add adds an entry of a log that is read from its newest entry back: what a call took,
// or what was reserved for it before. The first replaces the second.
func (d *Day[Call]) Add(call Call, tokens int64, took bool) {
	if took {
		if d.took == nil {
			d.took = map[Call]int64{}
		}
		d.took[call] = tokens
		return
	}
	if n, ended := d.took[call]; ended {
		tokens = n
	}
	d.Sum += tokens
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
