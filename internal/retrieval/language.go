package retrieval

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A language of Latin letters whose words are also found by their stems. English is the
// rule and has none: its stems are the terms themselves.
type language struct {
	mark byte            // leads its stems
	stop map[string]bool // words that tell it, folded
	stem func(word string) string
}

// stemMark leads the text of a [Stem] token; no word of a text begins so.
const stemMark = '\x01'

// isSmall reports whether a word carries no meaning in one of the languages given.
func isSmall(word string, in []int) bool {
	for _, l := range in {
		if languages[l].stop[word] {
			return true
		}
	}
	return false
}

// asks reports whether a word only asks, in a query that is in one of some languages, or carries no
// meaning in the language of its script. Queries leave such words out of what they miss; stored
// texts know no such list, so it may grow.
func asks(word string, in []int) bool {
	return len(in) > 0 && asking[word] || word[0] >= utf8.RuneSelf && smallOfScripts[word]
}

// asking are words of questions in the languages of Latin letters, beside the small ones that tell them.
var asking = wordSet(`welche welcher welches welchen welchem wieviel wieviele wohin woher womit wofur worauf woran wogegen wovon wozu wessen wem wen
	soll sollen sollst sollte kann kannst konnen muss mussen darf bin bist habe hast mir mich dir dich dein deine sich man es quel quelle quels quelles quand comment pourquoi combien lequel laquelle
	d j l m n s t y on ne se me te lui leur leurs cet suis es as dois doit peux peut faut
	cual cuales cuanto cuanta cuantos cuantas quienes nos les debo debe puedo puede hay soy qual quais quanto quanta quantos quantas quale quali perche welke hoeveel waarom`)

// smallOfScripts are the small words of Russian and of Arabic.
var smallOfScripts = wordSet(fold(`и в во на с со к ко у о об от до из за по для не а но или что чего чему чем кто кого кому кем как какой какая какое какие каким какую
	каком какого где куда откуда когда почему зачем сколько ли же бы это этот эта эти тот та те я меня мне мной мы нас нам ты тебя тебе вы вас вам он
	его ему она её ей они их им мой моя моё мои моего моей моему моём моих моим моими мою наш наша наше наши твой твоя его свой своя есть быть был была
	было были будет надо нужно можно ещё уже
	ما ماذا مم مما من متى أين كيف كم لماذا هل أي أية إلى على في عن مع هذا هذه ذلك تلك التي الذي هو هي هم أنا نحن أنت لي له لها لنا
	عند لدى لدي لديه لديها كان كانت يكون تكون أن إن لا لم لن قد أو ثم حتى بين يا`))

// languages are told by their small words. A text in none of them, or in English, gives no
// stems; one that may be in two gives those of both, which costs it nothing.
var languages = []language{
	{'d', wordSet(`der die das und ist nicht ein eine einen einem einer ich du er sie wir ihr mein meine meiner meinem unser unsere
		zu im am auf mit von dem den des bei fur auch war hat haben wird wurde wurden sind alle wie wo wer was wann warum nach uber aus`), germanStem},
	{'f', wordSet(`le la les un une des du de et est pas je tu il elle nous vous ils mes mon ma ton sa son ses notre dans sur avec pour
		au aux ce cette qui que ou chez ai a ont avons est sont qu`), frenchStem},
	{'s', wordSet(`el la los las un una unos es yo tu mi mis su sus nuestro en de del con por para al que quien donde cuando como
		esta este son fue ha he se lo le`), spanishStem},
	{'p', wordSet(`os as um uma nao eu tu meu minha meus seu sua nosso em de do da dos das no na nos nas por para ao que quem
		onde quando como sao foi tem se`), portugueseStem},
	{'i', wordSet(`il lo la i gli le un una uno non io tu mio mia mie miei suo sua nostro in di del della dei delle nel nella con per al
		alla che chi dove quando come sono ha ho si sul sulla abbiamo`), italianStem},
	{'n', wordSet(`de het een en is niet ik je hij zij wij mijn jouw zijn haar ons in op onder met van voor aan bij naar dat die wie wat
		waar wanneer hoe ook was heeft`), dutchStem},
}

// englishWords are the words that tell English.
var englishWords = wordSet(`the and is are was were of to in on at my i you he she it we they with for that this what who where when how do did
	does have has had not be been our your his her its their by from as an a am`)

// smallIn has a bit for each language in which a word is small: a text asks for all of its words.
var smallIn = func() map[string]uint8 {
	in := map[string]uint8{}
	for word := range englishWords {
		in[word] = inEnglish
	}
	for i := range languages {
		for word := range languages[i].stop {
			in[word] |= 1 << i
		}
	}
	return in
}()

var smallGlance = glanceOf(smallIn)

const inEnglish = 1 << 7

// countedLanguages is [languagesAndEnglish] of any text.
func countedLanguages(text, folded string) (of []int, hasEnglish bool) {
	counts, most, english := countSmall(folded)
	switch {
	case most > english:
		return withCount(counts, most), english > 0
	case english == 0 && text != folded:
		return byLetters(text), false
	}
	return nil, english > 0
}

// byLetters are the indices of the languages of the letters of a text that English lacks.
func byLetters(text string) (of []int) {
	have := uint8(0)
	const enough = 512 // bytes, to tell a language
	if len(text) > enough {
		text = text[:enough]
	}
	for _, r := range norm.NFC.String(text) {
		if r >= utf8.RuneSelf && unicode.Is(unicode.Latin, r) {
			have |= lettersIn[unicode.ToLower(r)]
		}
	}
	for i := range languages {
		if have&(1<<i) != 0 {
			of = append(of, i)
		}
	}
	return of
}

// lettersIn has a bit for each language that writes a letter. Dutch has hardly any of its own.
var lettersIn = func() map[rune]uint8 {
	in := map[rune]uint8{}
	for i, letters := range []string{"äöüß", "àâçèéêëîïôûùœ", "áéíóúñ", "àáâãçéêíóôõú", "àèéìòù"} {
		for _, r := range letters {
			in[r] |= 1 << i
		}
	}
	return in
}()

// countSmall counts the small words of each language in a text; most is the greatest count but for that of English.
func countSmall(text string) (counts [8]int, most, english int) {
	const enough = 64 // words, to tell a language
	for range enough {
		var w string
		if w, text = cutWord(text); w == "" {
			break
		}
		in := smallMask(w)
		if in&inEnglish != 0 {
			english++
		}
		for in &^= inEnglish; in != 0; in &= in - 1 {
			i := bits.TrailingZeros8(in)
			counts[i]++
			most = max(most, counts[i])
		}
	}
	return counts, most, english
}

// smallMask has a bit for each language in which a folded word is small.
func smallMask(word string) uint8 {
	var low [16]byte // longer than any of them
	if len(word) > len(low) {
		return 0
	}
	for i := range len(word) {
		if low[i] = word[i]; 'A' <= word[i] && word[i] <= 'Z' {
			low[i] |= 0x20
		}
	}
	if !smallGlance.may(string(low[:len(word)])) {
		return 0
	}
	return smallIn[string(low[:len(word)])]
}

// withCount are the languages that have a count.
func withCount(counts [8]int, n int) (of []int) {
	for i := range languages {
		if counts[i] == n {
			of = append(of, i)
		}
	}
	return of
}

// Strange returns what reports whether a word carries no meaning in the language that a text is in, if that
// is one of Latin letters and may be another than English; nil: it seems to be English. Its small words
// tell, and else a letter that English lacks.
func Strange(text string) func(word string) bool {
	counts, most, english := countSmall(fold(text))
	var of []int
	switch {
	case most > 0 && most >= english:
		of = withCount(counts, most)
	case !strings.ContainsFunc(text, foreignLetter):
		return nil
	}
	return func(word string) bool { return isSmall(word, of) }
}

// foreignLetter reports whether a letter is Latin, and none of English.
func foreignLetter(r rune) bool { return r >= utf8.RuneSelf && unicode.Is(unicode.Latin, r) }

// stemIn is the text of the stem of a word in a language; "": the word has none.
func stemIn(word string, l int) string {
	if !hasStem(word) || languages[l].stop[word] {
		return ""
	}
	return languageStem(stemHash(word), word, l)
}

// languageStem is stemIn of a word that has one, and a hash.
func languageStem(hash uint64, word string, l int) string {
	return cachedStemOf(hash, languages[l].mark, word, markedStems[l])
}

// markedStems are what make the stems of each language, led by its mark.
var markedStems = func() (of []func(word string) string) {
	for l := range languages {
		of = append(of, func(word string) string { return stemAs(word, l) })
	}
	return of
}()

// CutStem takes the text of an [Inflected] token apart: the letter of its language, and the stem.
func CutStem(text string) (language byte, stem string, ok bool) {
	if len(text) <= 2 || text[0] != stemMark {
		return 0, "", false
	}
	return text[1], text[2:], true
}

// StemsFrom and StemsTo are between which terms all those of [Inflected] tokens lie, and no others.
const (
	StemsFrom = string(rune(stemMark))
	StemsTo   = string(rune(stemMark + 1))
)

func hasStem(word string) bool { return utf8.RuneCountInString(word) >= 3 && isLatinWord(word) }

func stemAs(word string, l int) string {
	return string([]byte{stemMark, languages[l].mark}) + languages[l].stem(word)
}

// stemsIn are the texts of the stems of a word in all languages, one behind the other, each led by its
// mark; "": the word has none.
func stemsIn(word string) string {
	if !hasStem(word) {
		return ""
	}
	var stems strings.Builder
	stems.Grow(len(languages) * (len(word) + 2))
	for l := range languages {
		if !languages[l].stop[word] {
			stems.WriteString(stemAs(word, l))
		}
	}
	return strings.Clone(stems.String()) // of its own length
}

// isLatinWord reports whether a word is of Latin letters alone.
func isLatinWord(word string) bool {
	for _, r := range word {
		if (r < 'a' || r > 'z') && (r < utf8.RuneSelf || !unicode.Is(unicode.Latin, r)) {
			return false
		}
	}
	return true
}

// strip takes off an ending if least letters stay.
func strip(word string, least int, ending string) string {
	if rest, ok := strings.CutSuffix(word, ending); ok && len(rest) >= least {
		return rest
	}
	return word
}

// germanStem takes off the endings of nouns, adjectives and verbs (after Savoy's light
// stemmer), and the one of women. What a singular ends with is no ending: Haus, Zahn, Stern.
func germanStem(word string) string {
	word = infinitive(word)
	before := word
	word = germanEndings.strip(word, 3)
	if word == before {
		switch rest, last := word[:len(word)-1], word[len(word)-1]; {
		case last == 's' && len(rest) >= 3 && strings.IndexByte("bdfghklmnrt", rest[len(rest)-1]) >= 0:
			word = rest
		case last == 'n' && len(rest) >= 5 && (rest[len(rest)-1] == 'l' || rest[len(rest)-1] == 'r'):
			word = rest
		}
	}
	word = germanDerivations.strip(word, 4)
	word = strip(word, 4, "t")
	if n := len(word); n > 3 && word[n-1] == 's' && word[n-2] == 's' { // Ergebnisse
		word = word[:n-1]
	}
	return word
}

// germanPrefixes are written in one with the participle of a verb, before its "ge": abgesagt.
var germanPrefixes = []string{"ab", "an", "auf", "aus", "bei", "durch", "ein", "fest", "fort", "heraus", "her", "hinaus", "hin", "los", "mit", "nach",
	"nieder", "statt", "teil", "uber", "um", "unter", "vorbei", "vor", "weg", "weiter", "wieder", "zuruck", "zusammen", "zu"}

// noParticiples look like regular participles and are nouns or verbs of their own: their rest would be another word.
var noParticiples = wordSet("geschicht geschaft gesicht gericht gedicht gewicht gebiet geburt gestal gewal gewalt gehalt gespenst geschlecht gerecht " +
	"gefecht gerucht gerust gelang gewahr gebuhr gefall gesteh genies genug gesund gesamt gemut gesell gebe gedacht gebracht gefahr")

// infinitive is the infinitive of a regular German participle, with the endings of adjectives, too: kaufen for
// gekauft, absagen for abgesagte; any other word as it is.
func infinitive(word string) string {
	prefix, rest, ok := "", "", false
	if rest, ok = strings.CutPrefix(word, "ge"); !ok {
		first := word[0] - 'a'
		for _, p := range participles[min(int(first), len(participles)-1)] {
			if rest, ok = strings.CutPrefix(word, p); ok {
				prefix = strings.TrimSuffix(p, "ge")
				break
			}
		}
	}
	if !ok || noParticiple(word[len(prefix):]) {
		return word
	}
	for _, ending := range []string{"t", "te", "ten", "ter", "tes", "tem"} {
		root, ok := strings.CutSuffix(rest, ending)
		switch {
		case !ok || len(root) < 3:
		case root[len(root)-1] == 'e': // gearbeitet
			return prefix + root + "n"
		default:
			return prefix + root + "en"
		}
	}
	return word
}

// noParticiple reports whether a word begins as one that is none.
func noParticiple(word string) bool {
	for n := len("gebe"); n <= len(word) && n <= len("geschlecht"); n++ {
		if noParticiples[word[:n]] {
			return true
		}
	}
	return false
}

// dutchStem takes off the endings of nouns, adjectives and verbs. What spelling doubles where no ending
// follows, or because one does, is written once: boom, bomen; pot, potten; brief, brieven.
func dutchStem(word string) string {
	word = dutchEndings.strip(word, 3)
	n := len(word)
	switch {
	case n > 3 && word[n-1] == word[n-2]:
		word = word[:n-1]
	case n > 3 && word[n-2] == word[n-3] && strings.IndexByte("aeou", word[n-2]) >= 0:
		word = word[:n-2] + word[n-1:]
	}
	if rest, ok := strings.CutSuffix(word, "v"); ok {
		return rest + "f"
	}
	if rest, ok := strings.CutSuffix(word, "z"); ok {
		return rest + "s"
	}
	return word
}

// frenchStem is the stem of a French word (Porter) that has no accents: that of "commande" for
// "commandées", and of "mange" for "mangent".
func frenchStem(word string) string {
	rest := frenchEndings.strip(word, 3)
	if rest == word && !strings.HasSuffix(word, "ment") {
		rest = strip(word, 4, "ent")
	}
	if !staysFrench(rest) {
		rest = frenchSnowball(rest)
	}
	return strip(rest, 4, "r")
}

// spanishStem takes off what number, gender, persons and times add, but no i alone: few Spanish words end with
// one, and with it Italian "treni" would be "tren".
func spanishStem(word string) string {
	word = spanishEndings.strip(word, 3)
	if i := strings.LastIndex(word, "ie"); i > 0 && i < len(word)-2 { // empiezan, empezar
		word = word[:i] + word[i+1:]
	} else if i := strings.LastIndex(word, "ue"); i > 0 && i < len(word)-2 && word[i-1] != 'q' && word[i-1] != 'g' { // puede, poder
		word = word[:i] + "o" + word[i+2:]
	}
	return sounded(word)
}

// sounded writes what a Spanish or Portuguese stem ends with as it is written before an a: luz, luces; busque, buscar.
func sounded(stem string) string {
	switch {
	case strings.HasSuffix(stem, "qu"):
		return stem[:len(stem)-2] + "c"
	case strings.HasSuffix(stem, "gu"):
		return stem[:len(stem)-1]
	case strings.HasSuffix(stem, "z"):
		return stem[:len(stem)-1] + "c"
	}
	return stem
}

// portugueseStem brings plurals to singulars and takes off what genders, persons and times add.
func portugueseStem(word string) string {
	for _, rule := range [][2]string{{"oes", "ao"}, {"aes", "ao"}, {"ais", "al"}, {"eis", "el"}, {"ois", "ol"}, {"ns", "m"}} {
		if rest, ok := strings.CutSuffix(word, rule[0]); ok && len(rest) >= 1 {
			word = rest + rule[1]
			break
		}
	}
	word = portugueseEndings.strip(word, 3)
	return sounded(word)
}

// italianStem takes off what number, gender, persons and times add.
func italianStem(word string) string {
	word = italianEndings.strip(word, 3)
	if strings.HasSuffix(word, "ch") || strings.HasSuffix(word, "gh") { // banche, banca
		return word[:len(word)-1]
	}
	return word
}

// cyrillicStem is the stem of a Russian word; of other languages of the script it takes
// off what looks alike.
func cyrillicStem(word string) string {
	return cachedStem('r', word, russianSnowball)
}

// arabicStem takes off articles, conjunctions and endings (after Larkey's light stemmer).
func arabicStem(word string) string {
	n := utf8.RuneCountInString(word)
	for _, prefix := range []string{"وال", "بال", "كال", "فال", "ال", "لل"} {
		if rest, ok := strings.CutPrefix(word, prefix); ok && n-utf8.RuneCountInString(prefix) >= 3 {
			word = rest
			break
		}
	}
	for _, ending := range []string{"ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي", "ا"} {
		if rest, ok := strings.CutSuffix(word, ending); ok && utf8.RuneCountInString(rest) >= 3 {
			return rest
		}
	}
	return word
}
