package retrieval

import (
	"sync"
	"unicode"
)

// functionCharacters tells which characters of a run carry no content of their
// own in a question: particles, pronouns, question words. A small namespace cannot
// learn that from how often they occur. nil: none.
//
// Words of Chinese and Japanese are recognised anywhere in the run, the longest
// first; those of Korean at its start, its endings at the end.
func functionCharacters(run string) []bool {
	characters := []rune(run)
	marks := make([]bool, len(characters))
	found := false
	mark := func(from, to int) {
		for i := from; i < to; i++ {
			marks[i], found = true, true
		}
	}
	for i := 0; i < len(characters); {
		n := 1
		if inHangul(characters[i]) {
			for i+n < len(characters) && inHangul(characters[i+n]) {
				n++
			}
			from, to := koreanContent(characters[i : i+n])
			mark(i, i+from)
			mark(i+to, i+n)
		} else if size := longest(characters[i:], functionWords, functionHeads()); size > 0 {
			mark(i, i+size)
			n = size
		}
		i += n
	}
	if !found {
		return nil
	}
	return marks
}

// longest returns the length of the longest word of the set that the characters
// begin with, or 0. heads are how many characters the longest one has that begins with a character.
func longest(characters []rune, set map[string]bool, heads map[rune]int) int {
	for n := min(heads[characters[0]], len(characters)); n > 0; n-- {
		if set[string(characters[:n])] {
			return n
		}
	}
	return 0
}

// koreanContent returns where the content of a spaced unit begins and ends: a
// question word at its start and the particle or ending at its end are none.
func koreanContent(unit []rune) (from, to int) {
	to = len(unit)
	for n := min(longestFunctionWord, to); n > 0; n-- {
		if koreanWords[string(unit[:n])] {
			if rest := string(unit[n:]); rest == "" || koreanEndings[rest] {
				return to, to
			}
		}
	}
	for n := min(longestFunctionWord, to-1); n > 0; n-- {
		if koreanEndings[string(unit[to-n:])] {
			return 0, to - n
		}
	}
	return 0, to
}

// inHangul reports whether a character is one of Korean.
func inHangul(r rune) bool { return r >= 0x1100 && unicode.Is(unicode.Hangul, r) }

// functionHeads are how many characters the longest of functionWords has that begins with a character: most
// characters of a text begin none.
var functionHeads = sync.OnceValue(func() map[rune]int { return headsOf(functionWords) })

func headsOf(words map[string]bool) map[rune]int {
	heads := map[rune]int{}
	for word := range words {
		characters := []rune(word)
		heads[characters[0]] = max(heads[characters[0]], min(len(characters), longestFunctionWord))
	}
	return heads
}

// longestFunctionWord is in characters.
const longestFunctionWord = 5

// functionWords are of Chinese and of Japanese, in the form that text is folded to.
var functionWords = wordSet(fold(`
	的 了 吗 嗎 呢 吧 啊 呀 嘛 着 是 在 有 和 与 與 就 也 还 還 很 被 把 给 給 对 對 从 從 到
	这 這 那 我 你 您 他 她 它 谁 誰 哪 几 幾 么 麼 个 個 们 們 请 請
	什么 什麼 什么时候 什麼時候 什么样 什麼樣 为什么 為什麼 怎么 怎麼 怎么样 怎麼樣 怎样 怎樣 如何 哪里 哪裡 哪裏 哪儿 哪兒 哪个 哪個 哪些 哪天 哪年 哪位 多少 几个 幾個 多久
	是不是 有没有 有沒有 是否 能否 可以 我们 我們 你们 你們 他们 他們 她们 她們 它们 它們 这个 這個 那个 那個 这些 這些 那些 这里 這裡 那里 那裡 请问 請問 告诉 告訴
	关于 關於 一下 一个 一個 知道 记得 記得 曾经 曾經 自己 因为 因為 所以 时候 時候
	は が の を に へ と も で や か よ ね な だ た て ん う
	です ます でした ました ません ですか ますか でしたか ましたか ませんか という として について とは には では から まで より だけ など って たい たら れば
	どこ どれ どの どんな だれ いつ なに なん なぜ どう どうして いくつ いくら どちら こと もの これ それ あれ この その あの ここ そこ ください している していた した して する いる いた ある あった ない
	います いました あります ありました します しました 何 何時 誰 私 僕 俺 彼 彼女 あなた 教えて`))

// koreanWords are questions and pronouns; one of koreanEndings may follow.
var koreanWords = wordSet(`무엇 뭐 뭘 무슨 누구 누가 어디 어느 언제 왜 어떻게 어떤 얼마 얼마나 몇 나 저 내 제 너 네 그 이 우리 당신 그녀 있 있었 했 하 인 것 거 수 좀`)

// koreanEndings are particles and the endings of questions and statements.
var koreanEndings = wordSet(`은 는 이 가 을 를 에 에서 에게 한테 께 께서 의 로 으로 와 과 랑 이랑 도 만 부터 까지 처럼 보다 마다 이나
	요 나요 까요 인가요 이에요 예요 입니까 입니다 습니까 습니다 하나요 했나요 했어요 해요 합니까 합니다 했습니까 했습니다 었나요 았나요 였나요 있나요 있습니까 인가 이야 야 니 냐 다 었다 았다 했다 했어 하는 한 할 되나요 이었나요`)
