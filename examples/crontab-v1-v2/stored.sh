#!/bin/bash
# ./stored.sh v2: tells the definition that objects are stored at this version only, once all have been rewritten.
crd=/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.stable.example.com
kubectl get --raw $crd | sed 's/"storedVersions":\[[^]]*\]/"storedVersions":["'"$1"'"]/' \
  | kubectl replace --raw $crd/status -f - > /dev/null
