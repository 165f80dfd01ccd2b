package tree

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// The size of a state is read from each form that a manifest may have; what is cut or
// damaged is refused.
func TestSizeOfManifest(t *testing.T) {
	small := manifest{Bytes: 21, Open: true, Blocks: blocks{{0, 12, 2, 1}, {3, 9, 1, 4}}}
	written, err := small.attributes()
	if err != nil {
		t.Fatal(err)
	}
	many := manifest{Bytes: 5000 * 3}
	for i := range 5000 {
		many.Blocks = append(many.Blocks, block{int64(i), 3, 2, 1})
	}
	long, err := many.attributes()
	if err != nil {
		t.Fatal(err)
	}
	list := strings.TrimSuffix(strings.TrimPrefix(string(written), `{"bytes":21,"lines":4,"open":true,"blocks":`), `}`)
	for _, c := range []struct {
		attributes   string
		bytes, lines int64
	}{
		{string(written), 21, 4},
		{string(long), 15000, 10000},
		{`{"bytes":21,"open":true,"blocks":` + list + `}`, 21, 4}, // as builds wrote it that did not count lines
		{`{"bytes":21,"blocks":` + list + `}`, 21, 3},
		{`{"blocks":` + list + `,"open":true,"bytes":21}`, 21, 4}, // as others may have written it
		{`{"bytes": 21, "blocks": ` + list + `}`, 21, 3},
		{`{"bytes":0}`, 0, 0},
		{`{"bytes":7,"open":true}`, 7, 1},
		{`{"bytes":7,"open":false}`, 7, 0},
	} {
		bytes, lines, err := sizeOf(json.RawMessage(c.attributes))
		if bytes != c.bytes || lines != c.lines || err != nil {
			t.Errorf("%.60s: %d bytes, %d lines, %v; want %d, %d", c.attributes, bytes, lines, err, c.bytes, c.lines)
		}
	}
	for cut := range len(written) {
		if bytes, lines, err := sizeOf(written[:cut]); err == nil {
			t.Errorf("%s has %d bytes, %d lines", written[:cut], bytes, lines)
		}
	}
	for _, damaged := range []string{
		`{"bytes":21,"blocks":"AA"}`, `{"bytes":21,"blocks":"!"}`, `{"bytes":,"blocks":` + list + `}`,
		`{"bytes":21x}`, `{"bytes":21,"lines":}`, `{"bytes":21,"lines":3x`, `{"bytes":9999999999999999999}`, `{"bytes":21,"blocks":"AAAAAA"}`,
	} {
		if bytes, lines, err := sizeOf(json.RawMessage(damaged)); err == nil {
			t.Errorf("%s has %d bytes, %d lines", damaged, bytes, lines)
		}
	}
}

// Base64 of short manifests is what the package for it reads, and what is not of its alphabet is left to that.
func TestShortBase64(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var dst [128]byte
	for range 20_000 {
		data := make([]byte, random.IntN(126))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		text := base64.RawStdEncoding.AppendEncode(nil, data)
		if got, ok := shortBase64(&dst, text); !ok || !bytes.Equal(got, data) {
			t.Fatalf("%s: %x, %v; want %x", text, got, ok, data)
		}
		text = append(text, 'A')[:random.IntN(len(text)+2)]
		if n := len(text); n > 0 && random.IntN(2) == 0 {
			text[random.IntN(n)] = byte(random.Uint32())
		}
		want, err := base64.RawStdEncoding.AppendDecode(nil, text)
		got, ok := shortBase64(&dst, text)
		if ok != (err == nil) && !bytes.ContainsAny(text, "\r\n") || ok && !bytes.Equal(got, want) {
			t.Fatalf("%q: %x, %v; want %x, %v", text, got, ok, want, err)
		}
	}
	if _, ok := shortBase64(&dst, bytes.Repeat([]byte("A"), 172)); ok {
		t.Error("a text of 129 bytes was decoded into 128")
	}
}
