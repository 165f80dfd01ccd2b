package index

import (
	"slices"

	"github.com/loci-memory/loci"
)

// addTexts adds what hits say, of those that the probe wants to read. Of a record that changed since it was indexed
// that is nothing.
func (s *search) addTexts(p *loci.Probe, hits []loci.Hit, at []place) error {
	wanted, together := []int(nil), mostLoaded
	if p.Wanted == nil {
		for i := range hits {
			wanted = append(wanted, i)
		}
	} else if wanted = p.Wanted(hits); p.MostText > 0 {
		together = fewLoaded
	}
	read := 0 // bytes
	for some := range slices.Chunk(wanted, together) {
		if err := s.readTexts(hits, at, some); err != nil {
			return err
		}
		for _, i := range some {
			if p.MostText > 0 && read >= p.MostText {
				hits[i].Text, hits[i].Heading = "", ""
			}
			read += len(hits[i].Text)
		}
		if p.MostText > 0 && read >= p.MostText {
			break
		}
	}
	return nil
}

// readTexts reads what some hits say.
func (s *search) readTexts(hits []loci.Hit, at []place, some []int) error {
	lacking := map[loci.ID]*loci.Hit{}
	var ids []loci.ID
	for _, i := range some {
		h, at := &hits[i], at[i]
		text, heading, ok := s.parts[at.part].textOf(at.entry)
		if h.Text, h.Heading = text, heading; !ok {
			lacking[h.ID] = h
			ids = append(ids, h.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	records, err := s.load(ids)
	for i := range records {
		if h := lacking[records[i].ID]; records[i].Version == h.Version {
			h.Text, h.Heading = records[i].Text, records[i].Heading
		}
	}
	return err
}

// mostLoaded is how many records a [Loader] is asked for at once: a thousand matches have tens of thousands of
// neighbours, and databases take so many parameters at most.
const mostLoaded = 1000

// fewLoaded is the same where bytes have a bound: no more is read beyond it than so many.
const fewLoaded = 100
