package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/loci-memory/loci/internal/jsonguard"
)

// A fault is why a line is refused. Its reason is for programs.
type fault struct {
	code    int64
	reason  string
	message string
}

// faults are what [jsonguard.Check] finds, as the protocol says it.
var faults = map[jsonguard.Fault]*fault{
	jsonguard.UTF8: {jsonrpc.CodeParseError, "utf8", "the message is not valid UTF-8"},
	jsonguard.JSON: {
		jsonrpc.CodeParseError,
		"json",
		"the message is not valid JSON: send one JSON-RPC message a line",
	},
	jsonguard.NUL:   {jsonrpc.CodeInvalidRequest, "nul", `a text contains the NUL character \u0000: leave it out`},
	jsonguard.Depth: {jsonrpc.CodeInvalidRequest, "depth", "the message nests too deep: flatten it"},
	jsonguard.Surrogate: {
		jsonrpc.CodeInvalidRequest,
		"surrogate",
		`a text contains half of a surrogate pair, such as \ud800: write the whole character`,
	},
	jsonguard.Duplicate: {jsonrpc.CodeInvalidRequest, "duplicate_name", "an object has the same name twice"},
}

var faultCase = &fault{
	jsonrpc.CodeInvalidRequest,
	"name",
	"a name of the message differs from that of the protocol in letter case: write it in lower case",
}

// An envelope is the top level of a JSON-RPC message, not decoded further.
type envelope struct{ version, id, method, params, result, err json.RawMessage }

// member returns where the value of a top-level name goes, or nil.
func (e *envelope) member(name []byte) *json.RawMessage {
	switch string(name) {
	case "jsonrpc":
		return &e.version
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.err
	}
	return nil
}

// guard checks a line and splits its top level.
func guard(line []byte, maxDepth int) (e envelope, f *fault) {
	var misspelt *fault
	found := jsonguard.Check(line, maxDepth, func(name, value []byte) {
		if m := e.member(name); m != nil && value != nil {
			*m = value
		} else if m == nil && e.member(bytes.ToLower(name)) != nil {
			misspelt = faultCase
		}
	})
	if f = faults[found]; f == nil {
		return e, misspelt
	}
	f = f.of(line, maxDepth)
	e.id = nil // what is refused was read up to its fault alone, and many clients write the id last
	if found != jsonguard.UTF8 {
		e.id = idOfRequest(line)
	}
	return e, f
}

// isInside reports whether the messages around a fault can be told apart, so that of a batch one
// alone is refused.
func (f *fault) isInside() bool {
	for _, inside := range []jsonguard.Fault{jsonguard.NUL, jsonguard.Surrogate, jsonguard.Duplicate} {
		if f.reason == faults[inside].reason {
			return true
		}
	}
	return false
}

// of is the fault with the limit that a line passes, or the name that one of its objects has twice.
func (f *fault) of(line []byte, maxDepth int) *fault {
	switch f {
	case faults[jsonguard.Depth]:
		return &fault{f.code, f.reason, fmt.Sprintf("the message nests deeper than %d levels: flatten it", maxDepth)}
	case faults[jsonguard.Duplicate]:
		if name, twice := jsonguard.Twice(line); twice {
			return &fault{f.code, f.reason, fmt.Sprintf("an object has the name %q twice: give it once", name)}
		}
	}
	return f
}

// idOfRequest finds the id of a request, wherever it stands; nil: it has none that could be repeated, or this is no
// request.
func idOfRequest(line []byte) json.RawMessage {
	var request envelope
	err := jsonguard.Members(line, "id", &request.id, "method", &request.method)
	if err != nil || request.method == nil {
		return nil
	}
	if _, bad := request.requestID(); bad != nil {
		return nil
	}
	return request.id
}

// Where official clients write the id of a request: after its version, or behind all else.
var (
	requestBegin = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*` + idForm + `\s*,\s*)?"method"\s*:`)
	requestEnd   = regexp.MustCompile(`,\s*"id"\s*:\s*` + idForm + `\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// idForm is an id of plain characters; without escapes, no text of a message ends like one.
const idForm = `(-?[0-9]{1,15}|"[ !#-\[\]-~]{0,256}")`

// idOfEnds finds the id of a request of which only the first and the last bytes were kept; nil: it is
// not there, or this is no request.
func idOfEnds(first, last []byte) []byte {
	found := requestBegin.FindSubmatch(first)
	if found != nil && found[1] == nil {
		found = requestEnd.FindSubmatch(last)
	}
	if found == nil {
		return nil
	}
	return found[1]
}
