{{- define "loci.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "loci.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trimSuffix "-" }}
{{- else if contains (include "loci.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "loci.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "loci.selector" -}}
app.kubernetes.io/name: {{ include "loci.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "loci.labels" -}}
{{ include "loci.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "loci.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- /* What cannot work is refused before anything is made. */ -}}
{{- define "loci.check" -}}
{{- if and (not .Values.tls.secret) (not .Values.tls.proxies) }}
{{- fail "keys would cross the network in the clear: set tls.secret, or tls.proxies to the networks of the proxy at which TLS ends" }}
{{- end }}
{{- if and .Values.tls.secret .Values.tls.proxies }}
{{- fail "tls.secret and tls.proxies are both set: TLS ends at one place" }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) (not .Values.store.urlSecret.name) }}
{{- fail "replicas is more than 1, and files on a volume belong to one process: set store.urlSecret to the URL of a database" }}
{{- end }}
{{- if and (contains "jwt" .Values.auth.mode) (not .Values.auth.issuers) }}
{{- fail "auth.mode takes tokens of authorization servers: set auth.issuers to these" }}
{{- end }}
{{- if and (not (contains "jwt" .Values.auth.mode)) .Values.auth.issuers }}
{{- fail "auth.issuers are asked by no one: set auth.mode to jwt or keys+jwt" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.hosts) }}
{{- fail "ingress.enabled needs a name in hosts" }}
{{- end }}
{{- range $path := list "listen" "store" "auth.mode" "auth.issuers" "http.tls" "http.proxies" }}
{{- $parts := splitList "." $path }}
{{- $in := get $.Values.config (first $parts) }}
{{- if or (and (eq (len $parts) 1) (hasKey $.Values.config $path)) (and (gt (len $parts) 1) (kindIs "map" $in) (hasKey (default dict $in) (last $parts))) }}
{{- fail (printf "config names %s, which the chart sets by its own values" $path) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The configuration file: what the chart knows, then what config adds. */ -}}
{{- define "loci.config" -}}
{{- $name := include "loci.fullname" . }}
{{- $local := printf "%s.%s" $name .Release.Namespace }}
{{- $hosts := concat (list $name $local (printf "%s.svc" $local) (printf "%s.svc.cluster.local" $local)) .Values.hosts }}
{{- $http := dict "allowed_hosts" $hosts "shutdown_delay" "5s" }}
{{- if .Values.tls.secret }}
{{- $_ := merge $http (dict "tls" "files" "tls_cert" "/etc/loci-tls/tls.crt" "tls_key" "/etc/loci-tls/tls.key") }}
{{- else }}
{{- $_ := merge $http (dict "tls" "proxy" "proxies" .Values.tls.proxies) }}
{{- end }}
{{- with .Values.publicURL }}
{{- $_ := set $http "public_url" . }}
{{- end }}
{{- $auth := dict "mode" .Values.auth.mode }}
{{- with .Values.auth.issuers }}
{{- $_ := set $auth "issuers" . }}
{{- end }}
{{- $known := dict "listen" "0.0.0.0:7437, unix:/run/loci/loci.sock" "auth" $auth "http" $http }}
{{- if not .Values.store.urlSecret.name }}
{{- $_ := set $known "store" "sqlite:/data/tenants" }}
{{- end }}
{{- toYaml (merge $known .Values.config) }}
{{- end }}
