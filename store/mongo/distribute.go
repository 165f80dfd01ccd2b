package mongo

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci"
)

// distributed are the collections that grow with the tenants. Leases and settings stay in one
// place: they are few, and some are of no tenant.
var distributed = []string{
	cTenant, cNamespace, cRecord, cPiece, cRevision, cSpace, cVector, cLink, cReply, cEvent, cChange, cImage,
	cSegment,
}

// A Distribution says how collections are spread over shards.
type Distribution struct {
	Commands []string // as mongosh takes them, in order
	Made     bool     // they were run; else this is no sharded cluster, or a dry run
}

// Distribute spreads the collections over the shards of a cluster by their tenant, whose key
// is a hash: each tenant stays whole. On anything else it only says how.
func Distribute(ctx context.Context, url string, dryRun bool) (out Distribution, err error) {
	s := &Store{}
	if err := s.connect(url); err != nil {
		return out, err
	}
	defer func() {
		err = errors.Join(translate("distribute", err), s.client.Disconnect(context.WithoutCancel(ctx)))
	}()
	if err := s.checkServer(ctx); err != nil {
		return out, err
	}
	if version, err := s.version(ctx); err != nil || version < len(steps) {
		return out, errors.Join(err, notMigrated(err == nil, s.db.Name()))
	}
	out.Commands = append(out.Commands, fmt.Sprintf("sh.enableSharding(%q)", s.db.Name()),
		fmt.Sprintf("db.getSiblingDB(%q).tenant.createIndex({t: 1})", s.db.Name()))
	for _, name := range distributed {
		out.Commands = append(out.Commands, fmt.Sprintf("sh.shardCollection(%q, {t: 1})", s.db.Name()+"."+name))
	}
	raw, err := s.client.Database("admin").RunCommand(ctx, is("hello", 1)).Raw()
	if err != nil || dryRun {
		return out, err
	}
	if hello := (doc{raw: raw}); hello.text("msg") != "isdbgrid" {
		return out, nil
	}
	return out, s.distribute(ctx, &out)
}

// distribute runs the commands: what was done before is harmless.
func (s *Store) distribute(ctx context.Context, out *Distribution) error {
	admin := s.client.Database("admin")
	if err := admin.RunCommand(ctx, is("enableSharding", s.db.Name())).Err(); err != nil {
		return err
	}
	byTenant := bson.D{{Key: fTenant, Value: 1}}
	if _, err := s.db.Collection(cTenant).Indexes().CreateOne(ctx, mongo.IndexModel{Keys: byTenant}); err != nil {
		return err
	}
	for _, name := range distributed {
		if err := admin.RunCommand(ctx, bson.D{
			{Key: "shardCollection", Value: s.db.Name() + "." + name}, {Key: "key", Value: byTenant},
		}).Err(); err != nil {
			return fmt.Errorf("sharding %s: %w", name, err)
		}
	}
	out.Made = true
	return nil
}

// notMigrated refuses a database without the collections of this build.
func notMigrated(lacking bool, name string) error {
	if !lacking {
		return nil
	}
	return &loci.Error{
		Code:     loci.Unsupported,
		Err:      errors.New(name),
		Msg:      "the database does not have the collections of this build",
		Recovery: "Run loci migrate with the same URL.",
	}
}
