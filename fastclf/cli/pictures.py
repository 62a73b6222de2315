"""Pictures in files, drawn without a window."""

from pathlib import Path

from .files import RequestError, blame
from .options import check_out

ENDINGS = (".png", ".pdf", ".svg")


def add_picture(parser, what):
    parser.add_argument("--picture", type=Path, metavar="FILE", help=f"draw {what}: .png, .pdf or .svg")


def check_picture(path):
    """Refuse a path where no picture can be drawn, before any work."""
    if path is None:
        return
    check_out(path, ENDINGS, "--picture")
    try:
        import matplotlib
    except ImportError as error:
        raise RequestError("--picture needs matplotlib, which is not installed (pip install matplotlib)") from error
    matplotlib.use("agg")


def save_picture(display, path):
    """Draw a display of `fastclf.display` and save it to a file."""
    with blame(path):
        display.plot().figure_.savefig(path, dpi=150)
