package words

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?([.,]\d+)?(Z|[+-]\d\d:?\d\d)?`)
	oneForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

// sameTimes fails where a time has another form than 2006-01-02T15:04:05.000Z.
func sameTimes(t *testing.T, what, said string) (found int) {
	t.Helper()
	for _, moment := range anyTime.FindAllString(said, -1) {
		if found++; !oneForm.MatchString(moment) {
			t.Errorf("%s: a time is written %s in %.300s", what, moment, said)
		}
	}
	return found
}

// memories is an export whose times have each form that builds have written: whole
// seconds, tenths, hundredths, another zone.
func memories() string {
	lines := []string{`{"type":"header","format":"loci.export","version":1,"exported_at":"2026-01-02T03:04:05Z"}`}
	forms := []string{
		"2026-01-02T03:04:05Z",
		"2026-01-02T03:04:05.1Z",
		"2026-01-02T03:04:05.12Z",
		"2026-01-02T04:04:05.3+01:00",
	}
	record := func(n int, kind, rest string) {
		at := forms[n%len(forms)]
		lines = append(
			lines,
			fmt.Sprintf(
				`{"type":"record","id":"0197a0e0-0000-7000-8000-0000000000%02d","kind":%q,"version":1,"live":true,"created_at":%q,"updated_at":%q,%s}`,
				n,
				kind,
				at,
				at,
				strings.ReplaceAll(rest, "AT", at),
			),
		)
	}
	for n := range 4 {
		record(
			10+n,
			"fact",
			fmt.Sprintf(
				`"text":"Fact %d.","body":{"importance":5,"confidence":1,"validity":"active","permanence":"standard","scope":"global","valid_from":"AT","confirmed_at":"AT"}`,
				n,
			),
		)
		record(
			20+n,
			"rule",
			fmt.Sprintf(
				`"text":"Rule %d.","body":{"confidence":0.5,"maturity":"candidate","permanence":"standard","scope":"global","last_confirmed_at":"AT","last_applied_at":"AT"}`,
				n,
			),
		)
		record(
			30+n,
			"episode",
			fmt.Sprintf(
				`"text":"Episode %d.","expires_at":"2099-01-02T03:04:05Z","body":{"importance":5,"consolidation_status":"pending","butler":"general"}`,
				n,
			),
		)
	}
	return strings.Join(append(lines, fmt.Sprintf(`{"type":"end","records":%d}`, len(lines)-1), ""), "\n")
}

// TestTimesHaveOneForm reads what every surface says of memories whose times end in
// zeros.
func TestTimesHaveOneForm(t *testing.T) {
	p := newPlace(t)
	p.must(memories(), "import", "-")
	p.must(
		strings.ReplaceAll(documents["session"], `"session":{"id":"s"`, `"session":{"id":"trip"`),
		"session",
		"import",
		"-",
	)
	for i := range 12 {
		p.must(fmt.Sprintf("line %d\n", i), "file", "write", "/notes/today", "-")
	}
	const fact = "0197a0e0-0000-7000-8000-000000000010"
	for _, args := range [][]string{{"list"}, {"get", fact}, {"events"}, {"search", "Fact"}, {"recall", "Fact"}, {"--agent=general", "context", "Episode"}, {"session", "list"}, {"session", "show", "trip"},
		{"session", "export", "trip", "-"}, {"export", "-"}, {"stats"}, {"file", "list", "/notes"}, {"file", "history", "/notes/today"}} {
		for _, json := range []string{"--json", "--json=false"} {
			said, ok := p.run("", append([]string{json}, args...)...)
			if !ok {
				t.Errorf("loci %q: %s", args, said)
			}
			if sameTimes(t, strings.Join(args, " "), said) == 0 && json == "--json" &&
				!slices.Contains([]string{"search", "recall", "--agent=general"}, args[0]) {
				t.Errorf("loci %q says no time:\n%.300s", args, said)
			}
		}
	}
	url := p.serve("--tools=facts,memory")
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/search", `{"query":"fact rule episode"}`}, {"POST", "/v1/recall", `{"topic":"fact rule"}`}, {"GET", "/v1/notes", ""}, {"GET", "/v1/events", ""},
		{"GET", "/v1/sessions", ""}, {"GET", "/v1/sessions/trip", ""}, {"GET", "/v1/sessions/trip/messages", ""}, {"GET", "/v1/sessions/trip/export", ""},
		{"POST", "/v1/context", `{"trigger_prompt":"Episode","butler":"general"}`},
	} {
		status, said := send(t, c.method, url+c.path, c.body)
		if found := sameTimes(t, c.path, said); status != 200 || found == 0 {
			t.Errorf("%s: %d with %d times: %.300s", c.path, status, found, said)
		}
	}
	for name, arguments := range map[string]string{"search_memory": `{"query":"fact"}`, "memory_get": `{"type":"fact","id":"` + fact + `"}`, "memory_recall": `{"topic":"fact"}`,
		"memory_context": `{"trigger_prompt":"episode","butler":"general"}`} {
		for path, body := range map[string]string{"/v1/tools/" + name: arguments,
			"/mcp": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`} {
			_, said := send(t, "POST", url+path, body)
			if sameTimes(t, name+" at "+path, said) == 0 && name == "memory_get" {
				t.Errorf("%s: no time in %s", name, said)
			}
		}
	}
}

// TestGoldensHaveOneFormOfTime reads the golden replies of every surface.
func TestGoldensHaveOneFormOfTime(t *testing.T) {
	found := 0
	for _, glob := range []string{"../../rest/testdata/transcript/*.http", "../../mcp/testdata/*.jsonl", "../../tool/testdata/*.json"} {
		paths, err := filepath.Glob(glob)
		if err != nil || len(paths) == 0 {
			t.Fatal(glob, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			reply := true
			for line := range strings.SplitSeq(string(data), "\n") {
				if strings.HasSuffix(path, ".http") { // where requests and replies take turns
					reply = strings.HasPrefix(line, "<") || reply && !strings.HasPrefix(line, "###")
				}
				if reply {
					found += sameTimes(t, path, line)
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d times were found", found)
	}
}
