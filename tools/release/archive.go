package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// An item is a file of an archive.
type item struct {
	name string // with slashes
	data []byte
	run  bool // may be run
}

func (i item) mode() os.FileMode {
	if i.run {
		return 0o755
	}
	return 0o644
}

// read makes an item of a file.
func read(path, name string, run bool) (item, error) {
	data, err := os.ReadFile(path)
	return item{name: name, data: data, run: run}, err
}

// targz packs items, all of one time and of nobody, so that the bytes say nothing of
// the machine.
func targz(items []item, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	small := gzip.NewWriter(&out)
	files := tar.NewWriter(small)
	for _, i := range items {
		head := &tar.Header{
			Name:    i.name,
			Mode:    int64(i.mode()),
			Size:    int64(len(i.data)),
			ModTime: at,
			Format:  tar.FormatPAX,
		}
		if err := files.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := files.Write(i.data); err != nil {
			return nil, err
		}
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	if err := small.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// zipped packs items for Windows, Python and desktop clients.
func zipped(items []item, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	files := zip.NewWriter(&out)
	for _, i := range items {
		head := &zip.FileHeader{Name: i.name, Method: zip.Deflate, Modified: at}
		head.SetMode(i.mode())
		w, err := files.CreateHeader(head)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(i.data); err != nil {
			return nil, err
		}
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// write puts a built file into the folder of the release.
func (r *release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// papers are what every form carries: the licence, the notices of what is inside.
func (r *release) papers() ([]item, error) {
	var all []item
	for _, name := range []string{"LICENSE", "NOTICE", "README.md"} {
		i, err := read(r.file(name), name, false)
		if err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	return all, nil
}

// host is a program that runs here, for asking it for its own manual.
func (r *release) host() (string, error) {
	p := platform{runtime.GOOS, runtime.GOARCH}
	path := r.binary(p)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%v, which runs here, is not among the platforms: the manual is made by it", p)
}

// manual returns the man page and the completions, as the program itself prints them.
func (r *release) manual() ([]item, error) {
	if r.manuals != nil {
		return r.manuals, nil
	}
	host, err := r.host()
	if err != nil {
		return nil, err
	}
	for _, page := range []struct {
		name string
		args []string
	}{
		{"share/man/man1/loci.1", []string{"__man", r.at.Format(time.DateOnly)}},
		{"share/bash-completion/completions/loci", []string{"completion", "bash"}},
		{"share/zsh/site-functions/_loci", []string{"completion", "zsh"}},
		{"share/fish/vendor_completions.d/loci.fish", []string{"completion", "fish"}},
	} {
		said, err := exec.CommandContext(r.ctx, host, page.args...).Output()
		if err != nil || len(said) == 0 {
			return nil, fmt.Errorf("%s %v: %w", host, page.args, err)
		}
		r.manuals = append(r.manuals, item{name: page.name, data: said})
	}
	return r.manuals, nil
}

// archives packs each program with its papers and its manual.
func (r *release) archives() error {
	papers, err := r.papers()
	if err != nil {
		return err
	}
	manual, err := r.manual()
	if err != nil {
		return err
	}
	for _, p := range r.platforms {
		program, err := read(r.binary(p), p.program(), true)
		if err != nil {
			return err
		}
		folder := fmt.Sprintf("loci_%s_%s_%s", r.version, p.os, p.arch)
		var items []item
		for _, i := range append(append([]item{program}, papers...), manual...) {
			i.name = folder + "/" + i.name
			items = append(items, i)
		}
		pack, ending := targz, ".tar.gz"
		if p.os == "windows" {
			pack, ending = zipped, ".zip"
		}
		data, err := pack(items, r.at)
		if err != nil {
			return err
		}
		if err := r.write(folder+ending, data); err != nil {
			return err
		}
	}
	return nil
}
