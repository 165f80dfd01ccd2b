package tree

import (
	"encoding/json"

	"github.com/loci-memory/loci"
)

// MaxChatMessages bounds the messages of a conversation that a memory is put into.
const MaxChatMessages = 10_000

// A ChatMessage is a message of a conversation as a program keeps it. Parts that Loci
// does not know stay as they are.
type ChatMessage struct {
	Role    string          // system, user, assistant, tool and so on
	Content json.RawMessage // a string or a list of parts, as JSON

	// Source is the whole message as it was read; nil: it is written again from Role
	// and Content.
	Source json.RawMessage
	form   chatForm
}

// A chatForm is how a message is written.
type chatForm int

const (
	openAIForm    chatForm = iota // {"role": …, "content": …}
	langChainForm                 // {"type": …, "data": {"content": …}}
	dumpedForm                    // {"type": …, "content": …}
)

// langChainRoles are the roles of LangChain's types of messages.
var langChainRoles = map[string]string{"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}

// langChainRole is the role of a type of LangChain; other types are their own.
func langChainRole(typ string) string {
	if role, known := langChainRoles[typ]; known {
		return role
	}
	return typ
}

// System reports whether the message instructs the model on behalf of the program.
func (c *ChatMessage) System() bool { return c.Role == "system" || c.Role == "developer" }

// ParseChat reads a JSON list of messages, each in the form of OpenAI's chat
// messages, {"role", "content"}, in that in which LangChain stores them, {"type",
// "data"}, or in that of its model_dump, {"type", "content"}.
func ParseChat(list json.RawMessage) ([]ChatMessage, error) {
	if err := loci.CheckJSON("messages", list); err != nil {
		return nil, err
	}
	if json.Valid(list) && loci.CountJSON(list) > MaxChatMessages {
		return nil, loci.Errorf(loci.Invalid, "messages has more than %d entries: leave the oldest out", MaxChatMessages)
	}
	var all []json.RawMessage
	if err := loci.UnmarshalJSON(list, &all); err != nil {
		return nil, loci.Errorf(loci.Invalid, "messages must be a JSON list: %s", err)
	}
	out := make([]ChatMessage, len(all))
	for i, source := range all {
		var read struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Type    string          `json:"type"`
			Data    *struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"data"`
		}
		err := loci.UnmarshalJSON(source, &read)
		switch {
		case err == nil && read.Role != "":
			out[i] = ChatMessage{Role: read.Role, Content: read.Content, Source: source}
		case err == nil && read.Type != "" && read.Data != nil:
			role := langChainRole(read.Type)
			if read.Data.Role != "" && role == read.Type {
				role = read.Data.Role
			}
			out[i] = ChatMessage{Role: role, Content: read.Data.Content, Source: source, form: langChainForm}
		case err == nil && read.Type != "" && read.Content != nil:
			role := langChainRole(read.Type)
			out[i] = ChatMessage{Role: role, Content: read.Content, Source: source, form: dumpedForm}
		default:
			return nil, &loci.Error{Code: loci.Invalid, Msg: loci.Errorf(loci.Invalid, "messages[%d] has neither a role nor a type with data or content", i).Msg, Err: err,
				Recovery: `Write each message as {"role", "content"}, {"type", "data"} or {"type", "content"}.`}
		}
	}
	return out, nil
}

// FormatChat writes messages as a JSON list. Those that were read are written as
// they were.
func FormatChat(messages []ChatMessage) (json.RawMessage, error) {
	all := make([]json.RawMessage, len(messages))
	for i := range messages {
		if all[i] = messages[i].Source; all[i] != nil {
			continue
		}
		var err error
		if all[i], err = messages[i].write(); err != nil {
			return nil, loci.Errorf(loci.Invalid, "messages[%d] is not JSON: %w", i, err)
		}
	}
	return loci.MarshalJSON(all)
}

func (c *ChatMessage) write() (json.RawMessage, error) {
	content := c.Content
	if content == nil {
		content = json.RawMessage("null")
	}
	if c.form == openAIForm {
		return loci.MarshalJSON(struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}{c.Role, content})
	}
	typ := c.Role
	for name, role := range langChainRoles {
		if role == c.Role {
			typ = name
		}
	}
	type data struct {
		Content json.RawMessage `json:"content"`
		Type    string          `json:"type"`
	}
	if c.form == dumpedForm {
		return loci.MarshalJSON(data{content, typ})
	}
	return loci.MarshalJSON(struct {
		Type string `json:"type"`
		Data data   `json:"data"`
	}{typ, data{content, typ}})
}

// systemMessage makes a system message in the form that the others have.
func systemMessage(text string, others []ChatMessage) (ChatMessage, error) {
	content, err := loci.MarshalJSON(text)
	if err != nil {
		return ChatMessage{}, &loci.Error{Code: loci.Internal, Op: "connect", Err: err}
	}
	c := ChatMessage{Role: "system", Content: content}
	if len(others) > 0 {
		c.form = others[0].form
	}
	c.Source, err = c.write()
	return c, err
}
