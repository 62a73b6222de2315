import sys


def main():
    """The command ``fastclf``: its exit status."""
    try:
        from .cli import main

        return main()
    except KeyboardInterrupt:  # while modules are being loaded
        return 1


if __name__ == "__main__":
    sys.exit(main())
