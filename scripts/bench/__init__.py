"""Measure speed: `hook` as whole processes, `recall` inside one process, `intent` for the keyword detector alone."""
