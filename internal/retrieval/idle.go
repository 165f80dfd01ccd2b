package retrieval

import (
	"slices"
	"strings"
	"unicode"
)

// mostIdleWords bounds what may ask for nothing: who says more has something to say.
const mostIdleWords = 9

// Idle reports whether a query only keeps a conversation going: "ok", "go on", "Are you sure?",
// "Can you explain that in more detail?". It names nothing that a memory could be about, while
// every chat has turns with the same words. A query with a name, a number, a quoted word
// or a word of one's own ("who am I?") asks for something.
func Idle(query string) bool {
	if strings.ContainsAny(query, `"“”*`) {
		return false
	}
	words := strings.FieldsFunc(query, partsTalk)
	if len(words) == 0 || len(words) > mostIdleWords {
		return false
	}
	for i, word := range words {
		if i > 0 && word != "I" && unicode.IsUpper([]rune(word)[0]) && !strings.ContainsAny(word, "'’") {
			return false // a name
		}
		words[i] = strings.ReplaceAll(strings.ToLower(fold(word)), "’", "'")
	}
	said := " " + strings.Join(words, " ") + " "
	for _, phrase := range talkPhrases {
		said = strings.ReplaceAll(said, " "+phrase+" ", " ok ")
	}
	talks, own := false, false
	english := true
	var others []string
	for word := range strings.FieldsSeq(said) {
		stem, _, _ := strings.Cut(word, "'")
		switch {
		case talkWords[word] || talkWords[stem]:
			talks = true
		case ownWords[stem]:
			own = true
		default:
			english = english && (smallWord(word) || smallWord(stem))
			others = append(others, stem)
		}
	}
	if english {
		return talks || !own
	}
	return talks && smallElsewhere(others)
}

// partsTalk reports whether a character stands between words.
func partsTalk(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '\'' && r != '’'
}

// smallWord reports whether a word carries no meaning of its own in English, Chinese, Japanese
// or Korean.
func smallWord(word string) bool {
	return stopWords[word] || word == "not" || word == "no" || functionWords[word] || koreanWords[word]
}

// smallElsewhere reports whether all words carry no meaning in one of the other languages. Words of
// several say something: "the war" is no German. One alone may be English, so a word of talk stands beside.
func smallElsewhere(words []string) bool {
	for i := range languages {
		if !slices.ContainsFunc(words, func(word string) bool { return !languages[i].stop[word] }) {
			return true
		}
	}
	return false
}

// ownWords ask for the one who asks, in a query without words of talk.
var ownWords = wordSet(`i me my mine myself we us our ours am ich mich mir mein meine wir uns unser je moi mon ma mes nous notre yo mi mis
	nosotros nuestro eu meu minha nos io mio mia noi ik mij mijn wij ons`)

// talkPhrases are such words whose parts mean something elsewhere, as in "where did you go?".
var talkPhrases = []string{"go on", "go ahead", "keep going", "carry on", "good morning", "good evening", "good night", "never mind", "that works",
	"it works", "works now", "looks good", "sounds good", "got it", "i see", "i understand", "show me", "tell me more", "help me", "a bit", "a lot",
	"say that again", "say it again", "do you mean", "try again", "try once more", "do it", "do that", "thank you", "let's go", "the other one",
	"por que"}

// talkWords take turns in a conversation: consent, refusal, thanks, greetings, and what one asks of the
// one who just spoke.
var talkWords = wordSet(fold(`ok okay yes yeah yep no nope sure right correct wrong exactly indeed great good fine nice perfect cool
	thanks thank please sorry hello hi hey bye goodbye morning evening hmm ah oh well wow
	continue proceed stop wait done again more once another other else next now really
	explain elaborate clarify detail details example examples repeat shorter longer simpler
	ja nein doch danke bitte weiter mach mache genau gut sicher klar alles hallo nochmal noch einmal warum erklar erkläre erklaren
	beispiel mehr stimmt richtig falsch kannst konntest
	oui non merci accord bonjour salut continue continuer encore fois bien sûr vas plaît pourquoi explique exemple plus très
	si sí no gracias vale sigue continua hola otra vez favor bien muy perfecto seguro segura ahora explica ejemplo más claro
	sim não obrigado obrigada continue olá grazie prego ciao continua ancora bene dank graag verder
	好 好的 是 是的 对 不 不是 谢谢 多谢 继续 请继续 为什么 你好 您好 再试一次 再来一次 再说一遍 你确定吗 你能做什么 明白了 知道了 停
	はい いいえ ありがとう ありがとうございます 続けて 続けてください なぜですか なぜ こんにちは もう一度 もう一度お願いします もう一回 もう一回お願い
	お願いします 了解 わかりました 本当ですか
	네 예 아니요 감사합니다 고마워 고마워요 계속 계속해 계속해요 계속해주세요 해 해줘 주세요 왜요 왜 안녕 안녕하세요 다시 다시해줘 한번 좋아요 알겠습니다 정말요 정말`))
