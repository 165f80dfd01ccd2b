package rest

import (
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2/validation"
)

// A wording is what huma says of a value, and what callers read in its place: what is wrong, and
// what to send. Both may speak of one thing, at %v, %d or %s in the one and at {} in the other.
type wording struct{ theirs, ours string }

const (
	wholeNumber = "must be a whole number of at most 64 bits"
	knownForm   = "has a form that is not known here: /v1/openapi.json shows those that are"
)

var wordings = []wording{
	{validation.MsgUnexpectedProperty, "is unknown: leave it out, or correct its name"},
	{validation.MsgExpectedRequiredProperty, "lacks {}: add it"},
	{validation.MsgExpectedBoolean, "must be true or false"},
	{validation.MsgExpectedInteger, wholeNumber},
	{validation.MsgExpectedNumber, "must be a number"},
	{validation.MsgExpectedString, "must be a string"},
	{validation.MsgExpectedRFC3339DateTime, "must be a time such as 2026-01-31T08:00:00Z"},
	{validation.MsgExpectedArray, "must be a list"},
	{validation.MsgExpectedObject, "must be an object"},
	{validation.MsgExpectedBase64String, "must be a string in base64"},
	{validation.MsgExpectedOneOf, "must be one of {}"},
	{validation.MsgExpectedMinimumNumber, "is too small: send {} or more"},
	{validation.MsgExpectedMaximumNumber, "is too large: send {} or less"},
	{validation.MsgExpectedMinLength, "has too few characters: send at least {}"},
	{validation.MsgExpectedMaxLength, "has too many characters: send at most {}"},
	{validation.MsgExpectedMinItems, "has too few entries: send at least {}"},
	{validation.MsgExpectedMaxItems, "has too many entries: send at most {}"},
	{validation.MsgExpectedMinProperties, "has too few members: send at least {}"},
	{validation.MsgExpectedMaxProperties, "has too many members: send at most {}"},
	{validation.MsgExpectedMatchExactlyOneSchema, knownForm},
	{validation.MsgExpectedMatchAtLeastOneSchema, knownForm},
	{"expected value to match exactly one schema but matched multiple", knownForm},

	// What follows huma says in the middle of its code.
	{"required query parameter is missing", "is missing: add it"},
	{"invalid integer", wholeNumber},
	{"invalid boolean", "must be true or false"},
	{"invalid value: %v", "cannot be read: {}"},
	{"request body is required", "is missing: send a JSON object"},
}

// inWords is what is wrong with the value at a place, in our words where huma's are known.
func inWords(place, message string) (words, whole string) {
	for _, w := range wordings {
		before, after, spoken := w.theirs, "", false
		if at := strings.IndexByte(w.theirs, '%'); at >= 0 {
			before, after, spoken = w.theirs[:at], w.theirs[at+len("%v"):], true
		}
		rest, ok := strings.CutPrefix(message, before)
		if !ok {
			continue
		}
		if rest, ok = strings.CutSuffix(rest, after); !ok || !spoken && rest != "" {
			continue
		}
		words = strings.Replace(w.ours, "{}", spokenOf(strings.Trim(rest, `"`)), 1)
		return words, place + " " + words
	}
	return message, strings.TrimPrefix(place+": "+message, ": ")
}

// spokenOf is what a sentence speaks of, a large number in digits: huma says 1e+06.
func spokenOf(text string) string {
	if n, err := strconv.ParseFloat(text, 64); err == nil && strings.Contains(text, "e+") {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return text
}
