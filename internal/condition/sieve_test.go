package condition

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/jsonform"
)

// What is denied by the bytes of attributes is nothing that the conditions select, and of plain numbers and texts it is
// all the rest.
func TestSievesDenyNothingThatIsSelected(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	value := func() string {
		return pick(`5`, `-1`, `0.5`, `1e3`, `12`, `5.0`, `0`, `-0`, `"5"`, `"abc"`, `"b"`, `"12"`, `null`, `true`, `{"n":7}`, `[7]`,
			`"a\u0062"`, `" \"n\" "`, `""`, fmt.Sprint(random.IntN(20)), fmt.Sprint(random.Float64()*20))
	}
	member := func() string {
		return pick(`"n"`, `"n"`, `"n" `, `"m"`, `"\u006e"`, `"content"`, `"nn"`) + ":" + pick("", " ", "\n") + value()
	}
	wanted := func() string {
		return pick(`5`, `12`, `1000`, `0`, `-1`, `0.5`, `"abc"`, `"b"`, `"5"`, `"ab"`, `null`, `[7]`, `{"n":7}`, fmt.Sprint(random.IntN(20)))
	}
	selected, denied, left := 0, 0, 0
	for range 90_000 {
		attributes := "{" + member()
		for range random.IntN(3) {
			attributes += "," + pick("", " ") + member()
		}
		attributes += pick("", " ") + "}"
		want := wanted()
		if random.IntN(2) == 0 {
			want = fmt.Sprintf(`{%q:%s}`, pick("$gt", "$gte", "$lt", "$lte", "$eq", "$ne"), want)
		}
		set := conditionsOf(t, `{"n":`+want+`}`)
		have, err := jsonform.Decode([]byte(attributes))
		if err != nil {
			t.Fatal(err)
		}
		holds, denies := set[0].Holds(have.(map[string]any)["n"]), set.Trace(nil).Sieve().Denies([]byte(attributes))
		switch {
		case holds && denies:
			t.Fatalf("%s selects %s, which is denied", want, attributes)
		case holds:
			selected++
		case denies:
			denied++
		default:
			left++
		}
	}
	if selected < 10_000 || denied < 25_000 {
		t.Errorf("%d are selected, %d denied, and %d left to look at", selected, denied, left)
	}
}

// conditionsOf are those of a filter, with numbers as written.
func conditionsOf(t *testing.T, filter string) Set {
	t.Helper()
	var read map[string]any
	d := json.NewDecoder(strings.NewReader(filter))
	d.UseNumber()
	if err := d.Decode(&read); err != nil {
		t.Fatal(err)
	}
	set, err := Parse(read)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// What a record does not hold is denied without a look at its JSON.
func TestSievesDeny(t *testing.T) {
	for _, c := range []struct {
		filter, attributes string
		want               bool
	}{
		{`{"colour":"red"}`, `{"colour":"red"}`, false},
		{`{"colour":"red"}`, `{"colour":"blue"}`, true},
		{`{"colour":"red"}`, `{"colour":"blu\u0065"}`, false},
		{`{"colour":"red"}`, ``, true},
		{`{"n":-1}`, `{"n":17}`, true},
		{`{"n":10}`, `{"n":1e1}`, false},
		{`{"n":10}`, `{"n":1E1}`, false},
		{`{"n":10}`, `{"n":11,"name":"e"}`, true},
		{`{"n":{"$gt":20}}`, `{"n":17}`, true},
		{`{"n":{"$gt":20}}`, `{"n":21}`, false},
		{`{"n":{"$lt":"b"}}`, `{"n":"c"}`, true},
		{`{"n":{"$lt":20}}`, `{"m":17}`, true},
		{`{"n":null}`, `{}`, false},
		{`{"n":{"$ne":1}}`, `{}`, false},
		{`{}`, `{}`, false},
	} {
		if got := conditionsOf(t, c.filter).Trace(nil).Sieve().Denies([]byte(c.attributes)); got != c.want {
			t.Errorf("%s denies %s: %v", c.filter, c.attributes, got)
		}
	}
}
