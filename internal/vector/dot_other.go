//go:build !amd64

package vector

func dot(query []int16, row []int8) int32 { return dotPortable(query, row) }
