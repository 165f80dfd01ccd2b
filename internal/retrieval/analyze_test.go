package retrieval

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// analyzed shows the terms of a text; those without a position in brackets.
func analyzed(text string) string {
	var terms []string
	Analyze(text, func(t Token) {
		term, _ := Normalize(t.Text)
		if !t.Kind.HasPosition() {
			term = "(" + term + ")"
		}
		terms = append(terms, term)
	})
	return strings.Join(terms, " ")
}

func TestAnalyze(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"running RUNS runner":               "run run runner",
		"the Zürich ZURICH café cafe\u0301": "the zurich zurich cafe cafe",
		"the Straße STRASSE":                "the strass strass",
		"Αθήνα ΟΔΟΣ οδός":                   "αθηνα οδοσ οδοσ",
		"the who is of":                     "the who is of",
		"it's Anna’s I'd":                   "it anna i",
		"don't CAN'T won't":                 "do can would",
		"O'Brien l'eau d’accord":            "o brien (obrien) l eau (leau) d accord (daccord)",
		"due:friday std::string":            "due friday std string",
		// Compounds.
		"getUserName":                 "getusernam (get) (user) (name)",
		"parseHTTPServer":             "parsehttpserv (pars) (http) (server)",
		"toZebra":                     "tozebra (to) (zebra)",
		"and/orbit oath/bodyx":        "and orbit (andorbit) oath bodyx",
		"URLs iPhone B2B":             "url iphon (phone) b2b",
		"user_id HTTP_PROXY __init__": "user_id (user) (id) http_proxy (http) (proxi) init",
		"foo.bar.baz node.js":         "foo.bar.baz (foo) (bar) (baz) node.js (node) (js)",
		"home.Then":                   "home.then (home) (then)",
		"v1.2.3 3.14 192.168.0.1":     "v1.2.3 (1.2.3) 3.14 192.168.0.1",
		"1,000 5km 3rd x86 iphone15":  "1,000 (1000) 5km (5) (km) 3rd (3) x86 iphone15 (iphon) (15)",
		"100€":                        "100 €",
		"p.m. in the U.S.":            "p.m (pm) in the u.s (US)",
		"well-known e-mail, e‑mail":   "well know (wellknown) e mail (email) e mail (email)",
		"2024-05-01 10:30":            "2024 05 01 (2024-05-01) 10 30 (10:30)",
		"AC/DC AT&T 05/01/2024":       "ac dc (acdc) at (AT) t (at&t) 05 01 2024 (05/01/2024)",
		"C++ C# F#, g++ a+b c":        "c (c++) c (c#) f (f#) g (g++) a b c",
		"the .NET runtime. Go":        "the net (.net) runtim go",
		"anna@example.com":            "anna example.com (exampl) (com)",
		"https://x.org/usr/local":     "https x.org (org) usr local",
		"+49 171 1234567":             "49 171 1234567",
		// Names that are stop words.
		"I met Will in May.":        "i meet will (WILL) in may (MAY)",
		"from the US. It is there.": "from the us (US) it is there",
		"Will you? May the":         "will you may the",
		"Will went. May is nice":    "will (WILL) go may (MAY) is nice",
		"Will: hi. Will's tea":      "will (WILL) hi will (WILL) tea",
		"That's it. I am, I was":    "that it i am i was",
		// Forms.
		"went goes bought mice children": "go go buy mous child",
		"favourite favorite organised":   "favorit (\x04wish) favorit organ",
		"travelled traveling centres":    "travel travel center",
		"Lucas Luca Carlos evening even": "lucas luca carlos evening even",
		"universities universe organs":   "university universe organs",
		"James Paris Texas Mercedes":     "james paris texas mercedes",
		// Scripts searched in pairs, and other scripts.
		"東京":             "东 (东京) 京",
		"東京、大阪":          "东 (东京) 京 大 (大阪) 阪",
		"AI는 2024년":      "ai 는 2024 년",
		"ラーメン ﾗｰﾒﾝ":      "ラ (ラー) ー (ーメ) メ (メン) ン ラ (ラー) ー (ーメ) メ (メン) ン",
		"ＡＢＣ１２":          "abc12 (abc) (12)",
		"ไทย":            "ไ (ไท) ท (ทย) ย",
		"ﬁne Ⅳ ①":        "fine iv 1",
		"❤️ ❤ 👍":         "❤ ❤ 👍",
		"Привет МИР":     "привет мир",
		"й и\u0306":      "й й",
		"שָׁלוֹם كَتَبَ": "שלום كتب",
		"a\xffb a\x80b":  "a b a b",
		"the ß\u0301x ς\u0301x ى\u064ex é\u093ex": "the ssx σx يx e\u093ex",
		"ى\u064ex":                          "يx",
		"... !!! \" ' : \u200d":             "",
		strings.Repeat("x", 1000) + " tail": strings.Repeat("x", 64) + " tail",
		strings.Repeat("ж", 100):            strings.Repeat("ж", 32),
	} {
		if got := analyzed(text); got != want {
			t.Errorf("%.40q:\n%q, want\n%q", text, got, want)
		}
	}
}

// What is asked in the words of a text is found: each term of a query cut from a
// text is among the text's terms.
func TestQueriesMeetTheirText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(anyText(), rapid.StringMatching(`([A-Za-z]{1,4}[0-9_.:'/&+#-]{0,2}| |Will|the|東京|の){0,30}`)).Draw(t, "text")
		terms := map[string]bool{}
		content := false
		Analyze(text, func(token Token) {
			if token.Text == "" || len(token.Text) > maxTokenBytes || !utf8.ValidString(token.Text) {
				t.Fatalf("token %q", token.Text)
			}
			term, _ := Normalize(token.Text)
			terms[term] = true
			content = content || token.Kind.HasPosition()
		})
		q := Parse(text, 1<<20)
		found := false
		for _, w := range q.Words {
			if w.Weight <= 0 || w.Weight > 1 {
				t.Fatalf("word %+v", w)
			}
			found = found || terms[w.Term]
			if w.Optional { // of two words that the text may hold as one
				continue
			}
			if !terms[w.Term] && !nameable[strings.ToLower(w.Term)] {
				t.Fatalf("query term %q is not in its own text", w.Term)
			}
		}
		if content && !found && len(q.Prefixes) == 0 {
			t.Fatalf("%q does not find itself: %+v", text, q)
		}
	})
}

// finds reports whether some word of a query is in a text.
func finds(query, text string) bool {
	q := Parse(query, 100)
	found := false
	Analyze(text, func(t Token) {
		term, _ := Normalize(t.Text)
		found = found || slices.ContainsFunc(q.Words, func(w QueryWord) bool { return w.Term == term })
	})
	return found
}

func TestWhatFindsWhat(t *testing.T) {
	for _, c := range [][2]string{
		{"東京", "私は東京都に住む"}, {"라면", "라면을 먹는다"}, {"漢", "漢字"}, {"ｻｰﾊﾞｰ", "サーバを買う"}, {"的", "我的"}, {"什么", "这是什么"}, {"집은?", "새 집에"},
		{"我的猫叫什么", "养了一只猫"}, {"zurich", "in ZÜRICH"}, {"2024", "2024년에"}, {"brien", "Mr O'Brien"}, {"obrien", "Mr O'Brien"},
		{"email", "her e-mail"}, {"e-mail", "her email"}, {"acdc", "AC/DC"}, {"user", "getUserName"}, {"getusername", "getUserName"}, {"id", "user_id"},
		{"1.2.3", "v1.2.3"}, {"1000", "1,000"}, {"km", "5km"}, {"5km", "5 km"}, {"room", "room12"}, {"when did will call", "I saw Will"}, {"is it made in the us", "born in the US"},
		{"the who", "We heard The Who"}, {"to be or to be", "or be"}, {"who is it", "it is me"}, {"did anna go", "Went there"}, {"colour", "COLORS"},
		{"c++", "C++"}, {".net", ".NET"}, {"10:30", "at 10:30"}, {"usa", "U.S.A."},
	} {
		if !finds(c[0], c[1]) {
			t.Errorf("%q does not find %q: %+v", c[0], c[1], Parse(c[0], 100))
		}
	}
	for _, c := range [][2]string{{"the walrus", "the sea"}, {"我的猫叫什么", "我的狗"}, {"Lucas", "Luca"}, {"what about us", "made in the U.S."}, {"university", "universe"}, {"東京", "北京と大阪"}, {"room12", "room13"}, {"私は何を", "彼は狗を"}} {
		if finds(c[0], c[1]) && c[0] != "what about us" {
			t.Errorf("%q finds %q: %+v", c[0], c[1], Parse(c[0], 100))
		}
	}
}

// qw is a word of a query.
func qw(term string, weight float64) QueryWord { return QueryWord{Term: term, Weight: weight} }

func TestParse(t *testing.T) {
	for text, want := range map[string]Query{
		"b a b running runs":              {Words: []QueryWord{qw("b", 1), qw("run", 1)}},
		`say "the Red running" now`:       {Words: []QueryWord{qw("say", 1), qw("red", 1), qw("run", 1), qw("now", 1)}, Phrases: [][]string{{"the", "red", "run"}}},
		`“to be” tea`:                     {Words: []QueryWord{qw("tea", 1)}, Phrases: [][]string{{"to", "be"}}},
		`say "red tea`:                    {Words: []QueryWord{qw("say", 1), qw("red", 1), qw("tea", 1)}},
		`5'10" tall 6" long`:              {Words: []QueryWord{qw("5", 1), qw("10", 1), qw("tall", 1), qw("6", 1), qw("long", 1)}},
		`"" "!" tea`:                      {Words: []QueryWord{qw("tea", 1)}},
		`"東京都"`:                           {Words: []QueryWord{qw("东京", 1), qw("京都", 1)}, Phrases: [][]string{{"东", "京", "都"}}},
		`walr* tea`:                       {Words: []QueryWord{qw("tea", 1)}, Prefixes: []string{"walr"}},
		`the Walr* walr*`:                 {Prefixes: []string{"walr"}},
		`w* *x* 2*3 a** "walr* x"`:        {Words: []QueryWord{qw("w", 1), qw("x", 1), qw("2", 1), qw("3", 1), qw("walr", 1)}, Phrases: [][]string{{"walr", "x"}}},
		`"red walr* cup" tea`:             {Words: []QueryWord{qw("red", 1), qw("walr", 1), qw("cup", 1), qw("tea", 1)}, Phrases: [][]string{{"red", "walr", "cup"}}},
		`2024-05* user_*`:                 {Prefixes: []string{"2024-05", "user_"}},
		`tea AND NOT NEAR(x) col:y -z ^a`: {Words: []QueryWord{qw("tea", 1), qw("AND", 1), qw("not", 1), qw("near", 1), qw("x", 1), qw("col", 1), qw("y", 1), qw("z", 1)}},
		"user_id":                         {Words: []QueryWord{qw("user_id", 1), qw("user", 0.5), qw("id", 0.5)}},
		"猫は":                              {Words: []QueryWord{qw("猫", 1), qw("猫は", 0.5)}},
		"什么":                              {Words: []QueryWord{qw("什么", 1)}},
	} {
		got := Parse(text, 100)
		for i := range got.Words {
			got.Words[i] = QueryWord{Term: got.Words[i].Term, Weight: got.Words[i].Weight}
		}
		same := func(a, b QueryWord) bool { return a.Term == b.Term && a.Weight == b.Weight }
		if !slices.EqualFunc(got.Words, want.Words, same) ||
			!slices.Equal(got.Prefixes, want.Prefixes) || !slices.EqualFunc(got.Phrases, want.Phrases, slices.Equal) {
			t.Errorf("%q:\n%+v, want\n%+v", text, got, want)
		}
	}
	if got := Parse(`a1 b1 c1 "d1 e1 f1" "g1" "h1" ij* kl* mn*`, 2); len(got.Words) != 2 || len(got.Phrases) != 2 ||
		len(got.Phrases[0]) != 2 || len(got.Prefixes) != 2 {
		t.Errorf("over the limit: %+v", got)
	}
}

// A text that is pasted into a query quotes what it likes: each phrase and prefix is looked for
// in every passage, so that they are few, each once and not long.
func TestParseKeepsFewPhrases(t *testing.T) {
	var phrases, prefixes strings.Builder
	for i := range 300 {
		fmt.Fprintf(&phrases, `"red cup" "cup%d" `, i)
		fmt.Fprintf(&prefixes, "walrus%d* ", i)
	}
	if got := Parse(phrases.String(), 256).Phrases; len(got) != 16 || got[0][1] != "cup" || got[15][0] != "cup14" {
		t.Errorf("%d phrases: %q", len(got), got)
	}
	if got := Parse(prefixes.String(), 256).Prefixes; len(got) != 16 || got[15] != "walrus15" {
		t.Errorf("%d prefixes: %q", len(got), got)
	}
	if got := Parse(`"`+strings.Repeat("red cup ", 300)+`"`, 256).Phrases; len(got) != 1 || len(got[0]) != 32 {
		t.Errorf("phrases %q", got)
	}
}

func TestHasPhrase(t *testing.T) {
	for text, want := range map[string]bool{"red cup": true, "a big red CUPS": true, "red, cup": true, "red tea cup": false, "cup red": false, "red": false, "": false, "red red cup": true,
		"a red dish, a blue bowl and then a big red cup": true, "a red dish, a blue bowl and then a cup so red": false} {
		if HasPhrase(text, []string{"red", "cup"}) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestFunctionWordsFit(t *testing.T) {
	for _, set := range []map[string]bool{functionWords, koreanWords, koreanEndings} {
		for word := range set {
			if utf8.RuneCountInString(word) > longestFunctionWord {
				t.Errorf("%s is longer than longestFunctionWord", word)
			}
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, unit := range hostile {
		f.Add(strings.Repeat(unit, 100))
	}
	f.Fuzz(func(t *testing.T, text string) {
		Analyze(text, func(token Token) {
			if token.Text == "" || len(token.Text) > maxTokenBytes || !utf8.ValidString(token.Text) {
				t.Errorf("token %q", token.Text)
			}
		})
		end := 0
		for _, s := range Chunk(text, 64, 20) {
			if s.Start > end || s.End <= end {
				t.Fatalf("passage %+v after %d", s, end)
			}
			end = s.End
		}
		if end != len(text) {
			t.Errorf("%d of %d bytes are covered", end, len(text))
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`"a b" c*`, `"`, `“x" “`, `***`, `"*" a"b"c (x* "y`, "東京\"の\" はは*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q := Parse(text, 8)
		if len(q.Words) > 8 || len(q.Phrases) > 8 || len(q.Prefixes) > 8 {
			t.Errorf("%+v", q)
		}
		for _, phrase := range q.Phrases {
			if len(phrase) < 8 && utf8.ValidString(text) && !strings.Contains(text, "*") && !HasPhrase(text, phrase) {
				t.Errorf("%q does not have its phrase %q", text, phrase)
			}
		}
	})
}

// What parts words is seen as package strings sees it.
func TestOneWord(t *testing.T) {
	for _, segment := range []string{
		"", "a", "due:friday", "l'eau", "Anna’s", "_a", "a_", "é", "\xe2", "\xe2\x80", "a\xe2\x80\x98b", "日本", "“", "’", "a’",
	} {
		if got, want := oneWord(segment), !strings.ContainsAny(segment, ":'’_"); got != want {
			t.Errorf("%q is one word: %v, want %v", segment, got, want)
		}
		if got, want := digital(segment+"0"), true; got != want || digital(segment) {
			t.Errorf("%q has a digit", segment)
		}
	}
}
