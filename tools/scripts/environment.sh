# shellcheck shell=bash
# Sourced by the scripts beside it: where things are, and how they report.
#
# DLC_BUILD_DIR   the Release build (default: build)
# DLC_PYTHON      a Python 3 with NumPy and scikit-learn (default: Debian's, which setup fills)
# DLC_CORPUS      other people's models (default: ../shared/corpus beside the checkout; may be
#                 absent)
# DLC_JOBS        parallel jobs (default: the number of processors)
# DLC_SEED        which sample the long kinds of test take (default: the day; cases.py says more)
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export DLC_BUILD_DIR=${DLC_BUILD_DIR:-$ROOT/build}
export DLC_PYTHON=${DLC_PYTHON:-/usr/bin/python3}
export DLC_CORPUS=${DLC_CORPUS:-$ROOT/../shared/corpus}
export DLC_JOBS=${DLC_JOBS:-$(nproc)}
export DLC_SEED=${DLC_SEED:-$(($(date +%s) / 86400))}
export DLC_LLVM=${DLC_LLVM:-/usr/lib/llvm-22}
# Python writes no cache files into the source tree.
export PYTHONDONTWRITEBYTECODE=1

say() { printf '%s\n' "-- $*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# The Python of the tests that need packages from PyPI: its own, which setup --tests makes, else
# DLC_PYTHON.
oracle_python() {
  local own=$DLC_BUILD_DIR/python-$1/bin/python
  if [ -x "$own" ]; then echo "$own"; else echo "$DLC_PYTHON"; fi
}

# configure DIR [CMAKE OPTIONS]: a Ninja build with clang-22.
configure() {
  local dir=$1
  shift
  mkdir -p "$dir"
  cmake -S "$ROOT" -B "$dir" -G Ninja -DCMAKE_C_COMPILER="$DLC_LLVM/bin/clang" \
    -DCMAKE_CXX_COMPILER="$DLC_LLVM/bin/clang++" "$@" >"$dir/configure.log" 2>&1 ||
    { cat "$dir/configure.log"; fail "cmake could not configure $dir (its output is above)"; }
}

# The libraries that the sanitized build takes as the Release build has compiled them: two of three
# groups, by the seed, where there are Release objects of this commit. The runtime, ir and
# what reads arrays and tokenizers are always sanitized. The frontend alone is half of such a build.
prebuilt_libraries() {
  [ -f "$DLC_BUILD_DIR/lib/libdlc_driver.a" ] || return 0
  case $((DLC_SEED % 3)) in
    0) echo "dlc_passes;dlc_codegen;dlc_driver;dlc_commands" ;;
    1) echo "dlc_frontend;dlc_driver;dlc_commands" ;;
    2) echo "dlc_frontend;dlc_passes;dlc_codegen" ;;
  esac
}

# configure_sanitized DIR [LIBRARIES]: the build of the kinds sanitizers, sanitized-bad-inputs and
# fuzz, the libraries as the Release build has them. NDEBUG as in the LLVM packages: without it
# their headers lay out pass statistics in another way than their libraries; assertions run all the
# same, by an assert.h of ours. Not optimised: the build takes half of the time that it takes with
# -O1, about 700 s of a processor less, and the tests 230 s more.
configure_sanitized() {
  local flags="-O0 -gline-tables-only -DNDEBUG -I$ROOT/tools/cmake/assertions"
  configure "$1" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="$flags" \
    -DCMAKE_C_FLAGS_RELEASE="$flags" -DDLC_SANITIZE=address,undefined,fuzzer-no-link \
    -DDLC_PREBUILT="$DLC_BUILD_DIR" -DDLC_PREBUILT_LIBRARIES="${2-}"
}
