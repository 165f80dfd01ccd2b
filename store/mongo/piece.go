package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
)

// pieceBytes is how much of a text is in one document: MongoDB ends one at 16 MiB. The rest
// is in pieces of that size, told by the record and the version of a revision, 0 for the
// record itself.
const pieceBytes = 8 << 20

// cut adds to a document what it holds of a text.
func (f *fields) cut(text []byte) {
	f.set("text", bson.Binary{Data: text[:min(len(text), pieceBytes)]})
	if len(text) > pieceBytes {
		f.set("pieces", true)
	}
}

// pieces stages what a document does not hold of a text.
func (x *tx) pieces(record loci.ID, version int64, text []byte) {
	for n := int64(1); len(text) > pieceBytes; n++ {
		text = text[pieceBytes:]
		x.insert(cPiece, x.document(keyed(x.t.key, record[:], number(version), number(n)),
			bson.E{Key: "record", Value: idOf(record)}, bson.E{Key: "version", Value: version},
			bson.E{Key: "data", Value: bson.Binary{Data: text[:min(len(text), pieceBytes)]}}))
	}
}

// rest reads what a document does not hold of a text.
func (x *trans) rest(ctx context.Context, t *tenant, record loci.ID, version int64) (rest []byte, err error) {
	filter := t.about(bson.E{Key: "record", Value: idOf(record)}, bson.E{Key: "version", Value: version})
	err = x.find(ctx, cPiece, filter, func(d *doc) error {
		rest = append(rest, d.bytes("data")...)
		return nil
	}, options.Find().SetSort(is(fID, 1)))
	return rest, err
}

// complete adds to records of a list what their documents do not hold of their texts.
func (r *reading) complete(records []loci.Record, cut []int) error {
	for _, i := range cut {
		rest, err := r.x.rest(r.ctx, r.t, records[i].ID, 0)
		if err != nil {
			return err
		}
		records[i].Text += string(rest)
	}
	return nil
}
