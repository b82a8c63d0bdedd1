#!/bin/sh
# A worker of `crawler serve` in curl and shell: leases pages, fetches them, and sends their links until nothing is left.
#
#   worker.sh http://127.0.0.1:7071/v1/crawls/news [PROXY]
#
# Its crawl says that workers mind robots.txt: {"politeness": {"robots": false}}. Links are what stands in href="...".
crawl=$1
page=$(mktemp) && trap 'rm -f "$page"' EXIT
field() { sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p"; }
while :; do
    answer=$(curl -sf -X POST "$crawl/lease?wait=${WAIT:-10s}") || { sleep 1 && continue; } # The server is started again.
    token=$(echo "$answer" | field token) url=$(echo "$answer" | field url)
    if [ -z "$token" ]; then
        [ "$(echo "$answer" | field state)" = drained ] && exit
        continue
    fi
    if got=$(curl -s -m 60 ${2:+-x "$2"} -o "$page" -w '"status":%{response_code},"bytes":%{size_download},"location":"%{redirect_url}"' "$url"); then
        links=$(grep -o 'href="[^"\\]*"' "$page" | sed 's/^href=//' | paste -sd, -)
        done="{\"token\":\"$token\",$got,\"links\":[$links]}"
    else
        done="{\"token\":\"$token\",\"failure\":\"connect\"}"
    fi
    until curl -sf --data-binary "$done" "$crawl/done"; do sleep 1; done # Twice is as once.
done
