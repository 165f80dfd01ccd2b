package store_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store"
)

func remember(t *testing.T, c store.Config) (sessions *session.Handle, end func()) {
	t.Helper()
	s, err := store.OpenConfig(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := loci.New(s, &loci.Options{Features: locitest.Features()})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := loci.NewTenant("default")
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "u"}, Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return session.Of(m), func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A backend is chosen by name. What sqlite holds is there again after a restart, and what
// memory holds is not; memory is the default.
func TestBackends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conversations.db")
	for _, c := range []struct {
		config store.Config
		stays  bool
	}{
		{store.Config{}, false},
		{store.Config{Backend: store.BackendMemory}, false},
		{store.Config{Backend: store.BackendSQLite, Path: path}, true},
	} {
		first, end := remember(t, c.config)
		message, err := session.ParseMessage([]byte(`{"role":"user","content":"hi"}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := first.Append(t.Context(), "s", []session.Message{message}); err != nil {
			t.Fatal(err)
		}
		end()
		second, end := remember(t, c.config)
		h, err := second.History(t.Context(), "s", session.HistoryQuery{})
		there := err == nil && len(h.Messages) == 1
		if there != c.stays || err != nil && !errors.Is(err, loci.ErrNotFound) {
			t.Errorf("%+v: after a restart %+v, %v", c.config, h, err)
		}
		end()
	}
}

func TestBackendFaults(t *testing.T) {
	for _, c := range []struct {
		config store.Config
		code   error
		says   string
	}{
		{store.Config{Backend: "sqlite"}, loci.ErrInvalid, `backend "sqlite" needs a path`},
		{store.Config{Backend: "memory", Path: "x.db"}, loci.ErrInvalid, `backend "memory" keeps no file`},
		{store.Config{Path: "x.db"}, loci.ErrInvalid, "path is set"},
		{store.Config{Backend: "redis"}, loci.ErrUnsupported, `backend "redis" is not known`},
	} {
		_, err := store.OpenConfig(t.Context(), c.config, nil)
		if !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
}
