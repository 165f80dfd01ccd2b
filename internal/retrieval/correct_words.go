package retrieval

import "strings"

// A predicate is what a verb says about how many values it has at a time.
type predicate int

const (
	noPredicate predicate = iota
	copula                // is
	placing               // lives in, works at, is called: one value
	timing                // starts at, costs: one value, a number or a time
	measuring             // has: one number
	choosing              // prefers: one of a choice
	using                 // uses: one for a purpose
)

func predicateOf(w word) predicate {
	return predicates[w.low]
}

var predicates = predicateWords(map[predicate]string{
	copula: `= is are was were be am ist sind war est sont était es son era está están è sono é são zijn 是 は`,
	placing: `live lives lived reside resides work works worked call called named name based located situated
		hosted host parked stored kept born
		founded married listen listens belong belongs owned led assigned written moved study studies studied headquartered
		wohnt wohne wohnen lebt lebe arbeitet arbeite heißt heiße liegt habite habitons vit travaille travaillons
		appelle vive vivo trabaja trabajo
		llama abita vivono lavora lavoro mora moro trabalha trabalho woont woon werkt werk живёт живет работает
			работаю живу 住`,
	timing: `wake wakes start starts begin begins end ends open opens close closes leave leaves depart departs
		arrive arrives land lands expire expires
		cost costs weigh weighs measure measures last lasts scheduled planned due collected limited cached run runs
		happen happens meet meets
		set priced valued capped beträgt kostet beginnt endet startet dauert wiegt coûte commence finit dure cuesta
		empieza comienza termina
		costa inizia começa 在 kost begint начинается стоит`,
	measuring: `has have had need needs require requires take takes contain contains hold holds support supports
		allow allows get gets earn earns
		pay pays hat haben braucht a ont tiene tienen necesita ha hanno tem heeft`,
	choosing: `prefer prefers preferred bevorzugt préfère prefiere preferisce prefere`,
	using:    `use uses used benutzt nutzt verwendet utilise usa gebruikt drink drinks`,
})

func predicateWords(lists map[predicate]string) map[string]predicate {
	out := map[string]predicate{}
	for p, list := range lists {
		for w := range strings.FieldsSeq(list) {
			out[w] = p
		}
	}
	return out
}

var (
	definiteArticles   = wordSet("the der die das den dem des le la les l el los las il lo gli o os het")
	indefiniteArticles = wordSet("a an ein eine einen einem einer un une una uno um uma een")

	// fillers say that something is new, not what.
	fillers = wordSet(`now currently actually correction longer anymore more already still today's meanwhile
		update updated do does did jetzt nun inzwischen mehr maintenant ahora plus 现在 了`)

	prepositions = wordSet(`in on at to from by for with of under over near behind above below between during
		after before until since about as into onto per via than
		bei am um im an auf aus nach von zu mit für unter à au aux chez en dans sur sous pour avec de du con por
			para em no na op bij te met van в на у с по да every each once jeden chaque cada ogni`)

	// doing: of what somebody works on or with there is more than one at a time.
	doing = wordSet("on with during after before until since about without mit an avec sur con")

	// locating prepositions come before where or when something is.
	locating = wordSet(`in at on under behind above below near from by bei am im auf aus unter à chez en dans em
		op в на`)

	roles = wordSet("for as als für comme pour como para per come")

	auxiliaries = wordSet("has have had was were is are been be will got wurde ist hat a été ha sido")

	persons = wordSet("user user's customer client patient person i he she we they you")

	// speakers are one person, whether they or somebody else wrote the note.
	speakers = wordSet("i my me user user's mein meine ich mon ma je mi yo")

	// selecting words make a subject that has one value.
	selecting = wordSet(`favorit favourite favorite default primari primary main current next prefer preferred
		nativ native offici official
		favorito favorita préféré préférée preferito preferita`)

	attributes = wordSet(`name host level nickname surname color colour deadline price cost rent salary budget
		fee port host address phone email password pin code number
		birthday age size height width depth weight length version limit timeout interval threshold timezone region
		branch language framework database
		db editor shell browser provider backend boss manager owner lead leader head captain ceo cto cfo president
		director chair maintainer reviewer
		contact capital currency title role job employer school university status priority mode theme format license
		licence model engine
		meeting appointment review standup flight gate seat room venue location destination doctor dentist vet
		landlord husband wife spouse
		partner pick winner author artist singer director teacher coach mentor successor phone laptop car plan tier
		size id key url path
		name termin miete adresse hauptstadt chef chefin sprache farbe capitale loyer couleur chef réunion alquiler
			capital cita colore riunione`)

	// identified things have a number for a name: another number is another thing.
	identified = wordSet(`ticket issue pr bug task order invoice room chapter page section episode case item
		part step lesson line track
		pull request build job run commit story card row question exercise figure table season week day unit number no nr`)

	// changing verbs tell that something is not as it was. Stems.
	changing = wordSet(`move reloc switch chang postpon rais lower renam reschedul push slip migrat increas
		reduc shift leav left quit replac upgrad bump
		extend shorten delay`)
	relocating = wordSet("move reloc")
	residing   = wordSet("live lives lived reside resides based located in wohnt lebt")

	units = wordSet(`m g t s h k b w mw kw mhz ghz hz mv ma mpa ms mb mbit mbps mib gib kib kb kbps gb gbps tb
		pb ml l mg kg cm mm km mi mile miles
		meter meters metre metres second seconds minute minutes hour hours day days week weeks month months year
		years euro euros dollar dollars usd eur
		gbp pound pounds percent % degree degrees old a am pm clock 点 時 分 uhr`)

	// dateWords are days and months of other languages than English.
	dateWords = wordSet(`mon tue wed thu fri sat sun noon midnight jan feb mar apr jun jul aug sep oct nov dec
		montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember
		lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril juin juillet août septembre
		octobre novembre décembre
		lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto
		septiembre octubre noviembre diciembre
		lunedì martedì mercoledì giovedì venerdì domenica gennaio febbraio aprile maggio giugno luglio settembre
		ottobre novembre dicembre
		segunda terça quarta quinta sexta maandag dinsdag woensdag donderdag vrijdag zaterdag zondag`)

	// antonyms, behind a predicate.
	antonyms = map[string]string{
		"on":          "off",
		"open":        "closed shut",
		"opened":      "closed",
		"enabled":     "disabled",
		"up":          "down",
		"true":        "false",
		"public":      "private",
		"optional":    "mandatory required",
		"allowed":     "forbidden prohibited banned",
		"active":      "inactive",
		"alive":       "dead",
		"single":      "married",
		"married":     "divorced",
		"full":        "empty",
		"safe":        "dangerous unsafe",
		"working":     "broken",
		"works":       "broken",
		"online":      "offline",
		"locked":      "unlocked",
		"manual":      "automatic",
		"always":      "never",
		"synchronous": "asynchronous",
		"permanent":   "temporary",
		"approved":    "rejected",
		"accepted":    "rejected declined",
		"visible":     "hidden",
		"free":        "paid busy",
		"available":   "unavailable",
		"healthy":     "sick ill",
		"vegetarian":  "vegan",
		"light":       "dark",
		"hot":         "cold",
		"fast":        "slow",
		"high":        "low",
		"offen":       "geschlossen zu",
		"geöffnet":    "geschlossen",
		"an":          "aus",
		"ouvert":      "fermé",
		"ouverte":     "fermée",
		"abierto":     "cerrado",
		"abierta":     "cerrada",
		"aperto":      "chiuso",
		"aberto":      "fechado",
	}

	// verbAntonyms are predicates themselves.
	verbAntonyms = map[string]string{
		"likes":     "dislikes hates",
		"like":      "dislike hate",
		"loves":     "hates dislikes",
		"love":      "hate dislike",
		"enjoys":    "hates dislikes",
		"accepts":   "rejects refuses",
		"allows":    "forbids",
		"supports":  "opposes",
		"trusts":    "distrusts",
		"for":       "against",
		"passes":    "fails",
		"succeeds":  "fails",
		"wins":      "loses",
		"won":       "lost",
		"passed":    "failed",
		"remembers": "forgets",
		"liebt":     "hasst",
		"mag":       "hasst",
		"aime":      "déteste",
		"ama":       "odia odeia",
	}
)
