"""Debian's handbook for real-services.sh: a web of its pages with a search by title, and its pages as wikitext.

handbook.py serve PORT FOLDER ADDRESS  serves FOLDER; /search?q= finds its pages by title
handbook.py wikitext FILE              prints the page's title, then its text as an article of MediaWiki
"""
import functools
import html
import http.server
import json
import pathlib
import re
import sys
import urllib.parse

NUMBER = re.compile(r'^(?:\w+ )?(?:\d+|[A-Z])(?:\.\d+)*\.\s+')


def title_of(page):
    found = re.search(r'<title[^>]*>(.*?)</title>', page, re.S)
    return NUMBER.sub('', html.unescape(found.group(1)).strip()) if found else ''


def words_of(text):
    return set(re.findall(r'\w{3,}', text.lower()))


def index_of(folder):
    titles = [
        (page.relative_to(folder).as_posix(), title_of(page.read_text('utf-8')))
        for page in sorted(folder.rglob('*.html'))
    ]
    return [(path, title, words_of(title)) for path, title in titles if words_of(title)]


class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args, index, address, **more):
        self.index, self.address = index, address
        super().__init__(*args, **more)

    def do_GET(self):
        if not self.path.startswith('/search?'):
            return super().do_GET()
        query = urllib.parse.parse_qs(self.path.partition('?')[2]).get('q', [''])[0]
        body = json.dumps({'results': self.found(words_of(query))}).encode()
        self.send_response(200)
        self.send_header('content-type', 'application/json')
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def found(self, query):
        """Pages of whose title the query has at least half of the words, those with the largest share first."""
        shares = [(len(words & query) / len(words), path, title) for path, title, words in self.index]
        best = sorted((share for share in shares if share[0] >= 0.5), key=lambda share: -share[0])
        return [{'url': f'{self.address}/{path}', 'title': title, 'content': title} for _, path, title in best]


def serve(port, folder, address):
    index = index_of(pathlib.Path(folder))
    handler = functools.partial(Handler, index=index, address=address, directory=folder)
    http.server.ThreadingHTTPServer(('127.0.0.1', int(port)), handler).serve_forever()


BLOCK = r'(h[1-6]|p|ul|ol|li|dl|dt|dd|table|caption|thead|tbody|tr|th|td|pre|code|em|strong)'


def wikitext(file):
    """MediaWiki takes most of the page as it stands; what it does not know, links, pictures and navigation go."""
    page = pathlib.Path(file).read_text('utf-8')
    body = page[page.index('</ul>', page.index('<body')) + len('</ul>'):page.rindex('<ul class="docnav">')]
    pieces = re.split(r'(<pre.*?</pre>)', body, flags=re.S)
    print(title_of(page))
    print(''.join(piece if piece.startswith('<pre') else article(piece) for piece in map(plain, pieces)))


def plain(piece):
    piece = re.sub(r'<div class="para">(.*?)</div>', r'<p>\1</p>', piece, flags=re.S)
    piece = re.sub(rf'<(/?){BLOCK}(?:\s[^>]*)?>', r'{{\1\2}}', piece)
    piece = re.sub(r'<[^>]+>', '', piece)
    return re.sub(r'\{\{(/?\w+)\}\}', r'<\1>', piece)


def article(piece):
    """One line a block: MediaWiki makes a box of every line that begins with a space."""
    line = re.sub(r'\s+', ' ', piece)
    return re.sub(r'\s*(</?(?:h[1-6]|p|ul|ol|li|dl|dt|dd|table|caption|tr)>)\s*', r'\n\1', line)


if __name__ == '__main__':
    {'serve': serve, 'wikitext': wikitext}[sys.argv[1]](*sys.argv[2:])
