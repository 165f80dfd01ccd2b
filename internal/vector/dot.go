package vector

// dotPortable returns the sum of the products of two vectors of equal length, in
// plain Go. Four sums let the processor work on them side by side.
func dotPortable(query []int16, row []int8) int32 {
	var a, b, c, d int32
	for len(query) >= 8 && len(row) >= 8 {
		q, r := query[:8:8], row[:8:8]
		a += int32(q[0])*int32(r[0]) + int32(q[4])*int32(r[4])
		b += int32(q[1])*int32(r[1]) + int32(q[5])*int32(r[5])
		c += int32(q[2])*int32(r[2]) + int32(q[6])*int32(r[6])
		d += int32(q[3])*int32(r[3]) + int32(q[7])*int32(r[7])
		query, row = query[8:], row[8:]
	}
	for i, q := range query {
		a += int32(q) * int32(row[i])
	}
	return a + b + c + d
}

// dotRowsPortable is dotPortable for two rows.
func dotRowsPortable(a, b []int8) (sum int32) {
	for len(a) >= 4 && len(b) >= 4 {
		x, y := a[:4:4], b[:4:4]
		sum += int32(x[0])*int32(y[0]) + int32(x[1])*int32(y[1]) + int32(x[2])*int32(y[2]) + int32(x[3])*int32(y[3])
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		sum += int32(x) * int32(b[i])
	}
	return sum
}

func dotsPortable(query []int16, rows []int8, sums []int32) {
	for i := range sums {
		sums[i] = dotPortable(query, rows[i*len(query):(i+1)*len(query)])
	}
}

// dotsAtPortable writes the sum of the products of the query with each row that is listed.
func dotsAtPortable(query []int16, rows []int8, list []int32, sums []int32) {
	dims := len(query)
	for i, row := range list {
		sums[i] = dot(query, rows[int(row)*dims:(int(row)+1)*dims])
	}
}
