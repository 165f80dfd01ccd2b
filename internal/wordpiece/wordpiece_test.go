package wordpiece

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// bert returns the vocabulary of bert-base-uncased.
func bert(t testing.TB) string {
	t.Helper()
	f, err := os.Open("testdata/vocabulary.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func tokenizer(t testing.TB, vocabulary string) *Tokenizer {
	t.Helper()
	tok, err := New(vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// tokens returns the tokens of a text as their spelling.
func tokens(t *Tokenizer, text string) []string {
	list := []string{}
	for _, id := range t.Append(nil, text) {
		list = append(list, t.token(uint32(id)))
	}
	return list
}

// The ids of the reference; tests/tokenizer/generate.py writes them down.
func TestGolden(t *testing.T) {
	f, err := os.Open("testdata/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tok := tokenizer(t, bert(t))
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	count := 0
	for lines.Scan() {
		var c struct {
			Text string
			IDs  []int32
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if got := tok.Append(nil, c.Text); !slices.Equal(got, c.IDs) {
			t.Errorf("%q: %v; want %v", c.Text, got, c.IDs)
		}
		count++
	}
	if lines.Err() != nil || count < 300 {
		t.Fatalf("%d texts, %v", count, lines.Err())
	}
}

// The rules one by one, so that a failure says which is broken.
func TestRules(t *testing.T) {
	tok := tokenizer(t, bert(t))
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"blank", " \t\r\n\u2028\u3000", ""},
		{"small letters", "The CAT", "the cat"},
		{"pieces", "unaffable", "una ##ffa ##ble"},
		{"accents", "Café Zürich cafe\u0301", "cafe zurich cafe"},
		{"dotted I", "İstanbul", "istanbul"},
		{"sharp s stays", "Straße", "st ##raße"},
		{"no final sigma", "ΟΔΟΣ", "ο ##δ ##ο ##σ"},
		{"precomposed Hangul", "한", "ᄒ ##ᅡ ##ᆫ"},
		{"Hangul without a tail", "하", "ᄒ ##ᅡ"},
		{"Chinese characters stand alone", "a中国b", "a 中 国 b"},
		{"punctuation stands alone", "don't!", "don ' t !"},
		{"a mark on punctuation is lost", "a≠b", "a = b"},
		{"controls vanish", "ca\x00t\u00ad\u200b s", "cat s"},
		{"invalid UTF-8 vanishes", "c\xffat \xe4\xb8 dog", "cat dog"},
		{"unknown character", "a𐍈 b", "[UNK] b"},
		{"special tokens", "a[MASK]b [CLS]", "a [MASK] b [CLS]"},
		{"no special token", "[mask]", "[ mask ]"},
		{"an unused token is no word", "[unused1]", "[ unused ##1 ]"},
		{"a prefix is no word", "##ing", "# # ing"},
		{"100 characters", strings.Repeat("é", 100), "ee" + strings.Repeat(" ##ee", 49)},
		{"101 characters", strings.Repeat("e", 101) + " b", "[UNK] b"},
		{"a huge word", strings.Repeat("ab", 100_000) + ".", "[UNK] ."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := tokens(tok, c.text); strings.Join(got, " ") != c.want {
				t.Errorf("%.60q becomes %q; want %q", c.text, got, c.want)
			}
		})
	}
}

// Combining characters that stay come in canonical order, but not across a
// starter, even one that is left out itself.
func TestCanonicalOrder(t *testing.T) {
	tok := tokenizer(t, "[UNK]\na\n##\U0001d165\n##\U0001d16d\n##\U0001d157")
	for text, want := range map[string]string{
		"a\U0001d16d\U0001d165":                 "a ##\U0001d165 ##\U0001d16d", // classes 226 and 216
		"a\U0001d165\U0001d16d\U0001d165":       "a ##\U0001d165 ##\U0001d165 ##\U0001d16d",
		"a\U0001d16d\u0301\U0001d165":           "a ##\U0001d165 ##\U0001d16d", // an accent is no starter
		"a\U0001d16d\u034f\U0001d165":           "a ##\U0001d16d ##\U0001d165", // a grapheme joiner is
		"a\U0001d16d\U0001d157\U0001d165":       "a ##\U0001d16d ##\U0001d157 ##\U0001d165",
		"a\U0001d15e\U0001d16d\u00ad\U0001d165": "a ##\U0001d157 ##\U0001d165 ##\U0001d165 ##\U0001d16d",
	} {
		if got := strings.Join(tokens(tok, text), " "); got != want {
			t.Errorf("%+q becomes %+q; want %+q", text, got, want)
		}
	}
}

func TestVocabulary(t *testing.T) {
	tok := tokenizer(t, "[UNK]\n##\na\n##a\naa\nü")
	if tok.Len() != 6 {
		t.Errorf("Len = %d", tok.Len())
	}
	if got := tok.Append([]int32{9}, "a aa aaa b [PAD]"); !slices.Equal(got, []int32{9, 2, 4, 4, 3, 0, 0, 0, 0}) {
		t.Errorf("ids %v", got)
	}
	for name, bad := range map[string]string{
		"empty": "", "without [UNK]": "a\nb", "twice": "[UNK]\na\na", "an empty token": "[UNK]\n\na", "a feed at the end": "[UNK]\n",
		"not UTF-8": "[UNK]\n\xff", "too many": strings.Repeat("a\n", 1<<20),
	} {
		if _, err := New(bad); err == nil {
			t.Errorf("New accepts a vocabulary that is %s", name)
		}
	}
}

// Every token that can be a word is found as such, and stays within it.
func TestEveryToken(t *testing.T) {
	tok := tokenizer(t, bert(t))
	for id := range int32(tok.Len()) {
		key, inside := strings.CutPrefix(tok.token(uint32(id)), continuing)
		if got := tok.find([]byte(key), inside); got != id {
			t.Errorf("token %d %q is found as %d", id, key, got)
		}
	}
}

func TestDamagedCharTable(t *testing.T) {
	for _, row := range []string{"drop", "drop X", "drop 5-3", "drop 5 6", "drop D800", "drop 110000", "fly 5", "map 5", "map 5-6 7 8", "map 5 G", "order 5 300"} {
		if _, err := parseCharTable(row + "\n"); err == nil || !strings.Contains(err.Error(), "unicode.txt:1:") {
			t.Errorf("%q: %v", row, err)
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	tok := tokenizer(t, bert(t))
	text := strings.Repeat("Zürich 한국 中国 [MASK] electroencephalography \U0001d16d\U0001d165, ", 20)
	ids := tok.Append(nil, text)
	if n := testing.AllocsPerRun(20, func() { ids = tok.Append(ids[:0], text) }); n != 0 {
		t.Errorf("Append allocates %v times", n)
	}
}

func FuzzAppend(f *testing.F) {
	for _, s := range []string{"", "Café 한국 中国", "[MASK", "a\xff\U0001d16d\u034f", strings.Repeat("x", 101)} {
		f.Add(s)
	}
	tok := tokenizer(f, bert(f))
	f.Fuzz(func(t *testing.T, text string) {
		ids := tok.Append(nil, text)
		if len(ids) > 3*utf8.RuneCountInString(text) { // a Hangul syllable is three letters
			t.Fatalf("%d tokens", len(ids))
		}
		for _, id := range ids {
			if id < 0 || int(id) >= tok.Len() {
				t.Fatalf("id %d", id)
			}
		}
		if clean := strings.ToValidUTF8(text, "\ufffd"); !slices.Equal(ids, tok.Append(nil, clean)) {
			t.Fatal("an invalid byte is not U+FFFD")
		}
		spaced := append(tok.Append(nil, text), tok.Append(nil, text)...)
		if !slices.Equal(spaced, tok.Append(nil, text+"\n"+text)) {
			t.Fatal("a word depends on the one in front")
		}
	})
}

func BenchmarkNew(b *testing.B) {
	vocabulary := bert(b)
	b.Run("vocabulary", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tokenizer(b, vocabulary)
		}
	})
	b.Run("characters", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parseCharTable(unicodeText); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	tok := tokenizer(b, bert(b))
	words := "Anna prefers window seats on long flights and always books the aisle for her brother when they travel to Lisbon. "
	for name, text := range map[string]string{
		"words=20": words, "words=200": strings.Repeat(words, 10), "mixed": strings.Repeat("Zürich 한국 中国 Ελλάδα Привет 👍🏽, ", 4),
		"one word": strings.Repeat("electroencephalo", 6),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			ids := make([]int32, 0, 4096)
			for b.Loop() {
				ids = tok.Append(ids[:0], text)
			}
		})
	}
}
