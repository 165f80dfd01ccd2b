package sqlite

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/loci-memory/loci"
)

// What a range leaves out is nothing that a condition selects, and of plain numbers and texts it leaves out all the rest.
func TestRangesLeaveOutNothingThatIsSelected(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	value := func() string {
		return pick(`5`, `-1`, `0.5`, `1e3`, `12`, `"5"`, `"abc"`, `"b"`, `"12"`, `null`, `true`, `{"n":7}`, `[7]`, `"a\u0062"`, `" \"n\" "`, `""`,
			fmt.Sprint(random.IntN(20)), fmt.Sprint(random.Float64()*20))
	}
	member := func() string {
		return pick(`"n"`, `"n" `, `"m"`, `"\u006e"`, `"content"`, `"nn"`) + ":" + pick("", " ", "\n") + value()
	}
	selected, left := 0, 0
	for range 60_000 {
		attributes := "{" + member()
		for range random.IntN(3) {
			attributes += "," + pick("", " ") + member()
		}
		attributes += pick("", " ") + "}"
		operator := pick("$gt", "$gte", "$lt", "$lte")
		var bound any
		if err := json.Unmarshal([]byte(pick(`5`, `12`, `0.5`, `"abc"`, `"b"`, `"5"`, fmt.Sprint(random.IntN(20)))), &bound); err != nil {
			t.Fatal(err)
		}
		where, err := loci.ParseWhere(map[string]any{"n": map[string]any{operator: bound}})
		if err != nil {
			t.Fatal(err)
		}
		matches := where.Match(&loci.Record{Attributes: json.RawMessage(attributes)})
		may := true
		f := loci.Filter{Where: where}
		for _, r := range f.Trace().Ranges {
			number, isNumber := r.Value.(float64)
			text, _ := r.Value.(string)
			may = may && mayRange([]byte(attributes), []byte(`"`+r.Key+`"`), r.Least, isNumber, number, []byte(text))
		}
		if matches && !may {
			t.Fatalf("%s %v selects %s, which is left out", operator, bound, attributes)
		}
		if matches {
			selected++
		}
		if !may {
			left++
		}
	}
	if selected < 5000 || left < 10_000 {
		t.Errorf("%d are selected, and %d left out before", selected, left)
	}
}
