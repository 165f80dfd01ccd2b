package sequence_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/sequence"
)

// TestPlacesGrow has many writers take places while the clock stands still, moves on and is set
// back. No place comes twice, and a writer that waited for another one stands behind it.
func TestPlacesGrow(t *testing.T) {
	var c sequence.Counter
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	seen := map[int64]bool{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			last := int64(-1)
			for i := range 500 {
				at := c.Next(start.Add(time.Duration(i%3-1) * time.Second))
				mu.Lock()
				if seen[at] || at <= last {
					t.Errorf("place %d after %d", at, last)
				}
				seen[at], last = true, at
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if at := c.Next(start.Add(time.Hour)); at != start.Add(time.Hour).UnixMicro() {
		t.Errorf("an hour later the place is %d", at)
	}
	if at := sequence.At(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)); at <= 0 {
		t.Errorf("the last year has the place %d", at)
	}
	if at := sequence.At(time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)); at != 0 {
		t.Errorf("before 1970 the place is %d", at)
	}
	if at := sequence.At(time.Date(2250, 1, 1, 0, 0, 0, 0, time.UTC)); at >= 1<<53 {
		t.Errorf("the place %d is too great for JavaScript", at)
	}
}

func TestConversationsThatAttributesName(t *testing.T) {
	for attributes, want := range map[string]string{
		`{"session_id":"s1"}`:                            "s1",
		`{"thread_id":"t","session_id":"s"}`:             "s",
		`{"session":"D1"}`:                               "D1",
		`{"conversation_id":42}`:                         "42",
		`{"thread":12345678901234567890}`:                "12345678901234567890",
		`{"session":{"id":"s"},"thread":"t"}`:            "t",
		`{"session_id":""}`:                              "",
		`{"session_id":null}`:                            "",
		`{"note":"session"}`:                             "",
		`{"a":{"session_id":"inner"}}`:                   "",
		`["session_id"]`:                                 "",
		`{"session_id":"` + strings.Repeat("x", 257):     "",
		`{"session":"` + strings.Repeat("x", 257) + `"}`: "",
		`{"session":"a\u0000b"}`:                         "",
		``:                                               "",
	} {
		if got := sequence.Named(json.RawMessage(attributes)); got != want {
			t.Errorf("%.60s names %q; want %q", attributes, got, want)
		}
	}
}

func TestSpeakersThatAttributesName(t *testing.T) {
	for attributes, want := range map[string]string{
		`{"speaker":"Ann","role":"user"}`: "Ann",
		`{"role":"assistant"}`:            "assistant",
		`{"speaker":" "}`:                 "",
		`{"speaker":7}`:                   "",
		`{"a":"speaker"}`:                 "",
		``:                                "",
	} {
		if got := sequence.Speaker(json.RawMessage(attributes)); got != want {
			t.Errorf("%s names %q; want %q", attributes, got, want)
		}
	}
}
