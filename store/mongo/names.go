package mongo

// The collections: one for what is one table in PostgreSQL.
const (
	cSetting   = "setting"
	cTenant    = "tenant"
	cLease     = "lease"
	cNamespace = "namespace"
	cRecord    = "record"
	cChange    = "change"
	cRevision  = "revision"
	cSpace     = "space"
	cVector    = "vector"
	cLink      = "link"
	cEvent     = "event"
	cReply     = "reply"
	cPiece     = "piece"   // of texts that no document holds whole
	cImage     = "image"   // of the search index of a shard
	cSegment   = "segment" // pieces of what images name
	cSpan      = "span"    // where the events of a type are in a block of the log
	cTally     = "tally"   // what there is of each kind and state in a namespace
)

// tenantCollections hold what belongs to a tenant, except its own document; the first ones
// are those without which nothing else is found.
var tenantCollections = []string{
	cImage, cSegment, cVector, cPiece, cRevision, cLink, cReply, cRecord, cEvent, cChange, cNamespace, cSpace,
	cTally, cSpan, cSetting,
}

// collections are all there are.
var collections = append([]string{cLease, cTenant}, tenantCollections...)

// written is the order in which a transaction writes.
var written = []string{
	cNamespace, cSpace, cRecord, cPiece, cRevision, cVector, cLink, cReply, cEvent, cChange, cTally, cSpan, cSetting,
}
