package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// wheelTags are the platforms that a wheel says it is for. The program is static, so that
// one wheel serves both C libraries of Linux.
var wheelTags = map[platform]string{
	{"linux", "amd64"}:   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	{"linux", "arm64"}:   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	{"darwin", "amd64"}:  "macosx_12_0_x86_64",
	{"darwin", "arm64"}:  "macosx_12_0_arm64",
	{"windows", "amd64"}: "win_amd64",
	{"windows", "arm64"}: "win_arm64",
}

// pythonVersion writes a version as Python does: 1.2.3rc1.
func pythonVersion(version string) string {
	return strings.NewReplacer("-rc.", "rc").Replace(version)
}

// wheels writes loci-memory-cli: the program among the scripts, and a command of the
// package's own name for uvx, which starts what is called like the package.
func (r *release) wheels() error {
	readme, err := read(r.file("packaging", "python", "README.md"), "", false)
	if err != nil {
		return err
	}
	module, err := read(r.file("packaging", "python", "loci_memory_cli.py"), "loci_memory_cli.py", false)
	if err != nil {
		return err
	}
	papers, err := r.papers()
	if err != nil {
		return err
	}
	version := pythonVersion(r.version)
	for _, p := range r.platforms {
		tag, known := wheelTags[p]
		if !known {
			continue
		}
		program, err := read(r.binary(p), "loci_memory_cli-"+version+".data/scripts/"+p.program(), true)
		if err != nil {
			return err
		}
		info := "loci_memory_cli-" + version + ".dist-info/"
		items := []item{module, program,
			{name: info + "licenses/LICENSE", data: papers[0].data},
			{name: info + "licenses/NOTICE", data: papers[1].data},
			{name: info + "METADATA", data: []byte(wheelMetadata(version, string(readme.data)))},
			{name: info + "WHEEL", data: []byte(wheelAbout(tag))},
			{
				name: info + "entry_points.txt",
				data: []byte("[console_scripts]\nloci-memory-cli = loci_memory_cli:main\n"),
			},
		}
		items = append(items, item{name: info + "RECORD", data: []byte(wheelRecord(items, info+"RECORD"))})
		data, err := zipped(items, r.at)
		if err != nil {
			return err
		}
		if err := r.write(fmt.Sprintf("loci_memory_cli-%s-py3-none-%s.whl", version, tag), data); err != nil {
			return err
		}
	}
	return nil
}

func wheelMetadata(version, readme string) string {
	return fmt.Sprintf(`Metadata-Version: 2.4
Name: loci-memory-cli
Version: %s
Summary: %s
Home-page: %s
License-Expression: Apache-2.0
License-File: LICENSE
License-File: NOTICE
Requires-Python: >=3.9
Keywords: mcp,memory,agents,llm
Project-URL: Source, %s
Description-Content-Type: text/markdown

%s`, version, summary, homepage, homepage, readme)
}

func wheelAbout(tags string) string {
	var out strings.Builder
	out.WriteString("Wheel-Version: 1.0\nGenerator: loci-release\nRoot-Is-Purelib: false\n")
	for _, tag := range strings.Split(tags, ".") {
		out.WriteString("Tag: py3-none-" + tag + "\n")
	}
	return out.String()
}

// wheelRecord lists each file with its hash and size, itself without.
func wheelRecord(items []item, own string) string {
	var out strings.Builder
	for _, i := range items {
		sum := sha256.Sum256(i.data)
		fmt.Fprintf(&out, "%s,sha256=%s,%d\n", i.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(i.data))
	}
	out.WriteString(own + ",,\n")
	return out.String()
}
