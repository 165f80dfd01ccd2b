package retrieval

import "strings"

// endings are those that a stem may lack, by their last bytes: most words have none that ends as they do.
type endings [64][]string

func newEndings(list ...string) *endings {
	var e endings
	for _, ending := range list {
		last := ending[len(ending)-1] & 63
		e[last] = append(e[last], ending)
	}
	return &e
}

// first is the first of the endings that a word has if least bytes stay; "": it has none.
func (e *endings) first(word string, least int) string {
	if word == "" {
		return ""
	}
	for _, ending := range e[word[len(word)-1]&63] {
		if strings.HasSuffix(word, ending) && len(word)-len(ending) >= least {
			return ending
		}
	}
	return ""
}

// strip takes off the first of the endings that a word has if least letters stay.
func (e *endings) strip(word string, least int) string {
	return word[:len(word)-len(e.first(word, least))]
}

// The endings that stems of each language lack; the first one of a word counts.
//
//nolint:misspell // they are Dutch and others
var (
	germanEndings     = newEndings("ern", "em", "en", "er", "es", "e")
	germanDerivations = newEndings("est", "er", "end", "en", "st", "et", "inn", "in")
	dutchEndings      = newEndings("heden", "tjes", "tje", "eren", "en", "es", "te", "de", "e", "s", "t")
	frenchEndings     = newEndings("ees", "ee", "erent")
	spanishEndings    = newEndings("amiento", "imiento", "ariamos", "eriamos", "iriamos", "ieramos", "iesemos", "abamos", "iamos", "ieron", "iendo",
		"asteis", "isteis", "aremos", "eremos", "iremos",
		"arias", "erias", "irias", "arian", "erian", "irian", "aria", "eria", "iria", "ieras", "ieran", "iera", "ieses", "iesen", "iese",
		"aron", "ando", "aran", "eran", "iran", "aras", "eras", "iras", "aste", "iste", "abas", "aban", "amos", "emos", "imos", "ados", "adas", "idos", "idas",
		"arse", "erse", "irse", "arme", "erme", "irme", "arlo", "erlo", "irlo", "arla", "erla", "irla",
		"are", "ere", "ire", "ara", "era", "ira", "aba", "ada", "ado", "ida", "ido", "ais", "eis", "ias", "ian", "ar", "er", "ir", "ia", "io", "ie",
		"as", "es", "os", "an", "en", "a", "e", "o", "s")
	portugueseEndings = newEndings("aramos", "assemos", "ariamos", "eriamos", "iriamos", "avamos", "iamos", "aremos", "eremos", "iremos", "ermos", "armos", "irmos",
		"ariam", "eriam", "iriam", "aria", "eria", "iria", "assem", "essem", "issem", "asse", "esse", "isse", "aram", "eram", "iram", "arao", "erao", "irao",
		"ando", "endo", "indo", "amos", "emos", "imos", "avam", "arem", "erem", "irem", "ados", "adas", "idos", "idas", "arei", "erei", "irei",
		"ava", "ara", "era", "ira", "ado", "ada", "ido", "ida", "iam", "ias", "ou", "eu", "iu", "ei", "ia", "io",
		"ares", "eres", "ires", "ar", "er", "ir", "am", "em", "as", "es", "os", "a", "e", "i", "o", "s")
	italianEndings = newEndings("azione", "azioni", "avamo", "evamo", "ivamo", "eremmo", "iremmo", "eranno", "iranno", "eremo", "iremo", "erebbe", "irebbe", "erebbero", "irebbero",
		"avano", "evano", "ivano", "arono", "erono", "irono", "assero", "essero", "issero", "isce", "isco", "iscono",
		"iamo", "iate", "ando", "endo", "asse", "esse", "isse", "asti", "esti", "isti", "erai", "irai", "ato", "ata", "ati", "ate", "uto", "uta", "uti", "ute",
		"ito", "ita", "iti", "ite", "are", "ere", "ire", "ano", "ono", "ava", "eva", "iva", "avo", "evo", "ivo", "avi", "evi", "ivi", "era", "ira", "ero", "iro",
		"ia", "ie", "io", "ii", "a", "e", "i", "o")
)

// participles are what regular German participles begin with behind a prefix, by their first letters.
var participles = func() (of [26][]string) {
	for _, p := range germanPrefixes {
		of[p[0]-'a'] = append(of[p[0]-'a'], p+"ge")
	}
	return of
}()
