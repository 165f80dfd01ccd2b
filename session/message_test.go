package session_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// exactJSON decodes JSON with its numbers as written.
func exactJSON(t testing.TB, raw []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

func parse(t testing.TB, raw string) session.Message {
	t.Helper()
	m, err := session.ParseMessage([]byte(raw))
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return m
}

// What the real packages write is read, and comes out as they wrote it; tests/messages
// makes these files.
func TestMessagesOfLangChain(t *testing.T) {
	for _, name := range []string{"python", "javascript"} {
		data, err := os.ReadFile("../testdata/messages/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		type form struct{ Stored, Constructor, OpenAI json.RawMessage }
		var file struct{ Messages, OpenAI []form }
		if err := json.Unmarshal(data, &file); err != nil || len(file.Messages) < 10 {
			t.Fatal(len(file.Messages), err)
		}
		for i, f := range file.Messages {
			stored, built := parse(t, string(f.Stored)), parse(t, string(f.Constructor))
			out, err := json.Marshal(stored)
			if err != nil || !reflect.DeepEqual(exactJSON(t, out), exactJSON(t, f.Stored)) {
				t.Errorf("%s %d: %s became %s, %v", name, i, f.Stored, out, err)
			}
			if name == "python" { // what LangChain stores as data is what model_dump gives
				if dumped := parse(t, string(stored.Data)); !reflect.DeepEqual(dumped, stored) {
					t.Errorf("%s is read as %s %s", stored.Data, dumped.Type, dumped.Data)
				}
			}
			var kwargs struct{ Kwargs json.RawMessage }
			if err := json.Unmarshal(f.Constructor, &kwargs); err != nil ||
				!reflect.DeepEqual(exactJSON(t, built.Data), exactJSON(t, kwargs.Kwargs)) {
				t.Errorf("%s %d: %s became %s, %v", name, i, f.Constructor, built.Data, err)
			}
			if same := strings.ReplaceAll(string(stored.Type), "generic", "chat") == string(built.Type) ||
				name == "javascript" && strings.HasSuffix(string(built.Type), "Chunk"); !same {
				t.Errorf("%s %d: type %s as stored, %s as an object", name, i, stored.Type, built.Type)
			}
			if string(f.OpenAI) != "" && string(f.OpenAI) != "null" {
				checkOpenAI(t, stored, exactJSON(t, f.OpenAI).(map[string]any))
			}
		}
		for _, f := range file.OpenAI {
			got, want := parse(t, string(f.OpenAI)), parse(t, string(f.Stored))
			a, b := exactJSON(t, got.Data).(map[string]any), exactJSON(t, want.Data).(map[string]any)
			for _, key := range []string{"content", "tool_calls", "tool_call_id", "additional_kwargs"} {
				if b[key] != nil && !reflect.DeepEqual(a[key], b[key]) || got.Type != want.Type {
					t.Errorf("%s became %s %s, LangChain makes %s %s", f.OpenAI, got.Type, got.Data, want.Type, want.Data)
				}
			}
			checkOpenAI(t, got, exactJSON(t, f.OpenAI).(map[string]any))
		}
	}
}

// checkOpenAI compares a message with what OpenAI's chat should get of it.
func checkOpenAI(t *testing.T, m session.Message, want map[string]any) {
	t.Helper()
	out, err := m.OpenAI()
	if err != nil {
		t.Fatal(err)
	}
	got := exactJSON(t, out).(map[string]any)
	for _, key := range []string{"role", "name", "tool_call_id"} {
		if got[key] != want[key] {
			t.Errorf("%s: %s is %v, want %v", out, key, got[key], want[key])
		}
	}
	if text, ok := want["content"].(string); (!ok || text != "") && !reflect.DeepEqual(got["content"], want["content"]) {
		t.Errorf("%s: content is %v, want %v", out, got["content"], want["content"])
	}
	calls, _ := want["tool_calls"].([]any)
	for i, call := range calls {
		a, b := got["tool_calls"].([]any)[i].(map[string]any), call.(map[string]any)
		f, g := a["function"].(map[string]any), b["function"].(map[string]any)
		if a["id"] != b["id"] || f["name"] != g["name"] ||
			!reflect.DeepEqual(exactJSON(t, []byte(f["arguments"].(string))), exactJSON(t, []byte(g["arguments"].(string)))) {
			t.Errorf("call %v, want %v", a, b)
		}
	}
}

// A message of OpenAI's chat comes back as it was, with fields that nobody here knows and
// arguments that are not JSON.
func TestOpenAIRoundTrip(t *testing.T) {
	for _, raw := range []string{
		`{"role":"user","content":"hi","name":"ann","cache":{"n":1.50}}`,
		`{"role":"developer","content":"be brief"}`,
		`{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":12345678901234567890}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{'bad"}}]}`,
		`{"role":"tool","content":[{"type":"text","text":"x"}],"tool_call_id":"a"}`,
		`{"role":"function","content":"x","name":"f"}`,
	} {
		out, err := parse(t, raw).OpenAI()
		if err != nil || !reflect.DeepEqual(exactJSON(t, out), exactJSON(t, []byte(raw))) {
			t.Errorf("%s became %s, %v", raw, out, err)
		}
	}
	_, err := parse(t, `{"type":"remove","data":{"id":"x"}}`).OpenAI()
	locitest.WantCode(t, err, loci.Unsupported)
}

// TestMessageFaults: a message that cannot be read is refused, and the error names the field.
func TestMessageFaults(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`:                   "a message must be a JSON object",
		`{"content":"x"}`:      "type is missing",
		`{"type":"human"}`:     "data must be a JSON object",
		`{"type":1,"data":{}}`: "type must be a text",
		`{"type":"human","data":{"content":"x"},"more":1}`:                                     "more is no field of a stored message",
		`{"type":"human","data":{}}`:                                                           "data.content must be a text or a list of blocks",
		`{"type":"human","data":{"content":null}}`:                                             "data.content must be a text or a list of blocks",
		`{"type":"human","data":{"content":["a",1]}}`:                                          "data.content[1] must be a text or a JSON object",
		`{"type":"human","data":{"content":[{"type":1}]}}`:                                     "data.content[0].type must be a text",
		`{"type":"human","data":{"content":"x","id":1}}`:                                       "data.id must be a text",
		`{"type":"tool","data":{"content":"x"}}`:                                               "data.tool_call_id must be a text",
		`{"type":"tool","data":{"content":"x","tool_call_id":"a","status":"odd"}}`:             `data.status is "odd"; it must be success or error`,
		`{"type":"function","data":{"content":"x"}}`:                                           "data.name must be a text",
		`{"type":"chat","data":{"content":"x"}}`:                                               "data.role must be a text",
		`{"type":"remove","data":{"content":""}}`:                                              "data.id must be a text",
		`{"type":"ai","data":{"content":"","tool_calls":{}}}`:                                  "data.tool_calls must be a list",
		`{"type":"ai","data":{"content":"","tool_calls":[{"name":"f","args":"{}"}]}}`:          "data.tool_calls[0].args must be a JSON object",
		`{"type":"ai","data":{"content":"","tool_calls":[{"args":{}}]}}`:                       "data.tool_calls[0].name must be a text",
		`{"type":"ai","data":{"content":"","invalid_tool_calls":[{"args":{}}]}}`:               "data.invalid_tool_calls[0].args must be a text",
		`{"type":"ai","data":{"content":"","additional_kwargs":[]}}`:                           "data.additional_kwargs must be a JSON object",
		`{"type":"human","content":null}`:                                                      "content must be a text or a list of blocks",
		`{"type":"human","content":["a",1]}`:                                                   "content[1] must be a text or a JSON object",
		`{"type":"tool","content":"x"}`:                                                        "tool_call_id must be a text",
		`{"type":"wizard","content":"x"}`:                                                      `type "wizard" is not known`,
		`{"type":1,"content":"x"}`:                                                             "type must be a text",
		`{"type":"ai","content":"","tool_calls":[{"name":"f","args":"{}"}]}`:                   "tool_calls[0].args must be a JSON object",
		`{"type":"human","content":"x","data":{}}`:                                             "content is no field of a stored message",
		`{"lc":1,"type":"not_implemented","id":["a"]}`:                                         `type must be "constructor"`,
		`{"lc":1,"type":"constructor","id":["langchain","prompts","Prompt"],"kwargs":{}}`:      "names no message of LangChain",
		`{"lc":1,"type":"constructor","id":["other","HumanMessage"],"kwargs":{}}`:              "names no message of LangChain",
		`{"lc":1,"type":"constructor","id":["langchain","schema","HumanMessage"],"kwargs":{}}`: "kwargs.content must be",
		`{"role":"wizard","content":"x"}`:                                                      "Invalid role: 'wizard'",
		`{"role":"user"}`:                                                                      "content must be a text",
		`{"role":"assistant","tool_calls":[{"id":"x"}]}`:                                       "tool_calls[0] must be",
		`{"role":"tool","content":"x"}`:                                                        "tool_call_id must be a text",
		"{\"role\":\"user\",\"content\":\"\xff\"}":                                             "not valid UTF-8",
	} {
		_, err := session.ParseMessage([]byte(raw))
		locitest.WantCode(t, err, loci.Invalid)
		if err == nil || !strings.Contains(err.Error(), want) || strings.HasPrefix(err.Error(), ".") {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
	_, err := session.ParseMessages([]byte(`[{"role":"user","content":"x"},{"role":"user"}]`))
	if err == nil || !strings.HasPrefix(err.Error(), "messages[1]: content must be") {
		t.Errorf("error %v", err)
	}
	for _, raw := range []string{`{}`, `null`, `[`, `7`} {
		_, err := session.ParseMessages([]byte(raw))
		locitest.WantCode(t, err, loci.Invalid)
	}
}

// Credentials are taken out wherever they stand; a message without one stays byte for byte.
func TestMessageRedaction(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	exact := `{"z":1,"content":"plain <b>","a":1.50,"ids":["call_abc123DEF456ghi789JKL0"]}`
	locitest.AppendTo(t, m, "s", session.Message{Type: session.MessageHuman, Data: json.RawMessage(exact)},
		parse(t, `{"type":"ai","data":{"content":"","tool_calls":[{"name":"f","args":{"key":"AKIAIOSFODNN7EXAMPLE"},"id":"c"}]}}`))
	got := locitest.HistoryOf(t, m, "s", session.HistoryQuery{})
	if string(got[0].Data) != exact {
		t.Errorf("%s became %s", exact, got[0].Data)
	}
	out := exportedSession(t, m, "s")
	if strings.Contains(out, "AKIA") || !strings.Contains(out, "[REDACTED]") || strings.Contains(locitest.Exported(t, m), "AKIA") {
		t.Errorf("stored %s", out)
	}
}

func FuzzParseMessage(f *testing.F) {
	for _, raw := range []string{`{"type":"ai","data":{"content":[{"type":"text","text":"x"}],"tool_calls":[{"name":"f","args":{},"id":"c"}]}}`,
		`{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"content":"x","tool_call_id":"c"}}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		m, err := session.ParseMessage([]byte(raw))
		if err != nil {
			return
		}
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := session.ParseMessage(out)
		if err != nil || again.Type != m.Type || again.Text() != m.Text() || again.Speaker() != m.Speaker() {
			t.Errorf("%s became %s: %v", raw, out, err)
		}
		if _, err := m.OpenAI(); err != nil && loci.AsError(err).Code != loci.Unsupported {
			t.Errorf("%s: %v", raw, err)
		}
	})
}

// What there is once for each part of a message costs little: a message has up to ten thousand.
func TestPartsAreCheckedWithoutDecodingThem(t *testing.T) {
	const parts = 5000
	calls := strings.Repeat(`{"name":"a","id":"b","args":{"x":[1,2]}},`, parts)
	blocks := strings.Repeat(`{"type":"text","text":"a"},`, parts)
	for name, c := range map[string]struct {
		m    session.Message
		most float64 // allocations a part
	}{
		"calls": {session.Message{Type: session.MessageAI,
			Data: []byte(`{"content":"","tool_calls":[` + calls + `{"name":"a","args":{}}]}`)}, 20},
		"blocks": {session.Message{Type: session.MessageHuman, Data: []byte(`{"content":[` + blocks + `"end"]}`)}, 8},
	} {
		n := testing.AllocsPerRun(3, func() {
			if err := c.m.Validate(); err != nil {
				t.Error(name, err.Error()[:80])
			}
		}) / parts
		if n > c.most {
			t.Errorf("%s: %.1f allocations a part", name, n)
		}
	}
}

// talkative are messages that call tools, as OpenAI's chat has them.
func talkative(messages, calls int) string {
	const call = `{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}`
	one := `{"role":"assistant","content":"","tool_calls":[` + call + strings.Repeat(","+call, calls-1) + `]}`
	return "[" + one + strings.Repeat(","+one, messages-1) + "]"
}

// The parts of all messages of a call are bounded together, before anything is made of them.
func TestPartsOfACallAreBounded(t *testing.T) {
	locitest.Unshared(t)
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	most, tooMany := talkative(100, session.MaxAppendParts/100), talkative(101, session.MaxAppendParts/100)
	const refused = "messages[100]: the messages up to this one have more than 10000 blocks of content and calls of tools: send this one and those after it in another call"
	said, err := session.ParseMessages([]byte(most))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Of(m).Append(t.Context(), "most", said); err != nil {
		t.Error(err)
	}
	for name, call := range map[string]func() error{
		"parsed":   func() error { _, err := session.ParseMessages([]byte(tooMany)); return err },
		"appended": func() error { _, err := session.Of(m).Append(t.Context(), "a", append(said, said[0])); return err },
		"imported": func() error {
			_, err := session.Of(m).Import(t.Context(), strings.NewReader(tooMany), session.Import{ID: "i"})
			return err
		},
	} {
		if err := call(); loci.AsError(err).Code != loci.TooLarge || err.Error() != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	const call = `{"name":"f","args":{}}`
	single := `[{"type":"ai","data":{"content":["a"],"tool_calls":[` + call + strings.Repeat(","+call, session.MaxAppendParts-1) + `]}}]`
	if _, err := session.ParseMessages([]byte(single)); err == nil ||
		err.Error() != "messages[0]: 10001 blocks of content and calls of tools; the limit is 10000: split the message" {
		t.Errorf("one message: %v", err)
	}
	done, err := session.Of(m).Import(t.Context(), strings.NewReader(tooMany), session.Import{ID: "p", Parts: true})
	if err != nil || done.Imported != 101 {
		t.Errorf("in parts: %+v, %v", done, err)
	}
	changes, _, err := m.Events(t.Context(), loci.EventFilter{Types: []loci.EventType{loci.EventImported}}, loci.Page{})
	if err != nil || len(changes) != 2 {
		t.Errorf("%d changes of an import in parts, %v; want 2", len(changes), err)
	}
	allocated := testing.AllocsPerRun(2, func() { _, err = session.ParseMessages([]byte(tooMany)) })
	if allocated > 2000 {
		t.Errorf("%.0f allocations to refuse %d messages", allocated, 101)
	}
}
