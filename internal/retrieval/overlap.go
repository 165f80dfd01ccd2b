package retrieval

// Missed tells of each word of a query whether a text without it lacks something that was asked
// for; holders is how many passages have each. Pairs of characters overlap, and a run of
// them has half as many words as pairs. So the pairs are left out that lie between two words: those
// that nobody has, unless the characters stand in no pair that somebody has, and those that fewer have
// than the words on both sides. Optional words and small ones that nobody has are not missed either.
func (q *Query) Missed(holders []int) []bool {
	missed := make([]bool, len(q.Words))
	for i := 0; i < len(q.Words); {
		w := &q.Words[i]
		if w.run == 0 {
			missed[i] = holders[i] > 0 || !w.Optional && !w.small
			i++
			continue
		}
		end := i
		for end < len(q.Words) && (q.Words[end].run == w.run || q.Words[end].made != Pair) {
			end++
		}
		run := make([]overlapping, 0, end-i)
		for j := i; j < end; j++ {
			if o := &q.Words[j]; o.run == w.run {
				run = append(run, overlapping{word: j, at: o.at, holders: holders[j], mixed: o.Weight < 1})
			} else {
				missed[j] = holders[j] > 0 || !o.Optional && !o.small
			}
		}
		segment(run, missed)
		i = end
	}
	return missed
}

// overlapping is a pair in its run.
type overlapping struct {
	word    int // of the query
	at      int // of its first character
	holders int
	mixed   bool // half of it has no content

	best   float64 // worth of all words from here on
	chosen bool    // it is one of them
}

// What a pair is worth as a word of its run: two that somebody has are worth more than one, the more
// have it the more, and what nobody has is a word only where nothing else is.
func (o *overlapping) worth() float64 {
	switch {
	case o.mixed && o.holders == 0:
		return 0
	case o.mixed:
		return 0.05
	case o.holders == 0:
		return 0.1
	}
	return 1 + float64(o.holders)/float64(o.holders+1)
}

// segment cuts a run into words, so that they are worth most together, and tells which of its pairs
// are missed.
func segment(run []overlapping, missed []bool) {
	bestFrom := func(i int) float64 {
		if i < len(run) {
			return run[i].best
		}
		return 0
	}
	after := func(i int) int {
		if i+1 < len(run) && run[i+1].at == run[i].at+1 {
			return i + 2
		}
		return i + 1
	}
	for i := len(run) - 1; i >= 0; i-- {
		run[i].best = max(bestFrom(i+1), run[i].worth()+bestFrom(after(i)))
	}
	for i := 0; i < len(run); {
		if worth := run[i].worth(); worth > 0 && worth+bestFrom(after(i)) >= bestFrom(i+1) {
			run[i].chosen = true
			i = after(i)
		} else {
			i++
		}
	}
	moreAt := func(i, j int) bool {
		if j < 0 || j >= len(run) || run[j].at-run[i].at != j-i {
			return false
		}
		return run[j].chosen && run[j].holders > run[i].holders
	}
	for i := range run {
		o := &run[i]
		between := o.holders == 0 || o.mixed || moreAt(i, i-1) && moreAt(i, i+1)
		missed[o.word] = o.chosen || !between
	}
}
