package retrieval

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What numbers, times and persons look like in texts of other languages than English, and what asks for them. These tables were
// written from knowledge of the languages. Words that are others in English or in another of the languages are left out, such as
// German "hier", which is French for yesterday.

// foreignAmounts say a number.
const foreignAmounts = `zwei drei vier fünf sechs sieben acht neun zehn zwölf fünfzehn zwanzig dreißig vierzig fünfzig hundert tausend dutzend
	deux trois quatre cinq sept huit neuf dix onze douze quinze vingt trente quarante cinquante mille douzaine
	dos cuatro cinco siete ocho nueve diez doce quince veinte treinta cuarenta cincuenta cien ciento docena
	dois duas sete oito dez onze doze vinte trinta quarenta cinquenta
	quattro cinque sette otto dieci undici dodici quindici venti trenta quaranta cinquanta cento mila
	twee drie vijf zes zeven negen tien twaalf vijftien twintig dertig veertig vijftig honderd duizend
	два две двух три трёх трех четыре пять шесть семь восемь девять десять двенадцать пятнадцать двадцать тридцать сорок пятьдесят сто тысяча тысяч
	اثنان اثنين ثلاثة ثلاث أربعة أربع خمسة خمس ستة سبعة سبع ثمانية تسعة تسع عشرة عشر عشرون عشرين ثلاثون ثلاثين مئة مائة ألف`

// foreignMoments say when.
const foreignMoments = `gestern heute übermorgen vorgestern montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
	januar februar märz mai juni juli oktober dezember
	aujourd demain lundi mardi mercredi jeudi vendredi samedi dimanche janvier février avril juin juillet août septembre octobre novembre décembre
	ayer hoy anoche anteayer lunes martes miércoles jueves viernes sábado domingo
	enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
	ontem hoje amanhã anteontem janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
	ieri oggi domani lunedì martedì mercoledì giovedì venerdì sabato domenica gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
	gisteren vandaag eergisteren overmorgen maandag dinsdag woensdag donderdag vrijdag zaterdag zondag januari februari maart juli augustus
	вчера сегодня завтра послезавтра позавчера понедельник понедельника вторник вторника среду четверг четверга пятница пятницу пятницы суббота субботу
	воскресенье января февраля марта апреля мая июня июля августа сентября октября ноября декабря
	январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре
	أمس اليوم غدا الاثنين الإثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر`

// foreignPointers point to a span of time that stands before or behind them.
const foreignPointers = `letzte letzten letztes letzter nächste nächsten nächstes nächster vorige vorigen voriges jede jeden jedes
	dernier dernière prochain prochaine passé passée chaque pasada pasado próxima próximo passada passado cada
	scorsa scorso prossima prossimo ogni vorige volgende afgelopen elke
	прошлый прошлой прошлую прошлом прошлое следующий следующей следующую следующем каждый каждую каждое
	الماضي الماضية القادم القادمة المقبل المقبلة كل`

// foreignSpans are of time.
const foreignSpans = `woche wochenende monat jahr nacht abend nachmittag sommer winter frühling herbst
	semaine mois année an été hiver printemps automne semana mes año verano invierno primavera otoño mês ano verão inverno outono
	settimana mese anno estate inverno autunno maand jaar weekend zomer herfst voorjaar
	неделя неделе неделю месяц месяце год году зима зимой лето летом весной осенью
	الأسبوع أسبوع الشهر شهر السنة سنة العام الصيف الشتاء`

// numberCharacters are characters of numbers but that of one, which is in many other words.
const numberCharacters = "二两三四五六七八九十百千万億亿半几"

// unitCharacters stand behind a number: those of times, and others.
const (
	timeCharacters = "月号日点時时年周월일년시분"
	unitCharacters = timeCharacters + "个個个人岁歳歲位次回只本张台件斤米块口天分秒枚匹冊杯足名名层层楼双套公厘度万元円圆"
)

// telling are pairs of characters that tell a trait: words for a time, of longer ones a pair that tells, and pronouns, in Japanese and Korean
// with a particle behind them.
var telling = func() map[string]Traits {
	of := map[string]Traits{}
	for traits, pairs := range map[Traits]string{
		HasTime: `今天 明天 昨天 后天 前天 今早 今晚 明早 明晚 昨晚 去年 今年 明年 前年 上周 下周 本周 这周 周一 周二 周三 周四 周五 周六 周日 周末
	星期 礼拜 上午 下午 早上 晚上 中午 凌晨 傍晚 月底 月初 年底 年初 春节 元旦 国庆 中秋 端午 清明
	今日 明日 昨日 来週 先週 今週 来月 先月 今月 来年 昨年 毎週 毎月 毎日 曜日 午前 午後
	오늘 내일 어제 모레 그제 작년 내년 올해 요일 오전 오후 주말`,
		OfOneself:  `私は 私の 私が 私も 私に 僕は 僕の 僕が 僕も 俺は 俺の 俺が 나는 나의 나도 내가 저는 저의 저도 제가 우리`,
		ToOthers:   `あな なた 君は 君の 당신 너는 너의 너도 네가`,
		OfSomebody: `彼は 彼の 彼が 彼女 그녀 그는 그가`,
	} {
		for pair := range strings.FieldsSeq(fold(pairs)) {
			of[pair] |= traits
		}
	}
	return of
}()

// questionEndings end a question that has no sign behind it, or whose sign says less: they ask somebody.
var questionEndings = strings.Fields(fold(`吗 嗎 ですか ますか でしたか ましたか でしょうか ませんか のか ですかね 습니까 입니까 나요 까요 인가요 은가요 는가요`))

// pair takes in a pair of characters.
func (r *TraitReader) pair(pair string) {
	_, size := utf8.DecodeRuneInString(pair)
	first, second := pair[:size], pair[size:]
	r.found |= telling[pair]
	if strings.Contains(numberCharacters, first) && strings.Contains(numberCharacters+unitCharacters, second) {
		r.found |= HasNumber
		if strings.Contains(timeCharacters, second) {
			r.found |= HasTime
		}
	}
}

// How many digits a telephone number has at least: in one run or behind a first run of three, and with other signs between them.
const (
	contactDigits = 7
	spacedDigits  = 9 // more than a date has
)

// hasContact reports whether a text has a telephone number, or an address of mail.
func hasContact(text string) bool {
	run, first, all, at := 0, 0, 0, 0 // digits: of this run, of the first one, of all; where the last one is
	for i := range len(text) {
		switch c := text[i]; {
		case isLetter(c): // mostly
			run, first, all = 0, 0, 0
		case '0' <= c && c <= '9':
			run++
			all++
			if run >= contactDigits || all >= spacedDigits || first == 3 && all >= contactDigits {
				return true
			}
			at = i
		case c == '@' && i > 0 && i+1 < len(text) && text[i-1] > ' ' && text[i+1] > ' ':
			return true
		case (c == ' ' || strings.IndexByte("-/.()", c) >= 0) && i-at <= 2: // at most two signs between two digits
			if first == 0 {
				first = run
			}
			run = 0
		default:
			run, first, all = 0, 0, 0
		}
	}
	return false
}

// otherScripts is where scripts without spaces begin, of those whose questions end with a word.
const otherScripts = 0x3000

// endsAsking reports whether a sentence of a script without spaces ends as a question does.
func endsAsking(sentence string) bool {
	if r, _ := utf8.DecodeLastRuneInString(sentence); r < otherScripts {
		return false
	}
	for _, ending := range questionEndings {
		if strings.HasSuffix(sentence, ending) {
			return true
		}
	}
	return false
}

// InOtherScript reports whether a text has letters of Chinese, Japanese, Korean, Russian or Arabic.
func InOtherScript(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r >= 0x0400 && (isCJK(r) || unicode.In(r, unicode.Cyrillic, unicode.Arabic))
	})
}

// wantedInScripts are what queries in scripts of their own say of their answers. They are looked for anywhere in these.
var wantedInScripts = wantedTraits(map[Traits]string{
	HasNumber: `多少,几个,几位,几人,几岁,几次,几回,几只,几本,几张,几台,几件,几斤,几米,几块,多大,多高,多重,多长,多远,多宽,多深,多贵,价格,身高,体重,
		谁高,谁更高,谁矮,谁大,谁更大,谁小,谁重,谁年长,いくつ,いくら,何人,何歳,何回,何個,何匹,何冊,身長,体重,値段,몇,얼마,나이가,
		сколько,какого роста,какой возраст,какая цена,كم`,
	HasTime: `什么时候,何时,啥时候,什么时间,什么日子,哪天,哪一天,哪年,哪一年,哪个月,几点,几号,几月,几日,星期几,周几,谁先,いつ,何時,何日,何月,何年,何曜日,
		언제,며칠,몇시,몇 시,몇월,몇 월,몇년,몇 년,когда,какого числа,в каком году,какой день,какого года,متى,أي يوم,أي سنة,أي ساعة`,
	HasNumber | HasTime: `多久,多长时间,几天,几年,几个月,几小时,几分钟,どのくらい,どれくらい,何日間,何年間,何時間,얼마나 오래,как долго,كم من الوقت`,
	HasContact: `电话,手机号,号码,联系方式,邮箱,邮件地址,电话番号,メールアドレス,連絡先,전화번호,이메일 주소,연락처,номер телефона,телефон,
		رقم الهاتف,رقم هاتف`,
	Asks | ToOthers: `问过,问了,问我,说过,说了,提到,告诉,聊过,聊了,聞いた,聞かれ,言った,言われ,話した,말했,물어,물었,спросил,спрашивал,сказал,говорил,рассказ,سأل,قال`,
	ToOthers:        `建议,推荐,感谢,祝贺,提醒,おすすめ,勧め,提案,추천,조언,посоветовал,советовал,рекоменд,نصح,اقترح`,
})

// wantedInWords are the same of languages of Latin letters, without their marks.
var wantedInWords = map[Traits]string{
	HasNumber: `wie viel,wie viele,wieviel,wieviele,wie alt,wie gross,wie hoch,wie weit,wie schwer,wie oft,wie teuer,combien de,combien d,combien coute,quel age,
		quelle taille,quel prix,cuanto,cuanta,cuantos,cuantas,que edad,que precio,quanto,quanta,quantos,quantas,quanti,quante,que idade,che eta,quale eta,
		hoeveel,hoe oud,hoe groot,hoe hoog,hoe ver,hoe zwaar,hoe vaak`,
	HasTime: `wann,welchem tag,welchen tag,welches datum,welchem jahr,welches jahr,wie spat,quand,quelle date,quel jour,quelle annee,quelle heure,cuando,que fecha,
		que dia,que ano,que hora,quando,que data,que horas,che giorno,quale giorno,che data,che anno,che ora,wanneer,welke dag,welke datum,welk jaar,hoe laat`,
	HasNumber | HasTime: `wie lange,combien de temps,cuanto tiempo,quanto tempo,hoe lang`,
	HasContact: `phone number,telephone number,mobile number,cell number,email address,mail address,contact number,contact details,telefonnummer,handynummer,
		rufnummer,mailadresse,email adresse,numero de telephone,adresse mail,adresse email,numero de telefono,correo electronico,numero de telefone,numero di telefono,
		indirizzo email,telefoonnummer,mailadres`,
	Asks | ToOthers: `fragte,gefragt,sagte,gesagt,erzahlt,erzahlte,demande,dit,raconte,pregunto,dijo,dicho,conto,perguntou,disse,contou,chiesto,detto,raccontato,
		gevraagd,gezegd,verteld`,
	ToOthers: `empfohlen,empfiehlt,geraten,recommande,conseille,recomienda,recomendo,aconsejo,recomenda,recomendou,consiglia,consigliato,aangeraden,aanbevolen`,
}
