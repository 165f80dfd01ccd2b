package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// Limits on a message.
const (
	MaxMessageBytes = 1 << 20 // bytes as JSON
	MaxMessageParts = 10_000  // blocks of its content, calls of tools
)

// A MessageType says who speaks in a message, in LangChain's words.
type MessageType string

// The types of messages. Those of the parts that a stream sends are kept as
// LangChain names them: "AIMessageChunk" and so on.
const (
	MessageHuman    MessageType = "human"
	MessageAI       MessageType = "ai"
	MessageSystem   MessageType = "system"
	MessageTool     MessageType = "tool"     // the result of a tool call
	MessageFunction MessageType = "function" // the result of a function call, which tools replaced
	MessageChat     MessageType = "chat"     // of any role
	MessageGeneric  MessageType = "generic"  // the same, as LangChain in JavaScript names it
	MessageRemove   MessageType = "remove"   // asks for a message to be removed; kept like any other
)

// messageClasses are the classes of LangChain, with the type of their messages.
var messageClasses = map[string]MessageType{
	"HumanMessage": MessageHuman, "AIMessage": MessageAI, "SystemMessage": MessageSystem, "ToolMessage": MessageTool,
	"FunctionMessage": MessageFunction, "ChatMessage": MessageChat, "RemoveMessage": MessageRemove,
	"HumanMessageChunk": "HumanMessageChunk", "AIMessageChunk": "AIMessageChunk", "SystemMessageChunk": "SystemMessageChunk",
	"ToolMessageChunk": "ToolMessageChunk", "FunctionMessageChunk": "FunctionMessageChunk", "ChatMessageChunk": "ChatMessageChunk",
}

// chunk is what follows the name of a class in the type of a part of a stream.
const chunk = "MessageChunk"

// base is the type a part of a stream has when it is whole.
func (t MessageType) base() MessageType {
	if class, ok := strings.CutSuffix(string(t), chunk); ok {
		if whole, known := messageClasses[class+"Message"]; known {
			return whole
		}
	}
	return t
}

func (t MessageType) known() bool {
	switch t {
	case MessageHuman, MessageAI, MessageSystem, MessageTool, MessageFunction, MessageChat, MessageGeneric,
		MessageRemove:
		return true
	}
	return t.base() != t
}

// A Message is one message of a conversation, in the form LangChain stores: {"type": …,
// "data": {…}}. Data is kept as it was written, unknown keys and every digit of its
// numbers included.
type Message struct {
	Type MessageType     `json:"type"`
	Data json.RawMessage `json:"data"`
}

// A StoredMessage is a message at its place in a session.
type StoredMessage struct {
	Seq       int64     `json:"seq"` // from 1
	CreatedAt time.Time `json:"created_at"`
	Message
}

// ParseMessage reads one message as JSON, in any of four forms:
//
//   - as LangChain stores it: {"type": "human", "data": {"content": …}};
//   - as LangChain's model_dump and LangGraph's server write it: {"type": "human", "content": …};
//   - as LangChain serialises its objects: {"lc": 1, "type": "constructor", "id":
//     ["langchain_core", "messages", "HumanMessage"], "kwargs": {"content": …}};
//   - as OpenAI's chat has it: {"role": "user", "content": …}.
//
// Whatever it cannot read is Invalid, and more than MaxMessageBytes is TooLarge;
// the message names the field.
func ParseMessage(data []byte) (Message, error) {
	object, err := messageObject(data)
	if err != nil {
		return Message{}, err
	}
	return parseMessage(object, data)
}

// ParseMessages reads a JSON array of messages; see [ParseMessage]. TooLarge: they have more
// than [MaxAppendParts] parts. Errors name the message, as in "messages[3].data.content".
func ParseMessages(data []byte) ([]Message, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil || list == nil {
		return nil, loci.Errorf(loci.Invalid, "messages must be a JSON array of messages")
	}
	if err := checkParts(list); err != nil {
		return nil, err
	}
	out := make([]Message, len(list))
	for i, raw := range list {
		var err error
		if out[i], err = ParseMessage(raw); err != nil {
			return nil, inMessage(i, err)
		}
	}
	return out, nil
}

// checkParts refuses messages, each valid JSON, with more parts than one append takes, before
// anything is made of them: a part costs a hundred times what its bytes do.
func checkParts(list []json.RawMessage) error {
	parts := partCount(0)
	for i, raw := range list {
		if err := parts.add(raw); err != nil {
			return inMessage(i, err)
		}
	}
	return nil
}

// A partCount is how many blocks of content and calls of tools some messages have together.
type partCount int

// add counts a message, in any of its forms or its data alone.
func (n *partCount) add(message []byte) error {
	is := countParts(message, true)
	*n += is
	switch {
	case is > MaxAppendParts:
		return loci.Errorf(loci.TooLarge, "%d blocks of content and calls of tools; the limit is %d: split the message", is, MaxAppendParts)
	case *n > MaxAppendParts:
		return loci.Errorf(loci.TooLarge, "the messages up to this one have more than %d blocks of content and calls of tools: send this one and those after it in another call", MaxAppendParts)
	}
	return nil
}

func countParts(object []byte, outside bool) (n partCount) {
	_ = loci.EachJSON(object, func(key string, value []byte) error {
		switch key {
		case "data", "kwargs":
			if outside {
				n += countParts(value, false)
			}
		case "content", "tool_calls", "invalid_tool_calls":
			if value[0] == '[' {
				n += partCount(loci.CountJSON(value))
			}
		}
		return nil
	})
	return n
}

// inMessage says which message of a list an error is about.
func inMessage(i int, err error) error {
	e := *loci.AsError(err)
	if e.Code == loci.Internal {
		return err
	}
	// "data.content must be …" and "must be …" alike follow the place.
	e.Msg = fmt.Sprintf("messages[%d]: %s", i, e.Msg)
	return &e
}

// fields are the fields of a JSON object, as written.
type fields map[string]json.RawMessage

// messageObject checks the outside of a message.
func messageObject(data []byte) (fields, error) {
	if len(data) > MaxMessageBytes {
		return nil, loci.Errorf(loci.TooLarge, "a message has %d bytes; the limit is %d: shorten it, or keep large parts elsewhere", len(data), MaxMessageBytes)
	}
	if err := loci.CheckJSON("a message", data); err != nil {
		return nil, err
	}
	var object fields
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return nil, loci.Errorf(loci.Invalid, "a message must be a JSON object")
	}
	return object, nil
}

// parseMessage reads a message from its fields and the text that has them.
func parseMessage(object fields, text json.RawMessage) (Message, error) {
	switch {
	case object["lc"] != nil:
		return constructedMessage(object)
	case object["type"] != nil && object["data"] == nil && object["content"] != nil:
		return dumpedMessage(object, text)
	case object["type"] != nil:
		return storedMessage(object)
	case object["role"] != nil:
		return openAIMessage(object)
	}
	return Message{}, loci.Errorf(loci.Invalid, `type is missing: write {"type": …, "data": {…}}, LangChain's {"lc": 1, …} or OpenAI's {"role": …}`)
}

// storedMessage reads LangChain's stored form.
func storedMessage(object fields) (Message, error) {
	for key := range object {
		if key != "type" && key != "data" {
			return Message{}, loci.Errorf(loci.Invalid, "%s is no field of a stored message: put it into data", key)
		}
	}
	typ, err := object.text("", "type", true)
	if err != nil {
		return Message{}, err
	}
	return newMessage(MessageType(typ), object["data"], "data")
}

// dumpedMessage reads the fields of a message of LangChain beside its type. The type stays among
// them, as in the data of the stored form that LangChain itself writes.
func dumpedMessage(object fields, text json.RawMessage) (Message, error) {
	typ, err := object.text("", "type", true)
	if err != nil {
		return Message{}, err
	}
	return newMessage(MessageType(typ), text, "")
}

// constructedMessage reads a serialised object of LangChain.
func constructedMessage(object fields) (Message, error) {
	var id []string
	if typ, err := object.text("", "type", true); err != nil || typ != "constructor" {
		return Message{}, loci.Errorf(loci.Invalid, `type must be "constructor" where lc is given`)
	}
	if json.Unmarshal(object["id"], &id) != nil || len(id) == 0 || len(id) > loci.MaxLabels {
		return Message{}, loci.Errorf(loci.Invalid, `id must be a list of names such as ["langchain_core", "messages", "HumanMessage"]`)
	}
	typ, ok := messageClasses[id[len(id)-1]]
	if root := id[0]; !ok || root != "langchain_core" && root != "langchain" && root != "@langchain" {
		return Message{}, loci.Errorf(loci.Invalid, "id %q names no message of LangChain", strings.Join(id, "."))
	}
	return newMessage(typ, object["kwargs"], "kwargs")
}

// newMessage checks a message and makes it. place is where its data were written, or "" if they
// are the message.
func newMessage(typ MessageType, data json.RawMessage, place string) (Message, error) {
	if err := checkMessage(typ, data, place); err != nil {
		return Message{}, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return Message{}, loci.Errorf(loci.Invalid, "%s is not JSON", place)
	}
	return Message{Type: typ, Data: compact.Bytes()}, nil
}

func checkMessage(typ MessageType, data json.RawMessage, place string) error {
	if !typ.known() {
		return loci.Errorf(loci.Invalid, "type %q is not known: must be one of ai, chat, function, generic, human, remove, system, tool or a %s", loci.ClipLabel(string(typ)), "…"+chunk)
	}
	var object fields
	if json.Unmarshal(data, &object) != nil || object == nil {
		return loci.Errorf(loci.Invalid, "%s must be a JSON object", place)
	}
	return checkMessageData(typ, object, place)
}

// Validate checks a message that was not read by [ParseMessage].
func (m Message) Validate() error {
	if err := m.checkSize(); err != nil {
		return err
	}
	if err := loci.CheckJSON("data", m.Data); err != nil {
		return err
	}
	return checkMessage(m.Type, m.Data, "data")
}

func (m Message) checkSize() error {
	if size := len(m.Data) + len(m.Type); size > MaxMessageBytes {
		return loci.Errorf(loci.TooLarge, "a message has %d bytes; the limit is %d: shorten it, or keep large parts elsewhere", size, MaxMessageBytes)
	}
	return nil
}

// data reads the data of a message that was checked before.
func (m Message) data() fields {
	var data fields
	if json.Unmarshal(m.Data, &data) != nil {
		return nil
	}
	return data
}

// calls are the ids of the tool calls a message makes.
func (m Message) calls() (ids []string) {
	if m.Type.base() != MessageAI {
		return nil
	}
	data := m.data()
	calls, _ := data.toolCalls("")
	for _, c := range calls {
		if c.ID != "" {
			ids = append(ids, c.ID)
		}
	}
	var invalid []toolCallID
	if json.Unmarshal(data.orNull("invalid_tool_calls"), &invalid) == nil {
		known := map[string]bool{"": true}
		for _, id := range ids {
			known[id] = true
		}
		for _, c := range invalid {
			if !known[c.ID] {
				ids, known[c.ID] = append(ids, c.ID), true
			}
		}
	}
	return ids
}

type toolCallID struct {
	ID string `json:"id"`
}

// answers is the id of the tool call whose result a message is; "" where it is none,
// or names none.
func (m Message) answers() string {
	if m.Type.base() != MessageTool {
		return ""
	}
	id, _ := m.data().text("", "tool_call_id", false)
	return id
}

// isResult reports whether a message is the result of a call.
func (m Message) isResult() bool {
	return m.Type.base() == MessageTool || m.Type.base() == MessageFunction
}
