package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestBadLinesAreRefusedAndTheConnectionSurvives sends what clients, models and
// attackers get wrong, each followed by a good call on the same connection.
func TestBadLinesAreRefusedAndTheConnectionSurvives(t *testing.T) {
	nested := func(levels int) string {
		return callLine("7", "echo", strings.Repeat(`{"a":`, levels-2)+"1"+strings.Repeat("}", levels-2))
	}
	many := func(last string) string {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, `"k%d":1,`, i)
		}
		return callLine("7", "echo", `{`+b.String()+last+`}`)
	}
	for _, c := range []struct {
		name, line string
		code       int64
		reason     string // "": the SDK's own refusal
		id         string
	}{
		{"not JSON", `{oops`, -32700, "json", "null"},
		{"two values", `{"jsonrpc":"2.0","id":7,"method":"ping"} x`, -32700, "json", "null"},
		{"a text", `"hello"`, -32600, "jsonrpc", "null"},
		{"a number", `7`, -32600, "jsonrpc", "null"},
		{"invalid UTF-8", callLine("7", "echo", "{\"a\":\"\xff\xfe\"}"), -32700, "utf8", "null"},
		{"surrogate as UTF-8", callLine("7", "echo", "{\"a\":\"\xed\xa0\x80\"}"), -32700, "utf8", "null"},
		{"raw NUL", callLine("7", "echo", "{\"a\":\"\x00\"}"), -32700, "json", "null"},
		{"escaped NUL", callLine("7", "echo", `{"a":"x\u0000"}`), -32600, "nul", "7"},
		{"escaped NUL in a name", callLine("7", "echo", `{"\u0000":1}`), -32600, "nul", "7"},
		{"65 levels", nested(65), -32600, "depth", "7"},
		{"arrays 5000 deep", callLine("7", "echo", strings.Repeat("[", 5000)+strings.Repeat("]", 5000)), -32600, "depth", "7"},
		{"half a pair of surrogates", callLine("7", "echo", `{"a":"x\ud800"}`), -32600, "surrogate", "7"},
		{"half a pair in a name", callLine("7", "echo", `{"\udc00":1}`), -32600, "surrogate", "7"},
		{"NUL before the id", idLast(`"x\u0000"`), -32600, "nul", "7"},
		{"half a pair before the id", idLast(`"x\ud800"`), -32600, "surrogate", "7"},
		{"name twice before the id", idLast(`{"a":1,"a":2}`), -32600, "duplicate_name", "7"},
		{"too deep before the id", idLast(strings.Repeat("[", 70) + strings.Repeat("]", 70)), -32600, "depth", "7"},
		{"NUL before an id that is none", strings.Replace(idLast(`"x\u0000"`), `"id":7`, `"id":[7]`, 1), -32600, "nul", "null"},
		{"NUL after an id that is none", callLine("[7]", "echo", `{"a":"x\u0000"}`), -32600, "nul", "null"},
		{"NUL in a response", `{"jsonrpc":"2.0","id":7,"result":{"a":"x\u0000"}}`, -32600, "nul", "null"},
		{"another letter case", `{"jsonrpc":"2.0","id":7,"method":"ping","METHOD":"tools/list"}`, -32600, "name", "7"},
		{"name twice at the top", `{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}`, -32600, "duplicate_name", "7"},
		{"name twice in params", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","name":"panic"}}`, -32600, "duplicate_name", "7"},
		{"name twice deep inside", callLine("7", "echo", `{"a":[{"b":{"c":1,"d":2,"c":3}}]}`), -32600, "duplicate_name", "7"},
		{"name twice, once escaped", callLine("7", "echo", `{"a":1,"\u0061":2}`), -32600, "duplicate_name", "7"},
		{"name twice among many", many(`"k3":2`), -32600, "duplicate_name", "7"},
		{"name twice among many, escaped", many(`"\u006b3":2`), -32600, "duplicate_name", "7"},
		{"too long", callLine("7", "echo", `{"a":"`+strings.Repeat("x", 70<<10)+`"}`), -32600, "line", "7"},
		{"much too long", callLine("7", "echo", `{"a":"`+strings.Repeat("x", 1<<20)+`"}`), -32600, "line", "7"},
		{"too long, id last", idLast(`"` + strings.Repeat("x", 1<<20) + `"`), -32600, "line", "7"},
		{"too long, id and version last", strings.Replace(idLast(`"`+strings.Repeat("x", 1<<20)+`"`), `"id":7`, `"id":"7","jsonrpc":"2.0"`, 1), -32600, "line", `"7"`},
		{"too long, a response", `{"result":{"a":"` + strings.Repeat("x", 1<<20) + `"},"jsonrpc":"2.0","id":7}`, -32600, "line", "null"},
		{"too long, an id in a text", `{"jsonrpc":"2.0","method":"ping","params":{"a":"` + strings.Repeat("x", 1<<20) + `,\"id\":7}"}}`, -32600, "line", "null"},
		{"too long, an id inside", `{"jsonrpc":"2.0","method":"ping","params":{"a":"` + strings.Repeat("x", 1<<20) + `","id":7}}`, -32600, "line", "null"},
		{"batch", `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, -32600, "batch", "null"},
		{"no version", `{"id":7,"method":"ping"}`, -32600, "jsonrpc", "7"},
		{"version 1.0", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, -32600, "jsonrpc", "7"},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, "id", "null"},
		{"id fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, "id", "null"},
		{"id beyond 2^53", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, -32600, "id", "null"},
		{"id list", `{"jsonrpc":"2.0","id":[],"method":"ping"}`, -32600, "id", "null"},
		{"id object", `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, -32600, "id", "null"},
		{"id true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600, "id", "null"},
		{"id too long", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"ping"}`, -32600, "id", "null"},
		{"method number", `{"jsonrpc":"2.0","id":7,"method":1}`, -32600, "method", "7"},
		{"no method", `{"jsonrpc":"2.0","id":7}`, -32600, "message", "7"},
		{"result and error", `{"jsonrpc":"2.0","id":7,"result":1,"error":{"code":1,"message":"x"}}`, -32600, "message", "7"},
		{"params list", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}`, -32602, "params", "7"},
		{"params of another form", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":{"x":"` + strings.Repeat("y", 9000) + `"}}}`, -32602, "", "7"},
		{"_meta of many values", metaOf(maxParams), -32602, "params", "7"},
		{"no params", `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, -32602, "params", "7"},
		{"params null", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":null}`, -32602, "params", "7"},
		{"unknown tool", callLine("7", "nosuch", `{}`), -32602, "", "7"},
		{"unknown method", `{"jsonrpc":"2.0","id":7,"method":"no/such"}`, -32601, "", "7"},
		{"request named like a notification", `{"jsonrpc":"2.0","id":7,"method":"notifications/initialized"}`, -32600, "id", "7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := connect(t, newBench(t, Limits{Line: 64 << 10}, nil).Server)
			w.initialize("2025-11-25")
			w.send(c.line)
			line := w.receive()
			r := parse(t, line)
			if r.Error == nil || r.Error.Code != c.code || string(r.ID) != c.id {
				t.Fatalf("got %s, want code %d for id %s", line, c.code, c.id)
			}
			if c.reason != "" && string(r.Error.Data) != `{"reason":"`+c.reason+`"}` {
				t.Errorf("got data %s, want reason %s", r.Error.Data, c.reason)
			}
			if len(line) > 1024 {
				t.Errorf("the refusal has %d bytes", len(line))
			}
			w.send(callLine("8", "echo", `{"fine":true}`))
			if r := parse(t, w.receive()); r.text() != `{"fine":true}` {
				t.Errorf("after it: %+v", r)
			}
		})
	}
}

// idLast is a call as the official clients for TypeScript and Python write it.
func idLast(argument string) string {
	return `{"method":"tools/call","params":{"name":"echo","arguments":{"a":` + argument + `}},"jsonrpc":"2.0","id":7}`
}

// metaOf is a call with n values in a list of its _meta.
func metaOf(n int) string {
	list := strings.Repeat("1,", n-1) + "1"
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","_meta":{"x":[` + list + `]},"arguments":{"a":1}}}`
}

// TestOddButValidLinesAreTaken: being strict must not cost an honest client.
func TestOddButValidLinesAreTaken(t *testing.T) {
	w := connect(t, newBench(t, Limits{}, nil).Server)
	w.initialize("2025-11-25")
	for name, line := range map[string]string{
		"empty lines":          "\n \n\t\n" + callLine("7", "echo", `{"a":1}`),
		"CRLF":                 callLine("7", "echo", `{"a":1}`) + "\r",
		"spaces":               "  " + callLine("7", "echo", ` {"a":1} `) + "  ",
		"text id":              callLine(`"7"`, "echo", `{"a":1}`),
		"escaped backslash u":  callLine("7", "echo", `{"a":"\\u0000"}`),
		"_meta at its limit":   metaOf(maxParams - 4), // name, _meta, the list in it, and arguments
		"many arguments":       callLine("7", "echo", `{"a":[`+strings.Repeat("1,", maxParams)+`1]}`),
		"same name, elsewhere": callLine("7", "echo", `{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}`),
		"names by letter case": callLine("7", "echo", `{"a":1,"A":2}`),
		"64 levels":            callLine("7", "echo", strings.Repeat(`{"a":`, 62)+"1"+strings.Repeat("}", 62)),
		"unknown members":      `{"x":{"id":5},"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}`,
	} {
		w.send(line)
		if r := parse(t, w.receive()); r.Error != nil || r.Result == nil || r.Result.IsError {
			t.Errorf("%s: %+v", name, r.Error)
		}
	}
}

// FuzzGuard: whatever it accepts, encoding/json reads alike.
func FuzzGuard(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,"b",null]}}}`,
		`{"jsonrpc":"2.0","id":"a","result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`,
		`[{"jsonrpc":"2.0","method":"x"}]`, `{"a":1,"\u0061":2}`, `{"a":"\u0000"}`, `{"a":"\\u0000"}`, `{"id":-0}`, `{"\ud800":1,"\ud801":2}`,
		`{"id" : 1e2 , "method":"m"}`, `[[[[]]]]`, ` { } `, `{"":0,"":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, fault := guard(line, 16)
		if fault != nil {
			return
		}
		if !json.Valid(line) {
			t.Fatal("accepted what is not JSON")
		}
		var top map[string]json.RawMessage
		if json.Unmarshal(line, &top) == nil {
			for name, value := range map[string]json.RawMessage{"jsonrpc": e.version, "id": e.id, "method": e.method,
				"params": e.params, "result": e.result, "error": e.err} {
				if !bytes.Equal(value, bytes.TrimSpace(top[name])) {
					t.Fatalf("%s: guard says %q, encoding/json %q", name, value, top[name])
				}
			}
		}
		if n := countNames(t, json.NewDecoder(bytes.NewReader(line))); n != countDecoded(t, line) {
			t.Fatalf("an object lost a name: %d in the text", n)
		}
		if m, f := e.message(); (m == nil) == (f == nil) {
			t.Fatal("neither a message nor a fault")
		}
	})
}

// countNames counts the names of all objects in the text.
func countNames(t *testing.T, d *json.Decoder) (n int) {
	var walk func()
	walk = func() {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		delim, ok := token.(json.Delim)
		if !ok {
			return
		}
		for d.More() {
			if delim == '{' {
				n++
				if _, err := d.Token(); err != nil {
					t.Fatal(err)
				}
			}
			walk()
		}
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
	}
	d.UseNumber()
	walk()
	return n
}

// countDecoded counts the names that a decoder keeps, which drops duplicates.
func countDecoded(t *testing.T, line []byte) (n int) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			n += len(v)
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(v)
	return n
}
