#!/bin/bash
# ./stored.sh v2: sets status.storedVersions of the CRD, after all objects have been rewritten at this version.
crd=/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.stable.example.com
kubectl get --raw $crd | sed 's/"storedVersions":\[[^]]*\]/"storedVersions":["'"$1"'"]/' \
  | kubectl replace --raw $crd/status -f - > /dev/null
