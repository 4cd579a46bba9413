#!/usr/bin/env bash
# The visits of docs/first_hour.md in an empty home, with the seconds of every step, and at the end what they have left in
# that home besides their own clone.
#
#   tools/visits.sh reader|student|lab|practitioner|contributor|maintainer ...
#
# What is cloned is REPOSITORY of the environment, by default this clone.  The folder of the visits is kept and named.
set -euo pipefail
repository=${REPOSITORY:-$(cd "$(dirname "$0")/.." && pwd)}

step() {  # a line of the table: what is done, and the seconds that it takes
  local began=$SECONDS
  "${@:2}" > "$folder/log" 2>&1 || { tail -40 "$folder/log"; echo "FAILED: $1"; exit 1; }
  printf '%-58s %5d s\n' "$1" $((SECONDS - began))
}

reader() {  # a page in a browser, and one number again
  step "make book" make book
  step "a page is there" test -s _build/html/book/cyclic_labels/index.html
  step "python -m shallow claim CL-14" .venv/bin/python -m shallow claim CL-14
}

student() {  # a notebook from its page, in a folder of its own, with three seeds instead of ten
  step "make book" make book
  mkdir ../homework
  cd ../homework
  cp ../clone/_build/html/_sources/book/cyclic_labels/kernel.ipynb .
  sed -i.bak 's#cyclic_labels/kernel/sensitivity\\")#cyclic_labels/kernel/sensitivity\\").isel(seed=slice(3))#' kernel.ipynb
  step "the first cell says how to get the library" grep -q 'git clone' kernel.ipynb
  step "the changed notebook runs to its end" ../clone/.venv/bin/jupyter execute --inplace kernel.ipynb
  step "and shows its result beside the book's" grep -q 'The ledger says: CL-46' kernel.ipynb
}

lab() {  # one trainer, without the book
  step "python -m venv" "${PYTHON:-python3}" -m venv ../own
  step "pip install" ../own/bin/python -m pip install --quiet .
  cd ..
  step "an ensemble is trained" own/bin/python -c "
from shallow import nets
from shallow.data import cyclic
from shallow.train import univariate
data = cyclic.sample(60, seed=1)
run = univariate.train(data.x, data.y, nets.default(data.rng, 512), step=0.01, epochs=1000, grid=cyclic.grid())
print(run.loss[-1])"
}

practitioner() {  # the layers of a model, first without PyTorch and the book, then as a table and pictures
  step "python -m venv" "${PYTHON:-python3}" -m venv ../own
  step "pip install" ../own/bin/python -m pip install --quiet .
  mkdir ../model
  cd ../model
  step "the layers of a matrix, a row each" ../own/bin/python -c "
import numpy as np
from shallow import spectra
(layer,) = spectra.report({'first': np.random.default_rng(0).standard_t(2.5, (600, 400))}).layers
np.savez('model.npz', first=np.random.default_rng(0).standard_t(2.5, (600, 400)))
print(layer.hill, layer.hill_noise, layer.shuffled)"
  step "pip install '.[book]'" ../own/bin/python -m pip install --quiet '../clone[book]'
  step "the command" ../own/bin/python -m shallow spectra model.npz --csv layers.csv --picture layers.png --layers pictures
  step "wrote its table and pictures" test -s layers.csv -a -s layers.png -a -d pictures
}

contributor() {  # a document of one's own: the chapter of the template, green at once
  step "make .venv/.book .venv/.test" make .venv/.book .venv/.test
  local python=.venv/bin/python
  step "python -m shallow new" $python -m shallow new slow_learners --title "Slow learners" --authors "A. Author" --year 2024
  step "python -m shallow claim" $python -m shallow claim SL-01 SL-02 SL-03
  step "python -m shallow verify" $python -m shallow verify slow_learners/silence/silenced
  git add -A
  git -c user.name=A -c user.email=a@example.org commit --quiet -m "Slow learners"
  step "make book, with warnings as errors" make book
  step "its story is there" grep -q "Slow learners" _build/html/book/slow_learners/index.html
  step "its tests" $python -m pytest -q -n 2 tests/unit tests/book tests/agreement/slow_learners book/slow_learners
}

maintainer() {  # what the workflow runs: once from nothing, and after a change of the text
  step ".ci/run" .ci/run
  echo "A word more." >> book/glossary.md
  step ".ci/run --warm, after a change of the text" .ci/run --warm
}

for visit in "${@:-none}"; do
  case $visit in reader|student|lab|practitioner|contributor|maintainer) ;; *) sed -n '2,/^set/{s/^# \{0,1\}//p;s/^#$//p}' "$0" >&2; exit 2 ;; esac
done
folder=$(mktemp -d "${TMPDIR:-/tmp}/shallow-visits-XXXXXX")
export HOME="$folder/home"
unset PYTHONPATH VIRTUAL_ENV SHALLOW_STRICT SHALLOW_DATA SHALLOW_RECORDS ${!XDG_*}
mkdir "$HOME"
step "git clone" git clone --quiet "$repository" "$folder/clone"
for visit in "$@"; do
  echo "$visit:"
  cd "$folder/clone"
  "$visit"
done
echo "In the home: $(cd "$HOME" && find . -mindepth 1 -maxdepth 2 -printf '%P ')"
echo "All of it is in $folder"
