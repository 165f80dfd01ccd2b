package rest

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// readParts takes a reply in parts apart, by the words of the description alone.
func readParts(t *testing.T, r reply) (head map[string]any, parts string) {
	t.Helper()
	if r.status != 200 || r.header.Get("Content-Type") != "application/vnd.loci.parts" || len(r.body) < 4 {
		t.Fatalf("%d %s %.200s", r.status, r.header, r.body)
	}
	n := binary.BigEndian.Uint32([]byte(r.body))
	if err := json.Unmarshal([]byte(r.body[4:4+n]), &head); err != nil {
		t.Fatal(err)
	}
	return head, r.body[4+n:]
}

// valueOf is the type and the bytes of a value at a path in a reply; bytes "-": there are none.
func valueOf(t *testing.T, head map[string]any, parts string, path ...string) (typ, data, id string) {
	t.Helper()
	at := head
	for _, name := range path {
		at = at[name].(map[string]any)
	}
	id, _ = at["id"].(string)
	typ, _ = at["type"].(string)
	place, ok := at["part"].([]any)
	if !ok {
		return typ, "-", id
	}
	from := int(place[0].(float64))
	return typ, parts[from : from+int(place[1].(float64))], id
}

// TestCheckpointInParts: a caller that asks for parts gets bytes as they are, without the
// values that it has already. Everybody else gets JSON, as before.
func TestCheckpointInParts(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		b := newBench(t, s, nil)
		b.send(
			"PUT",
			"/v1/checkpoints",
			`{"thread_id":"t","checkpoint_id":"1","format":2,"checkpoint":{"type":"json","data":"e30="},"metadata":{"part":[1]}}`,
		)
		b.send("POST", "/v1/checkpoints/writes", `{"thread_id":"t","checkpoint_id":"1","writes":[
			{"task_id":"a","idx":0,"channel":"__pregel_tasks","value":{"type":"b","data":"AP9TRU5U"}},{"task_id":"a","idx":1,"channel":"x","value":{"type":"b","data":"eA=="}}]}`)
		put := func(id, parent, x string) {
			body := `{"thread_id":"t","checkpoint_id":"` + id + `","parent_checkpoint_id":"` + parent + `","format":2,"checkpoint":{"type":"json","data":"e30="},
				"metadata":{"part":[1]},"metadata_typed":{"type":"m","data":"TUVUQQ=="},"channel_versions":{"x":"` + x + `","y":"1"},"channel_values":{"x":{"type":"b","data":"AP8="}`
			if id == "2" {
				body += `,"y":{"type":"s","data":"WVlZ"}`
			}
			if r := b.send("PUT", "/v1/checkpoints", body+"}}"); r.status != 204 {
				t.Fatal(r.body)
			}
		}
		put("2", "1", "1")
		const get, accept = `{"thread_id":"t"}`, "Accept: application/vnd.loci.parts, application/json"
		head, parts := readParts(t, b.send("POST", "/v1/checkpoints/get", get, accept))
		typ, data, id := valueOf(t, head, parts, "channel_values", "x")
		if typ != "b" || data != "\x00\xff" || id == "" || head["checkpoint_id"] != "2" ||
			head["metadata"].(map[string]any)["part"] == nil {
			t.Errorf("%q %q %q of %v", typ, data, id, head)
		}
		if _, data, _ := valueOf(t, head, parts, "checkpoint"); data != "{}" {
			t.Errorf("checkpoint %q", data)
		}
		if typ, data, _ := valueOf(t, head, parts, "metadata_typed"); typ != "m" || data != "META" {
			t.Errorf("metadata %q", data)
		}
		sends := head["sends"].([]any)
		if _, data, _ := valueOf(t, sends[0].(map[string]any), parts, "value"); len(sends) != 1 ||
			data != "\x00\xffSENT" {
			t.Errorf("sends %v %q", sends, data)
		}
		_, _, y := valueOf(t, head, parts, "channel_values", "y")
		put("3", "2", "2")
		head, parts = readParts(
			t,
			b.send("POST", "/v1/checkpoints/get", get, accept, `If-None-Match: "none", "`+id+`", "`+y+`"`),
		)
		if _, data, now := valueOf(t, head, parts, "channel_values", "y"); data != "-" || now != y ||
			strings.Contains(parts, "YYY") {
			t.Errorf("what the caller has comes again: %q %q", data, parts)
		}
		if _, data, now := valueOf(t, head, parts, "channel_values", "x"); data != "\x00\xff" || now == id {
			t.Errorf("what changed: %q %q", data, now)
		}
		for _, other := range []string{"Accept: text/html", "Accept: application/json", "Accept: */*", "Accept: application/vnd.loci.partsx"} {
			r := b.send("POST", "/v1/checkpoints/get", get, other, `If-None-Match: "`+y+`"`)
			if !strings.Contains(r.body, `"data":"WVlZ"`) || r.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %s", other, r.body)
			}
		}
		if r := b.send("POST", "/v1/checkpoints/get", `{"thread_id":"none"}`, accept); r.status != 404 ||
			r.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
}
