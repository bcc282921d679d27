"""Entry point of `kyvsim` and `python -m kyvsim`."""

from kyvsim.cli.main import main

if __name__ == "__main__":
    main()
