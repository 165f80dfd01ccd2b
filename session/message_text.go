package session

import (
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// Speaker returns who speaks, as a person would say it: the name in the message, else
// user, assistant, system, tool and so on; of the types chat and generic the role.
func (m Message) Speaker() string { return m.speaker(m.data()) }

func (m Message) speaker(data fields) string {
	if name, err := data.text("data", "name", false); err == nil && strings.TrimSpace(name) != "" && m.Type.base() != MessageTool {
		return loci.ClipLabel(name)
	}
	switch m.Type.base() {
	case MessageHuman:
		return "user"
	case MessageAI:
		return "assistant"
	case MessageChat, MessageGeneric:
		if role, err := data.text("data", "role", true); err == nil && strings.TrimSpace(role) != "" {
			return loci.ClipLabel(role)
		}
	}
	return string(m.Type.base())
}

// Text returns the words of a message: its content, of blocks those of text, and the
// tools it calls with their arguments.
func (m Message) Text() string { return m.data().words() }

// words is the text of a message with these data.
func (data fields) words() string {
	var lines []string
	add := func(text string) {
		if strings.TrimSpace(text) != "" {
			lines = append(lines, text)
		}
	}
	var text string
	var blocks []json.RawMessage
	if raw := data["content"]; json.Unmarshal(raw, &text) == nil {
		add(text)
	} else if json.Unmarshal(raw, &blocks) == nil {
		for _, raw := range blocks {
			add(blockText(raw))
		}
	}
	calls, _ := data.toolCalls("data")
	for _, c := range calls {
		args, err := loci.DecodeJSON(c.Args)
		if object, ok := args.(map[string]any); ok && err == nil {
			add(strings.TrimSpace(c.Name + ": " + loci.Flatten(object)))
		}
	}
	return strings.Join(lines, "\n")
}

// blockText is the text of a block of content; "" of one that holds none.
func blockText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &block) == nil && (block.Type == "" || strings.HasSuffix(block.Type, "text")) { // text, input_text, output_text
		return block.Text
	}
	return ""
}

// messageBody is what a record keeps of a message.
type messageBody struct {
	Message

	// Prefix is how many bytes of the record's text say who speaks. They are searched
	// and not shown.
	Prefix int `json:"prefix,omitzero"`
}

// draftParsed takes credentials out of a message and makes its record, all but its id, its place
// and its times. The message was checked as it was read: checking each message twice would take
// a fifth of the time of a large import.
func (s *Handle) draftParsed(in Message) (loci.Record, error) {
	if err := in.checkSize(); err != nil { // what it was read from may have been shorter
		return loci.Record{}, err
	}
	in, err := redactMessage(s.m, in)
	if err != nil {
		return loci.Record{}, err
	}
	r := loci.Record{Kind: KindMessage, Namespace: s.messages(), Version: 1, Live: true}
	return r, setMessage(s.m, &r, in)
}

// setMessage gives a record its message, and what is searched of it.
func setMessage(m *loci.Memory, r *loci.Record, in Message) (err error) {
	body := messageBody{Message: in}
	r.Status = string(in.Type.base())
	r.Text, r.Passages = "", nil
	data := in.data()
	if text := cutText(data.words(), m.Settings().MaxContent-loci.MaxLabelBytes-2); text != "" {
		speaker := loci.Redact(m, in.speaker(data)) + ": "
		body.Prefix = len(speaker)
		r.Text = speaker + text
	}
	return loci.SetBody(r, body)
}

// cutText shortens a text to a number of bytes without cutting a character.
func cutText(text string, most int) string {
	if len(text) <= max(0, most) {
		return text
	}
	end := max(0, most)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// redactMessage takes credentials out of a message. One that holds none stays as it
// was written, key by key.
func redactMessage(m *loci.Memory, in Message) (Message, error) {
	v, err := loci.DecodeJSON(in.Data)
	if err != nil {
		return in, loci.Errorf(loci.Invalid, "data is not JSON: %s", err)
	}
	clean := loci.Redact(m, v)
	if reflect.DeepEqual(v, clean) {
		return in, nil
	}
	if in.Data, err = loci.MarshalJSON(clean); err != nil {
		return in, loci.Errorf(loci.Invalid, "data is not JSON: %s", err)
	}
	return in, nil
}

// readMessage decodes a record of kind message.
func readMessage(r *loci.Record) (StoredMessage, error) {
	var body messageBody
	if err := loci.ReadBody(r, &body); err != nil {
		return StoredMessage{}, err
	}
	return StoredMessage{Seq: r.Position, CreatedAt: r.CreatedAt, Message: body.Message}, nil
}

// shown is a passage of a message's record without who speaks.
func (b *messageBody) shown(r *loci.Record, passage string) string {
	if !strings.HasPrefix(r.Text, passage) { // a later one
		return passage
	}
	return strings.TrimPrefix(passage, r.Text[:min(b.Prefix, len(r.Text))])
}
