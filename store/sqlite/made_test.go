package sqlite

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// Another process may hold the file for long while it makes it, where the disk is slow: who comes then waits for it.
func TestAFileThatIsBeingMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	if _, err := createPrivate(path); err != nil {
		t.Fatal(err)
	}
	db, err := openDB(path, []string{"busy_timeout(5000)"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"PRAGMA journal_mode = DELETE", "BEGIN EXCLUSIVE", "CREATE TABLE z(a)", "DROP TABLE z"} {
		if _, err := conn.ExecContext(t.Context(), step); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() {
		s, err := Open(path, &Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			done <- err
			return
		}
		defer s.Close()
		_, err = s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus"}, loci.Filter{Within: []loci.Namespace{{}}}, 1)
		done <- err
	}()
	time.Sleep(time.Second)
	select {
	case err := <-done:
		t.Fatalf("did not wait: %v", err)
	default:
	}
	if _, err := conn.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
