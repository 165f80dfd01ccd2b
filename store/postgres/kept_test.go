package postgres_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/internal/follow/followtest"
	"github.com/loci-memory/loci/store/postgres"
)

// longest is how long a test waits for what must come.
const longest = 30 * time.Second

// TestKeptIndex is what every store does that keeps its index in its database.
func TestKeptIndex(t *testing.T) {
	followtest.Run(t, followtest.Suite{
		New:   func(t *testing.T) followtest.Database { return keptDatabase(t) },
		Steps: locitest.Long(60, 400),
		Harms: map[string]func(t *testing.T, d followtest.Database){
			"moved": func(t *testing.T, d followtest.Database) {
				execute(t, d.(keptIn).Super, "UPDATE loci.image SET namespace = 2")
			},
		},
	})
}

// keptIn is a database in which the index is kept.
type keptIn struct{ pgtest.Database }

// keptDatabase is an empty one.
func keptDatabase(t *testing.T) keptIn {
	t.Helper()
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	return keptIn{d}
}

func (d keptIn) Open(t *testing.T, o followtest.Options) followtest.Store {
	t.Helper()
	opts := &postgres.Options{IndexCache: o.Dir, IndexCacheSize: o.Size, Logger: slog.Default()}
	opts.Shelve(o.From, o.Book, true)
	if o.Forget {
		opts.Forget()
	}
	if o.Join > 0 {
		opts.Join(o.Join)
	}
	if o.Part > 0 {
		opts.Load(o.Part, nil)
	}
	return openWith(t, d.Server, opts)
}

func (d keptIn) Pieces(t *testing.T) []followtest.Piece {
	t.Helper()
	var names []string
	var numbers []int64
	var data [][]byte
	query(t, d.Super, "SELECT convert_from(segment, 'UTF8') FROM loci.piece ORDER BY segment, n", &names)
	query(t, d.Super, "SELECT n FROM loci.piece ORDER BY segment, n", &numbers)
	query(t, d.Super, "SELECT data FROM loci.piece ORDER BY segment, n", &data)
	if len(names) != len(data) || len(names) != len(numbers) { // somebody wrote in between
		return d.Pieces(t)
	}
	pieces := make([]followtest.Piece, len(names))
	for i := range pieces {
		pieces[i] = followtest.Piece{Segment: names[i], N: numbers[i], Data: data[i]}
	}
	return pieces
}

func (d keptIn) SetData(t *testing.T, p *followtest.Piece) {
	t.Helper()
	execute(t, d.Super, fmt.Sprintf(`UPDATE loci.piece SET data = '\x%x' WHERE segment = '%s' AND n = %d`, p.Data, p.Segment, p.N))
}

func (d keptIn) RemovePieces(t *testing.T, segment string) {
	t.Helper()
	execute(t, d.Super, fmt.Sprintf("DELETE FROM loci.piece WHERE '%s' IN ('', convert_from(segment, 'UTF8'))", segment))
}

func (d keptIn) Age(t *testing.T, except string) {
	t.Helper()
	execute(t, d.Super, fmt.Sprintf("UPDATE loci.piece SET made_at = made_at - 3600000 WHERE segment <> '%s'", except))
}

func (d keptIn) EditImage(t *testing.T, edit func(string) string) {
	t.Helper()
	var values []string
	query(t, d.Super, "SELECT convert_from(value, 'UTF8') FROM loci.image", &values)
	if len(values) == 0 {
		t.Fatal("there are no images")
	}
	for _, value := range values {
		execute(t, d.Super, fmt.Sprintf(`UPDATE loci.image SET value = '\x%x' WHERE value = '\x%x'`, edit(value), value))
	}
}

func (d keptIn) HideImages(t *testing.T) (show func(t *testing.T)) {
	t.Helper()
	hidden := fmt.Sprintf("hidden%d", time.Now().UnixNano())
	execute(t, d.Super, fmt.Sprintf("BEGIN; CREATE TABLE %s AS SELECT * FROM loci.image; DELETE FROM loci.image; COMMIT", hidden))
	t.Cleanup(func() { execute(t, d.Super, "DROP TABLE "+hidden) })
	return func(t *testing.T) {
		t.Helper()
		execute(t, d.Super, "INSERT INTO loci.image SELECT * FROM "+hidden)
	}
}

func (d keptIn) ForgetChanges(t *testing.T) {
	t.Helper()
	execute(t, d.Super, "UPDATE loci.tenant SET floor = seq; DELETE FROM loci.change")
}

// An operator who migrates to the tables of images without naming the server's role again has
// servers that may use them.
func TestNewTablesKeepTheServersRights(t *testing.T) {
	d := pgtest.Shared(t).NewDatabase(t)
	migrate := func(role string) {
		if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: role}); err != nil {
			t.Fatal(err)
		}
	}
	migrate(d.Role)
	execute(t, d.Owner, "DROP TABLE loci.image, loci.piece")
	execute(t, d.Owner, "UPDATE loci.setting SET value = '2' WHERE name = 'schema'")
	migrate("")
	var refused []string
	query(t, d.Server, `SELECT relname FROM pg_class WHERE relnamespace = 'loci'::regnamespace AND relname IN ('image', 'piece')
		AND NOT has_table_privilege(oid, 'SELECT, INSERT, UPDATE, DELETE')`, &refused)
	if len(refused) > 0 {
		t.Errorf("the server's role may not use %q", refused)
	}
}
