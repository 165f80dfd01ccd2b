package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"path/filepath"
	"time"

	containers "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is who the program runs as in the image: a number that no system gives to anybody.
const nobody = 65532

// image writes an OCI image layout of both architectures of Linux, from nothing: the
// program, the certificates that calls of remote embedders need, and an empty /data.
func (r *release) image() error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		image, err := r.imageOf(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: containers.Descriptor{
			Platform: &containers.Platform{OS: p.os, Architecture: p.arch},
		}})
	}
	if manifest, err := index.IndexManifest(); err != nil || len(manifest.Manifests) == 0 {
		return err // no Linux among the platforms
	}
	_, err := layout.Write(filepath.Join(r.out, "image"), index)
	return err
}

func (r *release) imageOf(p platform) (containers.Image, error) {
	program, err := read(r.binary(p), "loci", true)
	if err != nil {
		return nil, err
	}
	files, err := imageFiles(program, r.at)
	if err != nil {
		return nil, err
	}
	// Compressed once: its hash is asked for several times.
	small, err := layerOf(r.ctx, files, layerLimit)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(small)), nil },
		tarball.WithMediaType(types.OCILayer),
	)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(
		mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		layer,
	)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, r.imageConfig(p, image))
}

func (r *release) imageConfig(p platform, image containers.Image) *containers.ConfigFile {
	config, err := image.ConfigFile()
	if err != nil {
		config = &containers.ConfigFile{}
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, containers.Time{Time: r.at}
	for i := range config.History {
		config.History[i].Created = containers.Time{Time: r.at}
	}
	config.Config = containers.Config{
		User: fmt.Sprintf(
			"%d:%d",
			nobody,
			nobody,
		), Entrypoint: []string{"/loci"}, Cmd: []string{"serve"}, WorkingDir: "/data",
		Env:          []string{"LOCI_STORE=sqlite:/data/loci.db", "HOME=/data"},
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"7437/tcp": {}},
		Healthcheck: &containers.HealthConfig{
			Test: []string{
				"CMD",
				"/loci",
				"health",
			}, Interval: 30 * time.Second, Timeout: 5 * time.Second, StartPeriod: 10 * time.Second, Retries: 3,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title": "loci", "org.opencontainers.image.description": summary,
			"org.opencontainers.image.source": homepage, "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.created":    r.at.Format(time.RFC3339),
			"io.modelcontextprotocol.server.name": registryName,
		},
	}
	return config
}

// imageFiles is the one layer, an archive.
func imageFiles(program item, at time.Time) ([]byte, error) {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // what may vouch for anybody
			_ = pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	var out bytes.Buffer
	files := tar.NewWriter(&out)
	for _, f := range []struct {
		head tar.Header
		data []byte
	}{
		{tar.Header{Name: "data/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: nobody, Gid: nobody}, nil},
		{tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}, nil},
		{tar.Header{Name: "etc/passwd", Mode: 0o644}, fmt.Appendf(nil, "loci:x:%d:%d::/data:/sbin/nologin\n", nobody, nobody)},
		{tar.Header{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644}, roots.Bytes()},
		{tar.Header{Name: program.name, Mode: 0o755}, program.data},
	} {
		f.head.Size, f.head.ModTime, f.head.Format = int64(len(f.data)), at, tar.FormatPAX
		if err := files.WriteHeader(&f.head); err != nil {
			return nil, err
		}
		if _, err := files.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
