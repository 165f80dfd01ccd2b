package retrieval

import (
	"strings"

	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/russian"
)

// The stems of French and of Russian, as those of English, are those of package snowball, which takes a microsecond or two for a word: it
// makes runes of each ending that it compares. For words of the letters that nearly all words have the same rules are
// written out here. A test compares the two.

// regions are where the parts of a word begin that endings must lie in.
type regions struct{ first, second, verb int }

// in bounds the regions of a word that became shorter.
func (r regions) in(word string) regions {
	return regions{min(r.first, len(word)), min(r.second, len(word)), min(r.verb, len(word))}
}

// behindVowel is where a word goes on behind the first letter that is no vowel and follows one, from some letter on.
func behindVowel(word string, from, size int, isVowel func(string, int) bool) int {
	for i := from + size; i < len(word); i += size {
		if isVowel(word, i-size) && !isVowel(word, i) {
			return i + size
		}
	}
	return len(word)
}

var (
	russianGerunds     = newEndings("ившись", "ывшись", "вшись", "ивши", "ывши", "вши", "ив", "ыв", "в")
	russianReflexives  = newEndings("ся", "сь")
	russianAdjectives  = newEndings("ими", "ыми", "его", "ого", "ему", "ому", "ее", "ие", "ые", "ое", "ей", "ий", "ый", "ой", "ем", "им", "ым", "ом", "их", "ых", "ую", "юю", "ая", "яя", "ою", "ею")
	russianParticiples = newEndings("ивш", "ывш", "ующ", "ем", "нн", "вш", "ющ", "щ")
	russianVerbs       = newEndings("уйте", "ейте", "ыть", "ыло", "ыли", "ыла", "уют", "ует", "нно", "йте", "ишь", "ить", "ите", "ило", "или", "ила", "ешь", "ете", "ены", "ено", "ена",
		"ят", "ют", "ыт", "ым", "ыл", "ую", "уй", "ть", "ны", "но", "на", "ло", "ли", "ла", "ит", "им", "ил", "ет", "ен", "ем", "ей", "ю", "н", "л", "й")
	russianNouns = newEndings("иями", "ями", "иях", "иям", "ием", "ией", "ами", "ях", "ям", "ья", "ью", "ье", "ом", "ой", "ов", "ия", "ию", "ий", "ии", "ие", "ем", "ей", "еи", "ев", "ах", "ам",
		"я", "ю", "ь", "ы", "у", "о", "й", "и", "е", "а")
	russianQualities = newEndings("ост", "ость")
	superlatives     = newEndings("ейше", "ейш")

	// behindA count behind а and я alone.
	behindA = wordSet("в вши вшись ем нн вш ющ щ ла на ете йте ли й л н ло но ет ют ны ть ешь нно")
)

// russianSnowball is the stem of a Russian word.
func russianSnowball(word string) string {
	const size = len("я")
	for i := 0; i < len(word); i += size {
		if i+1 == len(word) || word[i:i+size] < "а" || word[i:i+size] > "я" {
			return russian.Stem(word, true)
		}
	}
	if len(word) <= 2*size {
		return word
	}
	verb := size
	for verb <= len(word) && !russianVowel(word, verb-size) {
		verb += size
	}
	first := behindVowel(word, 0, size, russianVowel)
	second := behindVowel(word, first, size, russianVowel)
	// cut takes off an ending if it is one where it stands.
	cut := func(e *endings, only map[string]bool) bool {
		ending := e.first(word, verb)
		rest := word[:len(word)-len(ending)]
		behind := len(rest)-size >= verb && (strings.HasSuffix(rest, "а") || strings.HasSuffix(rest, "я"))
		if ending == "" || only[ending] && !behind {
			return false
		}
		word = rest
		return true
	}
	if !cut(russianGerunds, behindA) {
		cut(russianReflexives, nil)
		if cut(russianAdjectives, nil) {
			cut(russianParticiples, behindA)
		} else if !cut(russianVerbs, behindA) {
			cut(russianNouns, nil)
		}
	}
	if len(word)-size >= verb {
		word = strings.TrimSuffix(word, "и")
	}
	word = russianQualities.strip(word, second)
	switch shorter := superlatives.strip(word, 0); {
	case strings.HasSuffix(word, "нн"):
		return word[:len(word)-size]
	case len(shorter) < len(word):
		if strings.HasSuffix(shorter, "нн") {
			shorter = shorter[:len(shorter)-size]
		}
		return shorter
	}
	return strings.TrimSuffix(word, "ь")
}

// russianVowel reports whether the letter at a place is a vowel.
func russianVowel(word string, at int) bool {
	return strings.Contains("аеиоуыэюя", word[at:at+len("я")]) //nolint:gocritic // one letter among the vowels
}

var (
	frenchSuffixes = newEndings("issements", "issement", "atrices", "utions", "usions", "logies", "emment", "ements", "atrice", "ations", "ateurs", "amment", "ution",
		"usion", "ments", "logie", "istes", "ismes", "iqUes", "euses", "ences", "ement", "ation", "ateur", "ances", "ables", "ment", "iste", "isme", "iqUe", "euse", "ence", "eaux", "ance",
		"able", "ives", "eux", "aux", "ive", "ifs", "if")
	frenchVerbsI = newEndings("issantes", "issaIent", "issions", "issants", "issante", "iraIent", "issons", "issiez", "issent", "issant", "issait",
		"issais", "irions", "issez", "isses", "iront", "irons", "iriez", "irent", "irait", "irais", "isse", "irez", "iras", "irai", "ira", "ies", "it", "is", "ir", "ie", "i")
	frenchVerbs = newEndings("eraIent", "assions", "erions", "assiez", "assent", "eront", "erons", "eriez", "erait", "erais", "asses", "antes", "aIent", "ions",
		"erez", "eras", "erai", "asse", "ants", "ante", "iez", "era", "ant", "ait", "ais", "ez", "er", "as", "ai", "a")
	frenchRests   = newEndings("Ier", "ier", "ion", "e")
	frenchDoubles = newEndings("enn", "onn", "ett", "ell", "eill")
)

// mostFrench is how many letters a word has that is stemmed here.
const mostFrench = 64

// A frenchWord is one that endings are taken off.
type frenchWord struct {
	text string
	regions
}

// frenchSnowball is the stem of a French word.
//
//nolint:cyclop // the steps of the algorithm, one after another
func frenchSnowball(word string) string {
	if len(word) > mostFrench {
		return french.Stem(word, true)
	}
	var room [mostFrench]byte
	letters, marked := room[:len(word)], false
	for i := range len(word) {
		if letters[i] = word[i]; word[i] < 'a' || word[i] > 'z' {
			return french.Stem(word, true)
		}
	}
	if len(word) <= 2 {
		return word
	}
	before := false // a vowel stands before
	for i, c := range letters {
		next := i+1 < len(letters) && frenchVowel(word, i+1)
		consonant := c == 'y' && (before || next) || c == 'u' && (before && next || i > 0 && letters[i-1] == 'q') ||
			c == 'i' && before && next
		if before = frenchVowel(word, i) && !consonant; consonant {
			letters[i], marked = c&^0x20, true
		}
	}
	w := frenchWord{text: word}
	if marked {
		w.text = string(letters)
	}
	w.first = behindVowel(w.text, 0, 1, frenchVowel)
	w.second = behindVowel(w.text, w.first, 1, frenchVowel)
	w.verb = w.verbRegion()
	if w.suffix() || w.verbI() || w.verbEnding() {
		if strings.HasSuffix(w.text, "Y") {
			w.replace(1, "i")
		}
	} else {
		w.rest()
	}
	if frenchDoubles.first(w.text, 0) != "" {
		w.replace(1, "")
	}
	return strings.ToLower(w.text)
}

// frenchVowel reports whether the letter at a place is a vowel. Capitals are vowels that stand for consonants.
func frenchVowel(word string, at int) bool {
	switch word[at] {
	case 'a', 'e', 'i', 'o', 'u', 'y':
		return true
	}
	return false
}

func (w *frenchWord) verbRegion() int {
	switch {
	case strings.HasPrefix(w.text, "par"), strings.HasPrefix(w.text, "col"), strings.HasPrefix(w.text, "tap"),
		frenchVowel(w.text, 0) && frenchVowel(w.text, 1):
		return 3
	}
	for i := 1; i < len(w.text); i++ {
		if frenchVowel(w.text, i) {
			return i + 1
		}
	}
	return len(w.text)
}

// replace puts a text in place of the last letters.
func (w *frenchWord) replace(last int, by string) {
	w.text = w.text[:len(w.text)-last] + by
	w.regions = w.in(w.text)
}

// fits reports whether the last letters lie in a region.
func (w *frenchWord) fits(region, last int) bool { return region <= len(w.text)-last }

// replaceIn puts a text in place of an ending that does not lie in the second region, where the ending goes.
func (w *frenchWord) replaceIn(ending, by string) bool {
	switch {
	case !strings.HasSuffix(w.text, ending):
		return false
	case w.fits(w.second, len(ending)):
		w.replace(len(ending), "")
	case by != "":
		w.replace(len(ending), by)
	}
	return true
}

// suffix takes off one of nouns, adjectives and adverbs, and reports whether no ending of verbs is to follow.
//
//nolint:cyclop // a rule for each ending
func (w *frenchWord) suffix() bool {
	suffix := frenchSuffixes.first(w.text, 0)
	n := len(suffix)
	if n == 0 {
		return false
	}
	base := w.text[:len(w.text)-n]
	inFirst, inSecond, inVerb := w.fits(w.first, n), w.fits(w.second, n), w.fits(w.verb, n)
	if inSecond {
		switch suffix {
		case "logie", "logies":
			w.replace(n, "log")
			return true
		case "usion", "ution", "usions", "utions":
			w.replace(n, "u")
			return true
		case "ence", "ences":
			w.replace(n, "ent")
			return true
		case "ance", "iqUe", "isme", "able", "iste", "eux", "ances", "iqUes", "ismes", "ables", "istes":
			w.replace(n, "")
			return true
		}
	}
	if inVerb {
		switch suffix {
		case "amment":
			w.replace(n, "ant")
			return false
		case "emment":
			w.replace(n, "ent")
			return false
		case "ment", "ments":
			if last := len(base) - 1; last >= w.verb && frenchVowel(base, last) {
				w.replace(n, "")
			}
			return false
		}
	}
	switch suffix {
	case "eaux":
		w.replace(n, "eau")
		return true
	case "aux":
		if inFirst {
			w.replace(n, "al")
		}
		return inFirst
	case "euse", "euses":
		if inSecond {
			w.replace(n, "")
		} else if inFirst {
			w.replace(n, "eux")
		}
		return inFirst || inSecond
	case "issement", "issements":
		if !inFirst || base == "" || frenchVowel(base, len(base)-1) {
			return false
		}
		w.replace(n, "")
		return true
	case "atrice", "ateur", "ation", "atrices", "ateurs", "ations":
		if inSecond {
			w.replace(n, "")
			w.replaceIn("ic", "iqU")
		}
		return inSecond
	case "ement", "ements":
		if inVerb {
			w.replace(n, "")
			w.behindEment()
		}
		return inVerb
	case "if", "ive", "ifs", "ives":
		if inSecond {
			w.replace(n, "")
			if strings.HasSuffix(w.text, "at") && w.fits(w.second, len("at")) {
				w.replace(len("at"), "")
				w.replaceIn("ic", "iqU")
			}
		}
		return inSecond
	}
	return false
}

// behindEment takes off what stood before "ement".
func (w *frenchWord) behindEment() {
	switch {
	case strings.HasSuffix(w.text, "iv") && w.fits(w.second, len("iv")):
		w.replace(len("iv"), "")
		if strings.HasSuffix(w.text, "at") && w.fits(w.second, len("at")) {
			w.replace(len("at"), "")
		}
	case strings.HasSuffix(w.text, "eus") && !w.fits(w.second, len("eus")) && w.fits(w.first, len("eus")):
		w.replace(len("eus"), "eux")
	case w.replaceIn("eus", ""), w.replaceIn("abl", ""), w.replaceIn("iqU", ""):
	}
}

// verbI takes off an ending of verbs in -ir.
func (w *frenchWord) verbI() bool {
	n := len(frenchVerbsI.first(w.text, w.verb))
	if n == 0 || !w.fits(w.verb, n+1) || frenchVowel(w.text, len(w.text)-n-1) {
		return false
	}
	w.replace(n, "")
	return true
}

// verbEnding takes off another ending of verbs.
func (w *frenchWord) verbEnding() bool {
	ending := frenchVerbs.first(w.text, w.verb)
	switch {
	case ending == "" || ending == "ions" && !w.fits(w.second, len(ending)):
		return false
	case ending[0] != 'a':
		w.replace(len(ending), "")
		return true
	}
	w.replace(len(ending), "")
	if strings.HasSuffix(w.text, "e") && w.fits(w.verb, 1) {
		w.replace(1, "")
	}
	return true
}

// rest takes off what words end with that lost nothing before.
func (w *frenchWord) rest() {
	if n := len(w.text); n > 1 && w.text[n-1] == 's' {
		if strings.IndexByte("aious", w.text[n-2]) >= 0 {
			return
		}
		w.replace(1, "")
	}
	switch ending := frenchRests.first(w.text, w.verb); ending {
	case "ion":
		at := len(w.text) - len(ending) - 1
		inside := w.fits(w.second, len(ending)) && at >= 0 && w.fits(w.verb, len(ending)+1)
		if inside && (w.text[at] == 's' || w.text[at] == 't') {
			w.replace(len(ending), "")
		}
	case "ier", "Ier":
		w.replace(len(ending), "i")
	case "e":
		w.replace(1, "")
	}
}
