package storetest

import "github.com/loci-memory/loci"

var misspeltCases = []testCase{
	{"a misspelt word of a short query is found by the form that it has", func(b *bench) {
		b.put(record(1, "El tren llega tarde y las llaves están en la mesa."), record(2, "Ich habe zwei Mäuse und die Termine im Keller."),
			record(3, "Мы видели детей у дома"), record(4, "The children broke two windows."), record(5, "el termo es de la casa"))
		for query, want := range map[string]loci.ID{
			"ternes": id(1), "llae": id(1), "Mäuesn": id(2), "деей": id(3), "cild": id(4), "windw": id(4),
		} {
			b.same("hits of "+query, b.found(words(query)), []loci.ID{want})
		}
		_, by := b.told("ternes", loci.Filter{})
		b.same("what was searched for", by, [][]string{{"ternes", "trenes"}}) // and not for a "termo" with another letter
		_, by = b.told("ternes xxww qqzz wwxx", loci.Filter{})
		b.same("what was searched for in a sentence", by, [][]string{{"ternes", "term", "tren"}})
		b.same("hits in English", b.found(words("is the windw")), nil)
		for _, query := range []string{"trxxes", "xxild", "kastanie"} {
			b.same("hits of "+query, b.found(words(query)), nil)
		}
	}},
	{"a word of a list in a sentence is no typing error", func(b *bench) {
		b.put(record(1, "No puede dormir si la ventana está cerrada."), record(2, "Отопление в ванной не работает"), record(3, "Die Waschmaschine ist im Keller"))
		for query, want := range map[string][][]string{
			"¿Qué ventajas tiene la energía solar?": nil, "Как варить рис?": nil, // one error from a window, two from a bath
			"¿Qué ventanx tiene la casa?": {{"ventanx", "ventana"}}, "варить": {{"варить", "ванить"}}, // on no list; alone
			"Wo steht denn die Maschine bei euch?": {{"maschine", "waschmaschine"}}, // still a part of a compound
		} {
			_, by := b.told(query, loci.Filter{})
			b.same("what was searched for, of "+query, by, want)
		}
	}},
	{"a small word of Korean alone is none to look for", func(b *bench) {
		b.put(record(1, "변수 이름과 주석"), record(2, "문단을 고친다"))
		b.same("hits beside another word", b.found(words("이 문단")), ids(2))
		b.same("hits of nothing else", b.found(words("이")), ids(1))
	}},
	{"of misspelt words those come first that least speaks against", func(b *bench) {
		b.put(record(1, "le uova sono nel frigo"), record(2, "le prove del professore"), record(3, "la pova"), record(4, "il cane, il carne, la carnie"))
		_, by := b.told("pova", loci.Filter{})
		b.same("what is there", by, nil)
		b.apply(erasure(record(3, "la pova")))
		_, by = b.told("pova", loci.Filter{})
		b.same("a word that is there as it stands", by, [][]string{{"pova", "uova"}})
		_, by = b.told("carnne", loci.Filter{})
		b.same("a letter too many", by, [][]string{{"carnne", "carne"}})
		_, by = b.told("cnae", loci.Filter{})
		b.same("two that are swapped", by, [][]string{{"cnae", "cane"}})
	}},
	{"a syllable that no word has was typed for another one", func(b *bench) {
		b.put(record(1, "차는 브레이크 때문에 정비소에 있다"), record(2, "산책은 공원에서 한다"), record(3, "때문"))
		found, by := b.told("때뮨에", loci.Filter{})
		b.same("hits", found, ids(3, 1))
		b.same("what was searched for", by, [][]string{{"때뮨", "때문"}, {"뮨에", "문에"}})
		b.same("hits of the first one", b.found(words("곻원")), ids(2))
		b.same("hits of the last one", b.found(words("산챝")), ids(2))
		b.same("hits of a word that may be right", b.found(words("공언")), nil)
		if covered := b.byID(words("산챝"), 10)[id(2)].Covered; covered < 0.79 || covered > 0.81 {
			b.Errorf("%v of the query is covered, want 0.8", covered)
		}
		b.apply(erasure(record(1, "차는 브레이크 때문에 정비소에 있다")))
		b.same("hits after the erasure", b.found(words("때뮨에")), nil) // nobody has all that it makes
	}},
	{"characters that are swapped are found if all around them fits", func(b *bench) {
		b.put(record(1, "祖母の誕生日"), record(2, "上要"), record(3, "房東搬家"))
		b.same("hits", b.found(words("母祖の")), ids(1))
		b.same("hits of another word", b.found(words("要上")), nil)
		b.same("hits where what follows does not fit", b.found(words("東房家")), nil)
	}},
	{"a word with vowel signs may be misspelt", func(b *bench) {
		b.put(record(1, "मेरे भाई को क्रिकेट खेलना पसंद है"), record(2, "दिल्ली"))
		b.same("hits", b.found(words("स्रिकेट")), ids(1))
		b.same("hits of two errors in a short word", b.found(words("दिसलसी")), nil)
	}},
}
