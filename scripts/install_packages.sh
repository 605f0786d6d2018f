# Sourced by the other scripts: install_packages NAME... makes sure that Debian packages are there.
# Does nothing where they all are. Elsewhere than on Debian and its kin it says what is needed and
# goes on: configuring names what is missing.

install_packages() {
  local missing=() package
  if ! command -v dpkg-query >/dev/null; then
    echo "girih: this is no Debian system; if the next steps fail, install what these hold:" >&2
    echo "  $*" >&2
    return 0
  fi
  for package in "$@"; do
    if [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]]; then
      missing+=("$package")
    fi
  done
  if ((${#missing[@]} == 0)); then return 0; fi
  local as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "girih: run as root, once: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "girih: installing ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
}

# What the library and the command need to build.
build_packages=(g++ cmake ninja-build ccache libexpected-dev libfmt-dev libhwy-dev
                nlohmann-json3-dev libcli11-dev)
# What the tests and the checks need besides.
test_packages=(libgtest-dev python3 clang-format-14 clang-tidy-14 binutils libblas3 libblas-test
               python3-numpy clang-19 libclang-rt-19-dev)
