{{- define "kamaji-events.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "kamaji-events.selector" -}}
app.kubernetes.io/name: kamaji-events
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "kamaji-events.labels" -}}
{{ include "kamaji-events.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/* What both Deployments' pods share; the dict has root, component, values, env, mounts and volumes. */}}
{{- define "kamaji-events.deployment" -}}
{{- $root := .root -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "kamaji-events.name" $root }}-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "kamaji-events.labels" . | nindent 4 }}
spec:
  replicas: {{ .values.replicas }}
  selector:
    matchLabels: {{- include "kamaji-events.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "kamaji-events.labels" . | nindent 8 }}
      annotations:
        checksum/config: {{ .config | sha256sum }}
        {{- with .values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "kamaji-events.name" $root }}-{{ .component }}
      automountServiceAccountToken: {{ eq .component "publisher" }}
      {{- with $root.Values.image.pullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        seccompProfile: {type: RuntimeDefault}
      containers:
        - name: {{ .component }}
          image: "{{ $root.Values.image.repository }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}"
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [{{ .component }}, run]
          env:
            - name: AMQP_URL
              valueFrom:
                secretKeyRef: {name: {{ $root.Values.amqp.existingSecret }}, key: {{ $root.Values.amqp.key }}}
            - name: KAMAJI_EVENTS_CONFIG
              value: /etc/kamaji-events/config/settings.yaml
            - name: KAMAJI_EVENTS_INSTANCE
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            - name: KAMAJI_EVENTS_LOG_LEVEL
              value: {{ $root.Values.log.level }}
            - name: KAMAJI_EVENTS_LOG_FORMAT
              value: {{ $root.Values.log.format }}
          {{- if eq .component "consumers" }}
            - name: KAMAJI_EVENTS_SUBSCRIPTIONS
              value: /etc/kamaji-events/config/subscriptions.yaml
          {{- with .values.envFromSecrets }}
          envFrom:
            {{- range . }}
            - secretRef: {name: {{ . }}}
            {{- end }}
          {{- end }}
          {{- end }}
          ports:
            - {name: health, containerPort: 8080}
          livenessProbe:
            httpGet: {path: /livez, port: health}
            initialDelaySeconds: 20
            periodSeconds: 20
            timeoutSeconds: 5
          readinessProbe:
            httpGet: {path: /readyz, port: health}
            periodSeconds: 5
            timeoutSeconds: 5
          resources: {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            - {name: config, mountPath: /etc/kamaji-events/config, readOnly: true}
            - {name: tmp, mountPath: /tmp}
            {{- range .values.secretFiles }}
            - {name: secret-{{ . }}, mountPath: /etc/kamaji-events/secrets/{{ . }}, readOnly: true}
            {{- end }}
      volumes:
        - name: config
          configMap: {name: {{ include "kamaji-events.name" $root }}-{{ .component }}}
        - name: tmp
          emptyDir: {}
        {{- range .values.secretFiles }}
        - name: secret-{{ . }}
          secret: {secretName: {{ . }}}
        {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}
