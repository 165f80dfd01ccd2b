// Package rank says how well texts fit a query. What a text gets depends on the query,
// on itself and on what stands beside it in its sequence, never on the other results:
// the same text has the same score whatever else is found. docs/search.md has the
// formulas, docs/adr/0026-absolute-score.md what each was measured on.
package rank

import (
	"math"
	"slices"
	"sync"
)

const (
	coveragePower = 0.5 // of how much of the query the words cover
	assistantPart = 0.7 // of its own score, for what an assistant said

	// Who talks says words again that others said, and a question has words of whatever it is about. A note that
	// nobody says to anybody has words of its own: similarity weighs so much more times its weight and that of words, where
	// passages are short. At 0.5 each that is 0.6.
	noteVectors = 0.4

	// Where passages are long some of a query's words stand in many of them, and each is
	// a little like every query: there similarity weighs more, and a sum says less.
	longVectors = 0.3 // of its weight
	longPart    = 0.8

	// There most is said to an assistant, whom people ask about the world as well as about themselves. What has nothing of
	// them is seldom asked of a memory: so much is left of a sum.
	// The more there is, the more of it is like a query by chance: where many passages are searched, a lesser part.
	generalPart = 0.5
	generalMany = 0.35

	// What a text gets of those beside it in its sequence, times the share of
	// neighbours. An answer seldom repeats the words of its question, and a question
	// often says what its answer is about. In a chat with an assistant people look for
	// what the person said.
	shareBefore   = 1.0
	shareAfter    = 2.0 / 3
	shareTwoAway  = 1.0 / 5
	shareAnswer   = 1.0     // of the assistant's answer, for what a person said
	shareQuestion = 1.0 / 3 // of what a person said, for the answer

	// sharesTogether is what neighbours count in the scale that texts in a sequence and
	// others share. All four of them may add more than 2; more than 0.8 takes two that hold
	// all of the query, and then the sum passes 1.
	sharesTogether = 0.8

	// What a text gets if it was made at the time that the query names, or speaks of that
	// time: as much as one rare word of several, since a time alone is no answer. If the
	// query asks for nothing else, a text can get no more than this.
	timeShare = 0.15
	timeAlone = 0.5
	smallPart = 0.25

	// What a text gets if the query names who says it: people tell of themselves, and do not say
	// their names. What others say beside that is less likely meant, unless they are named, too.
	signerShare = 0.08
	othersPart  = 0.8

	// What a text is more like the query if it says how somebody wants things, as a part of what it is like it,
	// and for a request what it is like it at least.
	// Where passages are long half of that is left: many say so there beside other things.
	wishLike  = 0.5
	wishShare = 0.2
	longWish  = 0.5

	// What a text is more like a question for a number or a time if it has one, where passages are short.
	answerLike = 0.5

	// What a note is less like a query about somebody if it names him nowhere: where many notes say the same of others, what
	// it says is like the query and not what is asked for.
	ofOthersLike = 0.3

	// What is left of a turn in talk among people that ends with a question, and of one that says "you" and not "I":
	// people tell of themselves. What stands behind a question to somebody gets so much more of it. All this
	// fades where passages are long.
	asksPart   = 0.8
	othersTold = 0.6
	replyMore  = 1.0

	// Who goes on in a talk often says again what was said to him right before, which is no news. So much less is left of what
	// he says, the more all of it is like all of that: nothing less up to a likeness, and all from another one on.
	echoLess = 0.2
	echoFrom = 0.4
	echoTo   = 0.75

	// What is left of a sum if the query asks for nothing: the best of all is then less
	// likely than what has nothing in common with a real question often is.
	idlePart = 0.1

	// How much higher a scale begins by what is not known of a query in another language.
	likeMuch = 1.0 / 3

	// What is left of what sequences give if the embedder knows no word of the query: words
	// decide then, and many texts have one of them by chance.
	strangeShare = 0.25

	chanceFrom = -4.1 // the logit of the chance that belongs to a sum of 0
	chanceStep = 5.6  // what a sum of 1 adds to it
)

// Settings are what all texts of a search have in common.
type Settings struct {
	VectorWeight   float64 // of similarity, 0 to 1; words weigh the rest
	VectorsAlone   bool    // a text without a vector gets nothing for its words
	Sequences      bool    // texts get something of their sequences
	NeighbourShare float64
	ContextShare   float64
	Scale          Scale
	OnlyTime       bool // the query asks for nothing but a time
	Idle           bool // the query asks for nothing at all, such as "go on"
	General        bool // the query has nothing of anybody, such as "explain inflation"
	OfAssistant    bool // the query asks for what an assistant said, too
}

// Beside returns what is left of what sequences give, 0 to 1, for a query of which the embedder
// knows a share; less than half is little. It is 1 where no embedder was asked.
func Beside(asked bool, known float64) float64 {
	if !asked {
		return 1
	}
	return strangeShare + (1-strangeShare)*Understood(known)
}

// Understood returns how far the cosines of an embedder mean something for a query of which it knows a
// share, 0 to 1. Texts in a language that it never learnt are all alike to it.
func Understood(known float64) float64 { return min(1, 2*known) }

// A Scale says what the cosines of an embedder mean, −1 to 1.
type Scale struct {
	Unrelated float64 // up to which texts have nothing in common
	Alike     float64 // from which texts say the same; more than Unrelated
}

// Fits reports whether the bounds are cosines, and in order.
func (s Scale) Fits() bool { return s.Unrelated >= -1 && s.Unrelated < s.Alike && s.Alike <= 1 }

// Told returns the scale of a query of which an embedder knows a share, 0 to 1, and what then counts as
// known. A query that is strange, in a language whose words the embedder cuts into pieces, is like all
// texts of that language: they reach what is alike elsewhere, and what says the same lies beyond that. Words known by what they mean in
// another language stand for less than they say, and are a little like much. In kana, Japanese, they are so beside words, too,
// where the scale rises as much and what is known stays.
func Told(s Scale, known float64, strange, kana bool) (Scale, float64) {
	switch {
	case s.Alike >= 1: // nothing is beyond it
		return s, known
	case strange:
		return s.risen(max(1-Understood(known), (1-known)*likeMuch)), 1
	case kana:
		return s.risen((1 - known) * likeMuch), known
	}
	return s, known
}

// risen is a scale that begins and ends higher by a share of what is beyond.
func (s Scale) risen(share float64) Scale {
	return Scale{s.Unrelated + float64(share*(s.Alike-s.Unrelated)), s.Alike + float64(share*(1-s.Alike))}
}

// Speaker says which side of a chat said a text.
type Speaker uint8

// The speakers.
const (
	Unknown Speaker = iota
	Person
	Assistant
	LikelyAssistant // by the form of the text: nobody says so
)

// None stands in Beside for a neighbour that is not there.
const None = -1

// A Text is what is known of a text for a query.
type Text struct {
	KeywordShare float64 // its BM25, over what the words of the query allow
	Covered      float64 // how much of the query's weight it holds
	Similarity   float64 // its cosine, if Embedded
	Embedded     bool
	Together     float64 // the cosine of it with those beside it, if Named; 0: not known
	Echo         float64 // the cosine of it and what stands before it, by what the embedder knows; 0: not known, or an assistant says it

	InSequence              bool
	Context, ContextCovered float64 // of its sequence: as KeywordShare, and the best Covered
	Long, Many              float64 // how long the passages searched are, and how many, 0 to 1
	InTime                  float64 // how well its time is the one the query names, 0 to 1
	Speaker                 Speaker
	Signed, Named           bool    // it begins with the name of who says it; the query names that
	Wish                    float64 // how much it counts that it says how somebody wants things, 0 to 1
	Wanted                  bool    // the query asks for what that bears on
	Answers                 bool    // the query asks for a number or a time, and it has one
	Asks, AsksYou           bool    // it ends with a question; that is to somebody
	OfOneself, ToOthers     bool    // it says "I"; "you" and not "I"
	Beside                  [4]int  // two before, before, after, two after: their numbers, or None

	OfOthers  bool // the query is about somebody whom it does not name
	ByPronoun bool // it says "he" or "she"
	others    bool // nor does it speak of him as one whom a text beside it names
	note      bool // it is no part of a talk, as far as those beside it show
}

// Parts are what the score of a text is the sum of.
type Parts struct{ Keyword, Vector, Context, Neighbour, Signer, Time float64 }

// Sum is what texts are ordered by.
func (p Parts) Sum() float64 {
	return p.Keyword + p.Vector + p.Context + p.Neighbour + p.Signer + p.Time
}

// Own reports whether a text has anything of its own: a word or similarity.
func (p Parts) Own() bool { return p.Keyword+p.Vector > 0 }

// rooms are what [ScoreEach] works in.
var rooms = sync.Pool{New: func() any { return new([]Text) }}

// ScoreEach is Score for n texts that fill makes.
func ScoreEach(n int, fill func(i int) Text, s Settings) []Parts {
	room := rooms.Get().(*[]Text)
	defer rooms.Put(room)
	texts := slices.Grow((*room)[:0], n)
	for i := range n {
		texts = append(texts, fill(i))
	}
	*room = texts
	return Score(texts, s)
}

// Score scores texts.
func Score(texts []Text, s Settings) []Parts {
	out := make([]Parts, len(texts))
	for i := range texts {
		texts[i].note = s.Sequences && !talks(texts, i)
		texts[i].others = texts[i].OfOthers && !(texts[i].ByPronoun && besideHim(texts, i))
		out[i] = own(&texts[i], &s)
	}
	if s.Sequences {
		inSequences(texts, out, &s)
	}
	for i, p := range out {
		if part := s.left(&texts[i]); part < 1 {
			out[i] = p.times(part)
			out[i].Time = p.Time * part
		}
	}
	return out
}

// left is what is left of what a text gets for what the query asks for.
func (s *Settings) left(t *Text) float64 {
	part := 1.0
	if s.Idle {
		part = idlePart
	}
	if s.General && s.Sequences {
		most := generalPart - float64((generalPart-generalMany)*t.Many)
		part *= 1 - float64((1-most)*t.Long)
	}
	return part
}

// inSequences adds what texts get of their sequences and of their times.
func inSequences(texts []Text, out []Parts, s *Settings) {
	lifts := make([]float64, len(texts))
	for i := range texts {
		lifts[i] = lift(texts, out, i) * s.NeighbourShare
	}
	for i := range texts { // after the lifts: what stands beside a text would count twice in those
		if more, t := texts[i].together(), texts[i]; more > t.Similarity {
			t.Similarity = more
			out[i] = own(&t, s)
		}
	}
	for i := range texts { // after the lifts, too: a question that fits lifts its answer
		part := talkPart(texts, i) * news(texts, i, s)
		out[i].Keyword, out[i].Vector = out[i].Keyword*part, out[i].Vector*part
	}
	// A text in no sequence has nothing to gain there, so both are brought to one scale.
	most := 1 + s.ContextShare + float64(sharesTogether*s.NeighbourShare)
	for i := range texts {
		if p := &out[i]; texts[i].InSequence {
			*p = Parts{p.Keyword / most, p.Vector / most, p.Context / most, lifts[i] / most, 0, 0}
		}
		p := &out[i]
		switch {
		case texts[i].Named:
			p.Signer = signerShare
		case texts[i].Signed && besideNamed(texts, i):
			*p = p.times(othersPart)
		}
		p.Time = texts[i].InTime * timeShare
		if s.OnlyTime { // what is like small words says nothing
			*p = p.times(smallPart)
			p.Time = texts[i].InTime * timeAlone
		}
	}
}

// together is how similar a text is with what it was said to: "Three times a week" says little alone. It
// counts for what somebody says whom the query names. Other texts merely follow one another, and
// all that stands beside a good one would be similar. In long passages a sum of vectors says as little
// as each of them.
func (t *Text) together() float64 {
	if !t.Named || t.Together == 0 {
		return t.Similarity
	}
	return t.Similarity + float64((1-t.Long)*(t.Together-t.Similarity))
}

// times are parts times a factor, but for that of the time.
func (p Parts) times(f float64) Parts {
	return Parts{p.Keyword * f, p.Vector * f, p.Context * f, p.Neighbour * f, p.Signer * f, 0}
}

// besideHim reports whether a text beside names whom the query is about.
func besideHim(texts []Text, i int) bool {
	return slices.ContainsFunc(texts[i].Beside[:], func(n int) bool { return n != None && !texts[n].OfOthers })
}

// besideNamed reports whether somebody whom the query names speaks beside a text.
func besideNamed(texts []Text, i int) bool {
	return slices.ContainsFunc(texts[i].Beside[:], func(n int) bool { return n != None && texts[n].Named })
}

// own is what a text gets for itself and for its sequence.
func own(t *Text, s *Settings) (p Parts) {
	weight := s.VectorWeight
	if !t.Embedded && !s.VectorsAlone {
		weight = 0 // of what has no vector yet the words decide alone
	}
	part := 1.0
	if s.Sequences && s.VectorWeight > 0 {
		weight = min(1, weight*(1+float64(longVectors*t.Long)))
		if t.note { // some of what words weigh, so that they always weigh something
			weight += float64(float64(noteVectors*(1-t.Long)) * float64(weight*(1-weight)))
		}
		part = 1 - float64((1-longPart)*t.Long)
	}
	p.Keyword = part * (1 - weight) * min(1, t.KeywordShare) * math.Pow(t.Covered, coveragePower)
	if t.Embedded {
		p.Vector = part * weight * t.likeness(s)
	}
	if !s.Sequences {
		return p
	}
	if (t.Speaker == Assistant || t.Speaker == LikelyAssistant) && s.NeighbourShare > 0 && !s.OfAssistant {
		p.Keyword, p.Vector = p.Keyword*assistantPart, p.Vector*assistantPart
	}
	p.Context = part * s.ContextShare * min(1, t.Context) * t.ContextCovered
	return p
}

// likeness is how much a text is like the query, 0 to 1. A request and a wish that bears on it are less alike than
// a question and its answer.
func (t *Text) likeness(s *Settings) float64 {
	like := s.Scale.likeness(t.Similarity)
	if t.Answers && s.Sequences {
		like = min(1, like+float64(answerLike*(1-t.Long)*like))
	}
	if t.others && t.note {
		like *= ofOthersLike
	}
	if t.Wish == 0 {
		return like
	}
	more := float64(wishLike * like)
	if t.Wanted {
		more += wishShare * (1 - float64((1-longWish)*t.Long))
	}
	return like + float64(t.Wish*more) // without a bound: those that are much alike would all be the same
}

// likeness scales a cosine to 0…1.
func (s Scale) likeness(cosine float64) float64 {
	return min(1, max(0, (cosine-s.Unrelated)/(s.Alike-s.Unrelated)))
}

// lift is what the neighbours of a text have of their own, each times its share and the root
// of how much of the query it holds: what is only similar, as all notes on a subject are,
// says nothing of what stands beside it.
func lift(texts []Text, own []Parts, i int) (sum float64) {
	speaker := side(texts, i)
	for n, other := range texts[i].Beside {
		if other != None {
			held := math.Pow(texts[other].Covered, coveragePower)
			part := share(n, speaker, turn(texts[other].Speaker, speaker))
			if n == 1 && texts[other].AsksYou && amongPeople(texts, i) {
				part *= 1 + float64(replyMore*(1-texts[i].Long))
			}
			if texts[i].note && texts[i].others { // what it stands beside is of somebody else
				part = 0
			}
			sum += float64(part * held * own[other].Sum())
		}
	}
	return sum
}

// talkPart is what is left of a text's own score for how it speaks in talk among people.
func talkPart(texts []Text, i int) float64 {
	t := &texts[i]
	part := 1.0
	if t.Asks {
		part = asksPart
	}
	if t.ToOthers {
		part *= othersTold
	}
	if part == 1 || !amongPeople(texts, i) {
		return 1
	}
	return 1 - float64((1-t.Long)*(1-part))
}

// news is what is left of what somebody says for how much of it was said right before. Notes that follow one another are
// no talk.
func news(texts []Text, i int, s *Settings) float64 {
	t := &texts[i]
	if t.Echo == 0 || t.note && !behindAssistant(t, texts) {
		return 1
	}
	again := min(1, max(0, (s.Scale.likeness(t.Echo)-echoFrom)/(echoTo-echoFrom)))
	return 1 - float64(echoLess*again)
}

// behindAssistant reports whether an assistant speaks right before a text.
func behindAssistant(t *Text, texts []Text) bool {
	before := t.Beside[1]
	return before != None && (texts[before].Speaker == Assistant || texts[before].Speaker == LikelyAssistant)
}

// amongPeople reports whether a text is a turn of a talk among people, as far as texts show it: somebody beside it
// speaks of himself, and neither it nor what stands beside it is said by an assistant.
func amongPeople(texts []Text, i int) bool {
	told := false
	for _, n := range texts[i].Beside {
		if n == None {
			continue
		}
		if texts[n].Speaker == Assistant || texts[n].Speaker == LikelyAssistant {
			return false
		}
		told = told || texts[n].OfOneself
	}
	return told && texts[i].InSequence && texts[i].Speaker != Assistant && texts[i].Speaker != LikelyAssistant
}

// talks reports whether somebody asks or speaks to others in a text, or in one beside it.
func talks(texts []Text, i int) bool {
	toSomebody := func(t *Text) bool { return t.Asks || t.AsksYou || t.ToOthers }
	return toSomebody(&texts[i]) || slices.ContainsFunc(texts[i].Beside[:], func(n int) bool {
		return n != None && toSomebody(&texts[n])
	})
}

// side is who speaks in a text: a person, too, if that is not known and an assistant likely
// speaks right before or after it.
func side(texts []Text, i int) Speaker {
	speaker := texts[i].Speaker
	for _, n := range texts[i].Beside[1:3] {
		if n != None && texts[n].Speaker == LikelyAssistant {
			speaker = turn(speaker, Assistant)
		}
	}
	return turn(speaker, Unknown)
}

// turn is who speaks beside a speaker: whom nobody names and who does not sound like an
// assistant takes turns with the one who does.
func turn(speaker, beside Speaker) Speaker {
	switch {
	case speaker == LikelyAssistant:
		return Assistant
	case speaker == Unknown && beside == Assistant:
		return Person
	}
	return speaker
}

// share is what a text gets of the nth of those beside it.
func share(n int, speaker, other Speaker) float64 {
	const before, after = 1, 2
	chat := speaker != other && speaker != Unknown && other != Unknown
	switch {
	case chat && n == after && speaker == Person:
		return shareAnswer
	case chat && n == before && speaker == Assistant:
		return shareQuestion
	case chat || speaker != Unknown && n != before && n != after:
		return 0
	case n == before:
		return shareBefore
	case n == after:
		return shareAfter
	}
	return shareTwoAway
}

// Chance is how likely a text with such a sum of parts answers the query. The
// conversion keeps a compiler from fusing the steps, which some machines would do.
func Chance(sum float64) float64 { return 1 / (1 + math.Exp(-(chanceFrom + float64(chanceStep*sum)))) }
