{{/* The labels that distinguish the objects of a release: dict "root" $ "part" "api". */}}
{{- define "pgsched.selector" -}}
app.kubernetes.io/name: pgsched
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "pgsched.labels" -}}
{{ include "pgsched.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- end }}

{{/* The fields that all pods have in common: dict "root" $ "part" "api". */}}
{{- define "pgsched.pod" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: {}
{{- end }}

{{- define "pgsched.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The fields that all containers have in common. */}}
{{- define "pgsched.container" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: tmp
    mountPath: /tmp
{{- end }}

{{/* The environment of a container: dict "root" $ "login" "worker" "settings" (dict). */}}
{{- define "pgsched.environment" -}}
{{- $database := .root.Values.database -}}
{{- $hosts := list -}}
{{- range splitList "," $database.host -}}
{{- $hosts = append $hosts (printf "%s:%v" (trim .) $database.port) -}}
{{- end -}}
- name: PGSCHED_DATABASE_URL
  value: {{ printf "postgresql://%s@%s/%s?%s" (index $database.logins .login) (join "," $hosts) $database.name $database.options | trimSuffix "?" | quote }}
- name: PGPASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ $database.passwords }}
      key: {{ .login }}
{{- with .root.Values.secretKeys }}
- name: PGSCHED_SECRET_KEYS
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: secret-keys
{{- end }}
{{- range $name, $value := merge (dict) .settings .root.Values.settings }}
- name: PGSCHED_{{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
