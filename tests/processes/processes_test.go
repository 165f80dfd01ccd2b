// Package processes runs several processes on one store, as every desktop with more than
// one agent does, and every group of servers.
package processes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store"
)

// The test binary is its own child: with this variable set it saves the turns it
// reads from standard input, one by one, and prints the number of each when done.
const childEnv = "LOCI_PROCESSES_STORE"

// conversationsEnv names a directory with a turns.jsonl of real conversations to
// use instead of the made-up one; see docs/benchmarks.md for its format.
const conversationsEnv = "LOCI_CONVERSATIONS"

func TestMain(m *testing.M) {
	for env, child := range map[string]func(url string) error{childEnv: saver, popperEnv: popper} {
		if url := os.Getenv(env); url != "" {
			if err := child(url); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(pgtest.Run(onMongo{m}))
}

// onMongo runs tests, and ends the server for them that speaks as MongoDB.
type onMongo struct{ m *testing.M }

func (o onMongo) Run() int { return mongotest.Run(o.m) }

// turn is one line of a conversation.
type turn struct {
	Number  int    `json:"number"`
	Conv    string `json:"conv"`
	Session string `json:"session"`
	Turn    string `json:"turn"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
}

func open(url string, conv string, key string) (loci.Store, *loci.Memory, error) {
	s, err := store.Open(context.Background(), url, nil)
	if err != nil {
		return nil, nil, err
	}
	m, err := bind(s, conv, key)
	return s, m, err
}

// bind makes a handle for a conversation; key is its idempotency key.
func bind(s loci.Store, conv, key string) (*loci.Memory, error) {
	e, err := loci.New(s, &loci.Options{Features: locitest.Features(), Embedder: embedding.NewLexical()})
	if err != nil {
		return nil, err
	}
	tenant, err := loci.NewTenant("default")
	if err != nil {
		return nil, err
	}
	return e.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", conv}, Actor: "child", IdempotencyKey: key})
}

// saver is the child that saves turns.
func saver(url string) error {
	s, err := store.Open(context.Background(), url, nil)
	if err != nil {
		return err
	}
	for lines := json.NewDecoder(os.Stdin); ; {
		var t turn
		if err := lines.Decode(&t); errors.Is(err, io.EOF) {
			return s.Close()
		} else if err != nil {
			return err
		}
		m, err := bind(s, t.Conv, fmt.Sprint("turn-", t.Number))
		if err != nil {
			return err
		}
		for range 1 + t.Number%2 { // every other turn is sent twice, as a client does that saw no answer
			_, err := m.StoreFact(context.Background(), loci.NewFact{Content: t.Speaker + ": " + t.Text,
				Metadata: map[string]any{"session": t.Session, "turn": t.Turn}})
			if err != nil {
				return err
			}
		}
		fmt.Println(t.Number)
	}
}

// conversation is 419 turns over 19 sessions; some of them are what people say again and again.
func conversation(t *testing.T) (turns []turn) {
	t.Helper()
	if dir := os.Getenv(conversationsEnv); dir != "" {
		data, err := os.ReadFile(filepath.Join(dir, "turns.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for d := json.NewDecoder(bytes.NewReader(data)); ; {
			var one turn
			if err := d.Decode(&one); errors.Is(err, io.EOF) {
				return turns
			} else if err != nil {
				t.Fatal(err)
			}
			one.Number = len(turns)
			turns = append(turns, one)
		}
	}
	topics := []string{"the pottery class on Tuesday", "a marathon in October", "her sister's wedding in Lyon", "the leaking kitchen tap",
		"a beagle called Biscuit", "night shifts at the clinic", "his allergy to walnuts", "the trip along the coast", "learning the cello", "a job offer in Oslo"}
	said := []string{"I keep thinking about %s.", "Did I tell you about %s? It went better than expected.", "You were right about %s.",
		"Nothing new about %s, sadly.", "We should talk about %s next week."}
	small := []string{"Thanks!", "That sounds lovely.", "See you soon!", "Wow, really?"}
	for n := range 419 {
		one := turn{
			Number:  n,
			Conv:    "c1",
			Session: fmt.Sprint("S", n/22+1),
			Turn:    fmt.Sprintf("D%d:%d", n/22+1, n%22),
			Speaker: []string{"Ana", "Ben"}[n%2],
		}
		if n%5 == 4 {
			one.Text = small[n/5%len(small)]
		} else {
			one.Text = fmt.Sprintf(said[n%len(said)], topics[n/3%len(topics)]) + fmt.Sprintf(" That was on day %d.", n)
		}
		turns = append(turns, one)
	}
	return turns
}

// TestEightProcessesSaveOneConversation has eight processes save the turns of a
// conversation, one by one, on one file: nothing is lost, nothing is doubled, and
// search answers.
func TestEightProcessesSaveOneConversation(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "loci.db")
	turns := conversation(t)
	const processes = 8
	var wg sync.WaitGroup
	for p := range processes {
		wg.Go(func() { runChild(t, url, p, processes, turns) })
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	s, _, err := open(url, "any", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	stored := allTurns(t, s, turns)
	for _, one := range turns {
		if n := stored[one.Conv+one.Turn]; n != 1 {
			t.Errorf("turn %s of %s is stored %d times", one.Turn, one.Conv, n)
		}
	}
	for i := 0; i < len(turns); i += 7 {
		findTurn(t, s, turns[i])
	}
	m, err := bind(s, "any", "")
	if err != nil {
		t.Fatal(err)
	}
	if findings, err := s.Check(context.Background(), m.View().Tenant); err != nil || len(findings) > 0 {
		t.Errorf("check: %v %v", findings, err)
	}
}

func runChild(t *testing.T, url string, p, processes int, turns []turn) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+url)
	cmd.Stderr = os.Stderr
	var input bytes.Buffer
	want := 0
	for i := p; i < len(turns); i += processes {
		line, err := json.Marshal(turns[i])
		if err != nil {
			t.Error(err)
		}
		input.Write(append(line, '\n'))
		want++
	}
	cmd.Stdin = &input
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("process %d: %v", p, err)
	}
	if got := bytes.Count(out, []byte("\n")); got != want {
		t.Errorf("process %d acknowledged %d turns of %d", p, got, want)
	}
}

// allTurns counts how often each turn is stored.
func allTurns(t *testing.T, s loci.Store, turns []turn) map[string]int {
	t.Helper()
	seen := map[string]int{}
	convs := map[string]bool{}
	for _, one := range turns {
		convs[one.Conv] = true
	}
	for conv := range convs {
		m, err := bind(s, conv, "")
		if err != nil {
			t.Fatal(err)
		}
		for cursor := ""; ; {
			facts, next, err := m.Facts(context.Background(), loci.FactQuery{}, loci.Page{Limit: 100, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range facts {
				seen[conv+fmt.Sprint(f.Metadata["turn"])]++
			}
			if cursor = next; cursor == "" {
				break
			}
		}
	}
	return seen
}

// findTurn searches for what a turn says: some hit says exactly that.
func findTurn(t *testing.T, s loci.Store, one turn) {
	t.Helper()
	m, err := bind(s, one.Conv, "")
	if err != nil {
		t.Fatal(err)
	}
	result, err := m.Search(context.Background(), loci.Query{Text: one.Text, Limit: 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range result.Matches {
		if strings.HasSuffix(match.Record.Text, one.Text) {
			return
		}
	}
	t.Errorf("turn %s of %s (%q) is not among the first 20 hits for its own words", one.Turn, one.Conv, one.Text)
}

// TestSecondProcessSeesAWriteAtOnce saves in another process and searches in this
// one, whose index was built before.
func TestSecondProcessSeesAWriteAtOnce(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "loci.db")
	s, m, err := open(url, "c1", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := m.Search(context.Background(), loci.Query{Text: "anything"}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+url)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	enc := json.NewEncoder(in)
	for n := range 50 {
		word := fmt.Sprintf("zebra%dword", n)
		if err := enc.Encode(turn{Number: n, Conv: "c1", Turn: word, Speaker: "Ana", Text: "I saw " + word}); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatal("the other process ended")
		}
		result, err := m.Search(context.Background(), loci.Query{Text: word, Mode: loci.Keyword})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Matches) != 1 {
			t.Errorf("%s: %d hits right after its save was acknowledged", word, len(result.Matches))
		}
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
}
