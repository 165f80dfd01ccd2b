package tree

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// The size of a state is read from each form that a manifest may have; what is cut or
// damaged is refused.
func TestSizeOfManifest(t *testing.T) {
	written, err := loci.MarshalJSON(manifest{Bytes: 21, Open: true, Blocks: blocks{{0, 12, 2, 1}, {3, 9, 1, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	many := manifest{Bytes: 5000 * 3}
	for i := range 5000 {
		many.Blocks = append(many.Blocks, block{int64(i), 3, 2, 1})
	}
	long, err := loci.MarshalJSON(many)
	if err != nil {
		t.Fatal(err)
	}
	list := strings.TrimSuffix(strings.TrimPrefix(string(written), `{"bytes":21,"open":true,"blocks":`), `}`)
	for _, c := range []struct {
		attributes   string
		bytes, lines int64
	}{
		{string(written), 21, 4},
		{string(long), 15000, 10000},
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
		`{"bytes":21x}`, `{"bytes":9999999999999999999}`, `{"bytes":21,"blocks":"AAAAAA"}`,
	} {
		if bytes, lines, err := sizeOf(json.RawMessage(damaged)); err == nil {
			t.Errorf("%s has %d bytes, %d lines", damaged, bytes, lines)
		}
	}
}
