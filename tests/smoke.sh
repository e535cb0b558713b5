#!/bin/sh
# Builds the wheel, installs it into a clean environment and starts it there, far from the checkout.
set -eu
unset PYTHONPATH  # the checkout would count as installed
python=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m build --wheel --outdir "$work/dist" . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "$work"/dist/rescriptum-*.whl
cp -R examples/answers "$work/answers"
cd "$work"
venv/bin/twistd -n rescriptum --help | grep serve >/dev/null
venv/bin/rescriptum --help | grep snippet >/dev/null
venv/bin/rescriptum config | grep RESCRIPTUM_ANSWERS_DIR >/dev/null
venv/bin/rescriptum boot dhcp-snippet --format kea >snippet.json 2>/dev/null
venv/bin/python -m json.tool snippet.json >/dev/null
RESCRIPTUM_ANSWERS_DIR=answers venv/bin/rescriptum check --no-tools >/dev/null
(umask 077 && printf '[box]\nkind = "command"\non = ["true"]\n' >controllers.toml)
RESCRIPTUM_CONTROLLERS_FILE=controllers.toml venv/bin/rescriptum power list | grep command >/dev/null
RESCRIPTUM_ANSWERS_DIR=answers RESCRIPTUM_STORE=sqlite RESCRIPTUM_DB_PATH=answers.db \
  venv/bin/rescriptum import answers >/dev/null
RESCRIPTUM_LISTEN_ADDR=127.0.0.1:0 RESCRIPTUM_ADMIN_ADDR=127.0.0.1:0 RESCRIPTUM_ADMIN_TOKEN=0123456789abcdef \
  RESCRIPTUM_STORE=sqlite RESCRIPTUM_DB_PATH=answers.db RESCRIPTUM_LOG_FILE="$work/log" \
  venv/bin/twistd -n --pidfile= rescriptum &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
port=
for _ in $(seq 100); do
  port=$(sed -n 's/.*answers listens on 127\.0\.0\.1:\([0-9]*\).*/\1/p' log 2>/dev/null || true)
  [ -n "$port" ] && break
  sleep 0.1
done
[ -n "$port" ] || { echo "the installed server did not start"; cat log; exit 1; }
venv/bin/python - "$port" <<'P'
import sys, urllib.request
with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/health", timeout=5) as reply:
    assert reply.read() == b"OK\n"
target = f"http://127.0.0.1:{sys.argv[1]}/pve/52-54-00-a0-00-01"
with urllib.request.urlopen(target, timeout=5) as reply:  # laid over its rack's group
    assert b"fqdn" in reply.read()
P
kill $server
wait $server
echo "smoke: the installed wheel serves"

# The two other roles, with their extras: a gateway, and a site agent that joins it.
"$work/venv/bin/pip" install -q --disable-pip-version-check "$(echo "$work"/dist/rescriptum-*.whl)[gateway,site]"
export HOME="$work/home" PATH="$work/venv/bin:$PATH"
umask 077
mkdir home
port=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf 'data_dir = "%s"\nlisten = "127.0.0.1:%s"\n' "$work/gateway" "$port" >gateway.toml
rescriptum gateway init --config gateway.toml >site.lines
twistd -n --pidfile= rescriptum gateway --config gateway.toml >gateway.log 2>&1 &
gateway=$!
trap 'kill $gateway 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do
  rescriptum gateway site create berlin >/dev/null 2>&1 && break
  sleep 0.1
done
rescriptum gateway token create berlin >token 2>/dev/null || { echo "the installed gateway did not start"; cat gateway.log; exit 1; }
{
  printf 'gateway_url = "https://localhost:%s"\nsite = "berlin"\ndata_dir = "%s"\n' "$port" "$work/agent"
  grep _pin site.lines
} >site.toml
twistd -n --pidfile= rescriptum site --config site.toml --token-file token >agent.log 2>&1 &
agent=$!
trap 'kill $agent $gateway 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do
  rescriptum gateway node list --json | grep '"opened_at"' >/dev/null && break
  sleep 0.1
done
rescriptum site status --config site.toml | grep 'session   live' >/dev/null || { echo "the installed agent did not join"; cat agent.log; exit 1; }
kill $agent
wait $agent
kill $gateway
wait $gateway
echo "smoke: a site agent of the installed wheel joins its gateway"
