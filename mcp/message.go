package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
)

var (
	faultVersion = &fault{jsonrpc.CodeInvalidRequest, "jsonrpc", `"jsonrpc" must be "2.0"`}
	faultID      = &fault{jsonrpc.CodeInvalidRequest, "id", "id must be a text of at most 256 bytes, or an integer within ±2^53"}
	faultMethod  = &fault{jsonrpc.CodeInvalidRequest, "method", "method must be a text of at most 256 bytes"}
	faultMessage = &fault{jsonrpc.CodeInvalidRequest, "message", "the message is neither a request, nor a notification, nor a response"}
	faultParams  = &fault{jsonrpc.CodeInvalidParams, "params", "params must be an object"}

	faultNotification = &fault{jsonrpc.CodeInvalidRequest, "id", "a notification gets no answer: send it without an id"}
)

const (
	maxIDBytes     = 256
	maxMethodBytes = 256     // refusals repeat it
	maxExactInt    = 1 << 53 // beyond it clients that count in floats mix up ids
	maxParams      = 10_000  // values in params, beside the arguments of a tool, which bounds them itself
)

// message makes the SDK's form of a message. Its own decoder accepts ids that it
// then truncates, so that a reply would go to another request.
func (e *envelope) message() (jsonrpc.Message, *fault) {
	if string(e.version) != `"2.0"` {
		return nil, faultVersion
	}
	id, f := e.requestID()
	if f != nil {
		e.id = nil // not worth repeating in the reply
		return nil, f
	}
	if e.method != nil {
		var method string
		if e.method[0] != '"' || len(e.method) > maxMethodBytes+2 || json.Unmarshal(e.method, &method) != nil {
			return nil, faultMethod
		}
		if string(e.params) == "null" {
			e.params = nil
		}
		if e.params != nil && e.params[0] != '{' {
			return nil, faultParams
		}
		if id.IsValid() && e.params == nil && slices.Contains(needParams, method) {
			return nil, &fault{jsonrpc.CodeInvalidParams, "params", "params of " + method + " are missing: send an object, as the protocol has it"}
		}
		if id.IsValid() && strings.HasPrefix(method, "notifications/") {
			return nil, faultNotification
		}
		if f := checkParams(method, e.params); f != nil {
			return nil, f
		}
		return &jsonrpc.Request{ID: id, Method: method, Params: e.params}, nil
	}
	if !id.IsValid() || (e.result == nil) == (e.err == nil) {
		return nil, faultMessage
	}
	r := &jsonrpc.Response{ID: id, Result: e.result}
	if e.err != nil {
		var refused jsonrpc.Error
		if json.Unmarshal(e.err, &refused) != nil {
			return nil, faultMessage
		}
		r.Error = &refused
	}
	return r, nil
}

// paramsOf makes what the SDK decodes the params of a method into.
var paramsOf = map[string]func() any{
	"initialize":     func() any { return new(sdk.InitializeParams) },
	"ping":           func() any { return new(sdk.PingParams) },
	"tools/list":     func() any { return new(sdk.ListToolsParams) },
	"tools/call":     func() any { return new(sdk.CallToolParamsRaw) },
	"prompts/list":   func() any { return new(sdk.ListPromptsParams) },
	"prompts/get":    func() any { return new(sdk.GetPromptParams) },
	"resources/list": func() any { return new(sdk.ListResourcesParams) },
	"resources/read": func() any { return new(sdk.ReadResourceParams) },

	"resources/templates/list": func() any { return new(sdk.ListResourceTemplatesParams) },
	"resources/subscribe":      func() any { return new(sdk.SubscribeParams) },
	"resources/unsubscribe":    func() any { return new(sdk.UnsubscribeParams) },
	"completion/complete":      func() any { return new(sdk.CompleteParams) },
	"logging/setLevel":         func() any { return new(sdk.SetLoggingLevelParams) }, //nolint:staticcheck // clients still send it
}

// needParams are methods that mean nothing without params. The SDK says only that the request is invalid.
var needParams = []string{
	"initialize", "tools/call", "prompts/get", "resources/read", "resources/subscribe", "resources/unsubscribe", "completion/complete",
	"logging/setLevel",
}

// checkParams refuses params that the SDK could not decode: what it says of them
// names types of Go.
func checkParams(method string, params json.RawMessage) *fault {
	into := paramsOf[method]
	if into == nil || params == nil {
		return nil
	}
	values := 0
	_ = jsonguard.Each(params, func(name string, member []byte) error { // the function returns no error
		if method != "tools/call" || name != "arguments" {
			values += 1 + jsonguard.CountValues(member)
		}
		return nil
	})
	if values > maxParams {
		return &fault{jsonrpc.CodeInvalidParams, "params", fmt.Sprintf(
			"params of %s have %d values beside a tool's arguments; the limit is %d: leave some out, as of _meta",
			method, values, maxParams)}
	}
	if err := json.Unmarshal(params, into()); err != nil {
		return &fault{jsonrpc.CodeInvalidParams, "params", "params of " + method + ": " + jsonform.Fault(err)}
	}
	return nil
}

// requestID decodes the id; a message without one has the zero ID.
func (e *envelope) requestID() (jsonrpc.ID, *fault) {
	var value any
	switch {
	case e.id == nil:
		return jsonrpc.ID{}, nil
	case e.id[0] == '"':
		var text string
		if len(e.id) > maxIDBytes+2 || json.Unmarshal(e.id, &text) != nil {
			return jsonrpc.ID{}, faultID
		}
		value = text
	default:
		n, err := strconv.ParseInt(string(e.id), 10, 64)
		if err != nil || n > maxExactInt || n < -maxExactInt {
			return jsonrpc.ID{}, faultID
		}
		value = float64(n)
	}
	id, err := jsonrpc.MakeID(value)
	if err != nil {
		return jsonrpc.ID{}, faultID
	}
	return id, nil
}

// refusal is the JSON-RPC error that answers a line or a request before the SDK
// sees it.
func refusal(id json.RawMessage, f *fault) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	type data struct {
		Reason string `json:"reason"`
	}
	type wireError struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
		Data    data   `json:"data"`
	}
	line, _ := json.Marshal(struct { // texts and valid JSON: cannot fail
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   wireError       `json:"error"`
	}{"2.0", id, wireError{f.code, f.message, data{f.reason}}})
	return line
}
