#!/bin/bash
# Runs real-services.test.ts and handbook.test.ts against a real searx and a real MediaWiki, all on loopback, and stops them afterwards.
# Needs Debian's packages: apt-get install --no-install-recommends searx mediawiki php-cli php-sqlite3 php-mbstring php-xml php-intl debian-handbook
set -euo pipefail
cd "$(dirname "$0")/../../.."
work=$(mktemp -d)
web=18093 searx=18094 wiki=18095
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT

wait_for() {
  for _ in $(seq 100); do
    if curl --silent --fail --output /dev/null "$1"; then return; fi
    sleep 0.2
  done
  echo "$1 does not answer; see $2:" >&2
  cat "$2" >&2
  exit 1
}

# A web of two pages and Debian's handbook in three languages, with a search by title. Some pages of it are articles of the wiki instead.
handbook=/usr/share/doc/debian-handbook/html
if [ ! -d $handbook/en-US ]; then echo "$handbook is missing: install debian-handbook" >&2; exit 1; fi
articles=(linux-mint knoppix devuan filesystem-hierarchy rights-management dhcp)
mkdir "$work/web"
tidal='Tidal power turns the rise and fall of the sea into electricity. The station at La Rance was opened in 1966.'
costs='Electricity from tidal power cost about 178 pounds per megawatt hour in the British auction of 2022.'
echo "<html><head><title>Tidal power</title></head><body><main><p>$tidal</p></main></body></html>" >"$work/web/tidal.html"
echo "<html><head><title>Costs of tidal power</title></head><body><main><p>$costs</p></main></body></html>" >"$work/web/costs.html"
cp -r $handbook/{en-US,de-DE,fr-FR} "$work/web"
for article in "${articles[@]}"; do rm "$work"/web/*/"sect.$article.html"; done
python3 apps/research/sources/handbook.py serve $web "$work/web" "http://127.0.0.1:$web" >"$work/web.log" 2>&1 &
pids+=($!)

# searx with that engine and no other, so that it never leaves this machine.
python3 - "$work/settings.yml" $searx "http://127.0.0.1:$web/search?q={query}" <<'PYTHON'
import sys, yaml
path, port, address = sys.argv[1:]
settings = yaml.safe_load(open('/usr/share/doc/searx/examples/settings.yml'))
settings['server'].update(port=int(port), bind_address='127.0.0.1', secret_key='for a test only')
settings['search']['formats'] = ['html', 'json']
# Its own limit of three seconds is short on a busy machine.
settings['outgoing'].update(request_timeout=30.0, max_request_timeout=30.0)
settings['engines'] = [{
    'name': 'pages', 'engine': 'json_engine', 'shortcut': 'p', 'categories': 'general', 'search_url': address, 'enable_http': True,
    'results_query': 'results', 'url_query': 'url', 'title_query': 'title', 'content_query': 'content',
}]
yaml.safe_dump(settings, open(path, 'w'))
PYTHON
SEARX_SETTINGS_PATH="$work/settings.yml" searx-run >"$work/searx.log" 2>&1 &
pids+=($!)

# A wiki on SQLite with two articles of its own and those of the handbook.
mkdir "$work/data"
root=/usr/share/mediawiki
php $root/maintenance/install.php --dbtype sqlite --dbpath "$work/data" --confpath "$work" --scriptpath '' \
  --server "http://127.0.0.1:$wiki" --pass "test-$RANDOM$RANDOM$RANDOM" Test Admin >"$work/install.log" 2>&1 ||
  { cat "$work/install.log" >&2; exit 1; }
export MW_CONFIG_FILE="$work/LocalSettings.php"
printf "%s\n" "'''Tidal power''' is electricity from the tides." '== Stations ==' 'The station at La Rance was opened in 1966.<ref>Barrages are cited by their year.</ref>' \
  '{| class="wikitable"' '! Station !! Megawatts' '|-' '| Sihwa Lake || 254' '|}' '; Highest tide : 16 metres' '<references />' |
  php $root/maintenance/edit.php -u Admin 'Tidal power' >>"$work/install.log" 2>&1
echo "A '''tide mill''' is a mill that is driven by tidal power. The mill at Nendrum was built in the year 619." |
  php $root/maintenance/edit.php -u Admin 'Tide mill' >>"$work/install.log" 2>&1
for article in "${articles[@]}"; do
  python3 apps/research/sources/handbook.py wikitext "$handbook/en-US/sect.$article.html" >"$work/article"
  tail -n +2 "$work/article" |
    php $root/maintenance/edit.php -u Admin "$(head -n 1 "$work/article")" >>"$work/install.log" 2>&1
done
php $root/maintenance/rebuildtextindex.php >>"$work/install.log" 2>&1
php -S "127.0.0.1:$wiki" -t $root >"$work/wiki.log" 2>&1 &
pids+=($!)

wait_for "http://127.0.0.1:$web/tidal.html" "$work/web.log"
wait_for "http://127.0.0.1:$searx/config" "$work/searx.log"
wait_for "http://127.0.0.1:$wiki/api.php?action=query&meta=siteinfo&format=json" "$work/wiki.log"

export TEST_SEARXNG_URL="http://127.0.0.1:$searx" TEST_ENCYCLOPEDIA_URL="http://127.0.0.1:$wiki/api.php"
export TEST_HANDBOOK=$handbook
PATH="$PWD/node_modules/.bin:$PATH" vitest run apps/research/sources/real-services.test.ts apps/research/sources/handbook.test.ts
