package retrieval

import "testing"

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"user favorite_color": "user favorite color",
		"favoriteColor":       "favorite color",
		"userURL":             "user url",
		"__home__page":        "home page",
		"Alice Smith":         "Alice Smith",
		"GitHub":              "GitHub",
		"iPhone":              "iPhone",
		"macOS":               "macOS",
		"café_größe":          "café größe",
		"lieblingsÄpfel":      "lieblings äpfel",
		"node.js":             "node.js",
		"C++":                 "C++",
		"due:friday":          "due:friday",
		"最喜欢的颜色":              "最喜欢的颜色",
		"":                    "", " _ ": "",
	} {
		if got := Words(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
