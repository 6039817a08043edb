#!/usr/bin/env bash
# Installs this package with PyTorch and PyTorch Geometric into a virtual environment of its own, and prints the
# path of its python. Needs Python 3.10 or newer and a Python package index. What is there is used again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
venv=${GRAPHCLEANER_INTEROP:-${XDG_CACHE_HOME:-$HOME/.cache}/graphcleaner-interop/venv}
pinned=$here/requirements.txt
stamp=$venv/installed-$( (printf '%s\n' "$here" && cat "$pinned") | cksum | cut -d' ' -f1)

if [ ! -e "$stamp" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --requirement "$pinned" >&2
  "$venv/bin/pip" install --quiet --no-deps --editable "$here" >&2
  rm -f "$venv"/installed-*  # of other versions, or of this package in another folder
  touch "$stamp"
fi
printf '%s\n' "$venv/bin/python"
