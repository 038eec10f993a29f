#!/bin/sh
# Makes the secrets of compose.yaml and kubernetes/portion.yaml in a folder, by default secrets/: a token for callers, one for
# the admin address, the key of cursors, and the password of Grafana. What is there is kept.
set -eu
umask 077
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
cd "$folder"
[ ! -e portion.env ] || { echo "$folder/portion.env is there already" >&2; exit 1; }

token() { printf 'ptn_%s' "$(openssl rand -hex 32)"; }
hash() { printf '%s=sha256:%s' "$1" "$(openssl dgst -sha256 -r "$2" | cut -d ' ' -f 1)"; }

token >caller.token
token >admin.token
cat >portion.env <<TEXT
PORTION_TOKEN_HASHES=$(hash team caller.token)
PORTION_ADMIN_TOKEN_HASHES=$(hash prometheus admin.token)
PORTION_CURSOR_KEYS=$(openssl rand -base64 32)
TEXT
echo "GF_SECURITY_ADMIN_PASSWORD=$(openssl rand -hex 16)" >grafana.env
# Prometheus runs as another user in its container.
chmod 644 admin.token
echo "Callers send: Authorization: Bearer $(cat caller.token)"
