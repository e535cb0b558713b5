#!/bin/sh
# The boot server on ports that need no privilege, over the example answer set: `make run`.
set -eu
: "${BIN:=venv/bin}"
. examples/environment.sh
host=$("$BIN/rescriptum" config --value RESCRIPTUM_PUBLIC_HOST)
cat <<TEXT
Serving; end it with Ctrl-C. In another terminal, what a machine would see:
  the first script   curl http://$host:8001/ipxe/bootstrap
  the menu           curl http://$host:8001/ipxe/menu
  an answer          curl 'http://$host:8000/ipxe/boot?mac=52:54:00:12:34:56'
  a loader by TFTP   curl -o /tmp/loader.efi tftp://$host:6969/ipxe-x86_64.efi
  all the answers    . examples/environment.sh && $BIN/rescriptum check
  the whole chain    . examples/environment.sh && $BIN/rescriptum boot check
Images go into $RESCRIPTUM_MEDIA_DIR, answers into $RESCRIPTUM_ANSWERS_DIR; both are seen at once.
TEXT
exec "$BIN/twistd" -n --pidfile= rescriptum
