#!/usr/bin/env bash
# Installs this package into a virtual environment of its own, and prints the path of its python. What is there is used
# again.
#   setup.sh      with the package of interop/spark and what the tests need; Python 3.11 or newer
#   setup.sh pyg  with PyTorch and PyTorch Geometric; Python 3.10 or newer
# Needs a Python package index.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
cache=${XDG_CACHE_HOME:-$HOME/.cache}
case "$*" in
  '') venv=${GRAPHCLEANER_PYTHON:-$cache/graphcleaner-python/venv} pinned=$here/requirements.txt ;;
  pyg) venv=${GRAPHCLEANER_PYG:-$cache/graphcleaner-pyg/venv} pinned=$here/requirements-pyg.txt ;;
  *) printf 'setup.sh: got "%s", want pyg or nothing\n' "$*" >&2; exit 2 ;;
esac
stamp=$venv/installed-$( (printf '%s\n' "$here" && cat "$pinned") | cksum | cut -d' ' -f1)

if [ ! -e "$stamp" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --requirement "$pinned" >&2
  "$venv/bin/pip" install --quiet --no-deps --editable "$here" --editable "$here/../spark" >&2
  rm -f "$venv"/installed-*  # of other versions, or of this package in another folder
  touch "$stamp"
fi
printf '%s\n' "$venv/bin/python"
