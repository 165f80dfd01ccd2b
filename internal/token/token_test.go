package token_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/token"
)

// The numbers are those that OpenAI publishes for its tokenizers.
func TestCount(t *testing.T) {
	for name, counts := range map[string]map[string]int{
		"o200k_base":  {"": 0, "hello world": 2, "<|endoftext|>": 7, "antidisestablishmentarianism": 6, "2 + 2 = 4": 7, "お誕生日おめでとう": 8},
		"cl100k_base": {"": 0, "hello world": 2, "antidisestablishmentarianism": 6, "2 + 2 = 4": 7, "お誕生日おめでとう": 9},
	} {
		c, err := token.Open(name)
		if err != nil || c.Name() != name {
			t.Fatal(c, err)
		}
		var wg sync.WaitGroup
		for text, want := range counts {
			wg.Go(func() {
				if got := c.Count(text); got != want {
					t.Errorf("%s: %q has %d tokens, want %d", name, text, got, want)
				}
			})
		}
		wg.Wait()
		if text := "a\xff\xfeb"; c.Count(text) > len(text) {
			t.Error("more tokens than bytes")
		}
	}
	if _, err := token.Open("p50k"); err == nil || !strings.Contains(err.Error(), "o200k_base, cl100k_base") {
		t.Errorf("error %v", err)
	}
}

func BenchmarkCount(b *testing.B) {
	c, err := token.Open("o200k_base")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 200)
	c.Count(text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		c.Count(text)
	}
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		c, err := token.Open("o200k_base")
		if err != nil {
			b.Fatal(err)
		}
		c.Count("x")
	}
}
