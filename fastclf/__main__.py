import sys


def main():
    """Run the command ``fastclf`` and return its exit status."""
    try:
        from .cli import main

        return main()
    except KeyboardInterrupt:  # the user pressed Ctrl-C while modules were loaded
        return 1


if __name__ == "__main__":
    sys.exit(main())
