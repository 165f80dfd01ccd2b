package caller

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// An Elevation is what somebody of one tenant does in another.
type Elevation struct {
	From, To  string            // the tenants
	Vars      map[string]string // for whom it is
	Until     time.Time         // when the credential may do so no more; zero: no end
	Operation string
}

// Told is what audit logs say of it. They outlive the memory of a person, so that whoever it is
// for is a digest: see [Digest].
func (e Elevation) Told() map[string]any {
	told := map[string]any{"from": e.From, "to": e.To, "operation": e.Operation}
	if !e.Until.IsZero() {
		told["until"] = e.Until.UTC().Format(time.RFC3339)
	}
	whom := map[string]string{}
	for _, name := range []string{User, Org, Agent} {
		if e.Vars[name] != "" {
			whom[name] = Digest(e.To, e.Vars[name])
		}
	}
	if len(whom) > 0 {
		told["for"] = whom
	}
	return told
}

// Digest stands for a user, an organisation or an agent of a tenant: 32 digits of SHA-256.
// Whoever knows both names can make it.
func Digest(tenant, name string) string {
	sum := sha256.Sum256([]byte(tenant + "\n" + name))
	return hex.EncodeToString(sum[:16])
}

// Over says that the time of an elevation is over.
func Over(until time.Time) string {
	return fmt.Sprintf("the time in which this credential may act in other tenants ended at %s",
		until.UTC().Format(time.RFC3339))
}
