package langchaingo

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
)

// openAI is a message of OpenAI's chat, by which both sides are converted: Loci reads
// and writes that form without loss.
type openAI struct {
	Role         string             `json:"role"`
	Content      json.RawMessage    `json:"content"`
	Name         string             `json:"name,omitempty"`
	ToolCallID   *string            `json:"tool_call_id,omitempty"`
	ToolCalls    []openAICall       `json:"tool_calls,omitempty"`
	FunctionCall *llms.FunctionCall `json:"function_call,omitempty"`
	Reasoning    string             `json:"reasoning_content,omitempty"`
}

// openAICall is a call of a tool. llms.ToolCall itself is written in another form.
type openAICall struct {
	ID       string             `json:"id"`
	Type     string             `json:"type"`
	Function *llms.FunctionCall `json:"function"`
}

// setAI takes over what only a model's messages have.
func (f *openAI) setAI(m *llms.AIChatMessage) {
	for _, c := range m.ToolCalls {
		f.ToolCalls = append(f.ToolCalls, openAICall{ID: c.ID, Type: c.Type, Function: c.FunctionCall})
	}
	f.FunctionCall, f.Reasoning = m.FunctionCall, m.ReasoningContent
}

func (f *openAI) calls() (calls []llms.ToolCall) {
	for _, c := range f.ToolCalls {
		calls = append(calls, llms.ToolCall{ID: c.ID, Type: c.Type, FunctionCall: c.Function})
	}
	return calls
}

func toLoci(messages []llms.ChatMessage) ([]session.Message, error) {
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

func messageToLoci(m llms.ChatMessage) (session.Message, error) {
	if m == nil {
		return session.Message{}, loci.Errorf(loci.Invalid, "a message must not be nil")
	}
	content, err := json.Marshal(m.GetContent())
	if err != nil {
		return session.Message{}, loci.Errorf(loci.Invalid, "content is not JSON: %w", err)
	}
	form := openAI{Content: content}
	if named, ok := m.(llms.Named); ok {
		form.Name = named.GetName()
	}
	switch m.GetType() {
	case llms.ChatMessageTypeHuman:
		form.Role = "user"
	case llms.ChatMessageTypeSystem:
		form.Role = "system"
	case llms.ChatMessageTypeFunction:
		form.Role = "function"
	case llms.ChatMessageTypeTool:
		form.Role, form.ToolCallID = "tool", new(string)
		if called, ok := m.(interface{ GetID() string }); ok {
			*form.ToolCallID = called.GetID()
		}
	case llms.ChatMessageTypeAI:
		form.Role = "assistant"
		switch ai := m.(type) {
		case llms.AIChatMessage:
			form.setAI(&ai)
		case *llms.AIChatMessage:
			form.setAI(ai)
		}
	case llms.ChatMessageTypeGeneric:
		return genericToLoci(m, form)
	default:
		return session.Message{}, loci.Errorf(loci.Invalid, "a message has the type %q, which langchaingo does not name", m.GetType())
	}
	data, err := json.Marshal(form)
	if err != nil {
		return session.Message{}, loci.Errorf(loci.Invalid, "a message is not JSON: %w", err)
	}
	return session.ParseMessage(data)
}

// genericToLoci converts a message of a role of its own, which OpenAI's form lacks.
func genericToLoci(m llms.ChatMessage, form openAI) (session.Message, error) {
	data := map[string]any{"content": form.Content, "role": ""}
	switch generic := m.(type) {
	case llms.GenericChatMessage:
		data["role"] = generic.Role
	case *llms.GenericChatMessage:
		data["role"] = generic.Role
	}
	if form.Name != "" {
		data["name"] = form.Name
	}
	encoded, err := json.Marshal(map[string]any{"type": session.MessageGeneric, "data": data})
	if err != nil {
		return session.Message{}, loci.Errorf(loci.Invalid, "a message is not JSON: %w", err)
	}
	return session.ParseMessage(encoded)
}

// fromLoci converts messages of a session, whoever wrote them. Those that ask for the
// removal of another one say nothing to a model and are left out.
func fromLoci(messages []session.Message) ([]llms.ChatMessage, error) {
	out := make([]llms.ChatMessage, 0, len(messages))
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

func messageFromLoci(m session.Message) (llms.ChatMessage, error) {
	data, err := m.OpenAI()
	if err != nil {
		return nil, err
	}
	var form openAI
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, &loci.Error{Code: loci.Internal, Op: "read message", Err: err}
	}
	text := textOf(form.Content)
	switch {
	case m.Type == session.MessageGeneric || m.Type == session.MessageChat || m.Type == "ChatMessageChunk":
		return llms.GenericChatMessage{Content: text, Role: form.Role, Name: form.Name}, nil
	case form.Role == "user":
		return llms.HumanChatMessage{Content: text}, nil
	case form.Role == "system" || form.Role == "developer":
		return llms.SystemChatMessage{Content: text}, nil
	case form.Role == "assistant":
		return llms.AIChatMessage{
			Content: text, FunctionCall: form.FunctionCall,
			ToolCalls: form.calls(), ReasoningContent: form.Reasoning,
		}, nil
	case form.Role == "function":
		return llms.FunctionChatMessage{Name: form.Name, Content: text}, nil
	case form.Role == "tool":
		tool := llms.ToolChatMessage{Content: text}
		if form.ToolCallID != nil {
			tool.ID = *form.ToolCallID
		}
		return tool, nil
	}
	return nil, &loci.Error{Code: loci.Internal, Op: "read message", Err: fmt.Errorf("a message has the role %q", form.Role)}
}

// textOf is the text of a content: itself, or that of its blocks. langchaingo's
// histories know nothing else.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	var texts []string
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
