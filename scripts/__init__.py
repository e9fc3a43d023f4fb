"""Programs for those who work on subcog. Run them from the checkout's top folder: `python -m scripts.bench.hook --help`.

The package never imports them. `quickstart` and `test` are shell scripts.
"""
