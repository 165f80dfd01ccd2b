package loci_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestQuotaOfAnEngine: what is beyond it is refused with limit, use and remedy, whatever kind
// of memory it is; an erase makes room; another tenant is not bounded by it.
func TestQuotaOfAnEngine(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		quota := func(_ context.Context, tn loci.Tenant) (loci.Quota, error) {
			if tn.String() == "t" {
				return loci.Quota{Records: 2}, nil
			}
			return loci.Quota{}, nil
		}
		e := locitest.NewEngine(t, s, loci.Options{Features: locitest.Features(), Quota: quota})
		m := locitest.Bind(t, e, "user", "u")
		first := locitest.Save(t, m, "Likes tea.")
		locitest.PutItem(t, m, loci.Namespace{"user", "u", "n"}, "k", `{"a":1}`, nil)
		_, err := m.StoreFact(t.Context(), loci.NewFact{Content: "Likes milk."})
		var over *loci.QuotaError
		locitest.WantCode(t, err, loci.TooLarge)
		if !errors.As(err, &over) || over.Limit != 2 || over.Used != 2 || !strings.Contains(err.Error(), "holds 2 of its 2 records") ||
			!strings.Contains(loci.AsError(err).Advice(), "Erase what you no longer need") {
			t.Errorf("%v, %+v", err, over)
		}
		if err := m.Erase(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		locitest.Save(t, m, "Likes milk.")
		other := locitest.BindView(t, e, loci.View{
			Tenant: locitest.Tenant(t, "other"), Namespace: loci.Namespace{"user", "u"}, Actor: "u",
		})
		locitest.SaveMany(t, other, 5, func(i int) string { return strings.Repeat("tea ", i+1) })
	})
}

// TestQuotaThatCannotBeRead stops the write: it may be passed.
func TestQuotaThatCannotBeRead(t *testing.T) {
	quota := func(context.Context, loci.Tenant) (loci.Quota, error) {
		return loci.Quota{}, loci.Errorf(loci.Unavailable, "the store does not answer")
	}
	e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Quota: quota})
	_, err := locitest.Bind(t, e, "user", "u").StoreFact(t.Context(), loci.NewFact{Content: "Likes tea."})
	locitest.WantCode(t, err, loci.Unavailable)
}
