package mongo_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/store/mongo"
)

// refused requires that a database is refused with a sentence, and without its password.
func refused(t *testing.T, what, at string, code loci.Code, want ...string) {
	t.Helper()
	s, err := mongo.Open(t.Context(), at, nil)
	if err == nil {
		t.Errorf("%s: it is opened", what)
		_ = s.Close() // it should not be there
		return
	}
	e := loci.AsError(err)
	said := e.Error() + " " + e.Advice()
	for _, part := range want {
		if !strings.Contains(said, part) {
			t.Errorf("%s: %s; want %q (%v)", what, said, part, e.Err)
		}
	}
	if e.Code != code || strings.Contains(said, "secret") {
		t.Errorf("%s: %v %s", what, e.Code, said)
	}
}

// with is a URL with a user and further options.
func with(at, user, options string) string {
	at = strings.Replace(at, "mongodb://", "mongodb://"+user, 1)
	return at + options
}

// TestUsersThatAreRefused: a wrong password, no user, and one that may only read are refused,
// with the command that mends it.
func TestUsersThatAreRefused(t *testing.T) {
	server, at := own(t)
	if _, err := mongo.Migrate(t.Context(), at, false); err != nil {
		t.Fatal(err)
	}
	for name, role := range map[string]string{"ada": "readWrite", "bob": "read"} {
		if err := server.Command(bson.D{
			{Key: "createUser", Value: name}, {Key: "pwd", Value: "secret"},
			{Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: role}, {Key: "db", Value: "loci_test"}}}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Restart(t.Context(), "--auth"); err != nil {
		t.Fatal(err)
	}
	const source = "&authSource=admin"
	refused(t, "a wrong password", with(at, "ada:secrets@", source), loci.Unsupported, "user or its password", "authSource")
	refused(t, "an unknown user", with(at, "eve:secret@", source), loci.Unsupported, "user or its password")
	refused(t, "no user", at, loci.Unsupported, "may not use the database")
	refused(t, "a user that may only read", with(at, "bob:secret@", source), loci.Unsupported, "db.grantRolesToUser", "readWrite")
	begun(t, openAt(t, with(at, "ada:secret@", source)), "a")
}

// certificate writes a certificate for this machine, signed by itself, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	signed, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"cert": {Type: "CERTIFICATE", Bytes: signed}, "key": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "cert"), filepath.Join(dir, "key")
}

// TestTLS: a server that asks for it is used with it, and faults say what to look at.
func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	server, err := mongotest.Start(t.Context(), mongotest.Options{
		Own: true, Args: []string{"--tls-cert-file", cert, "--tls-key-file", key}, Query: "tls=true&tlsCAFile=" + cert,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	at := server.At("loci_test") + "&serverSelectionTimeoutMS=1500"
	if _, err := mongo.Migrate(t.Context(), at, false); err != nil {
		t.Fatal(err)
	}
	begun(t, openAt(t, at), "a")
	refused(t, "a certificate that nobody knows", strings.Replace(at, "&tlsCAFile="+cert, "", 1), loci.Unsupported, "TLS", "tlsCAFile")
	refused(t, "a host that it does not name", strings.Replace(at, "127.0.0.1", "localhost", 1), loci.Unsupported, "TLS", "name the host")
	refused(t, "no TLS", strings.Replace(at, "&tls=true&tlsCAFile="+cert, "", 1), loci.Unavailable, "does not answer", "tls=true")
	plain := mongotest.Shared(t).At("loci_test") + "&tls=true&serverSelectionTimeoutMS=1500"
	refused(t, "a server without it", plain, loci.Unavailable, "does not answer", "tls=true")
}

// TestOldServersAreRefused: an old one, and one that still behaves as such.
func TestOldServersAreRefused(t *testing.T) {
	server, at := own(t)
	if _, err := mongo.Migrate(t.Context(), at, false); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ from, to, want string }{
		"an old server":          {"\x100\x00\x08\x00\x00\x00", "\x100\x00\x06\x00\x00\x00", "7.0 or newer is needed: upgrade it"},
		"one that behaves as it": {"\x04\x00\x00\x008.2\x00", "\x04\x00\x00\x006.0\x00", "setFeatureCompatibilityVersion"},
	} {
		p := newProxy(t, server.Address())
		p.rewrite = func(m []byte) []byte { return bytes.ReplaceAll(m, []byte(c.from), []byte(c.to)) }
		refused(t, what, p.url(server, at), loci.Unsupported, c.want)
	}
}

// TestChangesThatNoDocumentHolds: what would take more than 16 MiB in one document is refused
// before anything is written, with the limit; what does not is kept.
func TestChangesThatNoDocumentHolds(t *testing.T) {
	s := open(t)
	tn := begun(t, s, "large")
	long := json.RawMessage(`{"x":"` + strings.Repeat("x", 15<<20) + `"}`)
	rows := make([][]float32, 11_000)
	spans := make([]loci.Span, len(rows))
	for i := range rows {
		rows[i], spans[i] = make([]float32, 1536), loci.Span{Start: 0, End: 6}
	}
	for what, change := range map[string]func(*loci.Change){
		"a body":     func(c *loci.Change) { c.Put[0].Record.Body = long },
		"attributes": func(c *loci.Change) { c.Put[0].Record.Attributes = long },
		"an event":   func(c *loci.Change) { c.Events[0].Payload, c.Events[0].Nonce = long, []byte("0123456789abcdef") },
		"a reply":    func(c *loci.Change) { c.Reply = replyTo(c, long) },
		"vectors": func(c *loci.Change) {
			c.Put[0].Record.Passages = spans
			c.Put[0].Vectors = []loci.Vectors{{Space: loci.Space{Model: "wide", Dims: 1536}, Rows: rows}}
		},
	} {
		c := noted(loci.NewID())
		change(&c)
		err := s.Apply(t.Context(), tn, c)
		if e := loci.AsError(err); e == nil || e.Code != loci.Invalid || !strings.Contains(e.Error(), "limit of a document in MongoDB is 15728640") {
			t.Errorf("%s: %v", what, err)
		}
	}
	holds(t, s, tn, 1)
	c := noted(loci.NewID())
	c.Put[0].Record.Text = "walrus" + strings.Repeat("\x00x", 9<<20)
	c.Put[0].Record.Body = json.RawMessage(`{"x":"` + strings.Repeat("x", 6<<20) + `"}`)
	if err := s.Apply(t.Context(), tn, c); err != nil {
		t.Fatal(err)
	}
	found, _, err := s.Records(t.Context(), tn, loci.Filter{
		Within: []loci.Namespace{{}}, IDs: []loci.ID{c.Put[0].Record.ID},
	}, loci.Page{Limit: 1})
	if err != nil || len(found) != 1 || found[0].Text != c.Put[0].Record.Text {
		t.Errorf("a text of 18 MiB with zero bytes: %d records, %v", len(found), err)
	}
}

func replyTo(c *loci.Change, value json.RawMessage) *loci.Reply {
	at := c.Put[0].Record.CreatedAt
	return &loci.Reply{
		Key: "k", Fingerprint: "f", Value: value, Record: c.Put[0].Record.ID, At: at, ExpiresAt: at.Add(time.Hour),
	}
}

// TestIDsOfOtherTenants: the id of another tenant's record is none, whatever is asked.
func TestIDsOfOtherTenants(t *testing.T) {
	s := open(t)
	mine, other := begun(t, s, "mine"), begun(t, s, "other")
	theirs, _, err := s.Records(t.Context(), other, loci.Filter{Within: []loci.Namespace{{}}}, loci.Page{Limit: 1})
	if err != nil || len(theirs) != 1 {
		t.Fatalf("%v, %v", theirs, err)
	}
	id, ctx := theirs[0].ID, context.Background()
	only := loci.Filter{Within: []loci.Namespace{{}}, IDs: []loci.ID{id}}
	if found, _, err := s.Records(ctx, mine, only, loci.Page{}); err != nil || len(found) > 0 {
		t.Errorf("read: %v, %v", found, err)
	}
	if hits, err := s.Match(ctx, mine, loci.Probe{Text: "walrus"}, only, 5); err != nil || len(hits) > 0 {
		t.Errorf("found: %v, %v", hits, err)
	}
	uses := []loci.Touch{{ID: id, At: time.Now()}, {ID: id, ExpiresAt: time.UnixMilli(1)}}
	if err := s.Touch(ctx, mine, uses); err != nil {
		t.Errorf("used: %v", err)
	}
	erase := loci.Change{Erase: []loci.Erase{{ID: id, Version: 1}}, Events: noted(id).Events}
	erase.Events[0].Type = loci.EventErased
	if err := s.Apply(ctx, mine, erase); loci.AsError(err) == nil || loci.AsError(err).Code != loci.Conflict {
		t.Errorf("erased: %v", err)
	}
	again, _, err := s.Records(ctx, other, only, loci.Page{})
	if err != nil || len(again) != 1 || again[0].Uses != 0 || !again[0].ExpiresAt.IsZero() {
		t.Errorf("the other tenant's is %+v, %v", again, err)
	}
}
