package gloss

import (
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/retrieval"
)

// questions are what questions ask with, as English asks: the embedder has learnt what answers "how old". In stored texts such words
// carry no meaning, so that only what somebody looks for is read by them.
var questions = func() map[string]map[string]string {
	of := map[string]map[string]string{}
	for code, lists := range map[string]string{
		retrieval.Chinese: `when: 什么时候,何时,啥时候,什么时间|what time: 几点,几点钟|what date: 几月几号,几月几日,几号,哪一天,哪天,什么日子|what day: 星期几,周几,礼拜几
			what year: 哪一年,哪年|how long: 多久,多长时间|who: 谁,哪位,哪个人|where: 哪里,哪儿,何处,什么地方,哪个地方|how many: 多少,几个,多少个,有几
			how much money: 多少钱,什么价钱|how old age: 几岁,多大,多少岁,多大年纪,多大岁数,年龄多大|how tall height: 多高|how heavy weight: 多重|how far distance: 多远
			how many people: 多少人,几个人|how many times: 几次,多少次,几回,多少回|why: 为什么,为何|job occupation: 干什么的,做什么的,做哪行,做哪一行,干哪行,哪一行,什么工作
			name: 叫什么,叫啥|where born hometown: 哪里人,哪儿人,哪里的人,哪儿的人,什么地方人,哪个地方的人`,
		retrieval.Japanese: `when: いつ|what time: 何時|what date: 何日,何月|what day: 何曜日|what year: 何年|how long: どのくらい,どれくらい,どれぐらい,何時間
			who: 誰,だれ,どなた|where: どこ,どちら|how many: いくつ,何個|how much money: いくら|how old age: 何歳,おいくつ|how many people: 何人|how many times: 何回,何度|why: なぜ,どうして`,
		retrieval.Korean: `when: 언제|what date: 며칠|who: 누구,누가|where: 어디|how many: 몇,몇개|how much money: 얼마|how long: 얼마나|why: 왜|what time: 몇시|how old age: 몇살|how many people: 몇명|how many times: 몇번`,
		retrieval.German: `when: wann,seit wann,bis wann|what time: um wie viel uhr,wie spat|what day: welchem tag,welcher tag|what date: welches datum|what year: welchem jahr,welches jahr
			who: wer,wem,wen|where: wo,wohin,woher|how many: wie viele,wieviele|how much: wie viel,wieviel|how old age: wie alt|how tall: wie gross|how long: wie lange|how often: wie oft|how far: wie weit|why: warum,weshalb,wieso`,
		retrieval.French: `when: quand|what time: quelle heure|what date: quelle date|what day: quel jour|what year: quelle annee|who: qui|where: ou|how many: combien|how much money: combien coute
			how old age: quel age|how long: combien de temps|how often: combien de fois|why: pourquoi`,
		retrieval.Spanish: `when: cuando|what time: que hora|what date: que fecha|what day: que dia|what year: que ano|who: quien,quienes|where: donde,adonde|how many: cuantos,cuantas|how much: cuanto,cuanta
			how old age: cuantos anos|how long: cuanto tiempo|how often: cuantas veces|why: por que`,
		retrieval.Portuguese: `when: quando|what time: que horas|what date: que data|what day: que dia|what year: que ano|who: quem|where: onde,aonde|how many: quantos,quantas|how much: quanto,quanta
			how old age: quantos anos|how long: quanto tempo|how often: quantas vezes|why: por que,porque`,
		retrieval.Italian: `when: quando|what time: che ora,che ore|what date: che data|what day: che giorno,quale giorno|what year: che anno,quale anno|who: chi|where: dove|how many: quanti,quante|how much: quanto,quanta
			how old age: quanti anni|how long: quanto tempo|how often: quante volte|why: perche`,
		retrieval.Dutch: `when: wanneer|what time: hoe laat|what date: welke datum|what day: welke dag|what year: welk jaar|who: wie|where: waar,waarheen|how many: hoeveel|how old age: hoe oud|how long: hoe lang
			how often: hoe vaak|how far: hoe ver|how tall: hoe groot|why: waarom`,
		retrieval.Russian: `when: когда|who: кто,кого,кому,кем|where: где,куда,откуда|how many: сколько|why: почему,зачем`,
		retrieval.Arabic:  `when: متى|who: من|where: أين|how many: كم|why: لماذا`,
	} {
		of[code] = map[string]string{}
		for list := range strings.FieldsFuncSeq(lists, func(r rune) bool { return r == '|' || r == '\n' }) {
			english, words, _ := strings.Cut(strings.TrimSpace(list), ": ")
			for word := range strings.SplitSeq(words, ",") {
				of[code][retrieval.FoldWords(word)] = english
			}
		}
	}
	return of
}()

// longestQuestion is how many bytes a phrase of characters has at most.
const longestQuestion = 8 * 3

// question is the longest phrase that a text of characters begins with and that asks, and what it means.
func (l *lexicon) question(text string) (phrase, english string) {
	all := questions[l.code]
	for end := 0; end < len(text) && end < longestQuestion; {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
		if e := all[text[:end]]; e != "" {
			phrase, english = text[:end], e
		}
	}
	return phrase, english
}

// questionOf is how many words the longest phrase has that words begin with and that asks, and what it means.
func (l *lexicon) questionOf(words []string) (n int, english string) {
	for n := min(mostWords, len(words)); n > 0; n-- {
		if english := questions[l.code][strings.Join(words[:n], " ")]; english != "" {
			return n, english
		}
	}
	return 0, ""
}
