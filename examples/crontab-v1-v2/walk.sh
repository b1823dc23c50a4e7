#!/bin/bash
# Runs all commands of README.md in order.
cd "$(dirname "$0")" || exit
sed -n '/^```console$/,/^```$/s/^\$ //p' README.md | while read -r command; do
  echo "\$ $command"
  bash -c "$command" < /dev/null
done
