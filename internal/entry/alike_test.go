package entry

import "testing"

// Texts are alike that say the same except for the entry, however they are laid out.
func TestAlike(t *testing.T) {
	const text = `{"theme": "dark", "mcpServers": {"loci": {"command": "loci"}}}`
	for other, want := range map[string]bool{
		"\xef\xbb\xbf{\n\t\"theme\": \"dark\" // mine\n}": true,
		`{"mcpServers": {}, "theme": "dark"}`:             true,
		`{"theme": "light"}`:                              false,
		`{"theme": "dark", "mcpServers": {"x": {}}}`:      false,
		`{"theme": "dark"`:                                false,
	} {
		if got := JSON.Alike([]byte(text), []byte(other), "mcpServers", "loci"); got != want {
			t.Errorf("%s: %v", other, got)
		}
	}
}
