package retrieval

import "strings"

// How people say what they like, what is always to be done, and that something is to be done or advised, in other languages than
// English: from knowledge of the languages. What another language may mean otherwise is left out.

// foreignWishWords say alone what somebody likes or avoids.
const foreignWishWords = `allergisch vegetarier vegetarierin veganer veganerin lieblingsessen allergique végétarien végétarienne alérgico alérgica
	vegetariano vegetariana prefiero detesto odio prefiro odeio adoro preferisco allergico allergica preferisce prefiere prefere préfère
	люблю обожаю ненавижу предпочитаю любит предпочитает ненавидит аллергия вегетарианец вегетарианка أحب أكره أفضل يحب تحب يكره حساسية نباتي نباتية`

// foreignWishes are what says so from a pronoun on, without marks.
var foreignWishes = phrases(`ich mag,ich liebe,ich hasse,ich bevorzuge,ich esse kein,ich esse keine,ich esse keinen,ich trinke kein,ich trinke keine,ich trinke keinen,
	ich vertrage kein,ich vertrage keine,ich vertrage keinen,ich kann kein,ich kann keine,ich habe lieber,ich meide,ich vermeide,mir schmeckt,ich verzichte auf,
	je prefere,j'aime,j'adore,je deteste,je hais,je n'aime,je ne mange,je ne bois,je ne supporte,j'evite,
	me gusta,me gustan,no me gusta,no me gustan,me encanta,me encantan,no soporto,no como,no bebo,no tomo,eu gosto,gosto de,nao gosto,nao como,nao bebo,nao suporto,evito,
	mi piace,mi piacciono,non mi piace,non mi piacciono,non sopporto,non mangio,non bevo,ik hou van,ik haat,ik eet geen,ik drink geen,ik heb liever,ik kan niet tegen`)

// foreignOrders are what a sentence begins with that says what is always or never to be done, without marks.
var foreignOrders = phrases(`bitte immer,bitte nie,bitte niemals,bitte nenne immer,ab jetzt,ab sofort,von jetzt an,von nun an,in zukunft,wenn ich frage,immer wenn ich,
	desormais,dorenavant,a partir de maintenant,quand je demande,de ahora en adelante,a partir de ahora,cuando pregunte,a partir de agora,de agora em diante,
	quando eu perguntar,d'ora in poi,da ora in poi,da adesso in poi,quando chiedo,vanaf nu,voortaan,als ik vraag`)

// wishKinds are what words have to do with wishes.
var wishKinds = func() map[string]wishKind {
	kinds := map[string]wishKind{"i": opensEnglish, "we": opensEnglish, "makes": opensToMe, "gives": opensToMe}
	for phrase := range foreignWishes {
		word, _, _ := strings.Cut(phrase, " ")
		word, _, _ = strings.Cut(word, "'") // a word ends there
		kinds[word] = opensForeign
	}
	for word := range strings.FieldsSeq(wishWords + fold(foreignWishWords)) {
		kinds[word] = saysWish
	}
	return kinds
}()

// wishKind is what a word has to do with a wish.
type wishKind uint8

const (
	opensEnglish wishKind = iota + 1
	opensToMe
	opensForeign
	saysWish
)

// wishRuns and orderRuns say the same anywhere in a text of characters.
var (
	wishRuns = strings.Fields(fold(`喜欢 讨厌 过敏 受不了 偏爱 偏好 宁愿 宁可 吃素 素食 不吃 不喝 不能吃 不能喝 爱吃 爱喝 最爱 害怕 不习惯 好き 嫌い 苦手 アレルギー
		食べられない 飲めない 好み 좋아하 좋아해 싫어하 싫어해 알레르기 선호 채식`))
	orderRuns = strings.Fields(fold(`每次都要 以后都 以后请 从现在起 从今以后 请始终 请务必 千万不要 千万别 不要再 每当我 必ず これからは 今後は 앞으로는 반드시 항상`))
)

// foreignAdvice are words that ask for advice wherever they stand.
var foreignAdvice = wordSet(`empfiehl empfehle empfehlen empfehlung empfehlungen vorschlag vorschlage vorschlagen ratschlag ratschlage tipps ideen recommande recommander
	recommandes recommandation conseil conseils conseille conseilles suggere idees recomienda recomiendas recomendar recomendacion recomendaciones sugerencia
	sugerencias sugiere consejo consejos recomende recomenda sugestao sugestoes sugira conselho conselhos dicas consiglia consigliami consigliare consiglio
	consigli suggerisci suggerimenti idee aanbevelen aanraden suggestie suggesties advies`)

// foreignRequests do so, or ask for something to be done, where a sentence begins.
var foreignRequests = phrases(`kannst du,konntest du,konnen sie,konnten sie,hilf,helfen sie,bitte,ich mochte,ich wurde gern,ich wurde gerne,ich suche,ich brauche,ich plane,
	was soll ich,was sollte ich,wo kann ich,wo soll ich,soll ich,zeig,schreib,erstelle,gib mir,welches soll ich,welchen soll ich,welche soll ich,
	peux,pourrais,pouvez,pourriez,aide,aidez,je voudrais,j'aimerais,je cherche,je veux,que dois,donne,ecris,propose,
	puedes,podrias,podria,ayudame,por favor,quiero,quisiera,me gustaria,busco,necesito,donde puedo,que deberia,dame,escribe,
	pode,poderia,ajude,ajuda,quero,queria,gostaria,eu gostaria,procuro,preciso,onde posso,o que devo,escreva,
	puoi,potresti,aiutami,per favore,vorrei,cerco,ho bisogno,dove posso,cosa dovrei,dammi,scrivi,
	kun je,kunt u,kan je,alsjeblieft,ik wil,ik zoek,ik zou,waar kan ik,wat moet ik,geef,schrijf`)

// adviceInScripts ask for it anywhere in a query in a script of its own, and recordInScripts for what was said.
var (
	adviceInScripts = strings.Fields(fold(`推荐 建议一下 有什么建议 给点建议 给些建议 给个建议 帮我选 帮我挑 帮我想 帮我找 帮我安排 帮我计划 帮我写 帮我做 怎么选 选哪 有什么好 哪家好 哪个好 吃什么好
		送什么好 怎么办 应该怎么 我想要 我想买 我想去 我想学 我想吃 我打算 我计划 出个主意 おすすめ お勧め 提案して 手伝って 選んで 考えて どうすれば 何がいい どれがいい したいです
		欲しい 探しています 추천 조언 제안 도와 골라 싶어 싶습니다 посоветуй порекомендуй предложи помоги подскажи хочу хотел ищу انصحني اقترح ساعدني أريد أود أبحث يمكنك`))
	recordInScripts = strings.Fields(fold(`说过 说了 提到 聊过 告诉过 讨论过 言った 話した 말했 이야기했 сказал говорил рассказ обсуждали قلت قلنا تحدثنا`))
)

// containsOne reports whether a text has one of some parts.
func containsOne(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// wishRun takes in a run of characters of a stored text.
func (t *tokenizer) wishRun(run string) {
	if !t.wished && containsOne(run, wishRuns) {
		t.wished = true
		t.yield(Token{Text: WishTerm, Kind: Wish})
	}
	if !t.ordered && containsOne(run, orderRuns) {
		t.ordered = true
		t.yield(Token{Text: OrderTerm, Kind: Wish})
	}
}
