package retrieval_test

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/retrieval"
)

// TestGeneralQueries tells queries that have nothing of anybody from those that a memory may be about.
func TestGeneralQueries(t *testing.T) {
	for _, query := range []string{
		"Explain inflation", "What is a monad?", "Fix the failing unit test", "Check the JSON for errors", "Next step",
		"Write a poem about the sea. Make it short", "why does the CSS grid overflow",
	} {
		if !retrieval.General(query) {
			t.Errorf("%q is about somebody", query)
		}
	}
	for _, query := range []string{
		"Why did I change it?", "What is our budget?", "fix my test", "What did she say?", "Where does Ann live?",
		"Ann's phone", "What are the user's plans?", "which tea do they like", "WK4471", "What does parse_manifest do?",
		`explain "inflation"`, "infla*", "Was ist Inflation?", "¿Qué es la inflación?", "通货膨胀是什么", "Что такое инфляция?",
		"What was discussed about inflation?", "Remember the plan", "What did the plan say",
	} {
		if retrieval.General(query) {
			t.Errorf("%q is general", query)
		}
	}
}

// TestNamesInQueries finds the words of a query that are likely names.
func TestNamesInQueries(t *testing.T) {
	for query, want := range map[string][]string{
		"What did Ann and Bo say to Ann?": {"ann", "bo"},
		"Ann’s dog":                       {"ann"},
		"Where is Bo's boat?":             {"bo"},
		"Ann likes boats":                 nil, // it may be any word that opens a sentence
		"Why? Because. Boats":             nil,
		"where does ann live":             nil,
		"the i-Phone":                     nil,
		"does The Who play":               nil,
		"Где живёт Анна?":                 {"ан"}, // its stem,
	} {
		q := retrieval.Parse(query, 100)
		if got := q.Named(); !slices.Equal(got, want) {
			t.Errorf("%q names %q, want %q", query, got, want)
		}
	}
}
