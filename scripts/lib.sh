# Sourced by the scripts beside it: a virtual environment with the project in it, and a RabbitMQ to run against.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${KAMAJI_EVENTS_VENV:-$root/.venv}
python=$venv/bin/python

say() { printf '\n\033[1m==> %s\033[0m\n' "$*" >&2; }
die() { printf '%s\n' "$*" >&2; exit 1; }

as_root_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

apt_install() {
  # RUNLEVEL=1 keeps Debian from starting a service that was only to be installed.
  { DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -q --no-install-recommends "$@" ||
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -q --no-install-recommends "$@"; }
  } >&2
}

find_python() {
  local candidate
  for candidate in python3 python3.13 python3.12 python3.11 python3.14; do
    if command -v "$candidate" >/dev/null &&
      "$candidate" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  die "Python 3.11 or newer is needed; on Debian or Ubuntu: apt-get install python3 python3-venv"
}

make_venv() {
  [ -x "$python" ] && "$python" -c '' 2>/dev/null && return
  say "making a virtual environment in $venv"
  rm -rf "$venv"
  if command -v uv >/dev/null && uv venv -q --python '>=3.11' "$venv"; then
    return
  fi
  local found
  found=$(find_python)
  if ! "$found" -m venv "$venv" 2>/dev/null; then
    as_root_apt || die "$found cannot make virtual environments; on Debian or Ubuntu: apt-get install python3-venv"
    apt_install python3-venv
    "$found" -m venv "$venv"
  fi
}

# find_uv: prints where uv is. It installs several times faster than pip, so pip fetches it first; where it cannot
# be had nothing is printed, and pip does all.
find_uv() {
  if command -v uv; then return; fi
  [ -x "$venv/bin/uv" ] || "$python" -m pip install -q --disable-pip-version-check uv >&2 2>/dev/null || return 0
  printf '%s\n' "$venv/bin/uv"
}

# install_project [GROUP]: the project as it stands here, with a dependency group; nothing when that is done already.
install_project() {
  local group=${1:-} mark
  mark=$venv/.installed-${group:-none}
  make_venv
  local wanted
  wanted=$(cksum <"$root/pyproject.toml")
  [ -f "$mark" ] && [ "$(cat "$mark")" = "$wanted" ] && return
  say "installing the project${group:+ with what its checks need}"
  local uv
  uv=$(find_uv)
  if [ -n "$uv" ]; then
    "$uv" pip install -q --python "$python" -e "$root" ${group:+--group "$root/pyproject.toml:$group"}
  else
    [ -z "$group" ] || "$python" -m pip install -q --upgrade 'pip>=25.1'
    (cd "$root" && "$python" -m pip install -q -e . ${group:+--group "$group"})
  fi
  printf '%s\n' "$wanted" >"$mark"
}

has_rabbitmq() { command -v rabbitmq-server >/dev/null || [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ]; }

# find_rabbitmq: AMQP_URL, or a rabbitmq-server on this machine; as root on Debian it is installed.
find_rabbitmq() {
  [ -n "${AMQP_URL:-}" ] && return
  has_rabbitmq && return
  as_root_apt || return 1
  say "installing rabbitmq-server"
  apt_install rabbitmq-server
}
