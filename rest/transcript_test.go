package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

var update = flag.Bool("update", false, "write the golden files again")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not as it was; got\n%s", path, got)
	}
}

// TestTranscripts plays the requests of each file in testdata/transcript against a
// server of its own, and compares what comes back with what the file says. A request
// is a line "METHOD PATH", headers, and a body after an empty line or none.
func TestTranscripts(t *testing.T) {
	locitest.Unshared(t)
	files, err := filepath.Glob("testdata/transcript/*.http")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			eachStore(t, func(t *testing.T, s loci.Store) {
				uses := &useCounter{Store: s}
				b := newBench(t, uses, nil)
				named := names{}
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				var out strings.Builder
				for i, part := range strings.Split(string(data), "###") {
					if i > 0 {
						out.WriteString("###")
					}
					request, _, _ := strings.Cut(part, "\n< ")
					out.WriteString(strings.TrimRight(request, "\n") + "\n")
					counted := uses.done.Load()
					b.play(&out, &named, request)
					if recalls.MatchString(request) {
						uses.await(t, counted+1)
					}
				}
				golden(t, filepath.Join("transcript", filepath.Base(file)), out.String())
			})
		})
	}
}

// recalls are the requests whose reply does not wait for long until the uses of what it shows are counted.
var recalls = regexp.MustCompile(`(?m)^POST /v1/recall$`)

// A useCounter knows how often uses were counted.
type useCounter struct {
	loci.Store
	done atomic.Int64
}

func (c *useCounter) Touch(ctx context.Context, t loci.Tenant, touches []loci.Touch) error {
	defer c.done.Add(1)
	return c.Store.Touch(ctx, t, touches)
}

// await returns when uses were counted so often: the next reply shows them.
func (c *useCounter) await(t *testing.T, want int64) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); c.done.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("uses were counted %d times, want %d", c.done.Load(), want)
		}
	}
}

// chance is what differs from run to run: what the audit log is sealed with, and
// what has ids inside.
var chance = regexp.MustCompile(`"(payload_nonce|payload_digest|hash|next_cursor)": "[^"]*"`)

// names are those of the ids of a transcript, <id1> and so on, in the order in which
// replies show them; requests call them so, too.
type names []string

var anID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)

func (n *names) shown(text string) string {
	return anID.ReplaceAllStringFunc(text, func(id string) string {
		at := slices.Index(*n, id)
		if at < 0 {
			at = len(*n)
			*n = append(*n, id)
		}
		return fmt.Sprintf("<id%d>", at+1)
	})
}

func (n *names) ids(text string) string {
	for i, id := range *n {
		text = strings.ReplaceAll(text, fmt.Sprintf("<id%d>", i+1), id)
	}
	return text
}

// manyDigits are those of a score that another processor may round otherwise.
var manyDigits = regexp.MustCompile(`(\d\.\d{6})\d+`)

// play sends one request of a transcript and writes its reply.
func (b *bench) play(out *strings.Builder, named *names, request string) {
	b.now.Add(1000) // each request has a moment of its own
	lines := strings.Split(strings.Trim(request, "\n"), "\n")
	for len(lines) > 0 && (lines[0] == "" || lines[0][0] == ' ') { // what it is about
		lines = lines[1:]
	}
	if len(lines) == 0 {
		return
	}
	method, path, _ := strings.Cut(lines[0], " ")
	var headers []string
	var body string
	for i, line := range lines[1:] {
		if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") {
			body = strings.Join(lines[1+i:], "\n")
			break
		}
		headers = append(headers, line)
	}
	r := b.send(method, named.ids(path), named.ids(body), headers...)
	fmt.Fprintf(out, "\n< %d %s\n", r.status, r.header.Get("Content-Type"))
	if strings.TrimSpace(r.body) != "" {
		var shown bytes.Buffer
		if err := json.Indent(&shown, []byte(r.body), "", "  "); err != nil {
			b.t.Fatalf("%s %s: %s: %v", method, path, r.body, err)
		}
		text := named.shown(chance.ReplaceAllString(strings.TrimSpace(shown.String()), `"$1": "…"`))
		fmt.Fprintf(out, "%s\n", manyDigits.ReplaceAllString(text, "$1"))
	}
	out.WriteString("\n")
}
