package retrieval_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/retrieval"
)

// TestSubjects: what a query says of its answer is no part of what it is about, if it asks for what was said or done.
func TestSubjects(t *testing.T) {
	for query, want := range map[string]string{
		"Can you list the order in which I brought up the garden throughout our conversations, in order? Mention only five items.": "the garden , ? .",
		"Please give me a short and complete summary of the garden so far":                                                         "Please give me a short and complete summary of the garden",
		"Give me a short, clear summary of the garden":                                                                             ", the garden",
		"Could you give us a clear overview of the garden over time?":                                                              "the garden ?",
		"Summarize the garden": "the garden",
		"Walk me through the sequence in which we discussed different aspects of the garden": "the garden",
		"What did I plant during our talks?":                                                 "What did I plant ?",
		"What did I say over time? Nothing?":                                                 "What did I say ? Nothing?",
		"What did I order in our talks? Answer with two words.":                              "What did I order ? .",
		// Frames are whole, and where they belong.
		"What did I order in June?":                          "What did I order in June?",
		"Did I say that over time beans grow?":               "Did I say that over time beans grow?",
		"What did I say in order to get a discount?":         "What did I say in order to get a discount?",
		"What did we discuss in the conversations with Ann?": "What did we discuss in the conversations with Ann?",
		"Mention only what I said of five items":             "Mention only what I said of five items",
		"What did I buy? List the prices":                    "What did I buy? List the prices",
		"When did Ann summarize the talk for Bo?":            "When did Ann summarize the talk for Bo?",
		// What asks for no record, or is about nothing else, stays.
		"How do I write a book over time?":                "How do I write a book over time?",
		"Can you write the order in which planets stand?": "Can you write the order in which planets stand?",
		"Summarize in all our conversations over time":    "Summarize in all our conversations over time",
		`Summarize "the garden" so far`:                   `Summarize "the garden" so far`,
		"Summarize the gard* so far":                      "Summarize the gard* so far",
		"":                                                "",
		"Fasse unsere Gespräche zusammen, so far":         "Fasse unsere Gespräche zusammen, so far",
	} {
		got := strings.Join(strings.Fields(retrieval.Subject(query)), " ")
		if got != want {
			t.Errorf("%q is about %q, want %q", query, got, want)
		}
	}
}

// TestAQueryIsParsedWithoutItsFrame, with what it is for.
func TestAQueryIsParsedWithoutItsFrame(t *testing.T) {
	q := retrieval.Parse("Can you give me a summary of the garden throughout our conversations? Mention only two items.", 100)
	var terms []string
	for _, w := range q.Words {
		terms = append(terms, w.Term)
	}
	if !slices.Equal(terms, []string{"garden"}) || q.Aim != retrieval.ForRecord {
		t.Errorf("%q, aim %d", terms, q.Aim)
	}
}

// TestQueriesOfAssistants tells queries that ask for what an assistant said, or for a summary, from others.
func TestQueriesOfAssistants(t *testing.T) {
	for query, want := range map[string]bool{
		"What did you recommend for the roof?":      true,
		"How did you finally suggest we do it?":     true,
		"the steps you gave me":                     true,
		"What had you already told me of the roof?": true,
		"Summarize the roof":                        true,
		"A recap of the roof, please":               true,
		"What would you suggest for the roof?":      false,
		"Can you explain the roof?":                 false,
		"Did you buy the roof?":                     false,
		"What did Ann recommend to you?":            false,
		"What did I say of the roof?":               false,
		"Would you say it was written by me?":       false,
	} {
		if got := retrieval.OfAssistant(query); got != want {
			t.Errorf("%q: %v", query, got)
		}
	}
}
