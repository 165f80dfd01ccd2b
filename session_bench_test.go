package loci_test

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
)

func BenchmarkSessions(b *testing.B) {
	for _, kind := range []string{"memory", "sqlite"} {
		for _, n := range []int{100, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				s := openMemory()
				if kind == "sqlite" {
					s = openSQLite(b)
				}
				m := bind(b, newEngine(b, s, loci.Options{}), "u")
				for have := 0; have < n; have += min(1000, n) {
					appendTo(b, m, "s", slicesOf(spoken(loci.MessageHuman, "Which seat on the flight to Lisbon did I say I like?"), min(1000, n))...)
				}
				one := []loci.Message{spoken(loci.MessageHuman, "The window seat, as always.")}
				b.Run("append", func(b *testing.B) {
					for b.Loop() {
						appendTo(b, m, "s", one...)
					}
				})
				b.Run("last50", func(b *testing.B) {
					for b.Loop() {
						if len(historyOf(b, m, "s", loci.HistoryQuery{Last: 50})) != 50 {
							b.Fatal("not 50")
						}
					}
				})
			})
		}
		b.Run(kind+"/at the limit", func(b *testing.B) {
			s := openMemory()
			if kind == "sqlite" {
				s = openSQLite(b)
			}
			m := bind(b, newEngine(b, s, loci.Options{SessionMaxMessages: 1000}), "u")
			one := spoken(loci.MessageHuman, "The window seat, as always.")
			appendTo(b, m, "s", slicesOf(one, 1000)...)
			for b.Loop() {
				appendTo(b, m, "s", one)
			}
		})
	}
}
