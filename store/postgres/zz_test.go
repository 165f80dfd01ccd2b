package postgres_test
import ("testing";"github.com/loci-memory/loci/internal/locitest";"github.com/loci-memory/loci")
func TestZZ(t *testing.T){
	d, giveBack := database(t)
	defer giveBack()
	tn := locitest.Tenant(t, "kept")
	s := openAt(t, d.Server)
	for i:=0;i<3;i++ { if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil { t.Fatal(err) } }
	var found []string
	query(t, d.Super, "SELECT encode(tally,'hex') || ' ' || seq FROM loci.tenant", &found)
	t.Log(found)
	f,err:=s.Check(t.Context(), tn); t.Log(f,err)
	found=nil
	query(t, d.Super, "SELECT t::text FROM loci.tally t", &found)
	t.Log(found)
}
