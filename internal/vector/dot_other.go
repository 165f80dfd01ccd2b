//go:build !amd64

package vector

func dot(query []int16, row []int8) int32 { return dotPortable(query, row) }

func dots(query []int16, rows []int8, sums []int32) { dotsPortable(query, rows, sums) }

func products(query []int8, codes []byte, sums []int32) { productsPortable(query, codes, sums) }
