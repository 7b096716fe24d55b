"""`python -m easyloop` is the command `easyloop`."""

from easyloop.cli import main

if __name__ == "__main__":
    main()
