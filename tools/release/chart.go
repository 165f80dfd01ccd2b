package main

import (
	"io/fs"
	"os"
	"path/filepath"
)

// chart packs the Helm chart as helm package does. Its templates are Helm's: only Chart.yaml
// is filled in here. The dashboard and the rules for alerts, which templates put into objects,
// are the files that tests check against the metrics there are.
func (r *release) chart() error {
	root := r.file("packaging", "helm")
	about, err := r.fill(filepath.Join(root, "Chart.yaml"), nil)
	if err != nil {
		return err
	}
	items := []item{{name: "loci/Chart.yaml", data: about}}
	licence, err := read(r.file("LICENSE"), "loci/LICENSE", false)
	if err != nil {
		return err
	}
	items = append(items, licence)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "Chart.yaml" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		items = append(items, item{name: "loci/" + filepath.ToSlash(name), data: data})
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		one, err := read(r.file("packaging", "prometheus", name), "loci/files/"+name, false)
		if err != nil {
			return err
		}
		items = append(items, one)
	}
	data, err := targz(items, r.at)
	if err != nil {
		return err
	}
	return r.write("loci-"+r.version+".tgz", data)
}
