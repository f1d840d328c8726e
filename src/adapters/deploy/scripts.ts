/**
 * What is run on a host. Every script is a constant: what it works on comes line by line over its standard input, so that no shell ever
 * takes a name apart. `$F` is the folder of the deployment: `releases/<id>`, a link `current`, the node's own `data`.
 */

/** Keeps a worker running where there is no systemd: starts it again while it fails, and ends with it when it ends in order. */
export const SUPERVISE = `#!/bin/sh
# usage: supervise.sh <folder>
F="$1"
echo $$ > "$F/node.pid"
trap 'test -n "$child" && kill -TERM "$child" 2>/dev/null; ended=1' TERM INT
ended=0
fails=0
export RINGRIFT_DATA_DIR="$F/data"
if [ -f "$F/node.env" ]; then set -a; . "$F/node.env"; set +a; fi
while [ "$ended" = 0 ]; do
  "$F/current/node" "$F/current/bin/ringrift.js" worker >> "$F/node.log" 2>&1 &
  child=$!
  wait "$child"; code=$?
  while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
  [ "$ended" = 1 ] && break
  [ "$code" = 0 ] && break
  fails=$((fails + 1))
  [ "$fails" -ge 30 ] && break
  sleep 2 & wait $!
done
rm -f "$F/node.pid"
`;

const READ = "set -eu; export LC_ALL=C; IFS= read -r F; ";
/** A service of the system, where systemd is there and we may speak to it. */
const SYSTEMD = `has_systemd() { [ -d /run/systemd/system ] && [ "$(id -u)" = 0 ] && command -v systemctl >/dev/null 2>&1; }; `;
const UNIT = `unit() { echo "ringrift-node-$(printf %s "$F" | cksum | cut -d' ' -f1)"; }; `;
const RUNNING = `running() { if has_systemd; then systemctl is-active --quiet "$(unit)"; else [ -f "$F/node.pid" ] && kill -0 "$(cat "$F/node.pid")" 2>/dev/null; fi; }; `;
const END = `end_process() { kill -TERM "$1" 2>/dev/null || true; n=0; while kill -0 "$1" 2>/dev/null && [ $n -lt 300 ]; do sleep 0.2; n=$((n + 1)); done; kill -KILL "$1" 2>/dev/null || true; }; `;
/** A worker whose supervisor was killed goes on, and nobody else could have its folder. Its number alone proves nothing. */
const ORPHANED = `orphaned() { [ -f "$F/data/worker/pid" ] && P="$(cat "$F/data/worker/pid")" && [ -r "/proc/$P/cmdline" ] && tr '\\0' '\\n' < "/proc/$P/cmdline" 2>/dev/null | grep -qxF "$F/current/bin/ringrift.js"; }; `;
const STOP = `stop() { if has_systemd; then systemctl stop "$(unit)" 2>/dev/null || true; else if running; then end_process "$(cat "$F/node.pid")"; rm -f "$F/node.pid"; fi; if orphaned; then end_process "$P"; fi; fi; }; `;
const START = `start() { if has_systemd; then
printf '%s\\n' "[Unit]" "Description=RingRift node" "After=network-online.target" "[Service]" "Environment=RINGRIFT_DATA_DIR=$F/data" "EnvironmentFile=-$F/node.env" "ExecStart=$F/current/node $F/current/bin/ringrift.js worker" "Restart=on-failure" "RestartSec=5" "TimeoutStopSec=120" "KillMode=mixed" "[Install]" "WantedBy=multi-user.target" > "/etc/systemd/system/$(unit).service"
systemctl daemon-reload; systemctl enable --quiet "$(unit)"; systemctl restart "$(unit)"
else setsid sh "$F/current/supervise.sh" "$F" </dev/null >/dev/null 2>&1 & n=0; while ! running && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); done; fi; }; `;

const WORLD = READ + SYSTEMD + UNIT + RUNNING + END + ORPHANED + STOP + START;

/** Says how a host is: which release, whether it runs, who it is. */
export const PROBE = `${WORLD}
echo "arch $(uname -m)"
[ -L "$F/current" ] && echo "current $(basename "$(readlink "$F/current")")"
[ -f "$F/previous" ] && echo "previous $(cat "$F/previous")"
running && echo "running yes"
[ -f "$F/data/node/node.json" ] && echo "node $(tr -d '\\n' < "$F/data/node/node.json")"
[ -f "$F/node.env" ] && echo "env $(cksum < "$F/node.env" | cut -d' ' -f1)"
true`;

/** Makes the folders, and a place for a release that is not whole yet. */
export const PREPARE = `${READ} IFS= read -r ID
umask 077; mkdir -p "$F/releases" "$F/data"; [ -d "$F/releases/$ID" ] || mkdir -p "$F/releases/$ID.part"`;

/** A release that came whole gets its name; the settings of the node are written. The rest of the input is node.env. */
export const SETTLE = `${READ} IFS= read -r ID
[ -d "$F/releases/$ID" ] || mv "$F/releases/$ID.part" "$F/releases/$ID"
umask 077; cat > "$F/node.env.new"; mv "$F/node.env.new" "$F/node.env"`;

/** Joins, with a token that is on the disk for this moment only. */
export const JOIN = `${READ} IFS= read -r ID; IFS= read -r URL; IFS= read -r LABEL; IFS= read -r PRINT
umask 077; cat > "$F/token"; trap 'rm -f "$F/token"' EXIT
export RINGRIFT_DATA_DIR="$F/data"; set -a; . "$F/node.env"; set +a
if [ -n "$PRINT" ]; then set -- --fingerprint "$PRINT"; else set --; fi
"$F/releases/$ID/node" "$F/releases/$ID/bin/ringrift.js" join "$URL" --token-file "$F/token" --label "$LABEL" --no-run --json "$@"`;

/** Makes a release the one that runs. What ran before is remembered, for the way back. */
export const ACTIVATE = `${WORLD} IFS= read -r ID
stop
if [ -L "$F/current" ]; then OLD="$(basename "$(readlink "$F/current")")"; [ "$OLD" = "$ID" ] || echo "$OLD" > "$F/previous"; fi
ln -sfn "releases/$ID" "$F/current.new"; mv -T "$F/current.new" "$F/current"
start; running`;

/** Ends the node and takes away releases that neither run nor are the way back. */
export const TIDY = `${READ}
KEEP="$(basename "$(readlink "$F/current")")"; BACK="$(cat "$F/previous" 2>/dev/null || true)"
for R in "$F"/releases/*; do N="$(basename "$R")"; case "$N" in "$KEEP"|"$BACK") ;; *) rm -rf "$R" ;; esac; done`;

/** How large a host is, and which machines of a fleet are in its folder. Here `$F` is the folder of the host. */
export const SHOW_FLEET = `${WORLD}
H="$F"
echo "cpus $(nproc)"
echo "memory $(sed -n 's/^MemTotal: *\\([0-9]*\\).*/\\1/p' /proc/meminfo)"
for F in "$H"/fleet/*; do [ -d "$F" ] || continue; if running; then S=running; else S=stopped; fi; echo "machine $(basename "$F") $S"; done
true`;

/** Starts a node anew. */
export const RESTART_NODE = `${WORLD} stop; start; running`;

/** Ends a node for good: its service and its folder go. Only below a folder of machines. */
export const END_NODE = `${WORLD}
case "$F" in */fleet/?*) ;; *) echo "this is no machine of a fleet" >&2; exit 1 ;; esac
[ -d "$F" ] || exit 0
stop
if has_systemd; then systemctl disable --quiet "$(unit)" 2>/dev/null || true; rm -f "/etc/systemd/system/$(unit).service"; systemctl daemon-reload; fi
rm -rf "$F"`;

export const STOP_NODE = `${WORLD} stop`;

export const LAST_WORDS = `${READ} tail -n 5 "$F/node.log" 2>/dev/null || true`;
