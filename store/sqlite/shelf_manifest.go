package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/segment"
)

// A manifest says which segments a shard has. It is a row of meta.
type manifest struct {
	Seq      int64     `json:"seq"`   // the state of the file that they show
	Wiped    int64     `json:"wiped"` // what was erased up to here is in none of them
	Model    string    `json:"model,omitempty"`
	Dims     int       `json:"dims,omitempty"`
	Segments []kept    `json:"segments"`
	Upto     int64     `json:"upto,omitempty"`  // a load that has not ended got to this record; 0: it ended
	Last     int64     `json:"last,omitempty"`  // of all records of the file, as of Seq; 0: an older build has made it
	Apart    []int64   `json:"apart,omitempty"` // namespaces that a shard above leaves out
	Held     int       `json:"held,omitempty"`  // records of a shard above
	Begun    []kept    `json:"begun,omitempty"` // what Segments are in the file then: older builds take those for all
	raw      []byte    // as it is in the file; nil: it is not
	shard    shard     // that it is of
	_        [0]func() // not to be compared
}

// kept is a segment of a shard.
type kept struct {
	Name    string   `json:"name"`
	Sum     uint32   `json:"sum"`               // see [segment.Segment]
	Gone    []uint32 `json:"gone,omitempty"`    // entries that do not count any more
	Entries int      `json:"entries,omitempty"` // in all; 0: an older build has made it
}

// wasted reports whether most of a segment is gone, or may be, and what is left can be merged: see [index.Index.Merge].
func (k kept) wasted(book int) bool {
	left := k.Entries - len(k.Gone)
	return len(k.Gone) > max(0, left) && left <= 2*book
}

// The keys of manifests. Builds that know no shards above do not find theirs, and remove the segments.
const manifestKeys = "(key > 'index:' AND key < 'index;' OR key > 'above:' AND key < 'above;')"

func manifestKey(s shard) string {
	if s.above {
		return fmt.Sprintf("above:%x:%s", s.mark, s.kind)
	}
	return fmt.Sprintf("index:%d:%s", s.namespace, s.kind)
}

// readManifest makes a manifest of a row; one that says nothing useful names no segment.
func readManifest(key string, value []byte) (m manifest) {
	if json.Unmarshal(value, &m) != nil {
		m = manifest{}
	}
	if m.Upto > 0 {
		m.Segments, m.Begun = m.Begun, nil
	}
	m.raw = value
	parts := strings.SplitN(key, ":", 3)
	if len(parts) == 3 && parts[0] == "above" {
		mark, _ := hex.DecodeString(parts[1])
		m.shard = shard{kind: loci.Kind(parts[2]), above: true, mark: string(mark)}
	} else if len(parts) == 3 {
		m.shard.namespace, _ = strconv.ParseInt(parts[1], 10, 64) // no shard has number 0
		m.shard.kind = loci.Kind(parts[2])
	}
	return m
}

func (m *manifest) space() loci.Space { return loci.Space{Model: m.Model, Dims: m.Dims} }

// follows reports whether the segments can be brought to a state of the file.
func (m *manifest) follows(space loci.Space, now *fileState) bool {
	return len(m.Segments) > 0 && m.space() == space && m.Seq <= now.seq && m.Seq >= max(now.floor, now.dropped)
}

// mark tells a manifest from every other one, also of its own shard.
func (m *manifest) mark() string { return manifestKey(m.shard) + string(m.raw) }

// wastes reports whether a segment is to be merged with others.
func (m *manifest) wastes(book int) bool {
	return slices.ContainsFunc(m.Segments, func(k kept) bool { return k.wasted(book) })
}

func (m *manifest) names() (names []string) {
	for _, k := range m.Segments {
		names = append(names, k.Name)
	}
	return names
}

// origin is that of the segments of a shard of this file: its key of names is secret and
// random, so no other file has the same.
func origin(key loci.NameKey, s shard, space loci.Space) segment.Origin {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%x/%s", []byte(key), manifestKey(s))))
	return index.OriginOf([16]byte(sum[:16]), space)
}

// rowReader is a transaction or a database.
type rowReader interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// manifestOf reads the manifest of a shard; without one it names no segment.
func manifestOf(ctx context.Context, r rowReader, s shard) (m manifest, key loci.NameKey, err error) {
	var raw []byte
	const query = "SELECT (SELECT value FROM meta WHERE key = 'name_key'), (SELECT value FROM meta WHERE key = ?)"
	if err = r.QueryRowContext(ctx, query, manifestKey(s)).Scan((*[]byte)(&key), &raw); err != nil {
		return m, key, err
	}
	if raw != nil {
		m = readManifest(manifestKey(s), raw)
	}
	m.shard = s
	return m, key, nil
}

// manifests reads all, and the key of the file.
func (f *file) manifests(ctx context.Context) (all []manifest, key loci.NameKey, err error) {
	err = f.readRows(ctx, "SELECT key, value FROM meta WHERE "+manifestKeys, nil, func(rows *sql.Rows) (bool, error) {
		var key string
		var value []byte
		err := rows.Scan(&key, &value)
		all = append(all, readManifest(key, value))
		return true, err
	})
	if err == nil && len(all) > 0 {
		err = f.readRow(ctx, "SELECT value FROM meta WHERE key = 'name_key'", nil, (*[]byte)(&key))
	}
	return all, key, err
}

// errMoved says that another process was quicker.
var errMoved = errors.New("the manifest has changed")

// putManifest puts one in the place of another, unless that is there no more.
func (f *file) putManifest(ctx context.Context, old *manifest, m *manifest) error {
	row := *m
	if m.Upto > 0 {
		row.Segments, row.Begun = nil, m.Segments
	}
	raw, err := json.Marshal(row)
	if err != nil {
		return err
	}
	m.raw, m.shard = raw, old.shard
	return f.write(ctx, func(t *tx) error {
		if err := t.holdsManifest(old); err != nil {
			return err
		}
		return t.exec("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", manifestKey(old.shard), raw)
	})
}

// dropManifest takes one out, unless it has changed.
func (f *file) dropManifest(ctx context.Context, old *manifest) error {
	return f.write(ctx, func(t *tx) error {
		if err := t.holdsManifest(old); err != nil {
			return err
		}
		return t.exec("DELETE FROM meta WHERE key = ?", manifestKey(old.shard))
	})
}

func (t *tx) holdsManifest(m *manifest) error {
	var raw []byte
	err := t.row("SELECT value FROM meta WHERE key = ?", []any{manifestKey(m.shard)}, &raw)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if !bytes.Equal(raw, m.raw) {
		return errMoved
	}
	return nil
}
