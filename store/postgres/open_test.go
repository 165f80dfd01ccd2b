package postgres_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/postgres"
)

// query collects the one column that a statement returns.
func query[T any](t testing.TB, url, sql string, into *[]T) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		t.Fatal(err)
	}
	if *into, err = pgx.CollectRows(rows, pgx.RowTo[T]); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// refused requires that a store is not opened, with a code and words that say why.
func refused(t *testing.T, url string, code loci.Code, says string) {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, nil)
	if s != nil {
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	e := loci.AsError(err)
	if e == nil || e.Code != code || !strings.Contains(e.Error()+" "+e.Recovery, says) {
		t.Errorf("opened with %v; want %s and %q", err, code, says)
		return
	}
	if strings.Contains(e.Error()+e.Recovery, "throwaway") {
		t.Errorf("the error shows the password: %v", e)
	}
}

// changed is a URL with one part replaced.
func changed(t testing.TB, text string, change func(u *url.URL)) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

func TestURLsThatOpenNothing(t *testing.T) {
	d := pgtest.Shared(t).NewDatabase(t)
	refused(t, "postgres://u:throwaway@h:port/d", loci.Invalid, "cannot be read")
	refused(t, "mysql://h/d", loci.Invalid, "postgres://")
	refused(
		t,
		changed(t, d.Server, func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "wrong") }),
		loci.Unsupported,
		"refuses the role or its password",
	)
	refused(t, changed(t, d.Server, func(u *url.URL) { u.Path = "/nowhere" }), loci.Unsupported, `"nowhere" does not exist`)
	refused(t, changed(t, d.Server, func(u *url.URL) { u.Host = "127.0.0.1:1" }), loci.Unavailable, "does not answer")
	refused(
		t,
		changed(t, d.Server, func(u *url.URL) { u.RawQuery = "sslmode=verify-full" }),
		loci.Unsupported,
		"has no TLS",
	)
	for option, says := range map[string]string{
		"pool_max_conns=0":        "pool_max_conns in the store's URL must be a whole number from 1",
		"connect_timeout=soon":    "connect_timeout in the store's URL must be",
		"target_session_attrs=x":  "target_session_attrs in the store's URL must be",
		"default_query_exec_mode": "default_query_exec_mode in the store's URL must be",
		"shelves=3":               `unrecognized configuration parameter "shelves"`,
		"statement_timeout=soon":  `invalid value for parameter "statement_timeout"`,
	} {
		refused(t, changed(t, d.Server, func(u *url.URL) { u.RawQuery += "&" + option }), loci.Invalid, says)
	}
}

// What listens at the address and says nothing, or is no PostgreSQL, is a server that does not
// answer, whatever the URL leaves to choose.
func TestAddressesOfOthers(t *testing.T) {
	for what, answer := range map[string]string{"silent": "", "another program": "HTTP/1.1 400 Bad Request\r\n\r\n"} {
		t.Run(what, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					defer conn.Close()
					if answer != "" {
						_, _ = conn.Read(make([]byte, 100))
						_, _ = conn.Write([]byte(answer))
						_ = conn.Close()
					}
				}
			}()
			at := "postgres://u:throwaway@" + listener.Addr().String() + "/d?connect_timeout=1"
			refused(t, at, loci.Unavailable, "does not answer")
			refused(t, at+"&sslmode=disable", loci.Unavailable, "does not answer")
		})
	}
}

// A database whose tables are missing, older, newer or another program's is refused, and the
// error says what to do. So is a database in another encoding.
func TestDatabasesThatAreNotOurs(t *testing.T) {
	d := pgtest.Shared(t).NewDatabase(t)
	refused(t, d.Server, loci.Unsupported, "loci migrate")

	execute(t, d.Owner, "CREATE SCHEMA loci")
	execute(t, d.Owner, "CREATE TABLE loci.theirs (n int)")
	_, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: d.Role})
	if loci.AsError(err).Code != loci.Unsupported {
		t.Errorf("another program's schema was migrated: %v", err)
	}
	execute(t, d.Owner, "DROP SCHEMA loci CASCADE")

	report, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: d.Role, DryRun: true})
	if err != nil || report.From != 0 || report.To != postgres.Version || len(report.Steps) != postgres.Version {
		t.Errorf("a dry run says %+v, %v", report, err)
	}
	refused(t, d.Server, loci.Unsupported, "loci migrate") // nothing was made
	if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{}); err != nil {
		t.Fatal(err)
	}
	refused(t, d.Server, loci.Unsupported, "--role") // which has no rights yet
	for range 2 {                                    // the second time there is nothing to do
		if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: d.Role}); err != nil {
			t.Fatal(err)
		}
		openAt(t, d.Server)
	}
	// The next version, while servers are replaced one after the other.
	execute(t, d.Owner, fmt.Sprintf("UPDATE loci.setting SET value = '%d' WHERE name = 'schema'", postgres.Version+1))
	openAt(t, d.Server)
	_, err = postgres.Migrate(t.Context(), d.Owner, postgres.Migration{})
	if loci.AsError(err).Code != loci.Unsupported {
		t.Errorf("the next version was migrated: %v", err)
	}
	execute(t, d.Owner, fmt.Sprintf("UPDATE loci.setting SET value = '%d' WHERE name = 'schema_served_from'", postgres.Version+1))
	refused(t, d.Server, loci.Unsupported, "upgrade Loci")
	execute(t, d.Owner, "UPDATE loci.setting SET value = '999'")
	refused(t, d.Server, loci.Unsupported, "upgrade Loci")
	_, err = postgres.Migrate(t.Context(), d.Owner, postgres.Migration{})
	if loci.AsError(err).Code != loci.Unsupported {
		t.Errorf("a newer schema was migrated: %v", err)
	}
	execute(t, d.Owner, "UPDATE loci.setting SET value = 'x'")
	refused(t, d.Server, loci.Unsupported, "which schema it has")

	execute(
		t,
		pgtest.Shared(t).URL,
		"CREATE DATABASE "+d.Name+"_latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
	)
	t.Cleanup(func() { execute(t, pgtest.Shared(t).URL, "DROP DATABASE "+d.Name+"_latin") })
	refused(t, changed(t, d.Server, func(u *url.URL) { u.Path += "_latin" }), loci.Unsupported, "must be UTF8")
}

// A role that could turn the wall off is refused, and so is a wall that does not stand.
func TestRolesAndWallsThatAreRefused(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	refused(t, d.Super, loci.Unsupported, "superuser")
	refused(t, d.Owner, loci.Unsupported, "owns the tables")
	for _, role := range []string{"nobody_there", "loci_test_owner", "postgres", `x"; DROP`} {
		if _, err := postgres.Migrate(
			t.Context(),
			d.Owner,
			postgres.Migration{Role: role},
		); loci.AsError(err) == nil ||
			loci.AsError(err).Code != loci.Invalid {
			t.Errorf("role %q got rights: %v", role, err)
		}
	}
	execute(t, d.Owner, "ALTER TABLE loci.vector DISABLE ROW LEVEL SECURITY")
	refused(t, d.Server, loci.Unsupported, "[vector]")
	execute(t, d.Owner, "ALTER TABLE loci.vector ENABLE ROW LEVEL SECURITY")
	openAt(t, d.Server)

	execute(t, d.Owner, "ALTER POLICY wall ON loci.setting USING (true)")
	refused(t, d.Server, loci.Unsupported, "wall between tenants")
	execute(
		t,
		d.Owner,
		"ALTER POLICY wall ON loci.setting USING (tenant = decode(current_setting('loci.tenant', true), 'hex')) WITH CHECK (true)",
	)
	refused(t, d.Server, loci.Unsupported, "wall between tenants")
	execute(
		t,
		d.Owner,
		"ALTER POLICY wall ON loci.setting WITH CHECK (tenant = decode(current_setting('loci.tenant', true), 'hex'))",
	)
	openAt(t, d.Server)
	execute(t, d.Owner, "REVOKE INSERT ON loci.setting FROM "+d.Role)
	refused(t, d.Server, loci.Unsupported, "loci migrate")
	execute(t, d.Owner, "GRANT INSERT ON loci.setting TO "+d.Role)
}

// The wall stands by itself: a connection that names no tenant sees and writes nothing,
// whatever it asks for.
func TestWallHoldsWithoutOurStatements(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s := openAt(t, d.Server)
	locitest.Save(t, locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u"), "a note")
	for _, table := range postgres.Tables {
		for _, before := range []string{"", "00000000000000000000000000000001", "ffffffffffffffffffffffffffffffff"} {
			if before != "" && table == "tenant" && before[0] == 'f' {
				continue // upkeep needs the names of all tenants
			}
			var n []int64
			sql := "SELECT count(*) FROM loci." + table
			if before != "" {
				sql = "WITH me AS MATERIALIZED (SELECT set_config('loci.tenant', '" + before + "', false)) SELECT (SELECT count(*) FROM loci." + table + ") FROM me"
			}
			query(t, d.Server, sql, &n)
			if n[0] != 0 {
				t.Errorf("as %q, %d rows of %s are seen", before, n[0], table)
			}
		}
	}
}

// Two names with the same sixteen bytes are kept apart by the name beside them.
func TestNamesThatMeetAreRefused(t *testing.T) {
	s := open(t)
	first, second := locitest.Tenant(t, "first"), locitest.Tenant(t, "second")
	e := locitest.NewEngine(t, s, loci.Options{})
	locitest.Save(
		t,
		locitest.BindView(t, e, loci.View{Tenant: first, Namespace: loci.Namespace{"u"}, Actor: "tester"}),
		"a note",
	)
	postgres.TakePlace(s, second, first)
	if _, err := s.Count(
		t.Context(),
		second,
		loci.Filter{Within: []loci.Namespace{{}}},
	); loci.AsError(err) == nil ||
		loci.AsError(err).Code != loci.Unsupported {
		t.Errorf("a read in another one's place: %v", err)
	}
	c := loci.Change{Events: []loci.Event{{ID: loci.NewID(), Type: loci.EventCreated, Kind: loci.KindFact}}}
	if err := s.Apply(t.Context(), second, c); loci.AsError(err) == nil || loci.AsError(err).Code != loci.Unsupported {
		t.Errorf("a write in another one's place: %v", err)
	}
	if n, err := s.Count(t.Context(), first, loci.Filter{Within: []loci.Namespace{{}}}); err != nil || n.Records != 1 {
		t.Errorf("the first one counts %+v, %v", n, err)
	}
}
