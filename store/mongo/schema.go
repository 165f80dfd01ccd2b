package mongo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/patience"
)

// system is the tenant of what is true for all of them.
var system = &tenant{key: make([]byte, tenantBytes)}

// An index is one of a collection. Every one begins with the tenant, except for the two of
// tenants, which are about all of them.
type indexOf struct {
	collection, name string
	keys             bson.D
	unique           bool
	only             bson.D // documents that are in it; nil: all
}

// A step brings the schema from the version before to its own. A released one never changes.
type step struct {
	name        string
	collections []string
	indexes     []indexOf
}

// up are the keys of an index, in order; a name that begins with - falls.
func up(names ...string) (keys bson.D) {
	for _, name := range names {
		order := 1
		if name[0] == '-' {
			name, order = name[1:], -1
		}
		keys = append(keys, bson.E{Key: name, Value: order})
	}
	return keys
}

func there(name string) bson.D { return bson.D{{Key: name, Value: is("$exists", true)}} }

// steps are those of the schema, oldest first; step n brings it to version n.
var steps = []step{{
	name: "0001_core",
	collections: []string{
		cLease, cTenant, cVector, cPiece, cRevision, cLink, cReply, cRecord, cEvent, cChange, cNamespace, cSpace,
		cSetting,
	},
	indexes: []indexOf{
		{cTenant, "name", up("name"), false, there("name")},
		{cTenant, "due", up("due_at", "name"), false, there("due_at")},
		{cNamespace, "mark", up("t", "mark"), true, nil},
		{cNamespace, "key", up("t", "key"), false, there("key")},
		{cNamespace, "changed", up("t", "changed"), false, nil},
		{cRecord, "slot_hash", up("t", "slot_hash"), true, there("slot_hash")},
		{cRecord, "slot", up("t", "namespace", "kind", "slot", "_id"), false, there("slot")},
		{cRecord, "place", up("t", "namespace", "-created_at", "_id"), false, nil},
		{cRecord, "expiry", up("t", "expires_at"), false, there("expires_at")},
		{cRecord, "due", up("t", "due_at"), false, there("due_at")},
		{cRevision, "record", up("t", "record", "-version"), false, nil},
		{cPiece, "record", up("t", "record", "version"), false, nil},
		{cSpace, "number", up("t", "n"), true, nil},
		{cVector, "record", up("t", "record"), false, nil},
		{cVector, "space", up("t", "space"), false, nil},
		{cLink, "from", up("t", "from_id"), false, nil},
		{cLink, "to", up("t", "to_id"), false, nil},
		{cEvent, "seq", up("t", "seq"), true, nil},
		{cEvent, "entity", up("t", "entity"), false, nil},
		{cReply, "record", up("t", "record"), false, nil},
		{cReply, "expiry", up("t", "expires_at"), false, nil},
		{cChange, "id", up("t", "_id"), false, nil},
		{cSetting, "id", up("t", "_id"), false, nil},
	},
}, {
	// Derived, and read by no server of the version before. It removes them with nothing, so whole
	// tenants are to be erased when all servers are of this version.
	name:        "0002_images",
	collections: []string{cImage, cSegment},
	indexes: []indexOf{
		{cImage, "id", up("t", "_id"), false, nil},
		{cImage, "segments", up("t", "segments"), false, nil},
		{cSegment, "segment", up("t", "segment", "made_at"), false, nil},
	},
}, {
	// A shard is read in parts, in the order of its ids.
	name:    "0003_shard_order",
	indexes: []indexOf{{cRecord, "shard", up("t", "namespace", "kind", "_id"), false, searchable}},
}, {
	// A list of some kinds is in its order, and a count of a kind costs what there is of it: the server
	// merges as many ranges as a filter names namespaces and kinds.
	name:    "0004_lane_order",
	indexes: []indexOf{{cRecord, "lane", up("t", "namespace", "kind", "-created_at", "_id"), false, nil}},
}, {
	// What a tenant has is kept counted. A server of the version before raises the tenant's counter
	// alone, so that all of it is counted again.
	name:        "0005_tally",
	collections: []string{cTally},
	indexes:     []indexOf{{cTally, "namespace", up("t", "namespace"), false, nil}},
}, {
	// Where the events of each type are in each block of the log. A server of the version before describes no
	// block, and the next ones do it for it.
	name:        "0006_event_span",
	collections: []string{cSpan},
	indexes:     []indexOf{{cSpan, "type", up("t", "type", "block"), false, nil}},
}, {
	// A list over more namespaces than the server merges is in the order of the first, those of a kind by
	// themselves. What is no longer live is mostly little, and is found without all that is.
	name: "0007_time_order",
	indexes: []indexOf{
		{cRecord, "time", up("t", "kind", "-created_at", "_id"), false, nil},
		{cRecord, "gone", up("t", "namespace", "kind", "-created_at", "_id"), false, is("live", false)},
	},
}}

const (
	// versionName is the setting that holds the schema's version.
	versionName = "schema"

	// oldestServer is the first version of MongoDB that is supported.
	oldestServer = 7

	// migrationTime is how long a step is left to a process that has gone.
	migrationTime = 5 * time.Minute
)

// A MigrationReport says what was done, or would be.
type MigrationReport struct {
	From  int // the schema's version before; 0: there was none
	To    int
	Steps []string // in order
}

// Migrate brings the schema of a database to this build's version. Whoever migrates at the
// same time waits. DryRun only says what would be done.
func Migrate(ctx context.Context, url string, dryRun bool) (report MigrationReport, err error) {
	s := &Store{owner: make([]byte, 16)}
	_, _ = rand.Read(s.owner) // never fails
	if err := s.connect(url); err != nil {
		return report, err
	}
	defer func() {
		err = errors.Join(translate("migrate", err), s.client.Disconnect(context.WithoutCancel(ctx)))
	}()
	if err := s.checkServer(ctx); err != nil {
		return report, err
	}
	report = MigrationReport{To: len(steps), Steps: []string{}}
	if report.From, err = s.version(ctx); err != nil {
		return report, err
	}
	for _, step := range steps[report.From:] {
		report.Steps = append(report.Steps, step.name)
	}
	if dryRun {
		return report, nil
	}
	for {
		done, err := s.migrateStep(ctx)
		if err == nil && done {
			err = s.countTenants(ctx)
		}
		if err != nil || done {
			return report, err
		}
	}
}

// migrateStep makes one step under a lease, or says that there is none left.
func (s *Store) migrateStep(ctx context.Context) (done bool, err error) {
	about := []byte("migration")
	for {
		taken, err := s.take(ctx, about, migrationTime)
		if err != nil {
			return false, err
		}
		if taken {
			break
		}
		if err := patience.Sleep(ctx, 100*time.Millisecond); err != nil {
			return false, err
		}
	}
	defer func() { err = errors.Join(err, s.giveBack(context.WithoutCancel(ctx), about)) }()
	version, err := s.version(ctx)
	if err != nil || version == len(steps) {
		return true, err
	}
	next := &steps[version]
	for _, name := range next.collections {
		err := s.db.CreateCollection(ctx, name)
		if err != nil && !hasCode(err, codeExists) {
			return false, fmt.Errorf("migration %s: %w", next.name, err)
		}
	}
	for _, x := range next.indexes {
		opts := options.Index().SetName(x.name)
		if x.unique {
			opts.SetUnique(true)
		}
		if x.only != nil {
			opts.SetPartialFilterExpression(x.only)
		}
		model := mongo.IndexModel{Keys: x.keys, Options: opts}
		if _, err := s.db.Collection(x.collection).Indexes().CreateOne(ctx, model); err != nil {
			return false, fmt.Errorf("migration %s: %w", next.name, err)
		}
	}
	_, err = s.db.Collection(cSetting).UpdateOne(ctx, s.setting(versionName),
		is("$set", bson.D{{Key: fTenant, Value: binaryOf(system.key)}, {Key: "value", Value: int64(version + 1)}}),
		options.UpdateOne().SetUpsert(true))
	return false, err
}

// setting is the filter of a setting that is true for all tenants.
func (s *Store) setting(name string) bson.D {
	return bson.D{{Key: fID, Value: keyed(system.key, []byte(name))}}
}

// version returns the schema's version, 0 for none, and refuses what is not ours or newer
// than this build.
func (s *Store) version(ctx context.Context) (version int, err error) {
	raw, err := s.db.Collection(cSetting).FindOne(ctx, s.setting(versionName)).Raw()
	if err == nil {
		d := doc{raw: raw}
		version = int(d.int("value"))
		switch {
		case d.err != nil || version < 1:
			return 0, loci.Errorf(
				loci.Unsupported, "the database does not say which schema it has: restore it from a backup")
		case version > len(steps):
			return 0, loci.Errorf(loci.Unsupported,
				"the database has schema version %d and this build knows up to %d: upgrade Loci", version, len(steps))
		}
		return version, nil
	}
	if !errors.Is(err, mongo.ErrNoDocuments) {
		return 0, err
	}
	names, err := s.db.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if name != cLease && !strings.HasPrefix(name, "system.") {
			return 0, s.notOurs(ctx)
		}
	}
	return 0, nil
}

// notOurs refuses collections without a version, unless somebody is making them right now.
func (s *Store) notOurs(ctx context.Context) error {
	n, err := s.db.Collection(cLease).CountDocuments(ctx, bson.D{{Key: fID, Value: keyed(system.key, []byte("migration"))}})
	if err != nil || n > 0 {
		return err
	}
	return loci.Errorf(loci.Unsupported,
		"the database %s has collections of another program: use a database of its own, such as mongodb://host/loci_memory", s.db.Name())
}
