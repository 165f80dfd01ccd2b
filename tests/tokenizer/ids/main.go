// Command ids prints the ids of texts: each line of standard input is a text in
// base64, each line of standard output its ids. The argument is a file with the
// vocabulary, a token a line.
package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"

	"github.com/loci-memory/loci/internal/wordpiece"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	vocabulary, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	t, err := wordpiece.New(string(vocabulary))
	if err != nil {
		return err
	}
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	in.Buffer(nil, 16<<20)
	var ids []int32
	var line []byte
	for in.Scan() {
		text, err := base64.StdEncoding.DecodeString(in.Text())
		if err != nil {
			return err
		}
		ids, line = t.Append(ids[:0], string(text)), line[:0]
		for i, id := range ids {
			if i > 0 {
				line = append(line, ' ')
			}
			line = strconv.AppendInt(line, int64(id), 10)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	return out.Flush()
}
