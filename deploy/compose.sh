#!/bin/sh
# Starts a container of compose.yaml. The first start of the sandbox creates the keys, prints the
# staff key, and stores all of them in the volume `data`.
# usage: compose.sh sandbox | service
set -eu
keys=.data/compose_keys

# Prints $1 random bytes in base64url.
random() {
  head -c "$1" /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n'
}

create_keys() {
  umask 077
  staff_key=gk_$(random 32)
  {
    echo "GATEWAY_SERVER_KEY=SB-Mid-server-$(random 18)"
    echo "GATEWAY_CLIENT_KEY=SB-Mid-client-$(random 18)"
    echo "BOOTSTRAP_STAFF_KEY=$staff_key"
  } >"$keys.new"
  mv "$keys.new" "$keys"
  cat <<END

  API key (printed only once)
  staff       $staff_key

  API         http://127.0.0.1:8000/
  Sandbox     http://127.0.0.1:8001/   emulated gateway, no real money

  Create a payment
  curl http://127.0.0.1:8000/charge/ -H 'Authorization: Bearer $staff_key' -H 'Content-Type: application/json' \\
    -d '{ "payment_type": "bank_transfer", "bank": "bca", "gross_amount": 44000 }'

END
}

case $1 in
sandbox)
  [ -e "$keys" ] || create_keys
  . "$keys"
  exec deno run --cached-only --no-prompt --allow-net --ignore-env --allow-read=.data \
    --ignore-read --allow-write=.data sandbox/main.ts --host 0.0.0.0 \
    --server-key "$GATEWAY_SERVER_KEY" --client-key "$GATEWAY_CLIENT_KEY" \
    --public-url http://127.0.0.1:8001 --notify "http://127.0.0.1:${PORT:-8000}/notification/" \
    --port "${SANDBOX_PORT:-8001}"
  ;;
service)
  until [ -e "$keys" ]; do sleep 1; done
  set -a
  . "$keys"
  set +a
  flags=$(deno run -q --cached-only -P=prepare main.ts prepare)
  # Without quotes: each flag is an argument.
  exec deno run --cached-only --no-prompt $flags main.ts
  ;;
esac
