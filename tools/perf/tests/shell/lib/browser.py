#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Open a page in a headless browser, run a script in it, and print what the script sends.

usage: browser.py BROWSER PAGE SCRIPT [FLAG...]

The script is appended to the page, as a block, and calls fetch("/", { method: "POST", body: TEXT })
once. An error of the script is printed instead. Exit status: 0; 1 if nothing was sent within 100 s.
"""
import http.server
import os
import subprocess
import sys
import tempfile
import threading

SECONDS = 100
REPORT_ERRORS = \
    b'<script>onerror = text => { fetch("/", { method: "POST", body: text }); };</script>'


def main():
    browser, path, script, *flags = sys.argv[1:]
    with open(path, 'rb') as file:
        page = file.read().replace(b'</html>', b'')
    with open(script, 'rb') as file:
        page += REPORT_ERRORS + b'<script>{' + file.read() + b'}</script></html>'
    sent = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            self.send_response(200)
            self.send_header('Content-Type', 'text/html; charset=utf-8')
            self.send_header('Content-Length', str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def do_POST(self):
            text = self.rfile.read(int(self.headers['Content-Length'])).decode()
            self.send_response(200)
            self.end_headers()
            print(text, flush=True)
            sent.set()

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        with subprocess.Popen(
                [browser, '--headless', '--no-sandbox', '--disable-gpu', '--window-size=1400,800',
                 f'--user-data-dir={home}', *flags, f'http://127.0.0.1:{server.server_port}/'],
                env={**os.environ, 'HOME': home}, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL) as process:
            done = sent.wait(SECONDS)
            process.terminate()
    return 0 if done else 1


if __name__ == '__main__':
    sys.exit(main())
