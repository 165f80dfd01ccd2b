package main

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
)

func TestClean(t *testing.T) {
	tests := []struct {
		text  string
		lines bool
		want  string
	}{
		{"plain", false, "plain"},
		{" two\n lines\t", false, "two lines"},
		{"two\nlines", true, "two\nlines"},
		{"\x1b[31mred\x1b[0m", false, `\x1b[31mred\x1b[0m`},
		{"\x1b]0;title\a", true, `\x1b]0;title\a`},
		{"over\rwritten", true, `over\rwritten`},
		{"c1 \u009b31m", true, `c1 \u009b31m`},
		{"a\u202eb\u2066c", true, `a\u202eb\u2066c`},
		{"tag \U000e0041", true, `tag \U000e0041`},
		{"emoji 👩\u200d🚀 स्\u200dक", true, "emoji 👩\u200d🚀 स्\u200dक"},
		{"bad \xff", true, "bad \ufffd"},
	}
	for _, tt := range tests {
		if got := clean(tt.text, tt.lines); got != tt.want {
			t.Errorf("clean(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[2J\u202e\u2028\xff")
	f.Fuzz(func(t *testing.T, text string) {
		for _, lines := range []bool{true, false} {
			got := clean(text, lines)
			if !utf8.ValidString(got) || !lines && strings.ContainsAny(got, "\n\t") ||
				strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && hidden(r) }) {
				t.Fatalf("clean(%q) = %q", text, got)
			}
		}
	})
}

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		text string
		room int
		want string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"記憶宮殿", 8, "記憶宮殿"}, {"記憶宮殿", 7, "記憶宮…"}, {"記憶宮殿", 6, "記憶…"},
	} {
		if got := truncate(tt.text, tt.room); got != tt.want || columns(got) > tt.room {
			t.Errorf("truncate(%q, %d) = %q", tt.text, tt.room, got)
		}
	}
}

func TestAge(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for want, d := range map[string]time.Duration{"now": time.Second, "59m": 59 * time.Minute, "47h": 47 * time.Hour, "2d": 48 * time.Hour, "2025-03-01": 365 * 24 * time.Hour} {
		if got := age(now.Add(-d), now); got != want {
			t.Errorf("%s ago is %q, want %q", d, got, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-01-31": "2026-01-31T00:00:00.000Z", "2026-01-31T10:00:00+02:00": "2026-01-31T08:00:00.000Z",
		"90m": "2026-03-01T10:30:00.000Z", "7d": "2026-02-22T12:00:00.000Z",
	} {
		if got, err := parseTime("--since", text, now); err != nil || jsonform.Time(got) != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "-1h", "-7d", "7dd", "1.5d", "d", "2026-13-01"} {
		if got, err := parseTime("--since", text, now); loci.AsError(err).Code != loci.Invalid {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"store", "user", "tools", "dedupe"}
	for name, want := range map[string]string{"stor": "store", "Users": "user", "toolz": "tools", "xyz": "", "": "", "dedup": "dedupe", "restore": "", "tsore": "store", "ddupee": "dedupe", "rl": "", strings.Repeat("x", 100): ""} {
		if got := nearest(name, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestShownURL(t *testing.T) {
	for url, want := range map[string]string{
		"sqlite:/a/b.db": "sqlite:/a/b.db", "memory:": "memory:", "postgres://me:secret@db/x": "postgres://me:xxxxx@db/x",
	} {
		if got := shownURL(url); got != want {
			t.Errorf("%s is shown as %s", url, got)
		}
	}
}

// TestExitCodes: every code of an error has an exit code, which the help explains.
func TestExitCodes(t *testing.T) {
	for _, code := range []loci.Code{loci.Invalid, loci.Unauthenticated, loci.Forbidden, loci.NotFound, loci.Conflict, loci.TooLarge,
		loci.Unsupported, loci.Unavailable, loci.Internal} {
		exit, ok := exitCodes[code]
		if !ok || exit == exitOK || !strings.Contains(exitTable, "    "+strconv.Itoa(exit)+"  ") {
			t.Errorf("%s: exit code %d, %v", code, exit, ok)
		}
	}
}
