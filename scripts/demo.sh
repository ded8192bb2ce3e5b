#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The demonstration: runs heat in all variants on two plates, compares each field bit for bit with the serial run, and
# draws figures.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
    cat <<'EOF'
usage: scripts/demo.sh BUILD_DIR OUT_DIR

Runs BUILD_DIR/bin/heat serially and in every variant that it has, on the plates in apps/heat/configs. Writes to OUT_DIR
the figures (*.png), the table and a sentence on each of two more situations (report.txt), and the files of the runs. Deletes the files of an earlier run there first
(*.png, *.json, *.npy, *.log, report.txt). Exit status: 1 if a run fails, 3 if a field differs from the serial one.

THENCE_DEMO_SCALE   percentage of the configured iterations [100]
MPIEXEC             the MPI launcher [the one BUILD_DIR was configured with]
PYTHON              a Python with numpy and matplotlib [the first of python3 and /usr/bin/python3 that has them]
EOF
}
case ${1-} in --help | -h) usage; exit 0 ;; esac
[ $# -eq 2 ] || { usage >&2; exit 2; }
die() { echo "demo: $*" >&2; exit 1; }

heat=$1/bin/heat
[ -x "$heat" ] || die "no $heat; build it first: make build"
heat=$(cd "$(dirname "$heat")" && pwd)/heat
[ -n "${MPIEXEC-}" ] || MPIEXEC=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$1/CMakeCache.txt" 2>/dev/null || true)
MPIEXEC=${MPIEXEC:-mpiexec}
command -v "$MPIEXEC" >/dev/null 2>&1 || die "no MPI launcher $MPIEXEC; set MPIEXEC"
scale=${THENCE_DEMO_SCALE:-100}
[[ $scale =~ ^[1-9][0-9]*$ ]] || die "THENCE_DEMO_SCALE=$scale is not a percentage"
mkdir -p "$2"
out=$(cd "$2" && pwd)
rm -f "$out"/*.json "$out"/*.npy "$out"/*.log "$out"/*.png "$out/report.txt"

# The environment of the tests: it allows to run as root and with more ranks than cores, and switches binding off.
while IFS='=' read -r name value; do export "$name=$value"; done < <(grep '^[A-Z]' "$root/cmake/test_environment.txt")

# If other programs use the machine, a thread that spins while it waits may occupy the core that another thread needs.
# So waiting threads yield early, in MPI and in OpenMP. Variables that are set already are not changed.
export OMPI_MCA_mpi_yield_when_idle=${OMPI_MCA_mpi_yield_when_idle:-1} GOMP_SPINCOUNT=${GOMP_SPINCOUNT:-1000}

python=
for candidate in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
    if "$candidate" -c 'import numpy, matplotlib' >/dev/null 2>&1; then python=$candidate; break; fi
done
figures=$python
if [ -z "$python" ]; then
    python=$(command -v python3) || die "no python3"
    echo "demo: no figures, since no Python here has numpy and matplotlib; scripts/setup.sh demo installs them" >&2
fi
plot() { "$python" "$root/apps/heat/plot.py" "$@"; }

# Two ranks share the cores, or one rank has all of them. MPI only runs with four ranks on every machine.
cores=$(nproc)
threads=$((cores / 2))
if [ "$threads" -lt 1 ]; then threads=1; fi
if [ "$threads" -gt 4 ]; then threads=4; fi
runs=("serial 1 1" "mpi 2 1" "mpi 4 1")
for variant in forkjoin omp-tasks tbb tampi-blocking tampi-iwait dataflow; do
    if "$heat" --help | grep -q "^  $variant "; then
        runs+=("$variant 2 $threads" "$variant 1 $((2 * threads))")
    else
        echo "demo: heat was built without the variant $variant" >&2
    fi
done
plates=(sources picture)

total=$((${#plates[@]} * ${#runs[@]}))
done_runs=0
bar() { # bar TEXT: shows the progress and what is running
    local width=30 filled
    filled=$((width * done_runs / total))
    if [ -t 2 ]; then
        printf '\r[%s%s] %2d/%d  %-40s' "$(printf '%*s' $filled '' | tr ' ' '#')" \
            "$(printf '%*s' $((width - filled)) '' | tr ' ' '.')" "$done_runs" "$total" "$1" >&2
    else
        echo "[$((done_runs + 1))/$total] $1" >&2
    fi
}
clear_bar() { if [ -t 2 ]; then printf '\r%*s\r' 90 '' >&2; fi; }

failed=0
for plate in "${plates[@]}"; do
    config=$root/apps/heat/configs/$plate.cfg
    configured=$(sed -n 's/^iterations *= *\([0-9]*\).*/\1/p' "$config")
    iterations=$((configured * scale / 100))
    if [ "$iterations" -lt 1 ]; then iterations=1; fi
    for run in "${runs[@]}"; do
        read -r variant ranks threads_each <<<"$run"
        name=$plate-$variant-${ranks}x$threads_each
        bar "$plate: $variant, $ranks x $threads_each"
        command=("$heat" "$config" --variant "$variant" --threads "$threads_each" --iterations "$iterations"
            --progress never --json "$out/$name.json")
        if [ "$variant" = serial ]; then
            command+=(--start "$out/$plate-start.npy" --field "$out/$plate.npy")
        else
            command+=(--reference "$out/$plate.npy" --timeline "$out/$name.timeline.json" --timeline-capacity 30000)
            command=("$MPIEXEC" -n "$ranks" "${command[@]}")
        fi
        status=0
        timeout 120 "${command[@]}" >"$out/$name.log" 2>&1 || status=$?
        done_runs=$((done_runs + 1))
        [ $status -eq 0 ] && continue
        clear_bar
        echo "demo: $name ended with status $status; the end of $out/$name.log:" >&2
        tail -n 15 "$out/$name.log" >&2
        failed=1
        # If the run wrote a report, the table shows that its field differs.
        if [ "$variant" = serial ]; then exit 1; fi
    done
done
clear_bar

mapfile -t results < <(find "$out" -maxdepth 1 -name '*.json' ! -name '*.timeline.json' | sort)
status=0
plot table --check "${results[@]}" >"$out/report.txt" || status=$?
cat "$out/report.txt"
echo
if [ -n "$figures" ]; then
    for plate in "${plates[@]}"; do
        plot field "$out/$plate-start.npy" "$out/$plate.npy" --titles "start,end" -o "$out/field-$plate.png"
        timelines=()
        for run in "${runs[@]:1}"; do
            read -r variant ranks threads_each <<<"$run"
            file=$out/$plate-$variant-${ranks}x$threads_each.timeline.json
            if [ "$ranks" = 2 ] && [ -e "$file" ]; then timelines+=("$file"); fi
        done
        [ ${#timelines[@]} -eq 0 ] || plot timeline "${timelines[@]}" -o "$out/timeline-$plate.png"
    done
    plot bars "${results[@]}" -o "$out/variants.png"
fi
# Where waiting leaves other work: one sentence for each situation, from the shortest of three runs.
shortest() { # shortest COMMAND...: seconds; nothing if a run fails
    local i
    for i in 1 2 3; do
        timeout 120 "$@" --progress never --json "$out/situation.json" >"$out/situation.log" 2>&1 || return 0
        sed -n 's/.*"time_s": *\([0-9.e+-]*\).*/\1/p' "$out/situation.json"
    done | sort -g | head -n 1
}
situation() { # situation TEXT MPI_SECONDS NAME SECONDS
    awk -v text="$1" -v mpi="$2" -v name="$3" -v ours="$4" 'BEGIN {
        if (mpi <= 0 || ours <= 0) { printf "%s: not measured, a run failed\n", text; exit }
        printf "%s: %s is %.2f times as fast as MPI only%s\n", text, name, mpi / ours,
               mpi < ours ? ", so MPI only wins" : "" }' | tee -a "$out/report.txt"
}
iterations=$((3 * scale)) && [ "$iterations" -ge 3 ] || iterations=3
mpi_run=("$MPIEXEC" -n 2)
if [[ " ${runs[*]} " == *" omp-tasks 2 "* ]]; then
    dearer=("$root/apps/heat/configs/sources.cfg" --iterations "$iterations" --imbalance 5@rank:1)
    situation "A plate whose lower half costs five times as much" \
        "$(shortest "${mpi_run[@]}" "$heat" "${dearer[@]}" --variant mpi)" "omp-tasks with $cores threads a rank" \
        "$(shortest "${mpi_run[@]}" "$heat" "${dearer[@]}" --variant omp-tasks --threads "$cores")"
fi
if [ -x "${heat}_plates" ]; then
    several=("${heat}_plates" --plates 4 --mirrored --iterations "$((iterations / 3))")
    situation "Four independent plates, half of them from the other end" \
        "$(shortest "${mpi_run[@]}" "${several[@]}" --variant mpi)" callbacks \
        "$(shortest "${mpi_run[@]}" "${several[@]}" --variant callbacks)"
fi
rm -f "$out/situation.json" "$out/situation.log"
echo "$out/report.txt"
if [ $status -ne 0 ]; then exit $status; fi
if [ $failed -ne 0 ]; then exit 1; fi
echo "All fields are bit-identical to the serial run."
