package tree

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// maxBlock bounds the bytes of a block. An append writes the last block of a file again,
// and never another one: a few passages are a good measure of that work.
const maxBlock = 4 << 10

// A block is a part of a file's content: a record of KindBlock, searched by its
// passages. Only the last block of a file ever grows, and only at its end, so that
// an earlier state of the file is a list of blocks and how much of each it has.
type block struct {
	N       int64 // names it in its file; never used again
	Bytes   int   // of it that belong to this state
	Lines   int64 // line ends in them
	Version int64 // of the record, as of this state
}

// blocks are the blocks of a state in their order.
type blocks []block

// MarshalText writes base64 of varints, four for each block: the step from the number
// before it, bytes, line ends and version. A large file has hundreds of blocks, and every
// call reads them all: as JSON they would cost more than the call.
func (l blocks) MarshalText() ([]byte, error) {
	var out []byte
	before := int64(0)
	for _, b := range l {
		out = binary.AppendVarint(out, b.N-before)
		out = binary.AppendVarint(out, int64(b.Bytes))
		out = binary.AppendVarint(out, b.Lines)
		out = binary.AppendVarint(out, b.Version)
		before = b.N
	}
	return base64.RawStdEncoding.AppendEncode(nil, out), nil
}

// UnmarshalText reads the same.
func (l *blocks) UnmarshalText(text []byte) error {
	data, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil {
		return err
	}
	*l = nil
	before := int64(0)
	for len(data) > 0 {
		var b block
		if data, err = b.decode(data, before); err != nil {
			return err
		}
		*l = append(*l, b)
		before = b.N
	}
	return nil
}

// decode reads a block that comes after the one of the number before, and returns what follows.
func (b *block) decode(data []byte, before int64) ([]byte, error) {
	var v [4]int64
	for i := range v {
		if len(data) > 0 && data[0] < 0x80 { // as most numbers are
			v[i], data = int64(data[0]>>1)^-int64(data[0]&1), data[1:]
			continue
		}
		x, n := uint64(0), 0
		for more := true; more; n++ { // as binary.Uvarint, without a call
			if n == len(data) || n == 9 {
				return nil, errors.New("the list of blocks is cut short")
			}
			x |= uint64(data[n]&0x7f) << (7 * n)
			more = data[n] >= 0x80
		}
		v[i], data = int64(x>>1)^-int64(x&1), data[n:]
	}
	*b = block{N: before + v[0], Bytes: int(v[1]), Lines: v[2], Version: v[3]}
	if b.N < 0 || b.Bytes < 1 || b.Bytes > maxBlock || b.Lines < 0 || b.Version < 1 {
		return nil, errors.New("the list of blocks is damaged")
	}
	return data, nil
}

// retired is a block that an earlier state still has and the current one does not.
type retired struct {
	N       int64
	Version int64 // of its record
	Until   int64 // the last version of the file that has it
}

// MarshalJSON writes [n, version, until].
func (r retired) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]int64{r.N, r.Version, r.Until})
}

// UnmarshalJSON reads the same.
func (r *retired) UnmarshalJSON(data []byte) error {
	var v [3]int64
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*r = retired{v[0], v[1], v[2]}
	return nil
}

// A manifest says of which blocks a state of a file consists. It is kept in the
// attributes of the entry, of which the store keeps the earlier ones.
type manifest struct {
	Bytes  int64  `json:"bytes"`
	Open   bool   `json:"open,omitempty"` // the last line has no end
	Blocks blocks `json:"blocks,omitempty"`
}

func readManifest(attributes json.RawMessage) (m manifest, err error) {
	if err := json.Unmarshal(attributes, &m); err != nil {
		return m, &loci.Error{Code: loci.Internal, Op: "read manifest", Err: err}
	}
	return m, nil
}

// attributes are the manifest as the attributes of its entry. They say the number of lines, too, which follows from the
// blocks: a list asks for no more than the size, of a thousand files at a time. Attributes of older builds do not.
func (m *manifest) attributes() (json.RawMessage, error) {
	data, err := loci.MarshalJSON(struct {
		Bytes  int64  `json:"bytes"`
		Lines  int64  `json:"lines,omitempty"`
		Open   bool   `json:"open,omitempty"`
		Blocks blocks `json:"blocks,omitempty"`
	}{m.Bytes, m.lines(), m.Open, m.Blocks})
	if err != nil {
		return nil, &loci.Error{Code: loci.Internal, Op: "write manifest", Err: err}
	}
	return data, nil
}

// sizeOf returns the bytes and lines of a state, of what [manifest.attributes] writes without a look at the rest.
func sizeOf(attributes json.RawMessage) (bytes, lines int64, err error) {
	if bytes, lines, _, ok := beginOf(attributes); ok && lines > 0 && attributes[len(attributes)-1] == '}' {
		return bytes, lines, nil
	}
	m, err := manifestOf(attributes)
	return m.Bytes, m.lines(), err
}

// beginOf takes the numbers from a manifest in the form that it is written in; lines is 0 where it does not say. false:
// it is in another form.
func beginOf(attributes []byte) (bytes, lines int64, rest []byte, ok bool) {
	const begin, counted = `{"bytes":`, `,"lines":`
	if len(attributes) <= len(begin) || string(attributes[:len(begin)]) != begin {
		return 0, 0, nil, false
	}
	bytes, rest, ok = digits(attributes[len(begin):])
	if ok && len(rest) > len(counted) && string(rest[:len(counted)]) == counted {
		lines, rest, ok = digits(rest[len(counted):])
	}
	return bytes, lines, rest, ok
}

// manifestOf is readManifest, as quick as it can be for a short file.
func manifestOf(attributes json.RawMessage) (m manifest, err error) {
	if !m.readShort(attributes) {
		return readManifest(attributes)
	}
	return m, nil
}

// readShort reads a manifest in the form that it is written in; false: it is in another form, or too long.
func (m *manifest) readShort(attributes []byte) bool {
	const opened, listed, end = `,"open":true`, `,"blocks":"`, `"}`
	size, _, rest, ok := beginOf(attributes)
	if !ok {
		return false
	}
	m.Bytes = size
	if len(rest) > len(opened) && string(rest[:len(opened)]) == opened {
		rest, m.Open = rest[len(opened):], true
	}
	if string(rest) == "}" {
		return true
	}
	text := len(rest) - len(end)
	if text < len(listed) || string(rest[:len(listed)]) != listed || string(rest[text:]) != end {
		return false
	}
	var short [128]byte
	data, ok := shortBase64(&short, rest[len(listed):text])
	for before := int64(0); len(data) > 0 && ok; {
		var b block
		var err error
		data, err = b.decode(data, before)
		before, ok = b.N, err == nil
		m.Blocks = append(m.Blocks, b)
	}
	return ok
}

// digits takes a number that a text begins with; false: it does not, or with a longer one.
func digits(text []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for ; i < len(text) && i < 18 && '0' <= text[i] && text[i] <= '9'; i++ {
		n = n*10 + int64(text[i]-'0')
	}
	return n, text[i:], i > 0
}

// shortBase64 decodes a text of the alphabet alone into dst; false: it is another one, or too long. The package for
// it costs more than the rest of a short manifest.
func shortBase64(dst *[128]byte, text []byte) (data []byte, ok bool) {
	if len(text) > len(dst)/3*4 {
		return nil, false
	}
	n, bits, held := 0, uint32(0), 0
	for ; len(text) >= 4; text, n = text[4:], n+3 { // four signs are three bytes
		a, b, c, d := base64Values[text[0]], base64Values[text[1]], base64Values[text[2]], base64Values[text[3]]
		if a|b|c|d == notBase64 {
			return nil, false
		}
		dst[n], dst[n+1], dst[n+2] = a<<2|b>>4, b<<4|c>>2, c<<6|d
	}
	for _, c := range text {
		v := base64Values[c]
		if v == notBase64 {
			return nil, false
		}
		if bits, held = bits<<6|uint32(v), held+6; held >= 8 {
			held -= 8
			dst[n] = byte(bits >> held)
			n++
		}
	}
	return dst[:n], len(text)%4 != 1
}

// notBase64 is the value of a sign that is not of the alphabet.
const notBase64 = 0xff

var base64Values = func() (values [256]byte) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range values {
		values[i] = notBase64
	}
	for i := range len(alphabet) {
		values[alphabet[i]] = byte(i)
	}
	return values
}()

// lines counts the lines, an unended last one included.
func (m *manifest) lines() (n int64) {
	for _, b := range m.Blocks {
		n += b.Lines
	}
	if m.Open {
		n++
	}
	return n
}

// add puts a block with its text at the end.
func (m *manifest) add(n, version int64, text string) {
	m.Blocks = append(m.Blocks, block{n, len(text), int64(strings.Count(text, "\n")), version})
	m.Bytes += int64(len(text))
	m.Open = !strings.HasSuffix(text, "\n")
}

// covering returns the blocks that hold some lines, and how many lines end before
// the first of them.
func (m *manifest) covering(first, last int64) (blocks []block, before int64) {
	ended := int64(0) // line ends before the block at hand
	from := -1
	for i, b := range m.Blocks {
		if from < 0 && ended+b.Lines >= first-1 {
			from, before = i, ended
		}
		if ended += b.Lines; last > 0 && ended >= last {
			return m.Blocks[from : i+1], before
		}
	}
	if from < 0 {
		return nil, 0
	}
	return m.Blocks[from:], before
}

// cutLines returns lines first to last of a text, counted from 1; with open, to its end.
func cutLines(text string, first, last int64, open bool) string {
	for ; first > 1; first, last = first-1, last-1 {
		_, text, _ = strings.Cut(text, "\n")
	}
	if open {
		return text
	}
	end := 0
	for ; last > 0; last-- {
		at := strings.IndexByte(text[end:], '\n')
		if at < 0 {
			return text
		}
		end += at + 1
	}
	return text[:end]
}

// cutBlock returns how much of a text its first block takes: at most maxBlock
// bytes, up to the last line end in them, else to the end of a character.
func cutBlock(text string) int {
	if len(text) <= maxBlock {
		return len(text)
	}
	if at := strings.LastIndexByte(text[:maxBlock], '\n'); at >= 0 {
		return at + 1
	}
	end := maxBlock
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// blockID is the id of a block: it follows from that of its file, so that nothing
// has to be read to erase it.
func blockID(file loci.ID, n int64) loci.ID {
	id := loci.DerivedID(file, "block", strconv.FormatInt(n, 10))
	if n >= firstBlock {
		copy(id[:8], file[:8])
	}
	return id
}

// firstBlock is the number of the first block of a file. From it on ids begin with the time
// in that of the file: files that were made together have blocks that lie together in the
// indexes of a store, and go together. Files of older builds count from 0, and the ids of
// their blocks are spread over everything.
const firstBlock = 1 << 32

// errBlockGone says that a state is no longer there: the file was changed since its
// entry was read.
var errBlockGone = errors.New("a block of the file is gone")

// blockRecords reads the records of blocks of a file, in their order.
func (t *Tree) blockRecords(ctx context.Context, file loci.ID, blocks []block) ([]loci.Record, error) {
	out := make([]loci.Record, len(blocks))
	at := make(map[loci.ID]int, len(blocks))
	for from := 0; from < len(blocks); from += 1000 {
		part := blocks[from:min(from+1000, len(blocks))]
		f := loci.Filter{
			Within: []loci.Namespace{t.m.Namespace()}, Exact: true, Kinds: []loci.Kind{KindBlock}, NotLive: true,
		}
		for i, b := range part {
			id := blockID(file, b.N)
			at[id] = from + i
			f.IDs = append(f.IDs, id)
		}
		records, _, err := t.m.Records(ctx, f, loci.Page{Limit: len(part)})
		if err != nil {
			return nil, err
		}
		if len(records) < len(part) {
			return nil, errBlockGone
		}
		for i := range records {
			n := at[records[i].ID]
			if len(records[i].Text) < blocks[n].Bytes {
				return nil, errBlockGone
			}
			out[n] = records[i]
		}
	}
	return out, nil
}

// content joins blocks of a file, each cut to what belongs to the state.
func (t *Tree) content(ctx context.Context, e *entry, blocks []block) (string, error) {
	records, err := t.blockRecords(ctx, e.record.ID, blocks)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for i := range records {
		text.WriteString(records[i].Text[:blocks[i].Bytes])
	}
	return text.String(), nil
}
