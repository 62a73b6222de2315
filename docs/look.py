"""Screenshots of every page: python docs/look.py build/docs build/docs-look [PART OF A NAME]

Chromium opens each page of the site in light and dark, 1400 and 390 pixels wide, and saves its whole height as a .png;
build/docs-look/index.html shows all pictures. These defects are printed and make the exit status 1: a page that is
wider than its window, a table or a picture that is wider than its box, text with too little contrast, an error of a
script, a request to another site, a formula that is not typeset, and a search of QUESTIONS without its page.
"""

import functools
import http.server
import itertools
import shutil
import sys
import threading
import urllib.parse
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTHS, SCHEMES = (1400, 390), ("light", "dark")
MOST_HEIGHT = 12_000  # the largest height of a picture, in pixels

# A script that lists elements that extend beyond the window and are in no box that scrolls.
STICKING_OUT = """() => {
    const wide = document.documentElement.clientWidth, found = [];
    for (const element of document.querySelectorAll('.bd-article *, .bd-header *, .bd-footer *')) {
        const box = element.getBoundingClientRect();
        if (box.width === 0 || box.right <= wide + 1) continue;
        let hidden = false;
        for (let e = element; e && e !== document.body; e = e.parentElement) {
            const style = getComputedStyle(e);
            if (style.overflowX !== 'visible' || style.position === 'fixed') hidden = true;
        }
        if (!hidden) found.push(element.tagName + '.' + element.className + ' ' + Math.round(box.right));
    }
    return found.slice(0, 3);
}"""

# A script that lists texts whose contrast is below 4.5, or 3 for large ones (WCAG 2, level AA).
TOO_PALE = """() => {
    const found = new Set();
    const parts = colour => colour.match(/[0-9.]+/g).map(Number);
    const light = colour => {
        const [r, g, b] = colour.map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = element => {
        for (let e = element; e; e = e.parentElement) {
            const style = getComputedStyle(e), colour = parts(style.backgroundColor);
            if (style.backgroundImage !== 'none') return null;
            if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
            if (colour[3] > 0) return null;
        }
        return [255, 255, 255];
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement, box = element.getBoundingClientRect(), style = getComputedStyle(element);
        if (!node.data.trim() || !box.width || style.visibility === 'hidden' || style.opacity === '0') continue;
        if (element.closest('script, style, noscript, .copybtn, mjx-container, .headerlink')) continue;
        const colour = parts(style.color), ground = behind(element);
        if (ground === null || colour[3] < 1) continue;
        const [high, low] = [light(colour), light(ground)].sort((a, b) => b - a);
        const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        const text = element.tagName + ' ' + node.data.trim().slice(0, 30);
        if ((high + 0.05) / (low + 0.05) < (large ? 3 : 4.5)) found.add(text);
    }
    return [...found].slice(0, 3);
}"""

# What newcomers search for, and the page that answers; it must be among the first SHOWN results.
SHOWN = 6
QUESTIONS = {
    "search 50M rows on disk": "start/questions",
    "memory map": "start/large_data",
    "tree from C++": "embedding",
    "weight differ scikit-learn": "start/from_scikit_learn",
    "choose k": "start/five_minutes",
    "missing values": "gallery/5_trees/plot_categories",
    "imbalanced classes": "start/questions",
    "save model": "reference/names/fastclf.save",
    "progress": "gallery/8_use/plot_watch_and_stop",
    "threads": "start/large_data",
    "custom metric": "start/questions",
    "random forest": "start/questions",
    "classify text": "start/questions",
    "GPU": "start/questions",
    "license": "start/questions",
    "remove rows": "gallery/8_use/plot_living_index",
    "calibration": "reference/names/fastclf.display.CalibrationDisplay",
    "dask cluster": "start/cluster",
    "perceptron convergence": "methods/perceptron",
    "kernel trick": "start/questions",
    "GridSearchCV": "reference/names/fastclf.GridSearchCV",
    "export C": "gallery/8_use/plot_embedding_c",
    "delete rows from an index": "start/questions",
    "cosine similarity": "start/questions",
    "haversine": "start/questions",
    "faiss": "start/questions",
    "cKDTree": "start/questions",
    "LIBSVM": "start/questions",
    "BallTree": "start/questions",
    "cross-validate by group": "start/questions",
    "sample weights": "start/questions",
    "multi-label": "start/questions",
    "time limit": "start/questions",
    "progress bar": "start/questions",
    "reproducible results": "start/questions",
    "threads web server": "start/questions",
    "pickle": "start/five_minutes",
    "older version": "start/questions",
    "PMML": "start/questions",
    "incremental learning": "start/questions",
    "explain a prediction": "start/questions",
    "plot a tree": "start/questions",
    "outlier detection": "start/questions",
    "float32 float64": "start/questions",
    "hyperparameters": "start/questions",
    "cite": "start/questions",
    "install without compiler": "start/install",
    "Expected 2D array": "start/questions",
    "not fitted yet": "start/questions",
    "ConvergenceWarning": "start/questions",
}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(site):
    """The address of a server of the site on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def photograph(browser, address, site, out, part):
    """Save a picture of each page, and yield a sentence for each defect."""
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html") if "_static" not in path.parts)
    for scheme in SCHEMES:
        for width in WIDTHS:
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page, told = context.new_page(), []
            page.on("pageerror", lambda error, told=told: told.append(f"script: {error}"))
            page.on("request", lambda request, told=told: told.append(f"asks for {request.url}"
                    if not request.url.startswith((address, "data:", "blob:")) else ""))  # fmt: skip
            for name in names:
                if part not in name:
                    continue
                page.goto(f"{address}/{name}", wait_until="load")
                page.evaluate("() => window.MathJax?.startup?.promise")
                told += [f"sticks out: {found}" for found in page.evaluate(STICKING_OUT)]
                told += [f"too pale: {found}" for found in page.evaluate(TOO_PALE)]
                if page.evaluate(
                    "() => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"
                ):
                    told.append("the page is wider than the window")
                if page.locator(".math:not(:has(mjx-container))").count():
                    told.append("a formula is not typeset")
                height = min(MOST_HEIGHT, page.evaluate("() => document.documentElement.scrollHeight"))
                target = out / f"{width}-{scheme}" / name.replace("/", "--").replace(".html", ".png")
                target.parent.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=target, full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height})
                yield from (f"{name}, {width} px, {scheme}: {what}" for what in told if what)
                told.clear()
            context.close()


def ask(browser, address):
    """Search for QUESTIONS as a reader does, and yield a sentence for each that does not find its page."""
    page = browser.new_page()
    for words, wanted in QUESTIONS.items():
        page.goto(f"{address}/search.html?q={urllib.parse.quote_plus(words)}", wait_until="load")
        page.wait_for_function("() => document.querySelector('.search-summary')?.innerText")
        found = page.eval_on_selector_all(
            "#search-results ul.search > li > a", "links => links.map(link => link.getAttribute('href'))"
        )
        if not any(link.partition(".html")[0].endswith(wanted) for link in found[:SHOWN]):
            yield f"a search for {words!r} shows {found[:SHOWN]}, not {wanted}"


def leaf_through(out):
    """Write a page that shows all pictures."""
    names = sorted({path.name for path in out.glob("*/*.png")})
    folders = [f"{width}-{scheme}" for scheme in SCHEMES for width in WIDTHS]
    rows = "".join(
        f"<h2>{name[:-4]}</h2>"
        + "".join(f'<a href="{f}/{name}"><img loading=lazy src="{f}/{name}"></a>' for f in folders)
        for name in names
    )
    style = "body{font:14px sans-serif} img{height:420px;max-width:24%;object-fit:cover;object-position:top;margin:3px}"
    (out / "index.html").write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style>{rows}", "utf-8")


def main(site, out, part=""):
    site, out = Path(site).resolve(), Path(out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    chromium = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    if chromium is None:
        print("no chromium was found; on Debian `apt install chromium` installs one")
        return 2
    wrong = 0
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        address = serve(site)
        for line in itertools.chain(photograph(browser, address, site, out, part), ask(browser, address)):
            print(line, flush=True)
            wrong += 1
        browser.close()
    leaf_through(out)
    print(f"{wrong} things to mend; {out / 'index.html'} shows all pages")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
