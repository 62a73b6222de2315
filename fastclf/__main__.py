import sys

if __name__ == "__main__":
    try:
        from .cli import main

        status = main()
    except KeyboardInterrupt:  # while modules are being loaded
        status = 130
    sys.exit(status)
