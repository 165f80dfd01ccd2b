package transformer

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/wordpiece"
)

// A tokenizer turns a text into the numbers a network reads.
type tokenizer struct {
	pieces   *wordpiece.Tokenizer
	cls, sep int32
}

// tokenizerFile is the part of tokenizer.json that is read.
type tokenizerFile struct {
	Added []struct {
		ID      int32  `json:"id"`
		Content string `json:"content"`
	} `json:"added_tokens"`
	Normalizer struct {
		Type    string `json:"type"`
		Clean   *bool  `json:"clean_text"`
		Chinese *bool  `json:"handle_chinese_chars"`
		Strip   *bool  `json:"strip_accents"` // null: as lowercase
		Lower   *bool  `json:"lowercase"`
	} `json:"normalizer"`
	PreTokenizer struct {
		Type string `json:"type"`
	} `json:"pre_tokenizer"`
	Model struct {
		Type       string          `json:"type"`
		Unknown    string          `json:"unk_token"`
		Prefix     string          `json:"continuing_subword_prefix"`
		MaxWord    int             `json:"max_input_chars_per_word"`
		Vocabulary json.RawMessage `json:"vocab"` // a list in other types
	} `json:"model"`
}

// unsupported names what internal/wordpiece does not do, or is "".
func (f *tokenizerFile) unsupported() string {
	off := func(v *bool) bool { return v != nil && !*v }
	n, m := &f.Normalizer, &f.Model
	switch {
	case m.Type != "WordPiece" && (m.Type != "" || m.Prefix != "##"): // early files do not name the type
		return "a model of type \"" + m.Type + "\" is not supported, only WordPiece"
	case n.Type != "BertNormalizer" || f.PreTokenizer.Type != "BertPreTokenizer":
		return "\"" + n.Type + "\" and \"" + f.PreTokenizer.Type + "\" are not supported, only BertNormalizer and BertPreTokenizer"
	case off(n.Lower) || off(n.Strip) || off(n.Clean) || off(n.Chinese):
		return "models that tell capital letters or accents apart are not supported"
	case m.Prefix != "##" || m.Unknown != "[UNK]" || m.MaxWord != 0 && m.MaxWord != 100:
		return "only the prefix \"##\", the token \"[UNK]\" and words of 100 characters are supported"
	}
	for _, a := range f.Added {
		if !slices.Contains([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, a.Content) {
			return "the added token \"" + a.Content + "\" is not supported"
		}
	}
	return ""
}

func (r *reader) readTokenizer() {
	var f tokenizerFile
	if !r.read("tokenizer.json", true, &f) {
		return
	}
	if reason := f.unsupported(); reason != "" {
		r.problem("tokenizer.json: %s", reason)
		return
	}
	var ids map[string]int32
	if err := json.Unmarshal(f.Model.Vocabulary, &ids); err != nil {
		r.problem("tokenizer.json: its vocabulary cannot be read: %s", jsonform.Fault(err))
		return
	}
	tokens := make([]string, len(ids))
	for token, id := range ids {
		if id < 0 || int(id) >= len(tokens) || tokens[id] != "" {
			r.problem("tokenizer.json: the numbers of the tokens are not 0 to %d, once each", len(tokens)-1)
			return
		}
		tokens[id] = token
	}
	if len(tokens) > r.config.Vocabulary && r.config.Vocabulary > 0 {
		r.problem("tokenizer.json has %d tokens, config.json only %d", len(tokens), r.config.Vocabulary)
		return
	}
	pieces, err := wordpiece.New(strings.Join(tokens, "\n"))
	if err != nil {
		r.problem("tokenizer.json: %v", err)
		return
	}
	t := &tokenizer{pieces: pieces}
	for token, id := range map[string]*int32{"[CLS]": &t.cls, "[SEP]": &t.sep} {
		found, ok := ids[token]
		if !ok {
			r.problem("tokenizer.json: the token %s is missing", token)
		}
		*id = found
	}
	r.tokenizer = t
}

// encode returns the numbers of a text's tokens between those of [CLS] and [SEP],
// limit at most.
func (t *tokenizer) encode(text string, limit int) []int32 {
	ids := make([]int32, 1, len(text)/3+8)
	ids[0] = t.cls
	ids = t.pieces.Append(ids, text)
	return append(ids[:min(len(ids), limit-1)], t.sep)
}
