"""The internal types of pod templates in Go's notation, for error messages that show a pod template."""

from __future__ import annotations

import orjson

from polykind.apis.machinery.internal_types import InternalTypes
from polykind.contract import JsonObject

POD_TYPES = InternalTypes("""
PodTemplateSpec @metadata Spec:PodSpec
PodSpec Volumes:[]Volume InitContainers:[]Container Containers:[]Container EphemeralContainers:[]EphemeralContainer
  RestartPolicy TerminationGracePeriodSeconds:* ActiveDeadlineSeconds:* DNSPolicy NodeSelector:* ServiceAccountName
  AutomountServiceAccountToken:* NodeName SecurityContext:*PodSecurityContext ImagePullSecrets:[]LocalObjectReference
  Hostname Subdomain SetHostnameAsFQDN:* Affinity:*Affinity SchedulerName Tolerations:[]Toleration
  HostAliases:[]HostAlias PriorityClassName Priority:* PreemptionPolicy:* DNSConfig:*PodDNSConfig
  ReadinessGates:[]PodReadinessGate RuntimeClassName:* Overhead:* EnableServiceLinks:*
  TopologySpreadConstraints:[]TopologySpreadConstraint OS:*PodOS SchedulingGates:[]PodSchedulingGate
  ResourceClaims:[]PodResourceClaim Resources:*ResourceRequirements HostnameOverride:*
  SchedulingGroup:*PodSchedulingGroup
Volume Name HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource
  GCEPersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore:*AWSElasticBlockStoreVolumeSource
  GitRepo:*GitRepoVolumeSource Secret:*SecretVolumeSource NFS:*NFSVolumeSource ISCSI:*ISCSIVolumeSource
  Glusterfs:*GlusterfsVolumeSource PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource RBD:*RBDVolumeSource
  Quobyte:*QuobyteVolumeSource FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource
  CephFS:*CephFSVolumeSource=cephfs Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource
  FC:*FCVolumeSource AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource
  VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource
  PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource Projected:*ProjectedVolumeSource
  PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource StorageOS:*StorageOSVolumeSource=storageos
  CSI:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource Image:*ImageVolumeSource
Container Name Image Command:* Args:* WorkingDir Ports:[]ContainerPort EnvFrom:[]EnvFromSource Env:[]EnvVar
  Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:*
  RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice
  LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath
  TerminationMessagePolicy ImagePullPolicy SecurityContext:*SecurityContext Stdin:bool StdinOnce:bool TTY:bool
EphemeralContainer Name Image Command:* Args:* WorkingDir Ports:[]ContainerPort EnvFrom:[]EnvFromSource Env:[]EnvVar
  Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:*
  RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice
  LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath
  TerminationMessagePolicy ImagePullPolicy SecurityContext:*SecurityContext Stdin:bool StdinOnce:bool TTY:bool
  TargetContainerName
PodSecurityContext HostNetwork:bool HostPID:bool HostIPC:bool ShareProcessNamespace:* HostUsers:*
  SELinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions RunAsUser:* RunAsGroup:* RunAsNonRoot:*
  SupplementalGroups:* SupplementalGroupsPolicy:* FSGroup:* FSGroupChangePolicy:* Sysctls:[]Sysctl
  SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile SELinuxChangePolicy:*
LocalObjectReference Name
Affinity NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAntiAffinity
Toleration Key Operator Value Effect TolerationSeconds:*
HostAlias IP Hostnames:*
PodDNSConfig Nameservers:* Searches:* Options:[]PodDNSConfigOption
PodReadinessGate ConditionType
TopologySpreadConstraint MaxSkew:int TopologyKey WhenUnsatisfiable LabelSelector:* MinDomains:* NodeAffinityPolicy:*
  NodeTaintsPolicy:* MatchLabelKeys:*
PodOS Name
PodSchedulingGate Name
PodResourceClaim Name ResourceClaimName:* ResourceClaimTemplateName:*
ResourceRequirements Limits:* Requests:* Claims:[]ResourceClaim
PodSchedulingGroup PodGroupName:*
HostPathVolumeSource Path Type:*
EmptyDirVolumeSource Medium SizeLimit:*
GCEPersistentDiskVolumeSource PDName FSType Partition:int ReadOnly:bool
AWSElasticBlockStoreVolumeSource VolumeID FSType Partition:int ReadOnly:bool
GitRepoVolumeSource Repository Revision Directory
SecretVolumeSource SecretName Items:[]KeyToPath DefaultMode:* Optional:*
NFSVolumeSource Server Path ReadOnly:bool
ISCSIVolumeSource TargetPortal IQN Lun:int ISCSIInterface FSType ReadOnly:bool Portals:*
  DiscoveryCHAPAuth:bool=chapAuthDiscovery SessionCHAPAuth:bool=chapAuthSession SecretRef:*LocalObjectReference
  InitiatorName:*
GlusterfsVolumeSource EndpointsName=endpoints Path ReadOnly:bool
PersistentVolumeClaimVolumeSource ClaimName ReadOnly:bool
RBDVolumeSource CephMonitors:*=monitors RBDImage=image FSType RBDPool=pool RadosUser=user Keyring
  SecretRef:*LocalObjectReference ReadOnly:bool
QuobyteVolumeSource Registry Volume ReadOnly:bool User Group Tenant
FlexVolumeSource Driver FSType SecretRef:*LocalObjectReference ReadOnly:bool Options:*
CinderVolumeSource VolumeID FSType ReadOnly:bool SecretRef:*LocalObjectReference
CephFSVolumeSource Monitors:* Path User SecretFile SecretRef:*LocalObjectReference ReadOnly:bool
FlockerVolumeSource DatasetName DatasetUUID
DownwardAPIVolumeSource Items:[]DownwardAPIVolumeFile DefaultMode:*
FCVolumeSource TargetWWNs:* Lun:* FSType ReadOnly:bool WWIDs:*=wwids
AzureFileVolumeSource SecretName ShareName ReadOnly:bool
ConfigMapVolumeSource Name Items:[]KeyToPath DefaultMode:* Optional:*
VsphereVirtualDiskVolumeSource VolumePath FSType StoragePolicyName StoragePolicyID
AzureDiskVolumeSource DiskName DataDiskURI=diskURI CachingMode:* FSType:* ReadOnly:* Kind:*
PhotonPersistentDiskVolumeSource PdID FSType
ProjectedVolumeSource Sources:[]VolumeProjection DefaultMode:*
PortworxVolumeSource VolumeID FSType ReadOnly:bool
ScaleIOVolumeSource Gateway System SecretRef:*LocalObjectReference SSLEnabled:bool ProtectionDomain StoragePool
  StorageMode VolumeName FSType ReadOnly:bool
StorageOSVolumeSource VolumeName VolumeNamespace FSType ReadOnly:bool SecretRef:*LocalObjectReference
CSIVolumeSource Driver ReadOnly:* FSType:* VolumeAttributes:* NodePublishSecretRef:*LocalObjectReference
EphemeralVolumeSource VolumeClaimTemplate:*PersistentVolumeClaimTemplate
ImageVolumeSource Reference PullPolicy
ContainerPort Name HostPort:int ContainerPort:int Protocol HostIP
EnvFromSource Prefix ConfigMapRef:*ConfigMapEnvSource SecretRef:*SecretEnvSource
EnvVar Name Value ValueFrom:*EnvVarSource
ContainerResizePolicy ResourceName RestartPolicy
ContainerRestartRule Action ExitCodes:*ContainerRestartRuleOnExitCodes
VolumeMount Name ReadOnly:bool RecursiveReadOnly:* MountPath SubPath MountPropagation:* SubPathExpr
VolumeDevice Name DevicePath
Probe Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction GRPC:*GRPCAction InitialDelaySeconds:int
  TimeoutSeconds:int PeriodSeconds:int SuccessThreshold:int FailureThreshold:int TerminationGracePeriodSeconds:*
Lifecycle PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal:*
SecurityContext Capabilities:*Capabilities Privileged:* SELinuxOptions:*SELinuxOptions
  WindowsOptions:*WindowsSecurityContextOptions RunAsUser:* RunAsGroup:* RunAsNonRoot:* ReadOnlyRootFilesystem:*
  AllowPrivilegeEscalation:* ProcMount:* SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile
SELinuxOptions User Role Type Level
WindowsSecurityContextOptions GMSACredentialSpecName:* GMSACredentialSpec:* RunAsUserName:* HostProcess:*
Sysctl Name Value
SeccompProfile Type LocalhostProfile:*
AppArmorProfile Type LocalhostProfile:*
NodeAffinity RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector
  PreferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm
PodAffinity RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
  PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodAntiAffinity RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
  PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodDNSConfigOption Name Value:*
ResourceClaim Name Request
KeyToPath Key Path Mode:*
DownwardAPIVolumeFile Path FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode:*
VolumeProjection Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection
  ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection
  PodCertificate:*PodCertificateProjection
PersistentVolumeClaimTemplate @metadata Spec:PersistentVolumeClaimSpec
ConfigMapEnvSource Name Optional:*
SecretEnvSource Name Optional:*
EnvVarSource FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector
  ConfigMapKeyRef:*ConfigMapKeySelector SecretKeyRef:*SecretKeySelector FileKeyRef:*FileKeySelector
ContainerRestartRuleOnExitCodes Operator Values:*
ExecAction Command:*
HTTPGetAction Path Port:int Host Scheme HTTPHeaders:[]HTTPHeader
TCPSocketAction Port:int Host
GRPCAction Port:int Service:*
LifecycleHandler Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction Sleep:*SleepAction
Capabilities Add:* Drop:*
NodeSelector NodeSelectorTerms:[]NodeSelectorTerm
PreferredSchedulingTerm Weight:int Preference:NodeSelectorTerm
PodAffinityTerm LabelSelector:* Namespaces:* TopologyKey NamespaceSelector:* MatchLabelKeys:* MismatchLabelKeys:*
WeightedPodAffinityTerm Weight:int PodAffinityTerm:PodAffinityTerm
ObjectFieldSelector APIVersion FieldPath
ResourceFieldSelector ContainerName Resource Divisor:quantity
SecretProjection Name Items:[]KeyToPath Optional:*
DownwardAPIProjection Items:[]DownwardAPIVolumeFile
ConfigMapProjection Name Items:[]KeyToPath Optional:*
ServiceAccountTokenProjection Audience ExpirationSeconds:int Path
ClusterTrustBundleProjection Name:* SignerName:* LabelSelector:* Optional:* Path
PodCertificateProjection SignerName KeyType MaxExpirationSeconds:* CredentialBundlePath KeyPath CertificateChainPath
  UserAnnotations:*
PersistentVolumeClaimSpec AccessModes:* Selector:* Resources:VolumeResourceRequirements VolumeName StorageClassName:*
  VolumeMode:* DataSource:*TypedLocalObjectReference DataSourceRef:*TypedObjectReference VolumeAttributesClassName:*
ConfigMapKeySelector Name Key Optional:*
SecretKeySelector Name Key Optional:*
FileKeySelector VolumeName Path Key Optional:*
HTTPHeader Name Value
SleepAction Seconds:int
NodeSelectorTerm MatchExpressions:[]NodeSelectorRequirement MatchFields:[]NodeSelectorRequirement
VolumeResourceRequirements Limits:* Requests:*
TypedLocalObjectReference APIGroup:* Kind Name
TypedObjectReference APIGroup:* Kind Name Namespace:*
NodeSelectorRequirement Key Operator Values:*
""")

_HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
"""Fields of the pod spec that are in the security context of kube-apiserver's internal type."""


def show_pod_template(template: JsonObject) -> orjson.Fragment | None:
    """Return the JSON of a pod template that kube-apiserver's error messages show."""
    return POD_TYPES.show("PodTemplateSpec", {**template, "spec": _internal_spec(template.get("spec") or {})})


def show_pod_spec(spec: JsonObject) -> orjson.Fragment | None:
    """Return the JSON of a pod spec that kube-apiserver's error messages show."""
    return POD_TYPES.show("PodSpec", _internal_spec(spec))


def _internal_spec(spec: JsonObject) -> JsonObject:
    host = {name: spec[name] for name in _HOST_FIELDS if name in spec}
    context = spec.get("securityContext")
    return {**spec, "securityContext": {**(context or {}), **host}} if host or context is not None else spec
