package eino

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
)

// Eino writes messages much as OpenAI's chat does, which Loci reads without loss: keys
// that only Eino has are kept beside the others. Two things need more: the words in
// content of several kinds, so that they are found, and what Eino adds to tool calls.
const callsKey = "eino_tool_calls"

func toLoci(messages []*schema.Message) ([]session.Message, error) {
	out := make([]session.Message, len(messages))
	for i, m := range messages {
		var err error
		if out[i], err = messageToLoci(m); err != nil {
			e := *loci.AsError(err)
			e.Msg = fmt.Sprintf("messages[%d]: %s", i, e.Msg)
			return nil, &e
		}
	}
	return out, nil
}

func messageToLoci(m *schema.Message) (session.Message, error) {
	if m == nil {
		return session.Message{}, loci.Errorf(loci.Invalid, "a message must not be nil")
	}
	form, err := fields(m)
	if err != nil {
		return session.Message{}, err
	}
	more := map[string]any{}
	if m.Content == "" {
		more["content"] = words(m)
	}
	if m.Role == schema.Tool {
		more["tool_call_id"] = m.ToolCallID
	}
	if slices.ContainsFunc(m.ToolCalls, func(c schema.ToolCall) bool {
		return c.Index != nil || len(c.Extra) > 0 || c.Type != "function"
	}) {
		more[callsKey] = m.ToolCalls
	}
	added, err := fields(more)
	if err != nil {
		return session.Message{}, err
	}
	maps.Copy(form, added)
	data, err := json.Marshal(form)
	if err != nil {
		return session.Message{}, loci.Errorf(loci.Invalid, "a message is not JSON: %w", err)
	}
	return session.ParseMessage(data)
}

// fields are the keys of a value as JSON.
func fields(v any) (form map[string]json.RawMessage, err error) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &form)
	}
	if err != nil {
		return nil, loci.Errorf(loci.Invalid, "a message is not JSON: %w", err)
	}
	return form, nil
}

// words are the texts in the parts of a message.
func words(m *schema.Message) string {
	var texts []string
	add := func(text string) {
		if text != "" {
			texts = append(texts, text)
		}
	}
	for _, p := range m.MultiContent {
		add(p.Text)
	}
	for _, p := range m.UserInputMultiContent {
		add(p.Text)
	}
	for _, p := range m.AssistantGenMultiContent {
		add(p.Text)
	}
	return strings.Join(texts, "\n")
}

// fromLoci converts messages of a session, whoever wrote them. Those that ask for the
// removal of another one say nothing to a model and are left out.
func fromLoci(messages []session.Message) ([]*schema.Message, error) {
	out := make([]*schema.Message, 0, len(messages))
	for _, m := range messages {
		if m.Type == session.MessageRemove {
			continue
		}
		converted, err := messageFromLoci(m)
		if err != nil {
			return nil, err
		}
		out = append(out, converted)
	}
	return out, nil
}

func messageFromLoci(m session.Message) (*schema.Message, error) {
	data, err := m.OpenAI()
	if err != nil {
		return nil, err
	}
	var form map[string]json.RawMessage
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, &loci.Error{Code: loci.Internal, Op: "read message", Err: err}
	}
	out := &schema.Message{}
	for key, field := range map[string]any{"role": &out.Role, "name": &out.Name, "tool_calls": &out.ToolCalls, "tool_call_id": &out.ToolCallID} {
		if raw, ok := form[key]; ok {
			if err := json.Unmarshal(raw, field); err != nil {
				return nil, &loci.Error{Code: loci.Internal, Op: "read message", Err: fmt.Errorf("%s: %w", key, err)}
			}
		}
	}
	takeOver(form["multi_content"], &out.MultiContent)
	takeOver(form["user_input_multi_content"], &out.UserInputMultiContent)
	takeOver(form["assistant_output_multi_content"], &out.AssistantGenMultiContent)
	takeOver(form["tool_name"], &out.ToolName)
	takeOver(form["response_meta"], &out.ResponseMeta)
	takeOver(form["reasoning_content"], &out.ReasoningContent)
	takeOver(form["extra"], &out.Extra)
	takeOver(form[callsKey], &out.ToolCalls)
	setContent(out, form["content"])
	switch out.Role {
	case "developer":
		out.Role = schema.System
	case "function":
		out.Role, out.ToolName, out.Name = schema.Tool, out.Name, ""
	}
	return out, nil
}

// takeOver sets a field to what stands under a key of Eino, unless that is of another
// kind: another client may use the same key.
func takeOver[T any](raw json.RawMessage, field *T) {
	var v T
	if raw != nil && json.Unmarshal(raw, &v) == nil {
		*field = v
	}
}

// setContent sets the text of a message. Blocks that another client stored become the
// text in them, and, of a person's message, their images by URL.
func setContent(m *schema.Message, content json.RawMessage) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		if text != words(m) { // else it stands in the parts
			m.Content = text
		}
		return
	}
	var blocks []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Image struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return
	}
	var texts []string
	var parts []schema.MessageInputPart
	images := false
	for _, b := range blocks {
		switch {
		case b.Text != "":
			texts = append(texts, b.Text)
			parts = append(parts, schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: b.Text})
		case b.Image.URL != "" && m.Role == schema.User:
			images = true
			parts = append(parts, schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL,
				Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &b.Image.URL}}})
		}
	}
	if images {
		m.UserInputMultiContent = parts
		return
	}
	m.Content = strings.Join(texts, "\n")
}
