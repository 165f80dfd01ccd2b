package mongo

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci"
)

// examine makes sure, when a store is opened, that the database may be used.
func (s *Store) examine(ctx context.Context) error {
	if err := s.checkServer(ctx); err != nil {
		return err
	}
	version, err := s.version(ctx)
	if err != nil {
		return err
	}
	if version < len(steps) {
		return &loci.Error{
			Code:     loci.Unsupported,
			Err:      errors.New(s.db.Name()),
			Msg:      "the database does not have the collections of this build",
			Recovery: "Run loci migrate with the same URL.",
		}
	}
	return s.tryTransactions(ctx)
}

// checkServer refuses a server that cannot hold memories.
func (s *Store) checkServer(ctx context.Context) error {
	admin := s.client.Database("admin")
	raw, err := admin.RunCommand(ctx, is("hello", 1)).Raw()
	if err != nil {
		return err
	}
	hello := doc{raw: raw}
	if !hello.has("setName") && hello.text("msg") != "isdbgrid" {
		return &loci.Error{
			Code:     loci.Unsupported,
			Msg:      "the database server stands alone, and has no transactions",
			Recovery: `Make it a replica set of one: start mongod with --replSet rs0, run rs.initiate() in mongosh, and add ?replicaSet=rs0 to the URL.`,
		}
	}
	if raw, err = admin.RunCommand(ctx, is("buildInfo", 1)).Raw(); err != nil {
		return err
	}
	info := doc{raw: raw}
	var major int64
	if v, err := info.raw.LookupErr("versionArray", "0"); err == nil {
		major, _ = v.AsInt64OK()
	}
	if major < oldestServer {
		return loci.Errorf(loci.Unsupported,
			"the database server is MongoDB %s; %d.0 or newer is needed: upgrade it", info.text("version"), oldestServer)
	}
	return s.checkFeatures(ctx, admin)
}

// checkFeatures refuses a server that was upgraded and still behaves as an old one. Not every
// user may ask: then the trial transaction is what there is.
func (s *Store) checkFeatures(ctx context.Context, admin *mongo.Database) error {
	raw, err := admin.RunCommand(
		ctx, bson.D{{Key: "getParameter", Value: 1}, {Key: "featureCompatibilityVersion", Value: 1}}).Raw()
	if err != nil {
		var server mongo.ServerError
		if errors.As(err, &server) && !isLost(err) {
			return nil
		}
		return err
	}
	text, ok := raw.Lookup("featureCompatibilityVersion", "version").StringValueOK()
	if !ok {
		return nil
	}
	return checkFeatureVersion(text)
}

// checkFeatureVersion refuses a version such as "6.0".
func checkFeatureVersion(text string) error {
	major := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		major = 10*major + int(c-'0')
	}
	if major >= oldestServer {
		return nil
	}
	return &loci.Error{
		Code:     loci.Unsupported,
		Msg:      "the database server still behaves as MongoDB " + text,
		Recovery: `Run db.adminCommand({setFeatureCompatibilityVersion: "7.0", confirm: true}) in mongosh, or that of a newer version.`,
	}
}

// tryTransactions makes a transaction that commits and one that is taken back, on a document
// of no tenant, which goes again.
func (s *Store) tryTransactions(ctx context.Context) (err error) {
	key := make([]byte, tenantBytes)
	_, _ = rand.Read(key) // never fails
	id := keyed(system.key, []byte("trial"), key)
	settings := s.db.Collection(cSetting)
	write := func(end func(*trans) error) error {
		x, err := s.begin()
		if err != nil {
			return err
		}
		defer x.end(ctx)
		if _, err := settings.InsertOne(x.in(ctx), bson.D{
			{Key: fID, Value: id}, {Key: fTenant, Value: binaryOf(system.key)}, {Key: "value", Value: binaryOf(key)},
		}); err != nil {
			return err
		}
		return end(x)
	}
	seen := func() (bool, error) {
		raw, err := settings.FindOne(ctx, bson.D{{Key: fID, Value: id}}).Raw()
		if errors.Is(err, mongo.ErrNoDocuments) {
			return false, nil
		}
		d := doc{raw: raw}
		return err == nil && bytes.Equal(d.bytes("value"), key), err
	}
	if err := write(func(x *trans) error {
		x.open = false
		return x.session.AbortTransaction(ctx)
	}); err != nil {
		return err
	}
	if stayed, err := seen(); err != nil || stayed {
		return errors.Join(err, brokenTransactions(stayed))
	}
	if err := write(func(x *trans) error { return x.commit(ctx) }); err != nil {
		return err
	}
	came, err := seen()
	if err == nil && !came {
		err = brokenTransactions(true)
	}
	_, gone := settings.DeleteOne(ctx, bson.D{{Key: fID, Value: id}})
	return errors.Join(err, gone)
}

// brokenTransactions refuses a server on which a trial left what it should not.
func brokenTransactions(broken bool) error {
	if !broken {
		return nil
	}
	return loci.Errorf(loci.Unsupported,
		"the database server takes transactions and does not keep to them: what was taken back stayed, or what was committed is not there; use MongoDB %d.0 or newer", oldestServer)
}
