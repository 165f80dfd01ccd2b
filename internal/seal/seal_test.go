package seal

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestDigest: each part is led by its length, so that no two lists of parts have one
// digest. The value is that of SHA-256 over 00000001 "a" 00000002 "bc".
func TestDigest(t *testing.T) {
	const want = "b534ce16ac9c8b36823f39a395ce8e0e3c7ad9605b82b5444f18cadacd217a5d"
	if got := hex.EncodeToString([]byte(Digest("a", "bc"))); got != want {
		t.Errorf("the digest is %s", got)
	}
	seen := map[string][]string{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab"}, {"a", "b"}, {"\x00\x00\x00\x01a"}} {
		d := Digest(parts...)
		if other, ok := seen[d]; ok {
			t.Errorf("%q and %q have one digest", parts, other)
		}
		seen[d] = parts
	}
}

// TestMark: the mark of a place begins with that of every place around it, and says nothing
// without the key.
func TestMark(t *testing.T) {
	key := []byte("key")
	outer, inner := Mark(key, "user"), Mark(key, "user", "user/ada")
	if len(outer) != MarkBytes || len(inner) != 2*MarkBytes || !strings.HasPrefix(inner, outer) {
		t.Errorf("%x and %x", outer, inner)
	}
	if Mark(key, "user", "user/bob") == inner || Mark([]byte("other"), "user", "user/ada") == inner {
		t.Error("two marks are equal")
	}
	if Mark(key) != "" {
		t.Error("the place of all has a mark")
	}
}

func TestKeysAndNoncesAreRandom(t *testing.T) {
	if a, b := NewKey(), NewKey(); len(a) != 32 || string(a) == string(b) {
		t.Errorf("keys %x and %x", a, b)
	}
	if a, b := NewNonce(), NewNonce(); len(a) != 16 || string(a) == string(b) {
		t.Errorf("nonces %x and %x", a, b)
	}
}

// TestHashCoversEveryField: a change of any one of them is another hash.
func TestHashCoversEveryField(t *testing.T) {
	base := func() *Entry { return &Entry{ID: [16]byte{1}, Type: "created", Mark: "m", Digest: Hash{2}} }
	for name, change := range map[string]func(*Entry){
		"id": func(e *Entry) { e.ID[0]++ }, "entity": func(e *Entry) { e.Entity[0]++ },
		"type": func(e *Entry) { e.Type = "x" }, "kind": func(e *Entry) { e.Kind = "x" },
		"time": func(e *Entry) { e.At++ }, "actor": func(e *Entry) { e.Actor = "x" },
		"request": func(e *Entry) { e.RequestID = "x" }, "mark": func(e *Entry) { e.Mark = "x" },
		"digest": func(e *Entry) { e.Digest[0]++ }, "former hash": func(e *Entry) { e.Former[0]++ },
	} {
		e := base()
		change(e)
		if e.After(Hash{}) == base().After(Hash{}) {
			t.Errorf("the hash does not cover the %s", name)
		}
	}
	e := base()
	if e.After(Hash{}) == e.After(Hash{1}) || e.FormerAfter(Hash{}, "a") == e.FormerAfter(Hash{1}, "a") ||
		e.FormerAfter(Hash{}, "a") == e.FormerAfter(Hash{}, "b") || e.After(Hash{}) == e.FormerAfter(Hash{}, "m") {
		t.Error("two hashes are equal")
	}
	a, b := Entry{Nonce: []byte("a"), Payload: []byte("b")}, Entry{Nonce: []byte("ab")}
	if a.PayloadDigest() == b.PayloadDigest() {
		t.Error("nonce and payload run together")
	}
}
