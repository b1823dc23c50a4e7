#!/bin/bash
# Runs the commands of README.md, one after the other, as they stand there.
cd "$(dirname "$0")" || exit
sed -n '/^```console$/,/^```$/s/^\$ //p' README.md | while read -r command; do
  echo "\$ $command"
  bash -c "$command" < /dev/null
done
