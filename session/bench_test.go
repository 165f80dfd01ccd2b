package session_test

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

func BenchmarkSessions(b *testing.B) {
	for _, kind := range []string{"memory", "sqlite"} {
		for _, n := range []int{100, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				s := locitest.OpenMemory()
				if kind == "sqlite" {
					s = locitest.OpenSQLite(b)
				}
				m := locitest.Bind(b, locitest.NewEngine(b, s, loci.Options{}), "u")
				for have := 0; have < n; have += min(1000, n) {
					locitest.AppendTo(b, m, "s", slicesOf(locitest.Spoken(session.MessageHuman, "Which seat on the flight to Lisbon did I say I like?"), min(1000, n))...)
				}
				one := []session.Message{locitest.Spoken(session.MessageHuman, "The window seat, as always.")}
				b.Run("append", func(b *testing.B) {
					for b.Loop() {
						locitest.AppendTo(b, m, "s", one...)
					}
				})
				b.Run("last50", func(b *testing.B) {
					for b.Loop() {
						if len(locitest.HistoryOf(b, m, "s", session.HistoryQuery{Last: 50})) != 50 {
							b.Fatal("not 50")
						}
					}
				})
			})
		}
		b.Run(kind+"/at the limit", func(b *testing.B) {
			s := locitest.OpenMemory()
			if kind == "sqlite" {
				s = locitest.OpenSQLite(b)
			}
			m := locitest.Bind(b,
				locitest.NewEngine(b, s, loci.Options{Features: []loci.Feature{session.Feature{MaxMessages: 1000}}}), "u")
			one := locitest.Spoken(session.MessageHuman, "The window seat, as always.")
			locitest.AppendTo(b, m, "s", slicesOf(one, 1000)...)
			for b.Loop() {
				locitest.AppendTo(b, m, "s", one)
			}
		})
	}
}
