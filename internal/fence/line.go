package fence

import "strconv"

// FactLine is the line of a fact in a context. Its parts are fenced here.
func FactLine(subject, predicate, content string, confidence float64) string {
	var room [512]byte // most lines have less
	b := append(append(room[:0], "- "...), Key(subject, predicate)...)
	b = append(append(b, Text(content)...), " (confidence: "...)
	return string(append(strconv.AppendFloat(b, confidence, 'f', 2, 64), ")\n"...))
}

// RuleLine is that of a rule.
func RuleLine(text, maturity string, effectiveness float64) string {
	var room [512]byte
	b := append(append(room[:0], "- "...), Text(text)...)
	b = append(append(append(b, " (maturity: "...), maturity...), ", effectiveness: "...)
	return string(append(strconv.AppendFloat(b, effectiveness, 'f', 2, 64), ")\n"...))
}

// EpisodeLine is that of an episode.
func EpisodeLine(made, text string) string {
	var room [512]byte
	b := append(append(append(room[:0], "- ["...), made...), "] "...)
	return string(append(append(b, Text(text)...), '\n'))
}
