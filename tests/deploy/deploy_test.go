// Package deploy checks how Loci is run by others' machines: the Helm chart with Helm itself and
// Kubernetes' own types, the compose file with the library of Docker Compose. The settings that
// they make are given to the real program.
package deploy

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const packaging = "../../packaging"

// filled writes a file of packaging as a release does.
func filled(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(from); name == "Chart.yaml" || name == "compose.yaml" {
		text = []byte(strings.NewReplacer("{{.Version}}", "1.2.3", "{{.Summary}}", "Memory for AI agents: remember and search",
			"{{.Homepage}}", "https://github.com/loci-memory/loci").Replace(string(text)))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// chart is the chart as a release has it.
func chart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "loci")
	root := filepath.Join(packaging, "helm")
	for _, pattern := range []string{"*", "templates/*"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err != nil {
				t.Fatal(err)
			} else if info.IsDir() {
				continue
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			filled(t, path, filepath.Join(dir, name))
		}
	}
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		filled(t, filepath.Join(packaging, "prometheus", name), filepath.Join(dir, "files", name))
	}
	return dir
}

// helm runs the Helm that go.mod pins.
func helm(t *testing.T, args ...string) (out, errs string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	run := exec.CommandContext(t.Context(), "go", append([]string{"tool", "helm"}, args...)...)
	run.Stdout, run.Stderr = &stdout, &stderr
	err = run.Run()
	return stdout.String(), stderr.String(), err
}

// cases are values that people give; each is a whole set.
var cases = map[string][]string{
	"files": {"--set", "tls.secret=certificate"},
	"proxy": {
		"--set", "tls.proxies={10.0.0.0/8}", "--set", "hosts={memory.example.com}",
		"--set", "ingress.enabled=true,ingress.className=nginx,ingress.tlsSecret=outside",
	},
	"database": {"--set", "tls.secret=certificate,store.urlSecret.name=database,replicas=3"},
	"settings": {
		"--set", "tls.secret=certificate,config.tools={notes,files},config.limits.requests_per_second=50",
		"--set", "config.http.max_wait=1s,config.auth.tenants_on_first_sight=true",
	},
	"tokens": {
		"--set", "tls.secret=certificate,auth.mode=jwt,publicURL=https://memory.example.com,hosts={memory.example.com}",
		"--set-json", `auth.issuers=[{"name":"corp","issuer":"ISSUER","audience":["https://memory.example.com/mcp"],` +
			`"tenant":{"claim":"tenant"},"scopes":{"claim":"scope","allow":["read","write"]}}]`,
	},
	"watched": {
		"--set", "tls.secret=certificate,dashboard.enabled=true,alerts.enabled=true,alerts.labels.release=prometheus",
		"--set", "serviceMonitor.enabled=true,serviceMonitor.keySecret.name=metrics,serviceMonitor.labels.release=prometheus",
		"--set", "dashboard.namespace=grafana",
	},
	"claim": {
		"--set", "tls.secret=certificate,store.volume.existingClaim=mine,image.digest=sha256:" + strings.Repeat("ab", 32),
	},
}

// rendered is what a set of values makes, by kind.
func rendered(t *testing.T, dir string, values []string) map[string]string {
	t.Helper()
	out, errs, err := helm(t, append([]string{"template", "team", dir, "--namespace", "memory"}, values...)...)
	if err != nil {
		t.Fatalf("helm template %v: %v\n%s", values, err, errs)
	}
	all := map[string]string{}
	for _, text := range strings.Split(out, "\n---\n") {
		var about struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(text), &about); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if strings.HasSuffix(about.Metadata.Name, "-dashboard") {
			about.Kind = "dashboard"
		}
		if about.Kind != "" {
			all[about.Kind] = text
		}
	}
	return all
}

// Kubernetes' own types know every field that the chart writes, whatever the values.
func TestChartSpeaksKubernetes(t *testing.T) {
	dir := chart(t)
	if out, errs, err := helm(t, append([]string{"lint", "--strict", dir}, cases["files"]...)...); err != nil {
		t.Fatalf("helm lint: %v\n%s%s", err, out, errs)
	}
	for name, values := range cases {
		t.Run(name, func(t *testing.T) {
			all := rendered(t, dir, values)
			for kind, text := range all {
				into := map[string]any{
					"ConfigMap": &core.ConfigMap{}, "Service": &core.Service{}, "ServiceAccount": &core.ServiceAccount{},
					"StatefulSet": &apps.StatefulSet{}, "Deployment": &apps.Deployment{}, "Ingress": &networking.Ingress{},
					"NetworkPolicy": &networking.NetworkPolicy{}, "PodDisruptionBudget": &policy.PodDisruptionBudget{},
					"ServiceMonitor": &monitor{}, "PrometheusRule": &rules{}, "dashboard": &core.ConfigMap{},
				}[kind]
				if into == nil {
					t.Fatalf("%s is not among the kinds of the chart", kind)
				}
				if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
					t.Errorf("%s: %v\n%s", kind, err, text)
				}
			}
			if _, several := all["Deployment"]; several != (name == "database") {
				t.Errorf("it makes %d kinds, and a Deployment: %v", len(all), several)
			}
			checkPod(t, all, name)
		})
	}
}

// checkPod looks at what no type can know: that the pod may nothing that it does not need, that
// its mounts have volumes, and that no mount lies in another one, which cannot be made.
func checkPod(t *testing.T, all map[string]string, name string) {
	t.Helper()
	var work struct {
		Spec struct {
			Template             core.PodTemplateSpec
			VolumeClaimTemplates []core.PersistentVolumeClaim
		}
	}
	if err := yaml.Unmarshal([]byte(all["StatefulSet"]+all["Deployment"]), &work); err != nil {
		t.Fatal(err)
	}
	pod := work.Spec.Template.Spec
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, v := range work.Spec.VolumeClaimTemplates {
		volumes[v.Name] = true
	}
	c := pod.Containers[0]
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("%s is mounted and there is no such volume", m.Name)
		}
		for _, other := range c.VolumeMounts {
			if strings.HasPrefix(m.MountPath, other.MountPath+"/") {
				t.Errorf("%s is mounted inside of %s", m.MountPath, other.MountPath)
			}
		}
	}
	if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
		*s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 || !*pod.SecurityContext.RunAsNonRoot ||
		*pod.AutomountServiceAccountToken {
		t.Errorf("the pod may more than it needs: %+v", c.SecurityContext)
	}
	if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.StartupProbe == nil {
		t.Error("a probe is missing")
	}
	want := "ghcr.io/loci-memory/loci:1.2.3"
	if name == "claim" {
		want = "ghcr.io/loci-memory/loci@sha256:" + strings.Repeat("ab", 32)
	}
	if c.Image != want {
		t.Errorf("the image is %s", c.Image)
	}
	if url := c.Env[len(c.Env)-1]; (name == "database") != (url.ValueFrom != nil) || url.Name != "LOCI_STORE" {
		t.Errorf("the store is %+v", url)
	}
}

// Values that cannot work are refused with the value and the remedy.
func TestChartRefuses(t *testing.T) {
	dir := chart(t)
	for want, values := range map[string]string{
		"set tls.secret, or tls.proxies":          "replicas=1",
		"TLS ends at one place":                   "tls.secret=a,tls.proxies={10.0.0.0/8}",
		"set store.urlSecret":                     "tls.secret=a,replicas=2",
		"ingress.enabled needs a name in hosts":   "tls.secret=a,ingress.enabled=true",
		"config names auth.mode":                  "tls.secret=a,config.auth.mode=none",
		"config names listen":                     "tls.secret=a,config.listen=8000",
		"config names http.tls":                   "tls.secret=a,config.http.tls=off",
		"at '/replicas'":                          "tls.secret=a,replicas=0",
		"config names auth.issuers":               "tls.secret=a,config.auth.issuers={a}",
		"set auth.issuers to these":               "tls.secret=a,auth.mode=jwt",
		"are asked by no one":                     "tls.secret=a,auth.issuers[0].name=a,auth.issuers[0].issuer=b",
		"at '/auth/mode'":                         "tls.secret=a,auth.mode=none",
		"needs a key with the scope metrics":      "tls.secret=a,serviceMonitor.enabled=true",
		"at '/dashboard'":                         "tls.secret=a,dashboard.on=true",
		"additional properties 'replica' not all": "tls.secret=a,replica=2",
	} {
		_, errs, err := helm(t, "template", dir, "--set", values)
		if err == nil || !strings.Contains(errs, want) {
			t.Errorf("%s: %v\n%s", values, err, errs)
		}
	}
}

// The program starts with the settings that the chart makes, and its probes pass.
func TestChartStartsTheProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "loci")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/loci")
	build.Dir = "../.."
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	dir := chart(t)
	for _, name := range []string{"files", "proxy", "settings", "tokens"} {
		t.Run(name, func(t *testing.T) {
			var settings core.ConfigMap
			from := newIssuer(t)
			values := slices.Clone(cases[name])
			for n := range values {
				values[n] = strings.ReplaceAll(values[n], "ISSUER", from.URL)
			}
			if err := yaml.UnmarshalStrict([]byte(rendered(t, dir, values)["ConfigMap"]), &settings); err != nil {
				t.Fatal(err)
			}
			home := t.TempDir()
			certificate(t, home)
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := free.Addr().String()
			if err := free.Close(); err != nil {
				t.Fatal(err)
			}
			text := strings.NewReplacer("/etc/loci-tls/", home+"/", "/run/loci/", home+"/", "0.0.0.0:7437", address).
				Replace(settings.Data["loci.yaml"])
			config := filepath.Join(home, "loci.yaml")
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			env := []string{
				"HOME=" + home, "LOCI_CONFIG=" + config, "LOCI_STORE=sqlite:" + home + "/tenants",
				"LOCI_SCOPES=read,write,delete,admin",
			}
			run := func(ctx context.Context, args ...string) *exec.Cmd {
				cmd := exec.CommandContext(ctx, program, args...)
				cmd.Env, cmd.Dir = env, home
				return cmd
			}
			ctx, end := context.WithCancel(t.Context())
			server := run(ctx, "serve")
			var said bytes.Buffer
			server.Stdout, server.Stderr = &said, &said
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { end(); _ = server.Wait() }()
			deadline := time.Now().Add(time.Minute)
			for _, probe := range [][]string{{"health"}, {"health", "--ready"}, {"tenant", "create", "acme"}} {
				for {
					out, err := run(t.Context(), probe...).CombinedOutput()
					if err == nil {
						break
					}
					if time.Now().After(deadline) {
						end()
						_ = server.Wait()
						t.Fatalf("loci %v: %v\n%s\nthe server:\n%s\nof\n%s", probe, err, out, said.String(), text)
					}
					time.Sleep(100 * time.Millisecond)
				}
			}
			if name == "tokens" {
				from.tries(t, "https://"+address, home)
			}
		})
	}
}

// certificate writes what the secret of the chart would hold.
func certificate(t *testing.T, dir string) {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
		"ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=team-loci",
		"-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", filepath.Join(dir, "tls.key"), "-out", filepath.Join(dir, "tls.crt")).CombinedOutput()
	if err != nil {
		t.Fatalf("openssl is needed (apt install openssl): %v\n%s", err, said)
	}
}

// Docker Compose's own library takes the compose file, and the container may nothing but write its
// volume.
func TestCompose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "compose.yaml")
	filled(t, filepath.Join(packaging, "compose", "compose.yaml"), path)
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: filepath.Dir(path), ConfigFiles: []types.ConfigFile{{Filename: path}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := project.Services["loci"]
	if !s.ReadOnly || s.User != "65532:65532" || len(s.CapDrop) != 1 || s.Image != "ghcr.io/loci-memory/loci:1.2.3" ||
		s.Ports[0].HostIP != "127.0.0.1" || s.HealthCheck == nil {
		t.Errorf("%+v", s)
	}
	network := project.Networks["loci"].Ipam.Config[0].Subnet
	if *s.Environment["LOCI_HTTP_PROXIES"] != network {
		t.Errorf("the server trusts %s, and its network is %s", *s.Environment["LOCI_HTTP_PROXIES"], network)
	}
}
