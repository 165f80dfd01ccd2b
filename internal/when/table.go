package when

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A kind is what a word of a table does in a time.
type kind uint8

const (
	none     kind = iota
	month         // 1 to 12
	weak          // a month that is another word, too, or short: only beside a number or behind a small word
	weekday       // 0 is Monday
	unitWord      // a [unit]
	relative      // -1 last, 0 this, 1 next
	past          // "the past" three days: of so many units up to now
	whole         // a relative and a unit in one word, 100·(relative+2)+unit: 去年
	dayWord       // days from today
	ago           // before or behind "three days"
	counting      // a number as a word
	ordinal       // first is 1
	part          // 0 beginning, 1 middle, 2 end
	season        // 0 spring to 3 winter
	since
	before
	after
	until
	between // between x and y, from x to y
	and
	monthMark // behind the number of a month
	filler    // may stand inside of a time
	small     // a filler that a time may follow: "in"
)

var kinds = map[string]kind{
	"month": month, "weak": weak, "weekday": weekday, "unit": unitWord, "relative": relative, "past": past, "whole": whole,
	"day": dayWord, "ago": ago, "number": counting, "ordinal": ordinal, "part": part, "season": season, "since": since,
	"before": before, "after": after, "until": until, "between": between, "and": and, "monthmark": monthMark,
	"filler": filler, "small": small,
}

// A unit is a length of time in the calendar.
type unit int

const (
	days unit = iota
	weeks
	months
	years
	weekends
	quarters
	nights // a part of a day: "last night"
)

// A meaning is what a word is in one language.
type meaning struct {
	kind kind
	n    int
}

// A language is a table of words.
type language struct {
	words   map[string][2]meaning // the second is looked for where the first does not fit
	suffix  bool                  // since, before and so on stand behind what they are about: 5月以前
	letters byte                  // that tell it
}

// Letters that tell a language.
const (
	kana byte = 1 << iota
	hangul
)

// tables are the words of each language, folded: a line a kind, then words with their
// number. The tokenizer makes one word of "il y a".
var tables = []struct {
	text    string
	suffix  bool
	letters byte
}{
	{text: `
month january=1 february=2 april=4 june=6 july=7 august=8 september=9 october=10 november=11 december=12
weak may=5 march=3 jan=1 feb=2 mar=3 apr=4 jun=6 jul=7 aug=8 sep=9 sept=9 oct=10 nov=11 dec=12
weekday monday=0 tuesday=1 wednesday=2 thursday=3 friday=4 saturday=5 sunday=6
unit day=0 days=0 week=1 weeks=1 month=2 months=2 year=3 years=3 weekend=4 weekends=4 quarter=5 q=5
unit night=6 evening=6 morning=6 afternoon=6
relative last=-1 previous=-1 this=0 current=0 next=1 coming=1
past past=0
day yesterday=-1 today=0 tonight=0 tomorrow=1
ago ago=0 earlier=0
number a=1 an=1 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 couple=2
ordinal first=1 second=2 third=3 fourth=4
part beginning=0 start=0 early=0 middle=1 mid=1 end=2 late=2
season spring=0 summer=1 autumn=2 fall=2 winter=3
since since=0
before before=0
after after=0
until until=0 till=0
between between=0 from=0
and and=0 to=0
filler the=0 of=0
small in=0 on=0 during=0 by=0 for=0 around=0 at=0`},
	{text: `
month januar=1 janner=1 februar=2 marz=3 april=4 juni=6 juli=7 august=8 september=9 oktober=10 november=11 dezember=12
weak mai=5 jan=1 feb=2 apr=4 jun=6 jul=7 aug=8 sep=9 sept=9 okt=10 nov=11 dez=12
weekday montag=0 dienstag=1 mittwoch=2 donnerstag=3 freitag=4 samstag=5 sonnabend=5 sonntag=6
unit tag=0 tage=0 tagen=0 woche=1 wochen=1 monat=2 monate=2 monaten=2 monats=2 jahr=3 jahre=3 jahren=3 jahres=3
unit wochenende=4 quartal=5 nacht=6 abend=6 morgen=6 vormittag=6 nachmittag=6
relative letzte=-1 letzten=-1 letzter=-1 letztes=-1 letztem=-1 vorige=-1 vorigen=-1 voriges=-1 vergangene=-1 vergangenen=-1 vergangenes=-1
relative diese=0 diesen=0 dieses=0 diesem=0 dieser=0 nachste=1 nachsten=1 nachstes=1 kommende=1 kommenden=1 kommendes=1
day vorgestern=-2 gestern=-1 heute=0 ubermorgen=2
ago vor=0
number ein=1 eine=1 einem=1 einer=1 einen=1 zwei=2 drei=3 vier=4 funf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10
ordinal erste=1 ersten=1 erstes=1 zweite=2 zweiten=2 zweites=2 dritte=3 dritten=3 drittes=3 vierte=4 vierten=4 viertes=4
part anfang=0 mitte=1 ende=2
season fruhling=0 fruhjahr=0 sommer=1 herbst=2 winter=3
since seit=0
before vor=0
after nach=0
until bis=0
between zwischen=0 von=0 vom=0
and und=0 bis=0 zum=0
filler der=0 des=0 den=0 dem=0 die=0 das=0
small im=0 in=0 am=0 wahrend=0 um=0 ab=0 zum=0`},
	{text: `
month janvier=1 fevrier=2 avril=4 juin=6 juillet=7 aout=8 septembre=9 octobre=10 novembre=11 decembre=12
weak mars=3 mai=5
weekday lundi=0 mardi=1 mercredi=2 jeudi=3 vendredi=4 samedi=5 dimanche=6
unit jour=0 jours=0 semaine=1 semaines=1 mois=2 an=3 ans=3 annee=3 annees=3 trimestre=5 nuit=6 soir=6 matin=6
relative dernier=-1 derniere=-1 passe=-1 passee=-1 ce=0 cet=0 cette=0 prochain=1 prochaine=1
past derniers=0 dernieres=0
day hier=-1 aujourd=0 demain=1
ago ilya=0
number un=1 une=1 deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 neuf=9 dix=10
ordinal premier=1 premiere=1 deuxieme=2 troisieme=3 quatrieme=4
part debut=0 milieu=1 fin=2
season printemps=0 ete=1 automne=2 hiver=3
since depuis=0
before avant=0
after apres=0
until jusque=0 jusqu=0
between entre=0 du=0
and et=0 au=0
filler de=0 d=0 la=0 le=0 les=0 l=0 du=0
small en=0 au=0 pendant=0 des=0`},
	{text: `
month enero=1 febrero=2 abril=4 junio=6 julio=7 agosto=8 septiembre=9 setiembre=9 octubre=10 noviembre=11 diciembre=12
weak marzo=3 mayo=5
weekday lunes=0 martes=1 miercoles=2 jueves=3 viernes=4 sabado=5 domingo=6
unit dia=0 dias=0 semana=1 semanas=1 mes=2 meses=2 ano=3 anos=3 trimestre=5 noche=6 tarde=6
relative pasado=-1 pasada=-1 ultimo=-1 ultima=-1 este=0 esta=0 proximo=1 proxima=1
past ultimos=0 ultimas=0
day anteayer=-2 ayer=-1 hoy=0 manana=1
ago hace=0
number un=1 una=1 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10
ordinal primer=1 primera=1 primero=1 segunda=2 segundo=2 tercer=3 tercera=3 cuarta=4 cuarto=4
part principios=0 inicios=0 comienzos=0 mediados=1 finales=2 fines=2 fin=2
season primavera=0 verano=1 otono=2 invierno=3
since desde=0
before antes=0
after despues=0
until hasta=0
between entre=0 del=0
and y=0 al=0
filler de=0 la=0 el=0 los=0 las=0 del=0 a=0
small en=0 durante=0 por=0`},
	{suffix: true, text: `
weekday 星期一=0 星期二=1 星期三=2 星期四=3 星期五=4 星期六=5 星期日=6 星期天=6 周一=0 周二=1 周三=2 周四=3 周五=4 周六=5 周日=6
weekday 週一=0 週二=1 週三=2 週四=3 週五=4 週六=5 週日=6 礼拜一=0 礼拜二=1 礼拜三=2 礼拜四=3 礼拜五=4 礼拜六=5 礼拜天=6
unit 天=0 日=0 号=0 號=0 周=1 週=1 星期=1 个星期=1 個星期=1 礼拜=1 个月=2 個月=2 年=3 季度=5 周末=4 週末=4
relative 上=-1 上个=-1 上個=-1 这=0 这个=0 這=0 這個=0 本=0 下=1 下个=1 下個=1
past 过去=0 過去=0 最近=0
whole 去年=103 今年=203 明年=303 前年=3 上周=101 上週=101 本周=201 这周=201 這週=201 下周=301 上个月=102 上個月=102 上月=102
whole 这个月=202 這個月=202 本月=202 下个月=302 下個月=302 上个星期=101 上個星期=101 这个星期=201
whole 上周末=104 这周末=204 昨晚=106 今晚=206
day 前天=-2 昨天=-1 昨日=-1 今天=0 今日=0 明天=1 后天=2 後天=2
ago 前=0 以前=0 之前=0
ordinal 第一=1 第二=2 第三=3 第四=4
part 初=0 上旬=0 中旬=1 中=1 底=2 末=2 下旬=2
relative 最后=-1 最後=-1 最后一=-1 最後一=-1
season 春天=0 夏天=1 秋天=2 冬天=3 春季=0 夏季=1 秋季=2 冬季=3
since 以来=0 以來=0 起=0
before 以前=0 之前=0 前=0
after 以后=0 以後=0 之后=0 之後=0
until 为止=0 為止=0
between 从=0 從=0
and 到=0 至=0
monthmark 月=0 月份=0
filler 的=0 个=0 個=0
small 在=0 于=0 於=0`},
	{suffix: true, letters: kana, text: `
weekday 月曜日=0 火曜日=1 水曜日=2 木曜日=3 金曜日=4 土曜日=5 日曜日=6 月曜=0 火曜=1 水曜=2 木曜=3 金曜=4 土曜=5 日曜=6
unit 日=0 日間=0 週間=1 週=1 か月=2 ヶ月=2 カ月=2 ヵ月=2 ヶ月間=2 か月間=2 年=3 年間=3 週末=4 四半期=5
past 過去=0 ここ=0 この=0
whole 去年=103 昨年=103 今年=203 来年=303 一昨年=3 おととし=3 先週=101 今週=201 来週=301 先月=102 今月=202 来月=302
whole 先週末=104 今週末=204 昨夜=106 昨晩=106 今夜=206 今晩=206
relative 最終=-1 最後=-1
day 一昨日=-2 おととい=-2 昨日=-1 きのう=-1 今日=0 きょう=0 明日=1 あした=1
ago 前=0
ordinal 第一=1 第二=2 第三=3 第四=4 最初=1
part 初め=0 初旬=0 上旬=0 中旬=1 半ば=1 下旬=2 末=2 終わり=2
season 春=0 夏=1 秋=2 冬=3
since 以来=0 から=0
before 以前=0 前=0
after 以降=0 以後=0
until まで=0
and から=0
monthmark 月=0
filler の=0
small に=0`},
	{suffix: true, letters: hangul, text: `
weekday 월요일=0 화요일=1 수요일=2 목요일=3 금요일=4 토요일=5 일요일=6
unit 일=0 주=1 주일=1 개월=2 달=2 년=3 해=3 주말=4 분기=5
relative 지난=-1 저번=-1 이번=0 다음=1 마지막=-1
past 최근=0
whole 작년=103 지난해=103 올해=203 금년=203 내년=303 재작년=3 지난주=101 저번주=101 이번주=201 다음주=301 지난달=102 이번달=202 다음달=302
whole 지난주말=104 이번주말=204 어젯밤=106 오늘밤=206
day 그저께=-2 그제=-2 엊그제=-2 어제=-1 오늘=0 내일=1 모레=2
ago 전=0
number 한=1 두=2 세=3 네=4 다섯=5 여섯=6 일곱=7 여덟=8 아홉=9 열=10
ordinal 첫=1 첫째=1 둘째=2 셋째=3 넷째=4
part 초=0 초순=0 중순=1 말=2 하순=2
season 봄=0 여름=1 가을=2 겨울=3
since 이후=0 부터=0
before 이전=0 전=0
after 이후=0
until 까지=0
and 부터=0
monthmark 월=0
filler 의=0
small 에=0`},
}

// telling marks a known word that may be a time without another one.
const telling = 1 << 15

// languages are the tables by word. known says in which of them a word is.
var languages, known, longestIdeographic = read()

func read() (out []language, known map[string]uint16, longest int) {
	known = map[string]uint16{}
	for i, t := range tables {
		l := language{words: map[string][2]meaning{}, suffix: t.suffix, letters: t.letters}
		for line := range strings.Lines(t.text) {
			fields := strings.Fields(line)
			if len(fields) == 0 {
				continue
			}
			k := kinds[fields[0]]
			for _, field := range fields[1:] {
				word, number, _ := strings.Cut(field, "=")
				n, _ := strconv.Atoi(number) // the tables are checked by their test
				known[word] |= 1 << i
				if k != filler && k != small && k != counting && k != and {
					known[word] |= telling
				}
				longest = max(longest, utf8.RuneCountInString(word))
				if m, twice := l.words[word]; twice {
					l.words[word] = [2]meaning{m[0], {k, n}}
				} else {
					l.words[word] = [2]meaning{{k, n}}
				}
			}
		}
		out = append(out, l)
	}
	return out, known, longest
}
