package postgres

// What a write reads under the tenant's lock, each row by a key of its own.
var (
	lookHeld = newLook("id, version, namespace, kind, slot_hash, passage_count, "+textSize+", "+dataSize+
		", live, status, octet_length(text)::bigint, "+spacesOf, "record", "id")

	lookSlots   = newLook("slot_hash, id", "record", "slot_hash")
	lookReplies = newLook("key_hash, expires_at", "reply", "key_hash")
	lookPlaces  = newLook("n, mark, key_head, key_tail, kinds", "namespace", "mark")
)

// A look reads the rows of a tenant whose column is one of some values; an index has the column
// behind the tenant.
//
// "column = ANY($2)" would say the same, and leaves the database the choice of an index. A plan for
// all arguments goes by what tenants have on average: where most are small it reads all rows of a
// tenant and compares them, also where the tenant is large. So does a plan that was made while there
// were few rows, until somebody counts them again. In a look the next row in order is asked for,
// and one index alone has that.
type look struct{ one, many string }

func newLook(columns, table, column string) look {
	next := func(value string) string {
		return "(SELECT " + columns + " FROM loci." + table + " WHERE tenant = $1 AND " + column + " >= " + value +
			" ORDER BY " + column + " LIMIT 1) r WHERE r." + column + " = " + value
	}
	return look{
		one: "SELECT r.* FROM " + next("$2"),
		// The list is a query, so that how long it is does not speak for a plan of its own each time.
		many: "SELECT r.* FROM unnest((SELECT $2::bytea[])) k (v) CROSS JOIN LATERAL " + next("k.v"),
	}
}

// stmt is the statement for some values, of which there is one at least.
func (l look) stmt(tenant []byte, values [][]byte, take func(row) error) stmt {
	if len(values) == 1 {
		return stmt{sql: l.one, args: []any{tenant, values[0]}, row: take}
	}
	return stmt{sql: l.many, args: []any{tenant, values}, row: take}
}
